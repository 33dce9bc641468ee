// SPDX-License-Identifier: Apache-2.0
// The slow half of exec/access.h: which lane is at fault and why, exact conflict and sector counts, undefined lanes.
#include "../report/report.h"
#include "peers.h"
#include "run.h"

namespace emu {

// Where bytes lie that are not all in one variable, beside the nearest; or nothing. A place of 0 bytes ends at `last`.
static std::string stray_among(const std::vector<StoragePlace>& places, uint32_t last, uint32_t address,
                               unsigned bytes) {
    const StoragePlace* nearest = nullptr;
    uint64_t least = UINT64_MAX;
    for (const StoragePlace& p : places) {
        const uint64_t end = p.bytes ? p.from + p.bytes : last;
        if (address >= p.from && uint64_t(address) + bytes <= end) return {};
        const uint64_t apart = address < p.from ? p.from - address : uint64_t(address) + bytes - end;
        if (apart < least) nearest = &p, least = apart;
    }
    if (!nearest) return {};
    return std::to_string(least) + (address < nearest->from ? " bytes before " : " bytes past the end of ") + "'" +
           nearest->name + "' (" + std::to_string(nearest->bytes ? nearest->bytes : last - nearest->from) +
           " bytes at 0x" + hex(nearest->from) + ")";
}

bool no_such_block(Warp& w, int lane, uint64_t address, unsigned bytes, bool write) {
    report_access(w, "bounds", lane, Space::shared, address, bytes, write,
                  "is in no block of the cluster, which has " + std::to_string(w.own->cluster->blocks.size()));
    return false;
}

bool shared_fault(Warp& w, const uint32_t* addr, uint32_t mask, unsigned bytes, bool write) {
    uint32_t end = w.cta->shared_end;
    for (uint32_t m = mask; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        uint32_t a = addr[l];
        if (a >= PEER_BYTES && w.cta->cluster->blocks.size() > 1 && block_of(*w.cta, a)) {
            report_access(w, "space", l, Space::shared, a, bytes, write,
                          "lies in block " + std::to_string(block_of(*w.cta, a)->rank) +
                              " of the cluster: the instruction reaches its own block alone");
            return false;
        }
        if (a & (bytes - 1)) {
            report_access(w, "misaligned", l, Space::shared, a, bytes, write,
                          "is not aligned to its " + std::to_string(bytes) + " bytes");
            return false;
        }
        if (a >= SHARED_BASE && uint64_t(a) + bytes <= end) {
            const std::string stray = stray_among(w.kernel->shared_places, end, a, bytes);
            if (stray.empty()) continue;
            report_access(w, "bounds", l, Space::shared, a, bytes, write, stray);
            return false;
        }
        std::string size = std::to_string(w.kernel->static_smem + w.launch->dynamic_smem) +
                           " bytes of shared memory (0x" + hex(SHARED_BASE) + "..0x" + hex(end) + ")";
        if (a < SHARED_BASE)
            report_access(w, "bounds", l, Space::shared, a, bytes, write, "lies before the block's " + size);
        else
            report_access(w, "smem-budget", l, Space::shared, a, bytes, write,
                          "ends " + std::to_string(uint64_t(a) + bytes - end) + " bytes past the block's " + size);
        return false;
    }
    return true;
}

bool local_fault(Warp& w, int lane, uint64_t address, unsigned bytes, bool write) {
    if (address & (bytes - 1)) {
        report_access(w, "misaligned", lane, Space::local, address, bytes, write, "is not aligned");
    } else if (address <= UINT32_MAX && !w.kernel->local_places.empty()) {
        report_access(w, "bounds", lane, Space::local, address, bytes, write,
                      stray_among(w.kernel->local_places, w.kernel->local_bytes, uint32_t(address), bytes));
    } else {
        report_access(w, "bounds", lane, Space::local, address, bytes, write, "is outside the thread's local memory");
    }
    return false;
}

bool param_fault(Warp& w, int lane, uint64_t address, unsigned bytes) {
    if (address & (bytes - 1))
        report_access(w, "misaligned", lane, Space::param, address, bytes, false, "is not aligned");
    else
        report_access(w, "bounds", lane, Space::param, address, bytes, false,
                      "is outside the kernel's parameters, which have " + std::to_string(w.kernel->info.param_bytes) +
                          " bytes");
    return false;
}

// With cta.shared_inside. Accesses are aligned: none across a word of the bits. Where one variable holds them all, from
// `from` to `end`, the pattern remembers it.
bool inside_variables(const Warp& w, SharedPattern& p, const uint32_t* addr, uint32_t mask, unsigned bytes,
                      uint32_t from, uint32_t end) {
    const Cta& cta = *w.cta;
    const uint32_t want = (bytes >= 32 ? 0u : (1u << bytes)) - 1u;
    uint32_t missing = 0;
    for (uint32_t m = mask; m; m &= m - 1) {
        const uint32_t a = addr[__builtin_ctz(m)];
        missing |= ~(cta.shared_inside[a >> 5] >> (a & 31)) & want;
    }
    for (const StoragePlace& place : w.kernel->shared_places) {
        const uint32_t last = place.bytes ? place.from + place.bytes : cta.shared_end;
        if (from >= place.from && end <= last) p.place_from = place.from, p.place_end = last;
    }
    return !missing;
}

uint32_t shared_undefined(const Cta& cta, const uint32_t* addr, uint32_t mask, unsigned bytes) {
    uint32_t bad = 0;
    for (uint32_t m = mask; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        if (!cta.shared_is_defined(addr[l], bytes)) bad |= 1u << l;
    }
    return bad;
}

uint32_t global_undefined(const Memory& memory, const uint64_t* addr, uint32_t mask, unsigned bytes) {
    uint32_t bad = 0;
    for (uint32_t m = mask; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        if (!memory.defined_small(addr[l], bytes)) bad |= 1u << l;
    }
    return bad;
}

// Distinct words in one bank need one wavefront each; equal words are served together. Accesses are aligned, so what is
// wider than a word is counted in units of its own size: a group of lanes that fills 128 bytes at a time.
unsigned shared_wavefronts(const uint32_t* addr, uint32_t mask, unsigned bytes) {
    unsigned width = bytes <= 4 ? 4 : bytes, units = 128 / width, shift = unsigned(__builtin_ctz(width)), waves = 0;
    for (unsigned g = 0; g < 32; g += units) {
        uint32_t lanes = (mask >> g) & (units == 32 ? FULL : (1u << units) - 1);
        uint32_t word[32];
        uint8_t next[32], head[32] = {}, depth[32] = {}; // chains of distinct words, by bank; entries are lane + 1
        unsigned most = 0;
        for (uint32_t m = lanes; m; m &= m - 1) {
            unsigned l = unsigned(__builtin_ctz(m));
            uint32_t v = addr[g + l] >> shift;
            unsigned bank = v & (units - 1), i = head[bank];
            while (i && word[i - 1] != v) i = next[i - 1];
            if (i) continue;
            word[l] = v;
            next[l] = head[bank];
            head[bank] = uint8_t(l + 1);
            if (++depth[bank] > most) most = depth[bank];
        }
        waves += most;
    }
    return waves;
}

// Sectors of 32 bytes; an access of up to 32 aligned bytes lies in one. Rising addresses need no search.
unsigned global_sectors_slow(const uint64_t* addr, uint32_t mask) {
    if (mask == FULL) {
        uint64_t falls = 0, steps = 0;
        for (unsigned l = 0; l < 31; ++l) {
            const uint64_t rise = (addr[l + 1] >> 5) - (addr[l] >> 5);
            falls |= rise;
            steps += rise != 0;
        }
        if (!(falls >> 63)) return unsigned(steps) + 1;
    }
    uint64_t seen[32], last = 0, most = 0;
    unsigned count = 0;
    for (uint32_t m = mask; m; m &= m - 1) {
        uint64_t sector = addr[__builtin_ctz(m)] >> 5;
        if (count && sector == last) continue;
        last = sector;
        unsigned i = 0;
        if (count && sector > most) i = count;
        while (i < count && seen[i] != sector) i++;
        if (i < count) continue;
        seen[count++] = sector;
        most = sector > most ? sector : most;
    }
    return count;
}

// Lanes that point into several allocations, or one that is at fault.
bool global_slow(Warp& w, const uint64_t* addr, uint32_t mask, unsigned bytes, bool write, uint32_t* undefined) {
    Memory& memory = *w.launch->memory;
    uint32_t bad_lanes = 0;
    for (uint32_t m = mask; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        uint64_t a = addr[l];
        const Allocation* in = memory.lookup(a);
        if (a >= SHARED_WINDOW && a < PARAM_WINDOW + WINDOW_BYTES) {
            report_access(w, "space", l, Space::global, a, bytes, write,
                          a < PARAM_WINDOW ? "is an address of another space"
                                           : "is an address of the kernel's parameters, which can only be loaded");
            return false;
        }
        if (!in || a < in->start || a + bytes > in->end()) {
            if (a <= UINT32_MAX && a >= SHARED_BASE && a < w.cta->shared_end)
                report_access(w, "space", l, Space::global, a, bytes, write, "looks like a shared address");
            else report_access(w, "bounds", l, Space::global, a, bytes, write, memory.describe(a));
            return false;
        }
        if (a & (bytes - 1)) {
            report_access(w, "misaligned", l, Space::global, a, bytes, write,
                          "is not aligned to its " + std::to_string(bytes) + " bytes");
            return false;
        }
        if (write) memory.define_small(a, bytes);
        else if (w.launch->options.check_undefined && !memory.defined_small(a, bytes)) bad_lanes |= 1u << l;
    }
    if (!write && undefined) *undefined = bad_lanes;
    w.cta->changes += write;
    if (bad_lanes) note_undefined(w, Space::global, addr[__builtin_ctz(bad_lanes)]);
    Counters& c = *w.cta->counters;
    c.global_requests++;
    c.global_sectors += global_sectors_slow(addr, mask);
    (write ? c.global_write_bytes : c.global_read_bytes) += uint64_t(count_lanes(mask)) * bytes;
    return !w.cta->observer || w.cta->observer->global_access(w, mask, addr, bytes, write);
}

void note_undefined(Warp& w, Space space, uint64_t address) {
    w.origin_pc = w.pc;
    w.origin_space = space;
    w.origin_address = address;
    w.has_origin = true;
}

std::string undefined_origin(const Warp& w) {
    if (!w.has_origin) return {};
    std::string text = "bytes without a value were loaded by " + w.kernel->infos[w.origin_pc].text + " at " +
                       where(*w.kernel, w.origin_pc) + " from " + name_of(w.origin_space) + " 0x" +
                       hex(w.origin_address);
    if (w.origin_space == Space::global) return text + ", " + w.launch->memory->describe(w.origin_address);
    if (w.origin_space == Space::local) return text;
    std::string copy = w.cta->async ? async_describe(w.cta->async, uint32_t(w.origin_address)) : std::string();
    return copy.empty() ? text : text + "\n  " + copy;
}

} // namespace emu
