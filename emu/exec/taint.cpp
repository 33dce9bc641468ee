// SPDX-License-Identifier: Apache-2.0
// Undefined bits of registers, lane by lane. Only runs while some register is undefined; reports where such a bit is
// used for an address, a predicate that decides something, a store or a matrix product.
#include <algorithm>

#include "../report/report.h"
#include "peers.h"
#include "run.h"
#include "settled.h"

namespace emu {
namespace {
using Bits = RegisterBits;

unsigned words_of(const Warp& w, uint16_t number) {
    return number < w.kernel->slots ? w.kernel->slot_words[number] : 0; // 0: a predicate
}
// All bits of a register, in one lane.
uint64_t all_low(unsigned words) { return words == 0 ? 1 : words == 1 ? UINT32_MAX : UINT64_MAX; }
uint64_t all_high(unsigned words) { return words == 4 ? UINT64_MAX : 0; }

void fill(Bits& b, uint32_t lanes, unsigned words) {
    for (uint32_t m = lanes; m; m &= m - 1) {
        b.low[__builtin_ctz(m)] = all_low(words);
        b.high[__builtin_ctz(m)] = all_high(words);
    }
}

void mark(Warp& w, uint16_t number, uint32_t lanes, uint32_t undefined) {
    uint32_t old = w.undef[number], now = (old & ~lanes) | (undefined & lanes);
    w.undef[number] = now;
    if ((now != 0) != (old != 0)) {
        const unsigned among = number % 64u;
        w.tainted += now ? 1u : -1u;
        w.tainted_each[among] = uint16_t(w.tainted_each[among] + (now ? 1 : -1));
        w.tainted_among = (w.tainted_among & ~(1ull << among)) | uint64_t(w.tainted_each[among] != 0) << among;
    }
    if (w.copied.empty()) return;
    auto it = w.copied.find(number);
    if (it == w.copied.end()) return;
    Copied& c = it->second;
    c.whole &= ~lanes, c.moved &= ~lanes, c.placed &= ~lanes;
    if (!(c.whole | c.moved | c.placed)) w.copied.erase(it);
}

// These lanes are undefined in all bits or in none.
void assign(Warp& w, uint16_t number, uint32_t lanes, uint32_t undefined) {
    mark(w, number, lanes, undefined);
    if (w.partly.empty()) return;
    auto it = w.partly.find(number);
    if (it == w.partly.end()) return;
    if (w.undef[number]) fill(it->second, lanes, words_of(w, number));
    else w.partly.erase(it);
}

void unmark(Warp& w, uint16_t number, uint32_t lanes) {
    if (w.undef[number]) assign(w, number, lanes, 0);
}

// These lanes are undefined in these bits.
void assign_bits(Warp& w, uint16_t number, uint32_t lanes, const Bits& bits) {
    const unsigned words = words_of(w, number);
    uint32_t some = 0, part = 0;
    for (uint32_t m = lanes; m; m &= m - 1) {
        const unsigned l = unsigned(__builtin_ctz(m));
        const uint64_t low = bits.low[l] & all_low(words), high = bits.high[l] & all_high(words);
        some |= uint32_t((low | high) != 0) << l;
        part |= uint32_t(low != all_low(words) || high != all_high(words)) << l;
    }
    assign(w, number, lanes, some);
    if (!(some & part)) return;
    auto [it, fresh] = w.partly.try_emplace(number);
    if (fresh) fill(it->second, FULL, words);
    for (uint32_t m = lanes; m; m &= m - 1) {
        const unsigned l = unsigned(__builtin_ctz(m));
        it->second.low[l] = bits.low[l] & all_low(words);
        it->second.high[l] = bits.high[l] & all_high(words);
    }
}

Bits undefined_bits(const Warp& w, uint16_t number) {
    Bits bits = {};
    auto it = w.partly.find(number);
    if (it == w.partly.end()) {
        fill(bits, w.undef[number], words_of(w, number));
        return bits;
    }
    for (uint32_t m = w.undef[number]; m; m &= m - 1) {
        const unsigned l = unsigned(__builtin_ctz(m));
        bits.low[l] = it->second.low[l];
        bits.high[l] = it->second.high[l];
    }
    return bits;
}

// Lanes in which one of the low `bytes` bytes of a register is undefined.
uint32_t undefined_below(const Warp& w, uint16_t number, unsigned bytes) {
    auto it = w.partly.find(number);
    if (bytes >= 8 || it == w.partly.end()) return w.undef[number];
    uint32_t lanes = 0;
    for (uint32_t m = w.undef[number]; m; m &= m - 1)
        lanes |= uint32_t((it->second.low[__builtin_ctz(m)] & ((1ull << 8 * bytes) - 1)) != 0) << __builtin_ctz(m);
    return lanes;
}

// x ^ x and x - x are 0 whatever x is.
bool always_zero(const InstInfo& info) {
    return info.src.size() == 2 && info.src[0] == info.src[1] && row_of(info).is(trait::cancels);
}

bool report_use(Warp& w, size_t source, uint32_t lanes) {
    const InstInfo& info = w.info();
    const unsigned lane = unsigned(__builtin_ctz(lanes));
    const uint16_t number = info.src[source];
    const Bits bits = undefined_bits(w, number);
    const bool whole = bits.low[lane] == all_low(words_of(w, number));
    std::string text = "'" + w.kernel->reg_names[info.src_names[source]] + "' is used here but " +
                       (whole ? "was never given a value in this lane"
                              : "its bits 0x" + hex(bits.low[lane]) + " were never given a value in this lane");
    std::string from = undefined_origin(w);
    report(w, "undefined", int(lane), from.empty() ? text : text + "\n  " + from);
    return false;
}

// --- values of registers of any width ---
Bits value_of(const Warp& w, uint16_t number) {
    const unsigned words = words_of(w, number);
    Bits v = {};
    for (unsigned l = 0; l < 32; l++) {
        if (words == 0) v.low[l] = w.preds[number - w.kernel->slots] >> l & 1;
        else if (words == 1) v.low[l] = w.reg<uint32_t>(number)[l];
        else v.low[l] = w.reg<uint64_t>(number)[words / 2 * l];
        if (words == 4) v.high[l] = w.reg<uint64_t>(number)[2 * l + 1];
    }
    return v;
}
void set_value(Warp& w, uint16_t number, const Bits& v) {
    const unsigned words = words_of(w, number);
    if (words == 0) w.preds[number - w.kernel->slots] = 0;
    for (unsigned l = 0; l < 32; l++) {
        if (words == 0) w.preds[number - w.kernel->slots] |= uint32_t(v.low[l]) << l;
        else if (words == 1) w.reg<uint32_t>(number)[l] = uint32_t(v.low[l]);
        else w.reg<uint64_t>(number)[words / 2 * l] = v.low[l];
        if (words == 4) w.reg<uint64_t>(number)[2 * l + 1] = v.high[l];
    }
}

// Runs an instruction with the undefined bits of its data cleared and set, in every combination of registers: a bit of
// a result that is made of one bit of each is undefined if and only if it differs. Leaves everything as it was.
class Trial {
public:
    // `only`: bits of each word that vary, if they are undefined.
    Trial(Warp& w, const Inst& in, uint64_t only = ~0ull)
        : w_(w), in_(in), info_(w.info()), differs_(info_.dst.size()) {
        for (size_t i = 0; i < info_.src.size(); i++)
            if (!(info_.choosers >> i & 1) && w.undef[info_.src[i]] && !knows(info_.src[i]))
                varied_.push_back({info_.src[i], value_of(w, info_.src[i]), undefined_bits(w, info_.src[i])});
        for (Varied& v : varied_)
            for (unsigned l = 0; l < 32; l++) v.undefined.low[l] &= only, v.undefined.high[l] &= only;
        for (uint16_t d : info_.dst) kept_.push_back(value_of(w, d));
    }
    void run() {
        std::vector<Bits> base;
        for (uint32_t set = 0; set < 1u << varied_.size(); set++) {
            for (size_t i = 0; i < varied_.size(); i++) vary(varied_[i], set >> i & 1);
            in_.fn(w_, in_);
            for (size_t d = 0; d < info_.dst.size(); d++) {
                const Bits now = value_of(w_, info_.dst[d]);
                if (set == 0) base.push_back(now);
                for (unsigned l = 0; l < 32; l++) {
                    differs_[d].low[l] |= now.low[l] ^ base[d].low[l];
                    differs_[d].high[l] |= now.high[l] ^ base[d].high[l];
                }
            }
            for (size_t d = 0; d < info_.dst.size(); d++) set_value(w_, info_.dst[d], kept_[d]);
        }
        for (const Varied& v : varied_) set_value(w_, v.number, v.value);
    }
    Bits& differs(size_t dst) { return differs_[dst]; }

private:
    struct Varied {
        uint16_t number;
        Bits value, undefined;
    };
    bool knows(uint16_t number) const {
        return std::any_of(varied_.begin(), varied_.end(), [&](const Varied& v) { return v.number == number; });
    }
    void vary(const Varied& v, bool set) {
        Bits to = v.value;
        for (unsigned l = 0; l < 32; l++) {
            to.low[l] = (to.low[l] & ~v.undefined.low[l]) | (set ? v.undefined.low[l] : 0);
            to.high[l] = (to.high[l] & ~v.undefined.high[l]) | (set ? v.undefined.high[l] : 0);
        }
        set_value(w_, v.number, to);
    }
    Warp& w_;
    const Inst& in_;
    const InstInfo& info_;
    std::vector<Varied> varied_;
    std::vector<Bits> kept_, differs_;
};

// Lanes in which the predicate alone makes the result of a comparison that is combined with it.
uint32_t decided(const Warp& w, const Inst& in) {
    const uint16_t number = in.r[in.nregs - 1]; // the last operand
    const uint32_t p = w.preds[number] ^ (in.flags & Inst::not_src ? FULL : 0);
    const uint32_t known = ~w.undef[w.kernel->slots + number];
    return known & ((in.sub & 3) == COMBINE_AND ? ~p : (in.sub & 3) == COMBINE_OR ? p : 0);
}

// Lanes in which a comparison of integers is the same whatever their undefined bits are.
uint32_t settled_lanes(const Warp& w, const Inst& in, uint32_t lanes) {
    const InstInfo& info = w.info();
    const unsigned pairs = row_of(info).is(trait::compares) ? in.sub / COMPARE_PAIRS : 0;
    if (!pairs) return 0;
    const Bits a = value_of(w, info.src[0]), b = value_of(w, info.src[1]);
    const Bits a_undefined = undefined_bits(w, info.src[0]), b_undefined = undefined_bits(w, info.src[1]);
    uint32_t same = 0;
    for (uint32_t m = lanes; m; m &= m - 1) {
        const unsigned l = unsigned(__builtin_ctz(m));
        same |= uint32_t(settled(unsigned(in.imm), in.sub & COMPARE_SIGNED, 16 * pairs, {a.low[l], a_undefined.low[l]},
                                 {b.low[l], b_undefined.low[l]}))
                << l;
    }
    return same;
}

// --- bits that are copied: compilers copy structs with their padding, and put back what stands beside a field that
// they set. Neither uses them.

Copied copied_in(const Warp& w, uint16_t number) {
    const auto it = w.copied.find(number);
    Copied c = it == w.copied.end() ? Copied() : it->second;
    c.whole |= ~w.undef[number], c.moved |= ~w.undef[number];
    return c;
}
void mark_copied(Warp& w, uint16_t number, uint32_t lanes, const Copied& from) {
    lanes &= w.undef[number];
    if (!(lanes & (from.whole | from.moved | from.placed))) return;
    Copied& to = w.copied[number];
    to.whole |= from.whole & lanes, to.moved |= from.moved & lanes, to.placed |= from.placed & lanes;
    for (uint32_t m = from.placed & lanes; m; m &= m - 1) to.from[__builtin_ctz(m)] = from.from[__builtin_ctz(m)];
}

// What a bitwise instruction makes of its sources. Bits are in their places if all that are undefined are of one word.
Copied copied_together(const Warp& w, const InstInfo& info) {
    Copied all;
    all.whole = FULL;
    all.moved = row_of(info).is(trait::moves) ? FULL : 0;
    all.placed = info.dst.size() == 1 ? FULL : 0;
    uint32_t met = 0;
    for (uint16_t s : info.src) {
        const Copied c = copied_in(w, s);
        all.whole &= c.whole, all.moved &= c.moved, all.placed &= c.placed | ~w.undef[s];
        for (uint32_t m = all.placed & w.undef[s]; m; m &= m - 1) {
            const unsigned l = unsigned(__builtin_ctz(m));
            if (met >> l & 1 && all.from[l] != c.from[l]) all.placed &= ~(1u << l);
            all.from[l] = c.from[l];
            met |= 1u << l;
        }
    }
    all.moved |= all.whole;
    return all;
}
// Lanes in which `bits` has none that no source has.
uint32_t unmoved(const Warp& w, const InstInfo& info, const Bits& bits) {
    Bits left = bits;
    for (uint16_t s : info.src) {
        const Bits source = undefined_bits(w, s);
        for (unsigned l = 0; l < 32; l++) left.low[l] &= ~source.low[l], left.high[l] &= ~source.high[l];
    }
    uint32_t lanes = 0;
    for (unsigned l = 0; l < 32; l++) lanes |= uint32_t(!(left.low[l] | left.high[l])) << l;
    return lanes;
}

// Lanes in which undefined bits stay where they were in their bytes. Copies and packing move bytes, a product by a
// power of two moves bits.
uint32_t moved_by_bytes(Warp& w, const Inst& in) {
    constexpr uint64_t LOWEST = 0x0101010101010101ull;
    Trial trial(w, in, LOWEST);
    trial.run();
    uint32_t lanes = FULL;
    for (size_t d = 0; d < w.info().dst.size(); d++)
        for (unsigned l = 0; l < 32; l++)
            if ((trial.differs(d).low[l] | trial.differs(d).high[l]) & ~LOWEST) lanes &= ~(1u << l);
    return lanes;
}

void spread_bitwise(Warp& w, const Inst& in, uint32_t lanes) {
    const InstInfo& info = w.info();
    uint32_t unknown = 0; // lanes in which nobody can say which bits reach what
    for (size_t i = 0; i < info.src.size(); i++)
        if (info.choosers >> i & 1) unknown |= w.undef[info.src[i]] & lanes;
    if (unknown && row_of(info).is(trait::combines)) unknown &= ~(decided(w, in) | settled_lanes(w, in, unknown));
    Copied copied = copied_together(w, info);
    Trial trial(w, in);
    trial.run();
    if (!row_of(info).is(trait::moves) && (copied.moved | copied.placed) & lanes) {
        const uint32_t by_bytes = moved_by_bytes(w, in);
        copied.whole &= by_bytes, copied.moved &= by_bytes, copied.placed &= by_bytes;
    }
    if (copied.placed) copied.placed &= unmoved(w, info, trial.differs(0));
    for (size_t d = 0; d < info.dst.size(); d++) {
        fill(trial.differs(d), unknown, words_of(w, info.dst[d]));
        assign_bits(w, info.dst[d], lanes, trial.differs(d));
        mark_copied(w, info.dst[d], lanes & ~unknown, copied);
    }
}

// All bits of each part of `width` bits that has an undefined one; upward: from the lowest one on.
uint64_t smear(uint64_t bits, const OpRow& row) {
    if (!bits) return 0;
    if (row.is(trait::upward)) return UINT64_MAX << __builtin_ctzll(bits);
    const unsigned width = row.is(trait::halves) ? 16 : 32;
    const uint64_t part = (1ull << width) - 1;
    uint64_t all = 0;
    for (unsigned at = 0; at < 64; at += width)
        if (bits >> at & part) all |= part << at;
    return all;
}

void spread_smeared(Warp& w, uint32_t lanes) {
    const InstInfo& info = w.info();
    Bits sum = {};
    for (uint16_t s : info.src) {
        const Bits bits = undefined_bits(w, s);
        for (unsigned l = 0; l < 32; l++) sum.low[l] |= bits.low[l];
    }
    for (uint64_t& bits : sum.low) bits = smear(bits, row_of(info));
    for (uint16_t d : info.dst) assign_bits(w, d, lanes, sum);
}

// The space that an address leads to; `address` becomes one of that space.
Space narrowed(Space space, uint64_t& address) {
    if (space != Space::generic) return space;
    const uint64_t inside = address & (WINDOW_BYTES - 1), window = address - inside;
    if (window != SHARED_WINDOW && window != LOCAL_WINDOW) return Space::global;
    address = inside;
    return window == LOCAL_WINDOW ? Space::local : Space::cluster;
}

// The bits of a byte in memory that were never given a value.
uint8_t undefined_at(const Warp& w, Space space, unsigned lane, uint64_t address) {
    switch (narrowed(space, address)) {
    case Space::local: return w.local_undefined[uint64_t(lane) * w.kernel->local_bytes + address];
    case Space::shared:
    case Space::cluster: return block_of(*w.own, address)->shared_undefined_bits(uint32_t(address % PEER_BYTES));
    default: return w.launch->memory->undefined_bits(address);
    }
}

void set_undefined_at(Warp& w, Space space, unsigned lane, uint64_t address, uint8_t bits) {
    const Space in = narrowed(space, address);
    if (in == Space::local) w.local_undefined[uint64_t(lane) * w.kernel->local_bytes + address] = bits;
    else if (in == Space::global) w.launch->memory->store_undefined(address, bits);
    else block_of(*w.own, address)->store_shared_undefined(uint32_t(address % PEER_BYTES), bits);
}

// What is padding in one lane's struct stands beside fields in the next one's. Where two lanes store side by side, and
// nothing but undefined bits, to global memory, these are values.
bool taint_copied(Warp& w, Space space, uint32_t lanes, const uint64_t* addr, unsigned bytes) {
    for (uint32_t m = lanes; m; m &= m - 1)
        for (uint32_t n = lanes; n; n &= n - 1) {
            const unsigned l = unsigned(__builtin_ctz(m)), next = unsigned(__builtin_ctz(n));
            uint64_t a = addr[l];
            if (addr[next] != a + bytes || narrowed(space, a) != Space::global) continue;
            return report_use(w, 1, 1u << l);
        }
    return true;
}

// Lanes whose store of its nth value keeps what is undefined. In global memory others and the host see it: there these
// are copies alone.
uint32_t keeping(const Warp& w, const Inst& in, size_t nth) {
    const auto space = Space(in.target >> 4);
    if (space != Space::global && space != Space::generic) return FULL;
    const Copied copied = copied_in(w, in.r[nth]);
    uint32_t lanes = copied.moved;
    for (unsigned l = 0; l < 32; l++) {
        uint64_t a = (in.sub & 1 ? w.reg<uint64_t>(in.r[0])[l] : w.reg<uint32_t>(in.r[0])[l]) + uint64_t(in.imm);
        const bool back = copied.placed >> l & 1 && copied.from[l] == a + (nth - 1) * in.bytes;
        lanes |= uint32_t(back || narrowed(space, a) != Space::global) << l;
    }
    return lanes;
}
} // namespace

void Warp::set_undefined(uint16_t slot, uint32_t lanes) {
    if (lanes) assign(*this, slot, lanes, lanes);
}
void Warp::set_defined(uint16_t slot, uint32_t lanes) { unmark(*this, slot, lanes); }

bool taint_guard(Warp& w, const Inst& in, uint32_t lanes) {
    uint32_t bad = in.guard ? w.undef[w.kernel->slots + in.guard] & lanes : 0;
    if (!bad) return true;
    report(w, "undefined", __builtin_ctz(bad),
           "the predicate that guards this instruction was never given a value in this lane");
    return false;
}

bool taint_before(Warp& w, const Inst& in, uint32_t lanes) {
    const InstInfo& info = w.info();
    if (info.taint == Taint::own) return true;
    uint32_t some = 0, bad = 0;
    for (uint16_t s : info.src) some |= w.undef[s] & lanes;
    if (!some) { // the everyday instruction, also where another register is undefined
        for (uint16_t d : info.dst) unmark(w, d, lanes);
        return true;
    }
    const bool stores = row_of(info).is(trait::stores);
    for (size_t i = 0; i < info.src.size(); i++) {
        if (!(w.undef[info.src[i]] & lanes)) continue;
        // the first source of a store is its address
        uint32_t u = undefined_below(w, info.src[i], info.src_bytes[i]) & lanes;
        if (stores && i) u &= ~keeping(w, in, i);
        if (u && info.taint != Taint::spread) return report_use(w, i, u);
        bad |= u;
    }
    const OpRow& row = row_of(info);
    if (bad && always_zero(info)) bad = 0;
    if (bad && info.src.size() == 2) bad &= ~settled_lanes(w, in, bad); // with no predicate beside the numbers
    if (bad && row.is(trait::bitwise)) spread_bitwise(w, in, lanes);
    else if (bad && row.is(trait::upward | trait::halves | trait::words)) spread_smeared(w, lanes);
    else
        for (uint16_t d : info.dst) assign(w, d, lanes, bad);
    return true;
}

void taint_shuffle(Warp& w, uint16_t dst, uint16_t src, const uint8_t* from_lane) {
    const InstInfo& info = w.info();
    uint32_t some = w.undef[src] | ~w.mask;
    for (uint16_t s : info.src) some |= w.undef[s];
    if (!some) { // nothing to spread: the results are defined
        for (uint16_t d : info.dst) unmark(w, d, FULL);
        return;
    }
    Bits source = undefined_bits(w, src), bits;
    fill(source, ~w.mask, 1); // a lane that is not here gives nothing
    for (unsigned l = 0; l < 32; l++) {
        bits.low[l] = source.low[from_lane[l]];
        bits.high[l] = 0;
    }
    uint32_t unknown = 0; // which lane?
    for (size_t i = 1; i < info.src.size(); i++) unknown |= w.undef[info.src[i]];
    fill(bits, unknown, 1);
    const Copied held = copied_in(w, src);
    Copied copied;
    for (unsigned l = 0; l < 32; l++) {
        copied.whole |= (held.whole & w.mask) >> from_lane[l] & 1u ? 1u << l : 0;
        copied.moved |= (held.moved & w.mask) >> from_lane[l] & 1u ? 1u << l : 0;
    }
    assign_bits(w, dst, w.mask, bits);
    mark_copied(w, dst, w.mask & ~unknown, copied);
    for (size_t d = 1; d < info.dst.size(); d++) assign(w, info.dst[d], w.mask, unknown);
}

void taint_loaded(Warp& w, const Inst& in, Space space, uint32_t lanes, const uint64_t* addr, unsigned vec,
                  unsigned bytes, bool sign) {
    for (unsigned i = 0; i < vec; i++) {
        Bits bits = {};
        Copied copied;
        copied.whole = copied.moved = lanes;
        for (uint32_t m = lanes; m; m &= m - 1) {
            const unsigned l = unsigned(__builtin_ctz(m));
            copied.from[l] = addr[l] + uint64_t(i) * bytes;
            uint64_t at = copied.from[l];
            if (narrowed(space, at) == Space::global) copied.placed |= 1u << l;
            for (unsigned b = 0; b < bytes; b++) {
                const uint64_t some = undefined_at(w, space, l, copied.from[l] + b);
                const bool extends = sign && b + 1 == bytes && b < 8 && some >> 7;
                (b < 8 ? bits.low : bits.high)[l] |= (extends ? some | ~0xffull : some) << (b % 8 * 8);
                if (some != 0xff) copied.whole &= ~(1u << l);
            }
        }
        assign_bits(w, in.r[i], lanes, bits);
        mark_copied(w, in.r[i], lanes, copied);
    }
}

bool taint_stored(Warp& w, const Inst& in, const uint64_t* addr, unsigned vec, unsigned bytes) {
    const auto space = Space(in.target >> 4);
    uint32_t nothing = w.mask; // lanes that store nothing but undefined bits
    for (unsigned i = 0; i < vec; i++) {
        nothing &= w.undef[in.r[1 + i]];
        if (!w.undef[in.r[1 + i]]) continue;
        const Bits bits = undefined_bits(w, in.r[1 + i]);
        for (uint32_t m = w.mask & w.undef[in.r[1 + i]]; m; m &= m - 1) {
            const unsigned l = unsigned(__builtin_ctz(m));
            for (unsigned b = 0; b < bytes; b++) {
                const auto some = uint8_t((b < 8 ? bits.low : bits.high)[l] >> (b % 8 * 8));
                if (some) set_undefined_at(w, space, l, addr[l] + i * bytes + b, some);
                if (some != 0xff) nothing &= ~(1u << l);
            }
        }
    }
    return !nothing || taint_copied(w, space, nothing, addr, vec * bytes);
}

bool taint_atomic(Warp& w, uint32_t lanes, Space space, const uint64_t* addr, unsigned bytes) {
    int lane = __builtin_ctz(lanes);
    report_access(w, "undefined", lane, space, addr[lane], bytes, false, "changes bytes that were never given a value");
    return false;
}

} // namespace emu
