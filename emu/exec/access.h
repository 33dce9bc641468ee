// SPDX-License-Identifier: Apache-2.0
// Checked access to shared and global memory, for handlers: bounds, alignment, defined bits, counters and observer in
// one
// call for a whole warp. The common case is a few vector loops; everything else goes to exec/access.cpp.
#pragma once

#include <iterator>

#include "handlers.h"

namespace emu {
// exec/access.cpp: finds the lane at fault and reports it, or (undefined bytes) says which lanes they are.
bool shared_fault(Warp& w, const uint32_t* addr, uint32_t mask, unsigned bytes, bool write);
bool local_fault(Warp& w, int lane, uint64_t address, unsigned bytes, bool write);
bool param_fault(Warp& w, int lane, uint64_t address, unsigned bytes);
bool inside_variables(const Warp& w, SharedPattern& p, const uint32_t* addr, uint32_t mask, unsigned bytes,
                      uint32_t from, uint32_t end);
uint32_t shared_undefined(const Cta& cta, const uint32_t* addr, uint32_t mask, unsigned bytes);
bool global_slow(Warp& w, const uint64_t* addr, uint32_t mask, unsigned bytes, bool write, uint32_t* undefined);
unsigned shared_wavefronts(const uint32_t* addr, uint32_t mask, unsigned bytes);
unsigned global_sectors_slow(const uint64_t* addr, uint32_t mask);
uint32_t global_undefined(const Memory& memory, const uint64_t* addr, uint32_t mask, unsigned bytes);
} // namespace emu

namespace emu::EMU_LEVEL {

// Wavefronts of one shared request: lanes go in groups that fill 128 bytes; if every lane of a group has banks of its
// own there is one wavefront for a group. 0: some lanes may share one.
EMU_INLINE unsigned waves_apart(const uint32_t* addr, uint32_t mask, unsigned bytes, unsigned least) {
    if (mask != FULL && (mask & (mask + 1)) != 0) return 0; // neither all lanes nor the first ones
    const unsigned lanes = __builtin_popcount(mask), group = bytes <= 4 ? 32 : 128 / bytes;
    const unsigned width = bytes <= 4 ? 4 : bytes, units = 128 / width, shift = unsigned(__builtin_ctz(width));
    uint32_t seen[8] = {}, ok = 1;
    for (unsigned g = 0; g < 32 / group; g++) {
        uint32_t bits = 0;
        for (unsigned i = 0; i < group; i++) {
            unsigned l = g * group + i;
            bits |= (l < lanes ? 1u : 0u) << ((addr[l] >> shift) & (units - 1));
        }
        seen[g] = bits;
    }
    for (unsigned g = 0; g < 32 / group; g++) {
        unsigned in_group = lanes > g * group ? (lanes - g * group < group ? lanes - g * group : group) : 0;
        ok &= unsigned(__builtin_popcount(seen[g])) == in_group;
    }
    return ok ? least : 0;
}

// An instruction mostly finds its lanes as far apart as last time. Does it?
template <class Address>
EMU_INLINE bool fits(const Pattern<Address>& p, uint32_t pc, const Address* addr, uint32_t mask, unsigned bytes,
                     uint32_t shift) {
    const Address first = addr[__builtin_ctz(mask)];
    Address differs = Address((p.pc ^ pc) | (p.mask ^ mask) | (p.shift ^ shift) | (p.bytes ^ bytes));
    if (mask == FULL) {
        EMU_LANES
        for (int l = 0; l < 32; l++) differs |= (addr[l] - first) ^ p.apart[l];
    } else {
        EMU_LANES
        for (int l = 0; l < 32; l++) differs |= ((addr[l] - first) ^ p.apart[l]) & (Address(0) - (mask >> l & 1u));
    }
    return !differs;
}
template <class Address>
EMU_INLINE void find_pattern(Pattern<Address>& p, uint32_t pc, const Address* addr, uint32_t mask, unsigned bytes,
                             uint32_t shift) {
    using Signed = std::make_signed_t<Address>;
    const Address first = addr[__builtin_ctz(mask)];
    Signed lowest = 0, highest = 0;
    Address odd = 0, gap = Address(~mask);
    EMU_LANES
    for (int l = 0; l < 32; l++) {
        const Address apart = (addr[l] - first) & (Address(0) - (mask >> l & 1u));
        p.apart[l] = apart;
        lowest = Signed(apart) < lowest ? Signed(apart) : lowest;
        highest = Signed(apart) > highest ? Signed(apart) : highest;
        odd |= apart;
        gap |= apart ^ Address(l) * bytes;
    }
    p.pc = pc, p.mask = mask, p.bytes = bytes, p.shift = shift;
    p.lowest = lowest, p.highest = highest, p.odd = odd;
    p.run = !gap;
    p.dense = Address(highest) - Address(lowest) + bytes <= Address(2) * count_lanes(mask) * bytes;
    p.near = Address(highest) - Address(lowest) <= 4096;
}

inline __attribute__((noinline)) void find_shared_pattern(SharedPattern& p, uint32_t pc, const uint32_t* addr,
                                                          uint32_t mask, unsigned bytes, uint32_t shift) {
    find_pattern(p, pc, addr, mask, bytes, shift);
    const unsigned lanes = count_lanes(mask), group = bytes <= 4 ? 32 : 128 / bytes;
    const unsigned least = (lanes + group - 1) / group;
    p.meet = SharedPattern::unknown;
    p.spots = 0, p.spots_bit = 32;
    p.waves = waves_apart(addr, mask, bytes, least);
    if (!p.waves) p.waves = shared_wavefronts(addr, mask, bytes);
    p.conflicts = p.waves > least ? p.waves - least : 0;
}
// Banks are the same too where lanes are as far apart: all of them move on together with the first lane's address,
// which is a multiple of the access.
EMU_INLINE SharedPattern& pattern_of(Warp& w, const uint32_t* addr, uint32_t mask, unsigned bytes) {
    SharedPattern& p = w.cta->pattern(w);
    const uint32_t shift = bytes < 4 ? addr[__builtin_ctz(mask)] & 3 : 0;
    if (__builtin_expect(!fits(p, w.pc, addr, mask, bytes, shift), 0))
        find_shared_pattern(p, w.pc, addr, mask, bytes, shift);
    return p;
}

// Are all bytes in [from, end) defined?
EMU_INLINE bool defined_between(const uint32_t* defined, uint32_t from, uint32_t end) {
    const uint32_t first = from / 32, last = (end - 1) / 32;
    const uint32_t head = ~0u << (from & 31), tail = ~0u >> (31 - ((end - 1) & 31));
    if (first == last) return !(~defined[first] & head & tail);
    uint32_t missing = (~defined[first] & head) | (~defined[last] & tail);
    for (uint32_t i = first + 1; i < last; i++) missing |= ~defined[i];
    return !missing;
}
// Is all between the ends of an access defined? Not looked for, but where it is mostly the lanes', once it was not.
EMU_INLINE bool defined_around(SharedPattern& p, const uint32_t* defined, uint32_t from, uint32_t end) {
    if (!p.near) return false;
    const bool all = defined_between(defined, from, end);
    p.near = all || p.dense;
    return all;
}

// Is a byte of some lane not defined?
EMU_INLINE bool misses_some(const uint32_t* defined, const uint32_t* addr, uint32_t mask, unsigned bytes) {
    const uint32_t want = bytes >= 32 ? ~0u : (1u << bytes) - 1u;
    uint32_t missing = 0;
    if (mask == FULL && bytes == 16) { // half a word each, wherever its bytes lie in memory
        uint32_t all = want;
        for (int l = 0; l < 32; l++) {
            uint16_t bits;
            __builtin_memcpy(&bits, reinterpret_cast<const uint8_t*>(defined) + addr[l] / 8, 2);
            all &= bits;
        }
        missing = ~all & want;
    } else if (mask == FULL) {
        EMU_LANES
        for (int l = 0; l < 32; l++) missing |= ~(defined[addr[l] >> 5] >> (addr[l] & 31)) & want;
    } else {
        for (uint32_t m = mask; m; m &= m - 1) {
            uint32_t a = addr[__builtin_ctz(m)];
            missing |= ~(defined[a >> 5] >> (a & 31)) & want;
        }
    }
    return missing != 0;
}

// False after a report. addr holds 32 addresses; lanes outside the mask may hold anything. The observer is not told.
EMU_INLINE bool place_shared(Warp& w, const uint32_t* addr, uint32_t mask, unsigned bytes, bool write,
                             uint32_t* undefined) {
    Cta& cta = *w.cta;
    SharedPattern& p = pattern_of(w, addr, mask, bytes);
    const uint32_t first = addr[__builtin_ctz(mask)];
    const int64_t from = int64_t(first) + p.lowest, end = int64_t(first) + p.highest + bytes;
    const bool inside = !((first | p.odd) & (bytes - 1)) && from >= SHARED_BASE && end <= cta.shared_end;
    if (__builtin_expect(!inside, 0) && !shared_fault(w, addr, mask, bytes, write)) return false;
    if (cta.shared_inside && !(from >= p.place_from && end <= p.place_end) &&
        !inside_variables(w, p, addr, mask, bytes, uint32_t(from), uint32_t(end)))
        return shared_fault(w, addr, mask, bytes, write);
    if (write) cta.changes++;
    else if (w.launch->options.check_undefined) {
        *undefined = 0;
        if (!defined_around(p, cta.shared_defined, uint32_t(from), uint32_t(end)) &&
            __builtin_expect(misses_some(cta.shared_defined, addr, mask, bytes), 0)) {
            *undefined = shared_undefined(cta, addr, mask, bytes);
            if (*undefined) note_undefined(w, Space::shared, addr[__builtin_ctz(*undefined)]);
        }
    }
    Counters& c = *cta.counters;
    c.shared_requests++;
    c.shared_wavefronts += p.waves;
    c.shared_conflicts += p.conflicts;
    return true;
}

EMU_INLINE bool check_shared(Warp& w, const uint32_t* addr, uint32_t mask, unsigned bytes, bool write,
                             uint32_t* undefined) {
    if (!place_shared(w, addr, mask, bytes, write, undefined)) return false;
    Observer* o = w.cta->observer;
    return !o || (write ? o->shared_write(w, mask, addr, bytes) : o->shared_read(w, mask, addr, bytes));
}

// Neighbours mostly share a word.
inline __attribute__((noinline)) void find_spots(SharedPattern& p, uint32_t first, uint32_t mask, uint32_t want) {
    for (uint32_t m = mask; m; m &= m - 1) {
        const int32_t at = int32_t(p.apart[__builtin_ctz(m)] + first % 32), word = at >> 5;
        uint32_t i = 0;
        while (i < p.spots && p.spot_word[i] != word) i++;
        if (i == p.spots) p.spot_word[p.spots++] = word, p.spot_bits[i] = 0;
        p.spot_bits[i] |= want << (at & 31);
    }
}
// Of an access that was just placed.
EMU_INLINE void define_shared(Warp& w, const uint32_t* addr, uint32_t mask, unsigned bytes) {
    uint32_t* defined = w.cta->shared_defined;
    const uint32_t want = (bytes >= 32 ? 0u : (1u << bytes)) - 1u, first = addr[__builtin_ctz(mask)];
    SharedPattern& p = w.cta->pattern(w);
    if (p.run && first % 32 == 0) { // words of the bitmap, one for each byte of the access
        memset(defined + first / 32, 0xff, 4 * bytes);
        return;
    }
    if (defined_around(p, defined, first + uint32_t(p.lowest), first + uint32_t(p.highest) + bytes)) return;
    if (p.spots_bit == first % 32) { // not the first time
        if (!p.spots) find_spots(p, first, mask, want);
        for (uint32_t i = 0; i < p.spots; i++) defined[int32_t(first / 32) + p.spot_word[i]] |= p.spot_bits[i];
        return;
    }
    p.spots = 0, p.spots_bit = first % 32;
    for (uint32_t m = mask; m; m &= m - 1) { // naturally aligned: never across a word of the bitmap
        uint32_t a = addr[__builtin_ctz(m)];
        defined[a >> 5] |= want << (a & 31);
    }
}

inline __attribute__((noinline)) void find_global_pattern(GlobalPattern& p, uint32_t pc, const uint64_t* addr,
                                                          uint32_t mask, unsigned bytes) {
    find_pattern(p, pc, addr, mask, bytes, 0);
    p.place = UINT32_MAX;
    uint64_t off = mask ^ FULL;
    EMU_LANES
    for (unsigned l = 0; l < 32; l++) off |= (p.apart[l & ~3u] & 63) | (p.apart[l] ^ (p.apart[l & ~3u] + 16 * (l & 3)));
    p.fours = bytes == 16 && !off;
}
// Sectors are the same too where the first lane is in the same place of its own.
EMU_INLINE GlobalPattern& pattern_of(Warp& w, const uint64_t* addr, uint32_t mask, unsigned bytes) {
    GlobalPattern& p = w.cta->global_pattern(w);
    if (__builtin_expect(!fits(p, w.pc, addr, mask, bytes, 0), 0)) find_global_pattern(p, w.pc, addr, mask, bytes);
    if (const uint32_t place = addr[__builtin_ctz(mask)] & 31; place != p.place) {
        p.place = place;
        p.sectors = p.run ? (place + 32 * bytes + 31) / 32 : global_sectors_slow(addr, mask);
    }
    return p;
}
// Are these bytes, from the lowest lane's to the highest one's, all of one allocation?
EMU_INLINE bool is_inside(const Allocation* a, const GlobalPattern& p, uint64_t first, unsigned bytes) {
    const uint64_t from = first + uint64_t(p.lowest), last = first + uint64_t(p.highest); // neither may wrap
    return a && from >= a->start && from <= first && first <= last && last - a->start < a->bytes &&
           a->bytes - (last - a->start) >= bytes;
}

EMU_INLINE bool all_defined(const Memory& memory, const GlobalPattern& p, const uint64_t* addr, uint32_t mask,
                            unsigned bytes) {
    bool all = true;
    const uint8_t* const defined = memory.defined_bits();
    const uint64_t base = memory.base();
    if (p.fours && (addr[0] - base) % 64 == 0) {
        uint64_t bits = ~0ull;
        for (int l = 0; l < 32; l += 4)
            bits &=
                __atomic_load_n(reinterpret_cast<const uint64_t*>(defined + ((addr[l] - base) >> 3)), __ATOMIC_RELAXED);
        return !~bits;
    }
    if (mask == FULL && bytes == 16) {
        uint16_t missing = 0;
        for (int l = 0; l < 32; l++)
            missing |= uint16_t(~__atomic_load_n(reinterpret_cast<const uint16_t*>(defined + ((addr[l] - base) >> 3)),
                                                 __ATOMIC_RELAXED));
        return !missing;
    }
    for (uint32_t m = mask; m; m &= m - 1) all &= memory.defined_small(addr[__builtin_ctz(m)], bytes);
    return all;
}

EMU_INLINE bool check_global(Warp& w, const uint64_t* addr, uint32_t mask, unsigned bytes, bool write,
                             uint32_t* undefined) {
    Memory& memory = *w.launch->memory;
    const uint64_t first = addr[__builtin_ctz(mask)];
    const GlobalPattern& p = pattern_of(w, addr, mask, bytes);
    const Allocation* a = memory.lookup(first);
    const bool good = !((first | p.odd) & (bytes - 1)) && is_inside(a, p, first, bytes);
    if (__builtin_expect(!good, 0)) return global_slow(w, addr, mask, bytes, write, undefined);
    w.cta->changes += write;
    Counters& c = *w.cta->counters;
    c.global_requests++;
    (write ? c.global_write_bytes : c.global_read_bytes) += uint64_t(count_lanes(mask)) * bytes;
    c.global_sectors += p.sectors;
    if (!a->all_defined.load(std::memory_order_relaxed)) {
        if (write) {
            if (p.run && ((first - memory.base()) & 7) == 0) {
                memset(memory.defined_bits() + ((first - memory.base()) >> 3), 0xff, 4 * bytes);
            } else {
                for (uint32_t m = mask; m; m &= m - 1) memory.define_small(addr[__builtin_ctz(m)], bytes);
            }
        } else if (w.launch->options.check_undefined) {
            const bool all = p.run ? memory.is_defined(first, 32 * bytes) : all_defined(memory, p, addr, mask, bytes);
            *undefined = all ? 0 : global_undefined(memory, addr, mask, bytes);
            if (*undefined) note_undefined(w, Space::global, addr[__builtin_ctz(*undefined)]);
        }
    }
    if (w.cta->observer) return w.cta->observer->global_access(w, mask, addr, bytes, write);
    return true;
}

} // namespace emu::EMU_LEVEL
