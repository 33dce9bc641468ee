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
bool inside_variables(const Cta& cta, const uint32_t* addr, uint32_t mask, unsigned bytes);
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

// An instruction mostly finds its lanes as far apart as last time, and then the banks are as well: all of them move on
// together with the first lane's address, which is a multiple of the access.
EMU_INLINE void count_shared(Warp& w, const uint32_t* addr, uint32_t mask, unsigned bytes) {
    Counters& c = *w.cta->counters;
    const unsigned lanes = __builtin_popcount(mask), group = bytes <= 4 ? 32 : 128 / bytes;
    const unsigned least = (lanes + group - 1) / group;
    Conflicts& last = w.cta->conflicts[w.pc % std::size(w.cta->conflicts)];
    const uint32_t first = addr[__builtin_ctz(mask)], shift = bytes < 4 ? first & 3 : 0;
    uint32_t differs = (last.pc ^ w.pc) | (last.mask ^ mask) | (last.shift ^ shift);
    EMU_LANES
    for (int l = 0; l < 32; l++) differs |= ((addr[l] - first) ^ last.apart[l]) & (0u - (mask >> l & 1u));
    if (__builtin_expect(differs != 0, 0)) {
        last.pc = w.pc;
        last.mask = mask;
        last.meet = Conflicts::unknown;
        last.shift = shift;
        EMU_LANES
        for (int l = 0; l < 32; l++) last.apart[l] = addr[l] - first;
        last.waves = waves_apart(addr, mask, bytes, least);
        if (!last.waves) last.waves = shared_wavefronts(addr, mask, bytes);
    }
    c.shared_requests++;
    c.shared_wavefronts += last.waves;
    c.shared_conflicts += last.waves > least ? last.waves - least : 0;
}

// All lanes, one after the other at addr[0], addr[0] + bytes, ...?
EMU_INLINE bool is_run(const uint32_t* addr, uint32_t mask, unsigned bytes) {
    uint32_t off = ~mask;
    EMU_LANES
    for (int l = 0; l < 32; l++) off |= addr[l] ^ (addr[0] + uint32_t(l) * bytes);
    return off == 0;
}
// Does it fill words of the bitmap of defined bytes, `bytes` of them?
EMU_INLINE bool fills_words(const uint32_t* addr, uint32_t mask, unsigned bytes) {
    return addr[0] % 32 == 0 && is_run(addr, mask, bytes);
}

// False after a report. addr holds 32 addresses; lanes outside the mask may hold anything. The observer is not told.
EMU_INLINE bool place_shared(Warp& w, const uint32_t* addr, uint32_t mask, unsigned bytes, bool write,
                             uint32_t* undefined) {
    Cta& cta = *w.cta;
    const Options& o = w.launch->options;
    uint32_t size = cta.shared_end - SHARED_BASE, room = size >= bytes ? size - bytes + 1 : 0; // places where it fits
    uint32_t bad = 0;
    EMU_LANES
    for (int l = 0; l < 32; l++) {
        uint32_t on = 0u - ((mask >> l) & 1u);
        uint32_t wrong = (addr[l] & (bytes - 1)) | (addr[l] - SHARED_BASE >= room ? 1u : 0u);
        bad |= on & wrong;
    }
    if (__builtin_expect(bad != 0, 0)) return shared_fault(w, addr, mask, bytes, write);
    if (cta.shared_inside && !inside_variables(cta, addr, mask, bytes))
        return shared_fault(w, addr, mask, bytes, write);
    if (write) cta.changes++;
    else if (o.check_undefined) {
        uint32_t missing = 0;
        uint32_t want = bytes >= 32 ? ~0u : (1u << bytes) - 1u;
        const uint32_t* defined = cta.shared_defined;
        if (fills_words(addr, mask, bytes)) {
            for (unsigned i = 0; i < bytes; i++) missing |= ~defined[addr[0] / 32 + i];
        } else if (mask == FULL && bytes == 16) { // half a word each, wherever its bytes lie in memory
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
        *undefined = __builtin_expect(missing != 0, 0) ? shared_undefined(cta, addr, mask, bytes) : 0;
        if (*undefined) note_undefined(w, Space::shared, addr[__builtin_ctz(*undefined)]);
    }
    count_shared(w, addr, mask, bytes);
    return true;
}

EMU_INLINE bool check_shared(Warp& w, const uint32_t* addr, uint32_t mask, unsigned bytes, bool write,
                             uint32_t* undefined) {
    if (!place_shared(w, addr, mask, bytes, write, undefined)) return false;
    Observer* o = w.cta->observer;
    return !o || (write ? o->shared_write(w, mask, addr, bytes) : o->shared_read(w, mask, addr, bytes));
}

EMU_INLINE void define_shared(Warp& w, const uint32_t* addr, uint32_t mask, unsigned bytes) {
    uint32_t* defined = w.cta->shared_defined;
    uint32_t want = (bytes >= 32 ? 0u : (1u << bytes)) - 1u;
    if (fills_words(addr, mask, bytes)) {
        memset(defined + addr[0] / 32, 0xff, 4 * bytes);
        return;
    }
    if (bytes == 8 || bytes == 16) { // whole bytes of the bitmap
        for (uint32_t m = mask; m; m &= m - 1)
            memset(reinterpret_cast<uint8_t*>(defined) + addr[__builtin_ctz(m)] / 8, 0xff, bytes / 8);
        return;
    }
    for (uint32_t m = mask; m; m &= m - 1) { // naturally aligned: never across a word of the bitmap
        uint32_t a = addr[__builtin_ctz(m)];
        defined[a >> 5] |= want << (a & 31);
    }
}

// One lane after the other at addr[0], addr[0] + bytes, ...?
EMU_INLINE bool is_contiguous(const uint64_t* addr, unsigned bytes) {
    uint64_t off = 0, first = addr[0];
    EMU_LANES
    for (int l = 0; l < 32; l++) off |= addr[l] ^ (first + uint64_t(l) * bytes);
    return off == 0;
}

EMU_INLINE bool check_global(Warp& w, const uint64_t* addr, uint32_t mask, unsigned bytes, bool write,
                             uint32_t* undefined) {
    Memory& memory = *w.launch->memory;
    const Options& o = w.launch->options;
    unsigned lane = unsigned(__builtin_ctz(mask));
    const Allocation* a = memory.lookup(addr[lane]);
    uint64_t room = a && a->bytes >= bytes ? a->bytes - bytes + 1 : 0, start = a ? a->start : 0, bad = 0;
    EMU_LANES
    for (int l = 0; l < 32; l++) {
        uint64_t on = 0ull - uint64_t((mask >> l) & 1u);
        uint64_t wrong = (addr[l] & (bytes - 1)) | (addr[l] - start >= room ? 1ull : 0ull);
        bad |= on & wrong;
    }
    if (__builtin_expect(bad != 0, 0)) return global_slow(w, addr, mask, bytes, write, undefined);
    bool contiguous = mask == FULL && is_contiguous(addr, bytes);
    w.cta->changes += write;
    Counters& c = *w.cta->counters;
    c.global_requests++;
    (write ? c.global_write_bytes : c.global_read_bytes) += uint64_t(__builtin_popcount(mask)) * bytes;
    c.global_sectors +=
        contiguous ? ((addr[0] + 32 * bytes - 1) >> 5) - (addr[0] >> 5) + 1 : global_sectors_slow(addr, mask);
    if (!a->all_defined.load(std::memory_order_relaxed)) {
        if (write) {
            if (contiguous && ((addr[0] - memory.base()) & 7) == 0) {
                memset(memory.defined_bits() + ((addr[0] - memory.base()) >> 3), 0xff, 4 * bytes);
            } else {
                for (uint32_t m = mask; m; m &= m - 1) memory.define_small(addr[__builtin_ctz(m)], bytes);
            }
        } else if (o.check_undefined) {
            bool all = contiguous && memory.is_defined(addr[0], 32 * bytes);
            *undefined = all ? 0 : global_undefined(memory, addr, mask, bytes);
            if (*undefined) note_undefined(w, Space::global, addr[__builtin_ctz(*undefined)]);
        }
    }
    if (w.cta->observer) return w.cta->observer->global_access(w, mask, addr, bytes, write);
    return true;
}

} // namespace emu::EMU_LEVEL
