// SPDX-License-Identifier: Apache-2.0
// Races and copies in flight in shared memory. See README.md for the rules.
#include "checker.h"

#include <cstdio>
#include <cstring>

#include "../exec/async.h"

namespace emu {

namespace {
// Do two lanes of an ordinary store write the same bytes? Elements lie in registers of 4, 8 or 16 bytes a lane.
bool stores_equal(const Warp& w, const Inst& in, unsigned x, unsigned y) {
    const size_t lane_bytes = in.bytes == 16 ? 16 : store_register_bytes(in) == 8 ? 8 : 4;
    for (unsigned v = 0; v < in.vec; ++v) {
        const uint8_t* lanes = w.reg<uint8_t>(in.r[1 + v]);
        if (std::memcmp(lanes + x * lane_bytes, lanes + y * lane_bytes, in.bytes)) return false;
    }
    return true;
}
} // namespace

Observer* make_checker(Launch& launch) { return launch.options.check_race ? new Checker(launch) : nullptr; }

void Checker::cta_begin(Cta& cta) {
    cta_ = &cta;
    clocks_.reset();
    words_.reset(cta.shared_end);
    atomics_.clear();
    for (auto& count : warp_syncs_) count = 0;
    for (auto& use : barriers_) use = {};
}

// --- messages ---

std::string Checker::line(const char* what, unsigned warp, int lane, uint32_t pc, uint32_t address,
                          unsigned span) const {
    char text[96], who[32];
    if (lane < 0) std::snprintf(who, sizeof who, "warp %u", warp);
    else std::snprintf(who, sizeof who, "warp %u lane %d", warp, lane);
    std::snprintf(text, sizeof text, "   %s   shared 0x%x..0x%x\n", who, address, address + span - 1);
    return std::string("  ") + what + "  " + where(*cta_->kernel, pc) + text;
}

std::string Checker::replay() const {
    static const char* const SCHEDULES[] = {"round_robin", "random", "starve_low", "starve_high"};
    return "  replay: LIBSPARK_EMU=seed=" + std::to_string(launch_.options.seed) +
           ",sched=" + SCHEDULES[unsigned(launch_.options.schedule) % 4] +
           (launch_.options.late_reads ? ",late_reads=1" : "") + "\n";
}

bool Checker::race(const Access& a, const char* now, const char* then, unsigned warp, unsigned lane, uint32_t pc,
                   bool lane_known) {
    std::string body = line(now, a.warp.index, int(a.lane), a.warp.pc, a.address, a.span);
    body += line(then, warp, lane_known ? int(lane) : -1, pc, a.address, a.span);
    if (warp == a.warp.index) body += "  two lanes of one instruction write different values there\n";
    else
        body += "  nothing orders them: warp " + std::to_string(a.warp.index) + " has seen warp " +
                std::to_string(warp) + " up to its moment " + std::to_string(clocks_.knows(a.warp.index, warp)) +
                ", the earlier access came later; " + std::to_string(cta_->barrier_epoch) +
                " barriers of the block are complete\n";
    report_raw(*cta_, "race", a.warp.pc, body + replay());
    return false;
}

bool Checker::in_flight(const Access& a, const Record& r, const char* now) {
    std::string body = line(now, a.warp.index, int(a.lane), a.warp.pc, a.address, a.span);
    body += line("copy ", r.write_warp, r.write_lane, r.write_pc, a.address, a.span);
    body += "  the asynchronous copy is still in flight: no wait_group of its thread covers it yet\n";
    report_raw(*cta_, "async", a.warp.pc, body + replay());
    return false;
}

bool Checker::unpublished(const Access& a, const Record& r) {
    std::string body = line("read ", a.warp.index, int(a.lane), a.warp.pc, a.address, a.span);
    body += line("copy ", r.write_warp, r.write_lane, r.write_pc, a.address, a.span);
    body += "  after a wait_group the bytes are visible to the thread that issued the copy; "
            "others need a barrier after that wait\n";
    report_raw(*cta_, "async", a.warp.pc, body + replay());
    return false;
}

// --- one record ---

bool Checker::read_record(const Access& a, Record& r) {
    const unsigned w = a.warp.index;
    if (r.flags & Record::in_flight) return in_flight(a, r, "read ");
    if (r.write_clock && (r.write_bytes & a.bytes)) {
        if (r.write_warp != w) {
            if (!clocks_.before(r.write_warp, r.write_clock, w)) {
                if (r.flags & Record::copied) return unpublished(a, r);
                return race(a, "read ", r.flags & Record::atomic ? "atomic" : "write", r.write_warp, r.write_lane,
                            r.write_pc, true);
            }
        } else if ((r.flags & Record::copied) && (r.write_lane != a.lane || a.matrix) &&
                   r.write_clock == clocks_.now(w) && r.copy_sync == warp_syncs_[w]) {
            return unpublished(a, r);
        }
    }
    const uint32_t bit = 1u << w, clock = clocks_.now(w);
    if (r.read_bytes && r.read_bytes != a.bytes) { // pieces of a word: remember the newest reader only
        const bool mine = r.readers[0] == bit && !r.readers[1] && r.read_clock[0] == clock;
        if (!mine) r.readers[0] = r.readers[1] = 0, r.read_bytes = 0;
    }
    r.note_read(w, a.lane, a.warp.pc, clock, a.bytes);
    return true;
}

bool Checker::write_record(const Access& a, Record& r, bool atomic) {
    const unsigned w = a.warp.index;
    const char* now = atomic ? "atomic" : "write";
    if (r.flags & Record::in_flight) return in_flight(a, r, now);
    const bool both_atomic = atomic && (r.flags & Record::atomic);
    if (r.write_clock && (r.write_bytes & a.bytes) && !both_atomic && r.write_warp != w &&
        !clocks_.before(r.write_warp, r.write_clock, w))
        return race(a, now, r.flags & Record::atomic ? "atomic" : "write", r.write_warp, r.write_lane, r.write_pc,
                    true);
    if (r.read_bytes & a.bytes)
        for (unsigned set = 0; set < 2; ++set)
            for (uint32_t m = r.readers[set] & ~(1u << w); m; m &= m - 1) {
                const unsigned reader = unsigned(__builtin_ctz(m));
                if (!clocks_.before(reader, r.read_clock[set], w))
                    return race(a, now, "read ", reader, r.read_lane, r.read_pc, reader == r.read_warp);
            }
    r.note_write(w, a.lane, a.warp.pc, clocks_.now(w), a.bytes, atomic ? Record::atomic : 0);
    return true;
}

// --- instructions ---

template <class F> bool Checker::each_record(Warp& w, uint32_t mask, const uint32_t* addr, unsigned bytes, F f) {
    const bool matrix = bytes == 16 && (w.kernel->code[w.pc].flags & Inst::aligned);
    for (uint32_t m = mask; m; m &= m - 1) {
        const unsigned lane = unsigned(__builtin_ctz(m));
        const uint32_t a = addr[lane];
        if (bytes == 16 && !words_.is_split(a)) {
            if (!f(Access{w, lane, a, 16, 15, matrix}, words_.coarse(a))) return false;
        } else if (bytes >= 4) {
            for (unsigned i = 0; i < bytes; i += 4)
                if (!f(Access{w, lane, a + i, 4, 15, matrix}, words_.fine(a + i))) return false;
        } else {
            const uint8_t touched = uint8_t(((1u << bytes) - 1) << (a & 3));
            if (!f(Access{w, lane, a & ~3u, 4, touched, false}, words_.fine(a & ~3u))) return false;
        }
    }
    return true;
}

// The everyday case of 16 bytes, where all is ordered and nothing in flight, without calls. Returns the lanes that need
// a closer look.
uint32_t Checker::quick_reads(Warp& w, uint32_t mask, const uint32_t* addr) {
    const VectorClock& known = clocks_.all(w.index);
    const uint32_t clock = known[w.index];
    uint32_t left = 0;
    for (uint32_t m = mask; m; m &= m - 1) {
        const unsigned lane = unsigned(__builtin_ctz(m));
        Record& r = words_.coarse(addr[lane]);
        const bool fresh_copy = (r.flags & Record::copied) && r.write_clock == clock; // perhaps its own
        if ((r.flags & (Record::split | Record::in_flight)) || r.write_clock > known[r.write_warp] || fresh_copy)
            left |= 1u << lane;
        else r.note_read(w.index, lane, w.pc, clock, 15);
    }
    return left;
}

uint32_t Checker::quick_writes(Warp& w, uint32_t mask, const uint32_t* addr) {
    const VectorClock& known = clocks_.all(w.index);
    const uint32_t clock = known[w.index], all = *std::min_element(known.begin(), known.begin() + cta_->nwarps);
    uint32_t left = 0;
    for (uint32_t m = mask; m; m &= m - 1) {
        const unsigned lane = unsigned(__builtin_ctz(m));
        Record& r = words_.coarse(addr[lane]);
        const bool unseen = (r.readers[0] && r.read_clock[0] > all) || (r.readers[1] && r.read_clock[1] > all);
        if ((r.flags & (Record::split | Record::in_flight)) || r.write_clock > known[r.write_warp] || unseen)
            left |= 1u << lane;
        else r.note_write(w.index, lane, w.pc, clock, 15, 0);
    }
    return left;
}

bool Checker::shared_read(Warp& w, uint32_t mask, const uint32_t* addr, unsigned bytes) {
    if (bytes == 16) mask = quick_reads(w, mask, addr);
    return each_record(w, mask, addr, bytes, [&](const Access& a, Record& r) { return read_record(a, r); });
}

bool Checker::write_records(Warp& w, uint32_t mask, const uint32_t* addr, unsigned bytes) {
    if (bytes == 16) mask = quick_writes(w, mask, addr);
    if (!each_record(w, mask, addr, bytes, [&](const Access& a, Record& r) { return write_record(a, r, false); }))
        return false;
    if (bytes == 16)
        for (uint32_t m = mask; m; m &= m - 1) {
            const uint32_t a = addr[__builtin_ctz(m)];
            if (words_.is_split(a)) words_.merge(a);
        }
    return true;
}

bool Checker::shared_write(Warp& w, uint32_t mask, const uint32_t* addr, unsigned bytes) {
    const Inst& in = w.kernel->code[w.pc];
    const bool rows = in.flags & Inst::aligned; // stmatrix: a row comes from registers of several lanes
    auto same = [&](unsigned x, unsigned y) { return !rows && stores_equal(w, in, x, y); };
    return same_instruction(w, mask, addr, bytes, same) && write_records(w, mask, addr, bytes);
}

bool Checker::shared_atomic(Warp& w, uint32_t mask, const uint32_t* addr, unsigned bytes) {
    if (!each_record(w, mask, addr, bytes, [&](const Access& a, Record& r) { return write_record(a, r, true); }))
        return false;
    for (uint32_t m = mask; m; m &= m - 1) {
        const uint32_t a = addr[__builtin_ctz(m)] & ~3u;
        auto [entry, fresh] = atomics_.try_emplace(a);
        if (fresh) entry->second.fill(0);
        clocks_.atomic(w.index, entry->second);
    }
    return true;
}

// Two lanes of one instruction that write the same bytes: allowed only if they write the same.
template <class F>
bool Checker::same_instruction(Warp& w, uint32_t mask, const uint32_t* addr, unsigned bytes, F writes_the_same) {
    // Accesses are aligned, so that only equal addresses meet. Everyday stores are told apart by their low bits alone.
    const unsigned shift = unsigned(__builtin_ctz(bytes));
    uint64_t seen[16] = {}, met = 0;
    for (uint32_t m = mask; m; m &= m - 1) {
        const uint32_t unit = addr[__builtin_ctz(m)] >> shift;
        uint64_t& word = seen[unit >> 6 & 15];
        const uint64_t bit = 1ull << (unit & 63);
        met |= word & bit;
        word |= bit;
    }
    if (!met) return true;
    for (uint32_t m = mask; m; m &= m - 1) {
        const unsigned x = unsigned(__builtin_ctz(m));
        for (uint32_t rest = m & (m - 1); rest; rest &= rest - 1) {
            const unsigned y = unsigned(__builtin_ctz(rest));
            if (addr[x] != addr[y] || writes_the_same(x, y)) continue;
            return race(Access{w, y, addr[y], bytes, 15, false}, "write", "write", w.index, x, w.pc, true);
        }
    }
    return true;
}

void Checker::warp_sync(Warp& w, uint32_t) { ++warp_syncs_[w.index]; }
void Checker::fence(Warp& w, uint32_t) { clocks_.fence(w.index); }

bool Checker::async_issue(Warp& w, const AsyncCopy& copy) {
    auto same = [&](unsigned x, unsigned y) {
        return copy.valid[x] == copy.valid[y] && (!copy.valid[x] || copy.src[x] == copy.src[y]);
    };
    if (!same_instruction(w, copy.mask, copy.dst, copy.bytes, same)) return false;
    if (!write_records(w, copy.mask, copy.dst, copy.bytes)) return false;
    return each_record(w, copy.mask, copy.dst, copy.bytes, [&](const Access&, Record& r) {
        r.flags |= Record::in_flight;
        return true;
    });
}

void Checker::async_land(Cta&, unsigned warp, uint32_t mask, const uint32_t* dst, unsigned bytes) {
    const uint32_t clock = clocks_.now(warp);
    for (uint32_t m = mask; m; m &= m - 1) {
        const unsigned lane = unsigned(__builtin_ctz(m));
        auto settle = [&](Record& r) {
            r.flags = uint8_t((r.flags & ~Record::in_flight) | Record::copied);
            r.write_clock = clock;
            r.write_warp = uint8_t(warp);
            r.write_lane = uint8_t(lane);
            r.copy_sync = warp_syncs_[warp];
        };
        const uint32_t a = dst[lane];
        if (bytes == 16 && !words_.is_split(a)) settle(words_.coarse(a));
        else
            for (unsigned i = 0; i < bytes; i += 4) settle(words_.fine(a + i));
    }
}

} // namespace emu
