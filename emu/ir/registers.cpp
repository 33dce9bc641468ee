// SPDX-License-Identifier: Apache-2.0
// Slots of the register file. Registers whose lifetimes do not overlap share a slot, so that a warp's file stays in the
// host's cache; 32-bit and 64-bit slots are never shared with each other, since lanes that diverged may use both.
// A register that some path reads before writing is noted: its lanes start as undefined.
#include <algorithm>
#include <queue>
#include <span>
#include <string_view>
#include <unordered_map>

#include "../engine_limits.h"
#include "builder.h"

namespace emu {

// Which blocks read a register before they set it, and which set it, by register: those of register r are
// at[start[r]] to at[start[r + 1]].
struct Builder::Crossing {
    struct List {
        std::vector<std::pair<uint16_t, uint32_t>> pairs;
        std::vector<uint32_t> start, at;
        void sort(size_t registers) {
            start.assign(registers + 1, 0);
            for (auto& [r, b] : pairs) start[r + 1u]++;
            for (size_t r = 0; r < registers; r++) start[r + 1] += start[r];
            std::vector<uint32_t> next(start.begin(), start.end() - 1);
            at.resize(pairs.size());
            for (auto& [r, b] : pairs) at[next[r]++] = b;
        }
        std::span<const uint32_t> of(size_t r) const { return {at.data() + start[r], at.data() + start[r + 1]}; }
    } reads, sets;
};

Builder::Crossing Builder::find_crossing() const {
    Crossing found;
    std::vector<uint32_t> read_in(regs_.size(), UINT32_MAX), set_in(regs_.size(), UINT32_MAX); // the last such block
    for (uint32_t b = 0; b < blocks_.size(); b++)
        for (uint32_t pc = blocks_[b].from; pc < blocks_[b].to; pc++) {
            const InstInfo& info = kernel_.infos[pc];
            const Inst& inst = kernel_.code[pc];
            auto read = [&](uint16_t r) {
                if (regs_[r].kind != VirtualReg::declared || set_in[r] == b || read_in[r] == b) return;
                read_in[r] = b;
                found.reads.pairs.push_back({r, b});
            };
            for (uint16_t r : info.src) read(r);
            read(inst.guard);
            for (uint16_t r : info.dst) {
                if (inst.guard != 0 || set_in[r] == b) continue; // under a guard some lanes keep the old value
                set_in[r] = b;
                found.sets.pairs.push_back({r, b});
            }
        }
    found.reads.sort(regs_.size());
    found.sets.sort(regs_.size());
    return found;
}

// From each block that reads a register back to those that set it, one register after the other: the time is that of
// the blocks through which they live.
void Builder::find_live_ranges() {
    const size_t nr = regs_.size();
    ranges_.assign(nr, {});
    auto touch = [&](size_t r, uint32_t from, uint32_t to) {
        ranges_[r].from = std::min(ranges_[r].from, from);
        ranges_[r].to = std::max(ranges_[r].to, to);
    };
    for (uint32_t pc = 0; pc < kernel_.code.size(); pc++) {
        for (uint16_t r : kernel_.infos[pc].src) touch(r, pc, pc);
        for (uint16_t r : kernel_.infos[pc].dst) touch(r, pc, pc);
    }
    const Crossing crossing = find_crossing();
    std::vector<uint32_t> set(blocks_.size(), UINT32_MAX), live(blocks_.size(), UINT32_MAX), way; // by the register
    uint64_t visited = 0;
    for (uint32_t r = 0; r < nr; r++) {
        for (uint32_t b : crossing.sets.of(r)) set[b] = r;
        auto visit = [&](uint32_t b) { // live where it begins
            if (live[b] == r) return;
            live[b] = r;
            way.push_back(b);
        };
        for (uint32_t b : crossing.reads.of(r)) visit(b);
        for (; !way.empty(); visited++) {
            const Block& block = blocks_[way.back()];
            way.pop_back();
            touch(r, block.from, block.from);
            for (uint32_t p : block.before) {
                touch(r, blocks_[p].to, blocks_[p].to);
                if (set[p] != r) visit(p);
            }
        }
        ranges_[r].from_entry = live[0] == r;
        if (visited > limits::LIVE_BLOCKS)
            return error(function_.place, "the kernel's registers live through more than " +
                                              std::to_string(limits::LIVE_BLOCKS) + " basic blocks, summed");
    }
}

void Builder::assign_slots() {
    size_t nr = regs_.size();
    number_.assign(nr, 0);
    std::vector<uint16_t> order;
    for (size_t r = 0; r < nr; r++) order.push_back(uint16_t(r));
    std::stable_sort(order.begin(), order.end(),
                     [&](uint16_t a, uint16_t b) { return ranges_[a].from < ranges_[b].from; });
    using Busy = std::pair<uint32_t, uint16_t>; // end of the range, slot
    std::vector<uint16_t> free[5];              // by width in slots
    std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy[5];
    uint32_t slots = 0, preds = 2;
    auto fresh = [&](unsigned wide) {
        uint16_t s = uint16_t(slots);
        slots += wide;
        kernel_.slot_words.resize(slots);
        kernel_.slot_words[s] = uint8_t(wide);
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
        for (auto& list = busy[w]; !list.empty() && list.top().first < ranges_[r].from; list.pop())
            free[w].push_back(list.top().second);
        if (free[w].empty()) {
            number_[r] = fresh(w);
        } else {
            number_[r] = free[w].back();
            free[w].pop_back();
        }
        busy[w].push({ranges_[r].to, number_[r]});
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
        if (inst.nregs <= INLINE_OPERANDS)
            for (unsigned i = 0; i < inst.nregs; i++) inst.r[i] = number_[inst.r[i]];
        info.src_names = info.src;
        for (uint16_t& r : info.src) r = undef_number(r);
        for (uint16_t& r : info.dst) r = undef_number(r);
        const uint64_t guard = inst.guard ? class_of(kernel_.slots + inst.guard) : 0;
        kernel_.writes.push_back(classes_of(info.dst));
        kernel_.touches.push_back(classes_of(info.src) | kernel_.writes.back() | guard);
    }
    for (Extra& extra : kernel_.extras)
        for (uint16_t& r : extra.r) r = number_[r];
    find_forms();
}

void Builder::find_forms() {
    std::unordered_map<std::string_view, uint32_t> first; // places by text
    for (uint32_t pc = 0; pc < kernel_.infos.size(); pc++)
        if (first.emplace(kernel_.infos[pc].text, pc).second) kernel_.forms.push_back(pc);
    const auto text = [&](uint32_t pc) -> const std::string& { return kernel_.infos[pc].text; };
    std::sort(kernel_.forms.begin(), kernel_.forms.end(), [&](uint32_t a, uint32_t b) { return text(a) < text(b); });
    for (uint32_t i = 0; i < kernel_.forms.size(); i++) first[text(kernel_.forms[i])] = i;
    for (const InstInfo& info : kernel_.infos) kernel_.form_of.push_back(uint16_t(first[info.text]));
}

} // namespace emu
