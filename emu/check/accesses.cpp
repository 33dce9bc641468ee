// SPDX-License-Identifier: Apache-2.0
// What an instruction asks of the checker: whether histories take it, then the everyday records, then those for which
// the rules of checker.cpp are needed.
#include <cstring>

#include "../exec/async.h"
#include "../exec/matrix_bytes.h"
#include "checker.h"
#include "quick.h"

namespace emu {

// Elements lie in registers of 4, 8 or 16 bytes a lane.
bool stores_equal(const Warp& w, const Inst& in, unsigned x, unsigned y) {
    const size_t lane_bytes = in.bytes == 16 ? 16 : store_register_bytes(in) == 8 ? 8 : 4;
    for (unsigned v = 0; v < in.vec; ++v) {
        const uint8_t* lanes = w.reg<uint8_t>(in.r[1 + v]);
        if (std::memcmp(lanes + x * lane_bytes, lanes + y * lane_bytes, in.bytes)) return false;
    }
    return true;
}

namespace {
// Rows of a matrix.
bool rows_equal(const Warp& w, const Inst& in, unsigned x, unsigned y) {
    for (unsigned i = 0; i < 16; ++i) {
        const MatrixByte a = matrix_byte(in, x, i), b = matrix_byte(in, y, i);
        if ((w.reg<uint32_t>(a.slot)[a.lane] >> 8 * a.byte ^ w.reg<uint32_t>(b.slot)[b.lane] >> 8 * b.byte) & 0xff)
            return false;
    }
    return true;
}

bool is_collective(const Inst& in) { return in.flags & Inst::aligned; }

bool rises(const uint32_t* addr) {
    uint32_t falls = 0;
    for (unsigned l = 0; l < 31; ++l) falls |= addr[l + 1] - addr[l] - 1;
    return !(falls >> 31);
}
// Does lane l name word l of a line?
bool is_line(uint32_t mask, const uint32_t* addr, unsigned bytes) {
    if (mask != FULL || bytes != 4 || addr[0] % Shadow::LINE) return false;
    uint32_t differs = 0;
    for (unsigned l = 0; l < 32; ++l) differs |= addr[l] ^ (addr[0] + 4 * l);
    return !differs;
}
} // namespace

Checker::Quick Checker::quick(const Warp& w) const {
    const HappensBefore::Agent& agent = agents_[w.agent];
    const Past::Warps& known = agent.known.of(cta_->rank);
    return {known,
            agent.now,
            *std::min_element(known.begin(), known.begin() + cta_->nwarps),
            w.pc,
            1u << w.index,
            uint8_t(w.index),
            uint8_t(cta_->rank)};
}

// A store of a line that is all everyday: one record takes the place of its words'.
bool Checker::write_line(const Quick& q, uint32_t address, uint8_t flags) {
    if (const Record* r = shadow_.line(address)) {
        if (!q.may_write_line(*r)) return false;
    } else {
        for (unsigned l = 0; l < 32; ++l) {
            const Record& word = shadow_.word(address + 4 * l);
            if (word.object || !q.may_write(word, 1u << l, flags)) return false;
        }
    }
    Record& r = shadow_.make_line(address);
    r = Record{};
    q.set_write(r, FULL, flags);
    return true;
}

// After a write of the whole.
void Checker::merge(uint32_t address, unsigned bytes) {
    if (bytes == 16 && !(shadow_.coarse(address).flags & Record::split)) return;
    for (unsigned i = 0; i + 4 <= bytes; i += 4)
        if (shadow_.word(address + i).flags & Record::split) shadow_.merge_word(address + i);
    if (bytes == 16) shadow_.merge_coarse(address);
}

Histories::Doing Checker::doing(const Warp& w, uint32_t mask, const uint32_t* addr, unsigned bytes,
                                bool collective) const {
    const HappensBefore::Agent& agent = agents_[w.agent];
    return {
        agent.known.of(0), agent.now, collective ? w.mask : mask, mask, w.pc, addr, uint8_t(w.index), uint8_t(bytes),
        collective,        0};
}

bool Checker::read_quickly(const Warp& w, uint32_t mask, const uint32_t* addr, unsigned bytes, bool collective) {
    if (!shadow_.recent.is_on()) return false;
    const Histories::Doing d = doing(w, mask, addr, bytes, collective);
    if (!Histories::fills_words(d)) return false;
    shadow_.make_room();
    return shadow_.recent.read(d);
}

// May a lane write what records have, so that a history takes their place?
bool Checker::frees(const Warp& w, uint32_t address, unsigned bytes, unsigned lane) {
    const Record* const r = bytes == 16 ? shadow_.places()(address) : nullptr;
    return r && !r->object && quick(w).may_write(*r, 1u << lane, 0);
}

bool Checker::write_quickly(const Warp& w, uint32_t mask, const uint32_t* addr, unsigned bytes, uint8_t strength) {
    if (!shadow_.recent.is_on()) return false;
    Histories::Doing d = doing(w, mask, addr, bytes, false);
    if (!Histories::fills_words(d)) return false;
    shadow_.make_room();
    d.strength = strength;
    return shadow_.recent.write(d, [&](unsigned lane) { return frees(w, addr[lane], bytes, lane); });
}

bool Checker::issue_quickly(const Warp& w, AsyncCopy& copy) {
    if (!shadow_.recent.is_on()) return false;
    shadow_.make_room();
    copy.history = shadow_.recent.issue_copy(doing(w, copy.mask, copy.dst, copy.bytes, false),
                                             [&](unsigned lane) { return frees(w, copy.dst[lane], copy.bytes, lane); });
    return copy.history;
}

// After these warps met.
void Checker::forget_known(uint32_t synchronised) {
    if (!shadow_.recent.is_on()) return;
    for (unsigned i = 0; i < cta_->nwarps; ++i)
        if (cta_->warps[i].live && (!(synchronised >> i & 1) || !shadow_.recent.is_known_by(agents_[i].known.of(0))))
            return;
    shadow_.forget_known();
}

bool Checker::shared_read(Warp& w, uint32_t mask, const uint32_t* addr, unsigned bytes) {
    if (is_foreign(w)) return foreign_read(w, mask, addr, bytes);
    const Inst& in = w.kernel->code[w.pc];
    const bool strong = in.order.strong(), collective = is_collective(in);
    if (!strong && read_quickly(w, mask, addr, bytes, collective)) return true;
    shadow_.recent.note(w.index, order_.now(w.agent));
    const Quick q = quick(w);
    objects_ = false;
    if (!strong && !collective && is_line(mask, addr, bytes))
        if (Record* r = shadow_.line(addr[0]); r && q.read_line(*r)) return true;
    if (collective && bytes == 16) { // the everyday ones of ldmatrix
        const Shadow::Places at = shadow_.places();
        const uint32_t all = mask, lanes = w.mask;
        for (uint32_t m = all; m; m &= m - 1)
            if (Record* r = at(addr[__builtin_ctz(m)]); r && q.read(*r, 0, lanes)) mask &= ~(m & -m);
    }
    for (uint32_t m = mask; m;) {
        const uint32_t a = addr[__builtin_ctz(m)];
        uint32_t lanes = m & -m;
        for (m &= m - 1; m && addr[__builtin_ctz(m)] == a; m &= m - 1) lanes |= m & -m; // neighbours that read the same
        const uint32_t own = collective ? 0 : lanes;
        if (collective) lanes = w.mask;
        if (!strong && bytes == 16 && q.read(shadow_.coarse(a), own, lanes)) continue;
        if (!strong && bytes == 4 && q.read(shadow_.word(a), own, lanes)) continue;
        auto read = [&](const Access& x, Record& r) {
            objects_ |= r.object;
            return (!strong && q.read(r, own, lanes)) || read_record(x, r);
        };
        if (!each_record({w, lanes, a, bytes, strong, false, collective}, a, bytes, read)) return false;
    }
    if (strong) synchronise(w, mask, addr, true, false);
    return true;
}

bool Checker::write_all(Warp& w, uint32_t mask, const uint32_t* addr, unsigned bytes, bool meet, bool atomic) {
    if (is_foreign(w)) return foreign_write(w, mask, addr, bytes, atomic);
    const Inst& in = w.kernel->code[w.pc];
    const bool strong = in.order.strong(), collective = is_collective(in);
    const uint8_t flags = uint8_t((strong ? Record::strong : 0) | (atomic ? Record::atomic : 0));
    objects_ = false; // histories have none
    if (!meet && !collective && write_quickly(w, mask, addr, bytes, flags)) return true;
    shadow_.recent.note(w.index, order_.now(w.agent));
    const Quick q = quick(w);
    if (!collective && is_line(mask, addr, bytes) && write_line(q, addr[0], flags)) return true;
    if (!collective && !meet && bytes == 4) { // the everyday ones of atomics
        const Shadow::Places at = shadow_.places();
        for (uint32_t m = mask; m; m &= m - 1) {
            Record* const r = at.word(addr[__builtin_ctz(m)]);
            if (!r || !q.write(*r, m & -m, flags)) continue;
            objects_ |= r->object;
            mask &= ~(m & -m);
        }
    }
    for (uint32_t m = mask; m;) {
        const unsigned lane = unsigned(__builtin_ctz(m));
        const uint32_t a = addr[lane];
        const uint32_t alike = meet ? same_address(m, addr, lane) : m & -m, lanes = collective ? w.mask : alike;
        m &= ~alike;
        auto write = [&](const Access& x, Record& r) {
            objects_ |= r.object;
            return (!collective && q.write(r, lanes, flags)) || write_record(x, r);
        };
        Record* const one = bytes == 16 ? &shadow_.coarse(a) : bytes == 4 ? &shadow_.word(a) : nullptr;
        if (one && !collective && q.write(*one, lanes, flags)) {
            objects_ |= one->object;
            continue;
        }
        if (!each_record({w, lanes, a, bytes, strong, atomic, collective}, a, bytes, write)) return false;
        merge(a, bytes);
    }
    return true;
}

bool Checker::shared_write(Warp& w, uint32_t mask, const uint32_t* addr, unsigned bytes) {
    const Inst& in = w.kernel->code[w.pc];
    const OpRow& row = row_of(w.info());
    const bool meet = meets(w, mask, addr, bytes);
    auto same = [&](unsigned x, unsigned y) {
        return is_collective(in) ? row.is(trait::rows) && rows_equal(w, in, x, y) : stores_equal(w, in, x, y);
    };
    if (meet && !write_alike(w, mask, addr, bytes, same)) return false;
    storing_ = row.is(trait::stores) || row.is(trait::rows) ? addr : nullptr;
    storing_mask_ = mask;
    const bool good = write_all(w, mask, addr, bytes, meet, false);
    storing_ = nullptr;
    if (!good) return false;
    if (in.order.strong()) synchronise(w, mask, addr, false, true);
    return true;
}

bool Checker::shared_atomic(Warp& w, uint32_t mask, const uint32_t* addr, unsigned bytes) {
    if (!write_all(w, mask, addr, bytes, meets(w, mask, addr, bytes), true)) return false;
    synchronise(w, mask, addr, true, true);
    return true;
}

void Checker::synchronise(Warp& w, uint32_t mask, const uint32_t* addr, bool reads, bool writes) {
    const Order order = w.kernel->code[w.pc].order;
    const unsigned agent = w.agent;
    const bool releases = writes && (order.releases() || agents_[agent].has_fenced), wide = is_wide(order);
    if (!releases && !objects_) return; // nothing to hand over
    for (uint32_t m = mask; m; m &= m - 1) {
        const unsigned lane = unsigned(__builtin_ctz(m));
        const uint32_t name = name_of(addr[lane] & ~3u);
        Record& r = shadow_.word(addr[lane] & ~3u);
        if (reads && r.object) order_.read(agent, lane, name, order.acquires(), wide);
        if (writes && order_.write(agent, lane, name, order.releases(), wide)) r.object = true;
    }
    if (writes && order.releases()) order_.step(agent);
}

// Everyday stores are told apart by their low bits alone. Accesses are aligned, so that only equal addresses meet.
bool Checker::meets(uint32_t mask, const uint32_t* addr, unsigned bytes) {
    if (mask == FULL && rises(addr)) return false;
    const unsigned shift = unsigned(__builtin_ctz(bytes));
    uint64_t seen[16] = {}, met = 0;
    for (uint32_t m = mask; m; m &= m - 1) {
        const uint32_t unit = addr[__builtin_ctz(m)] >> shift;
        uint64_t& word = seen[unit >> 6 & 15];
        const uint64_t bit = 1ull << (unit & 63);
        met |= word & bit;
        word |= bit;
    }
    return met;
}

// The same of an access that has just been counted.
bool Checker::meets(const Warp& w, uint32_t mask, const uint32_t* addr, unsigned bytes) {
    SharedPattern& last = cta_->pattern(w);
    if (last.pc != w.pc || last.mask != mask || last.bytes != bytes) return meets(mask, addr, bytes);
    if (last.meet == SharedPattern::unknown)
        last.meet = meets(mask, addr, bytes) ? SharedPattern::some_meet : SharedPattern::apart_all;
    return last.meet == SharedPattern::some_meet;
}

// Two lanes of one instruction that write the same bytes: allowed only if they write the same.
template <class F>
bool Checker::write_alike(Warp& w, uint32_t mask, const uint32_t* addr, unsigned bytes, F writes_the_same) {
    for (uint32_t m = mask; m; m &= m - 1) {
        const unsigned x = unsigned(__builtin_ctz(m));
        for (uint32_t rest = m & (m - 1); rest; rest &= rest - 1) {
            const unsigned y = unsigned(__builtin_ctz(rest));
            if (addr[x] != addr[y] || writes_the_same(x, y)) continue;
            return race(Access{w, 1u << y, addr[y], bytes, false, false, false}, "write", "write",
                        Event{0, 1u << x, uint16_t(w.agent)}, w.pc);
        }
    }
    return true;
}

void Checker::warp_sync(Warp& w, uint32_t lanes) {
    order_.sync_lanes(w.agent, lanes, w.live);
    if (cta_->nwarps == 1) forget_known(1);
}

bool Checker::async_issue(Warp& w, AsyncCopy& copy) {
    auto same = [&](unsigned x, unsigned y) {
        return copy.valid[x] == copy.valid[y] && (!copy.valid[x] || copy.src[x] == copy.src[y]);
    };
    const bool meet = meets(w, copy.mask, copy.dst, copy.bytes);
    if (meet && !write_alike(w, copy.mask, copy.dst, copy.bytes, same)) return false;
    if (!meet && issue_quickly(w, copy)) return true;
    const bool everyday = !meet && copy.bytes == 16 && !is_foreign(w);
    const Quick q = quick(w);
    const Shadow::Places at = shadow_.places();
    uint32_t left = copy.mask;
    for (uint32_t m = everyday ? copy.mask : 0; m; m &= m - 1)
        if (Record* r = at(copy.dst[__builtin_ctz(m)]); r && q.write(*r, m & -m, Record::in_flight)) left &= ~(m & -m);
    if (!left) return true;
    if (!write_all(w, left, copy.dst, copy.bytes, meet, false)) return false;
    for (uint32_t m = left; m; m &= m - 1)
        each_landed(copy.dst[__builtin_ctz(m)], copy.bytes, [](Record& r) { r.flags |= Record::in_flight; });
    return true;
}

// Records of a copy: nothing can have told its words apart into bytes.
template <class F> void Checker::each_landed(uint32_t address, unsigned bytes, F f) {
    if (bytes == 16 && !(shadow_.coarse(address).flags & Record::split)) return f(shadow_.coarse(address));
    for (unsigned i = 0; i < bytes; i += 4) f(shadow_.word(address + i));
}

// What an mbarrier tells was released when the copy was bound to it: the copy counts from its issue.
void Checker::async_land(Cta&, const AsyncCopy& copy, uint32_t lanes, bool waited) {
    const unsigned warp = copy.warp, bytes = copy.bytes;
    const Moment now = order_.now(cta_->rank * WARPS + warp);
    if (copy.history && shadow_.recent.land(copy.history, lanes, now, waited)) return;
    shadow_.recent.note(warp, now);
    const Shadow::Places at = shadow_.places();
    for (uint32_t m = lanes; m; m &= m - 1) {
        const auto land = [&](Record& r) {
            r.flags = uint8_t((r.flags & ~Record::in_flight) | Record::copied);
            if (!waited) return;
            r.write_moment = now;
            r.write_warp = uint8_t(warp);
            r.write_lanes |= m & -m;
        };
        const uint32_t to = copy.dst[__builtin_ctz(m)];
        Record* const r = bytes == 16 ? at(to) : nullptr;
        if (r && !(r->flags & Record::split)) land(*r);
        else each_landed(to, bytes, land);
    }
}

} // namespace emu
