// SPDX-License-Identifier: Apache-2.0
// When asynchronous copies arrive. Until the wait that covers a copy its destination is undefined, whenever the bytes
// themselves arrive: late (at that wait), early (at issue) or at a moment that the seed picks.
// Called by async.cpp and by the launch loop. Reports nothing itself: the checks see undefined bytes and events.
#include "async.h"

#include <cstring>

#include "../report/report.h"
#include "due.h"

namespace emu {

namespace {
// Of 4, 8 or 16 aligned bytes; those of 8 and 16 have whole bytes of the bitmap.
void set_defined(uint32_t* bitmap, uint32_t address, unsigned bytes, bool value) {
    uint8_t* const at = reinterpret_cast<uint8_t*>(bitmap) + address / 8;
    if (bytes == 16) std::memset(at, value ? 0xff : 0, 2);
    else if (bytes == 8) *at = value ? 0xff : 0;
    else *at = value ? uint8_t(*at | 15 << address % 8) : uint8_t(*at & ~(15 << address % 8));
}
} // namespace

uint32_t AsyncEngine::random(uint32_t below) {
    cta_.rng = cta_.rng * 6364136223846793005ull + 1442695040888963407ull;
    return uint32_t((cta_.rng >> 33) % below);
}

void AsyncEngine::reset() {
    warps_.assign(cta_.nwarps, {});
    arrivals_.clear();
    bulk.reset();
    remote.reset();
    in_flight_ = 0;
}

void AsyncEngine::write_bytes(AsyncCopy& copy, uint32_t lanes) {
    uint8_t* const shared = cta_.shared;
    for (uint32_t m = lanes & ~copy.landed; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        uint8_t* to = shared + copy.dst[l];
        if (copy.valid[l] == 16) {
            std::memcpy(to, reinterpret_cast<const void*>(copy.src[l]), 16);
            continue;
        }
        if (copy.valid[l]) std::memcpy(to, reinterpret_cast<const void*>(copy.src[l]), copy.valid[l]);
        std::memset(to + copy.valid[l], 0, size_t(copy.bytes - copy.valid[l]));
    }
    copy.landed |= lanes;
    cta_.changes++;
}

// The everyday copy, all at once.
void AsyncEngine::land_whole(const AsyncCopy& copy, uint32_t lanes) {
    uint8_t* const shared = cta_.shared;
    uint32_t* const bitmap = cta_.shared_defined;
    for (uint32_t m = lanes; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        const uint32_t to = copy.dst[l];
        std::memcpy(shared + to, reinterpret_cast<const void*>(copy.src[l]), 16);
        set_defined(bitmap, to, 16, true);
    }
    cta_.changes++;
}

void AsyncEngine::land(AsyncCopy& copy, uint32_t lanes, bool waited) {
    if (copy.whole && !copy.landed && !copy.undefined) {
        land_whole(copy, lanes);
    } else {
        write_bytes(copy, lanes);
        uint32_t* const bitmap = cta_.shared_defined;
        for (uint32_t m = lanes & ~copy.undefined; m; m &= m - 1)
            set_defined(bitmap, copy.dst[__builtin_ctz(m)], copy.bytes, true);
    }
    if (cta_.observer) cta_.observer->async_land(cta_, copy, lanes, waited);
    in_flight_ -= count_lanes(lanes);
    copy.mask &= ~lanes;
}

AsyncCopy& AsyncEngine::begin(uint32_t warp) {
    std::vector<AsyncCopy>& open = warps_[warp].open;
    if (open.empty() && !spare_.empty()) {
        open.swap(spare_.back());
        spare_.pop_back();
    }
    AsyncCopy& copy = open.emplace_back();
    copy.warp = warp;
    return copy;
}

void AsyncEngine::issue(AsyncCopy& copy) {
    uint8_t* const shared = cta_.shared;
    uint32_t* const bitmap = cta_.shared_defined;
    const unsigned bytes = copy.bytes;
    for (uint32_t m = copy.mask; m; m &= m - 1) {
        const uint32_t to = copy.dst[__builtin_ctz(m)];
        if (bytes == 16) std::memset(shared + to, POISON, 16);
        else std::memset(shared + to, POISON, bytes);
        set_defined(bitmap, to, bytes, false);
    }
    copy.number = ++issued_;
    in_flight_ += count_lanes(copy.mask);
    const AsyncTiming timing = cta_.launch->options.async;
    if (timing == AsyncTiming::early || (timing == AsyncTiming::random && random(3) == 0)) write_bytes(copy, copy.mask);
}

void AsyncEngine::commit(uint32_t warp, uint32_t lanes) {
    OfWarp& w = warps_[warp];
    Group group;
    group.mask = lanes;
    if (lanes == FULL) { // all that is open
        group.copies.swap(w.open);
        w.groups.push_back(std::move(group));
        return;
    }
    std::vector<AsyncCopy> rest;
    for (AsyncCopy& copy : w.open) {
        const uint32_t mine = copy.mask & lanes, others = copy.mask & ~lanes;
        if (others) {
            rest.push_back(copy);
            rest.back().mask = others;
        }
        if (mine) {
            copy.mask = mine;
            group.copies.push_back(std::move(copy));
        }
    }
    w.open = std::move(rest);
    w.groups.push_back(std::move(group));
}

// Lanes that did not commit the same groups: each lane counts its own.
void AsyncEngine::wait_some_lanes(OfWarp& warp, uint32_t lanes, uint32_t pending) {
    uint32_t newer[32] = {};
    for (auto group = warp.groups.rbegin(); group != warp.groups.rend(); ++group) {
        uint32_t done = 0;
        for (uint32_t m = group->mask & lanes; m; m &= m - 1) {
            const int l = __builtin_ctz(m);
            if (newer[l]++ >= pending) done |= 1u << l;
        }
        for (AsyncCopy& copy : group->copies) land(copy, copy.mask & done, true);
        group->mask &= ~done;
    }
    while (!warp.groups.empty() && !warp.groups.front().mask) warp.groups.pop_front();
}

void AsyncEngine::wait(uint32_t warp, uint32_t lanes, uint32_t pending) {
    OfWarp& w = warps_[warp];
    if (pending == ALL) {
        for (AsyncCopy& copy : w.open) land(copy, copy.mask & lanes, true);
        pending = 0;
        std::erase_if(w.open, [](const AsyncCopy& copy) { return !copy.mask; });
    }
    bool uniform = true;
    for (const Group& group : w.groups) uniform &= (group.mask & ~lanes) == 0 && group.mask == w.groups.front().mask;
    if (!uniform) return wait_some_lanes(w, lanes, pending);
    while (w.groups.size() > pending) {
        std::vector<AsyncCopy>& copies = w.groups.front().copies;
        for (AsyncCopy& copy : copies) land(copy, copy.mask, true);
        copies.clear();
        if (copies.capacity()) spare_.push_back(std::move(copies));
        w.groups.pop_front();
    }
}

void AsyncEngine::arrive_after(uint32_t warp, uint32_t pc, uint32_t lanes, const uint32_t* mbarrier) {
    const AsyncTiming timing = cta_.launch->options.async;
    while (lanes) {
        AsyncArrival a{warp, pc, 0, mbarrier[__builtin_ctz(lanes)], issued_, 0};
        for (uint32_t m = lanes; m; m &= m - 1)
            if (mbarrier[__builtin_ctz(m)] == a.mbarrier) a.lanes |= m & -m;
        lanes &= ~a.lanes;
        if (timing == AsyncTiming::random) a.tests = random(8);
        arrivals_.push_back(a);
        if (timing == AsyncTiming::early) arrive(arrivals_.size() - 1);
    }
}

std::string AsyncEngine::told_at(const AsyncArrival& a) const {
    return "  at  " + where(*cta_.kernel, a.pc) + "   copies of warp " + std::to_string(a.warp) + " lanes 0x" +
           hex(a.lanes) + " ";
}

// The copies of one arrival land, and its mbarrier is told.
void AsyncEngine::arrive(size_t index) {
    const AsyncArrival a = arrivals_[index];
    arrivals_.erase(arrivals_.begin() + long(index));
    OfWarp& w = warps_[a.warp];
    auto reached = [&](AsyncCopy& copy) {
        if (const uint32_t lanes = copy.mask & a.lanes; lanes && copy.number <= a.before) land(copy, lanes, false);
    };
    for (AsyncCopy& copy : w.open) reached(copy);
    std::erase_if(w.open, [](const AsyncCopy& copy) { return !copy.mask; });
    for (Group& group : w.groups)
        for (AsyncCopy& copy : group.copies) reached(copy);
    std::string problem;
    Mbarrier* b = mbarrier_at(cta_, a.mbarrier, problem);
    for (uint32_t m = a.lanes; m && problem.empty(); m &= m - 1)
        if (problem = b->arrive(1, false, true); problem.empty()) mbarrier_changed(cta_, *b);
    if (problem.empty()) return;
    report_raw(cta_, "barrier", a.pc, told_at(a) + "have landed: " + problem + "\n" + replay(*cta_.launch));
}

// Those that are due: each failed test of the mbarrier brings them nearer.
bool AsyncEngine::deliver(uint32_t mbarrier) {
    const bool landed = bulk.deliver(mbarrier) || remote.deliver(mbarrier);
    const bool arrived = deliver_due(arrivals_, mbarrier, [&](size_t i) {
        arrive(i);
        return true;
    });
    return landed || arrived;
}

bool AsyncEngine::end() {
    if (arrivals_.empty()) return bulk.end() && remote.end();
    const AsyncArrival& a = arrivals_.front();
    report_raw(cta_, "async", a.pc,
               told_at(a) +
                   "are in flight when the block ends: nobody has waited for the phase of the mbarrier at "
                   "shared 0x" +
                   hex(a.mbarrier) + "\n" + replay(*cta_.launch));
    return false;
}

void AsyncEngine::tick() {
    bulk.tick();
    remote.tick();
    if (!arrivals_.empty() && !random(4)) arrive(random(uint32_t(arrivals_.size())));
    if (!in_flight_ || random(4)) return;
    OfWarp& w = warps_[random(cta_.nwarps)];
    if (!w.groups.empty()) {
        Group& group = w.groups[random(uint32_t(w.groups.size()))];
        if (!group.copies.empty()) {
            AsyncCopy& copy = group.copies[random(uint32_t(group.copies.size()))];
            write_bytes(copy, copy.mask);
        }
    }
}

const AsyncCopy* AsyncEngine::covering(uint32_t address, unsigned& lane) const {
    auto inside = [&](const AsyncCopy& copy) {
        for (uint32_t m = copy.mask; m; m &= m - 1) {
            const unsigned l = unsigned(__builtin_ctz(m));
            if (address - copy.dst[l] < copy.bytes) return lane = l, true;
        }
        return false;
    };
    for (const OfWarp& w : warps_) {
        for (const AsyncCopy& copy : w.open)
            if (inside(copy)) return &copy;
        for (const Group& group : w.groups)
            for (const AsyncCopy& copy : group.copies)
                if (inside(copy)) return &copy;
    }
    return nullptr;
}

AsyncEngine* make_async(Cta& cta) { return new AsyncEngine(cta); }
void destroy_async(AsyncEngine* engine) { delete engine; }
void async_reset(AsyncEngine* engine) {
    if (engine) engine->reset();
}
// A copy that nobody waited for is allowed, unless an mbarrier waits for it: its bytes are lost with the block.
bool async_cta_end(AsyncEngine* engine, Cta&) {
    const bool good = !engine || engine->end();
    if (engine) engine->reset();
    return good;
}
bool async_deliver(AsyncEngine* engine, uint32_t mbarrier) { return engine->deliver(mbarrier); }
void async_tick(AsyncEngine* engine, Cta& cta) {
    if (engine && cta.launch->options.async == AsyncTiming::random) engine->tick();
}

std::string async_describe(const AsyncEngine* engine, uint32_t shared_address) {
    unsigned lane = 0;
    const AsyncCopy* copy = engine ? engine->covering(shared_address, lane) : nullptr;
    return copy ? "a copy of " + std::to_string(copy->bytes) + " bytes, issued by warp " + std::to_string(copy->warp) +
                      " lane " + std::to_string(lane) + ", is still in flight there"
                : "";
}

} // namespace emu
