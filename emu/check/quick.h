// SPDX-License-Identifier: Apache-2.0
// The everyday access of shared memory: within a block, all is ordered, nothing in flight, nobody else reads meanwhile.
// What one instruction compares each record with; whatever it does not take, the rules of Checker decide.
#pragma once

#include "checker.h"

namespace emu {

struct Checker::Quick {
    static constexpr unsigned SLOW = Record::split | Record::in_flight | Record::collective | Record::foreign;
    const Past::Warps& known;
    Moment now, least; // least: up to it every warp's accesses are known
    uint32_t pc, bit;
    uint8_t agent, block;

    bool read(Record& r, uint32_t lane, uint32_t lanes) const { // lane 0: no lane reads what it wrote itself
        if (r.flags & SLOW) return false;
        if (r.write_moment > known[r.write_warp] && !(r.write_warp == agent && r.write_lanes == lane)) return false;
        Reads& q = r.reads;
        if (q.strong) return false;
        if (q.moment == now && q.warps == bit) q.lanes |= lanes;
        else if (q.moment == now && q.lanes == lanes) q.warps |= bit;
        else if (!q.next && (!q.warps || over(q, lane))) q = {now, bit, lanes, pc, 0, false, false, block};
        else return false;
        q.pc = pc;
        return true;
    }
    // By one lane; a strong access, also by lanes that have all written it last, as strongly. `flags`: of the record.
    bool may_write(const Record& r, uint32_t lanes, uint8_t flags) const {
        if (r.flags & SLOW) return false;
        const bool mine = r.write_warp == agent && r.write_lanes == lanes;
        const bool alone = !(lanes & (lanes - 1)) || (flags && (r.flags & Record::strong));
        if (r.write_moment > known[r.write_warp] && !(mine && alone)) return false;
        return !r.reads.warps || (!r.reads.next && !r.reads.strong && over(r.reads, lanes));
    }
    bool write(Record& r, uint32_t lanes, uint8_t flags) const {
        if (!may_write(r, lanes, flags)) return false;
        set_write(r, lanes, flags);
        return true;
    }
    void set_write(Record& r, uint32_t lanes, uint8_t flags) const {
        r.write_moment = now;
        r.write_lanes = lanes;
        r.write_pc = pc;
        r.write_warp = agent;
        r.write_block = block;
        r.flags = flags;
        r.reads.warps = 0;
    }
    // A line: each lane its word. Its reads are no strong ones.
    bool read_line(Record& r) const {
        if (r.write_moment > known[r.write_warp] && r.write_warp != agent) return false;
        Reads& q = r.reads;
        if (q.moment == now && q.warps) q.warps |= bit;
        else if (!q.warps || over_in_line(q)) q = {now, bit, FULL, pc, 0, false, false, block};
        else return false;
        q.pc = pc;
        return true;
    }
    bool may_write_line(const Record& r) const {
        if (r.write_moment > known[r.write_warp] && r.write_warp != agent) return false;
        return !r.reads.warps || over_in_line(r.reads);
    }

private:
    bool over_in_line(const Reads& q) const { return q.moment <= least || q.warps == bit; }
    bool over(const Reads& q, uint32_t lane) const {
        return q.moment <= least ||
               (q.warps == bit && (q.moment <= known[agent] || (q.lanes == lane && !(lane & (lane - 1)))));
    }
};

} // namespace emu
