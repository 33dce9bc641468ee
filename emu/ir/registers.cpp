// SPDX-License-Identifier: Apache-2.0
// Slots of the register file. Registers whose lifetimes do not overlap share a slot, so that a warp's file stays in the
// host's cache; 32-bit and 64-bit slots are never shared with each other, since lanes that diverged may use both.
// A register that some path reads before writing is noted: its lanes start as undefined.
#include <algorithm>

#include "builder.h"

namespace emu {
namespace {
// A row of bits for each block.
class Bits {
public:
    Bits(size_t rows, size_t bits) : words_((bits + 63) / 64), data_(rows * words_) {}
    uint64_t* row(size_t r) { return data_.data() + r * words_; }
    size_t words() const { return words_; }
    bool get(size_t r, size_t bit) { return row(r)[bit / 64] >> (bit & 63) & 1; }
    void set(size_t r, size_t bit) { row(r)[bit / 64] |= 1ull << (bit & 63); }

private:
    size_t words_;
    std::vector<uint64_t> data_;
};
} // namespace

void Builder::find_live_ranges() {
    size_t nb = blocks_.size(), nr = regs_.size();
    Bits use(nb, nr), def(nb, nr), in(nb, nr), out(nb, nr);
    for (size_t b = 0; b < nb; b++) {
        for (uint32_t pc = blocks_[b].from; pc < blocks_[b].to; pc++) {
            const InstInfo& info = kernel_.infos[pc];
            const Inst& inst = kernel_.code[pc];
            auto read = [&](uint16_t r) {
                if (!def.get(b, r)) use.set(b, r);
            };
            for (uint16_t r : info.src) read(r);
            read(inst.guard);
            for (uint16_t r : info.dst)
                if (inst.guard == 0) def.set(b, r); // under a guard some lanes keep the old value
        }
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t b = nb; b-- > 0;) {
            uint64_t* o = out.row(b);
            for (uint32_t s : blocks_[b].next)
                for (size_t w = 0; w < out.words(); w++) o[w] |= in.row(s)[w];
            for (size_t w = 0; w < in.words(); w++) {
                uint64_t v = use.row(b)[w] | (o[w] & ~def.row(b)[w]);
                changed |= v != in.row(b)[w];
                in.row(b)[w] = v;
            }
        }
    }
    ranges_.assign(nr, {});
    auto touch = [&](size_t r, uint32_t from, uint32_t to) {
        ranges_[r].from = std::min(ranges_[r].from, from);
        ranges_[r].to = std::max(ranges_[r].to, to);
    };
    for (size_t b = 0; b < nb; b++) {
        for (size_t r = 0; r < nr; r++) {
            if (in.get(b, r)) touch(r, blocks_[b].from, blocks_[b].from);
            if (out.get(b, r)) touch(r, blocks_[b].to, blocks_[b].to);
        }
        for (uint32_t pc = blocks_[b].from; pc < blocks_[b].to; pc++) {
            for (uint16_t r : kernel_.infos[pc].src) touch(r, pc, pc);
            for (uint16_t r : kernel_.infos[pc].dst) touch(r, pc, pc);
        }
    }
    for (size_t r = 0; r < nr; r++) ranges_[r].from_entry = in.get(0, r) && regs_[r].kind == VirtualReg::declared;
}

void Builder::assign_slots() {
    size_t nr = regs_.size();
    number_.assign(nr, 0);
    std::vector<uint16_t> order;
    for (size_t r = 0; r < nr; r++) order.push_back(uint16_t(r));
    std::stable_sort(order.begin(), order.end(),
                     [&](uint16_t a, uint16_t b) { return ranges_[a].from < ranges_[b].from; });
    std::vector<uint16_t> free[5];                      // by width in slots
    std::vector<std::pair<uint32_t, uint16_t>> busy[5]; // end of the range, slot
    uint32_t slots = 0, preds = 2;
    auto fresh = [&](unsigned wide) {
        uint16_t s = uint16_t(slots);
        slots += wide;
        return s;
    };
    for (uint16_t r : order) {
        const VirtualReg& reg = regs_[r];
        if (reg.wide == 0) {
            number_[r] = r < 2 ? r : uint16_t(preds++);
            continue;
        }
        bool pinned = reg.kind == VirtualReg::constant || reg.kind == VirtualReg::special || ranges_[r].from_entry;
        if (ranges_[r].from == UINT32_MAX && !pinned) continue; // declared, never used
        unsigned w = reg.wide;
        if (pinned) {
            number_[r] = fresh(w);
            continue;
        }
        auto& list = busy[w];
        for (size_t i = 0; i < list.size();) {
            if (list[i].first < ranges_[r].from) {
                free[w].push_back(list[i].second);
                list[i] = list.back();
                list.pop_back();
            } else {
                i++;
            }
        }
        if (free[w].empty()) {
            number_[r] = fresh(w);
        } else {
            number_[r] = free[w].back();
            free[w].pop_back();
        }
        list.push_back({ranges_[r].to, number_[r]});
    }
    if (slots + preds >= NO_REG) error(function_.place, "the kernel needs too many registers");
    kernel_.slots = slots;
    kernel_.preds = preds;
}

void Builder::rewrite() {
    auto undef_number = [&](uint16_t r) { return uint16_t(regs_[r].wide ? number_[r] : kernel_.slots + number_[r]); };
    kernel_.reg_names.resize(regs_.size());
    for (size_t r = 0; r < regs_.size(); r++) {
        const VirtualReg& reg = regs_[r];
        kernel_.reg_names[r] = reg.name;
        if (reg.kind == VirtualReg::constant && reg.wide) kernel_.consts.push_back({number_[r], reg.wide, reg.bits});
        if (reg.kind == VirtualReg::special) kernel_.specials.push_back({number_[r], uint8_t(reg.bits)});
        if (ranges_[r].from_entry) kernel_.maybe_undefined.push_back(undef_number(uint16_t(r)));
    }
    for (size_t pc = 0; pc < kernel_.code.size(); pc++) {
        Inst& inst = kernel_.code[pc];
        InstInfo& info = kernel_.infos[pc];
        inst.guard = number_[inst.guard];
        for (unsigned i = 0; i < inst.nregs; i++) inst.r[i] = number_[inst.r[i]];
        info.src_names = info.src;
        for (uint16_t& r : info.src) r = undef_number(r);
        for (uint16_t& r : info.dst) r = undef_number(r);
    }
}

} // namespace emu
