// SPDX-License-Identifier: Apache-2.0
// The rules of happens_before.h. Where lanes of a warp are not told apart (what an exited lane did, whose fence came
// last), they count as ordered: a race can be missed so, never invented.
#include "happens_before.h"

namespace emu {
namespace {
template <class F> void each_lane(uint32_t lanes, F f) {
    for (uint32_t m = lanes; m; m &= m - 1) f(unsigned(__builtin_ctz(m)));
}
} // namespace

void HappensBefore::reset() {
    for (Agent& a : agents_) {
        a.now = 1;
        for (Past* past : {&a.known, &a.acquired, &a.seen, &a.fenced}) past->clear();
        a.acquirers = a.seers = 0;
        a.fence.fill(0);
        a.apart = a.has_fenced = false;
    }
    for (Past& b : barriers_) b.clear();
    objects_.clear();
    proxied_.clear();
}

bool HappensBefore::before(const Event& e, unsigned agent, unsigned lane) const {
    const Agent& a = agents_[agent];
    if (e.moment <= a.known.all[e.agent]) return true;
    if (e.agent != agent) return a.known.has(e) || ((a.acquirers >> lane & 1) && a.acquired.has(e));
    const uint32_t others = e.lanes & ~(1u << lane);
    if (!others) return true;
    if (!a.apart) return false;
    bool all = true;
    each_lane(others, [&](unsigned l) { all &= (*a.rows)[lane][l] >= e.moment; });
    return all;
}

HappensBefore::Rows& HappensBefore::rows_of(Agent& a) {
    if (!a.rows) a.rows = std::make_unique<Rows>();
    if (!a.apart)
        for (auto& row : *a.rows) row.fill(0);
    a.apart = true;
    return *a.rows;
}

// These lanes are ordered after `past`, the others of their warp are not.
void HappensBefore::learn(unsigned agent, uint32_t lanes, const Past& past) {
    Agent& a = agents_[agent];
    a.acquired.add(past);
    a.acquirers |= lanes;
    bool own = past.all[agent] > a.known.all[agent];
    for (const Event& e : past.lanes()) own |= e.agent == agent;
    if (!own) return;
    Rows& rows = rows_of(a);
    each_lane(lanes, [&](unsigned l) {
        for (Moment& m : rows[l]) m = std::max(m, past.all[agent]);
        for (const Event& e : past.lanes())
            if (e.agent == agent) each_lane(e.lanes, [&](unsigned x) { rows[l][x] = std::max(rows[l][x], e.moment); });
    });
}

// What these lanes have done, and what they know of the other lanes of their warp.
void HappensBefore::add_own(const Agent& a, unsigned agent, uint32_t lanes, Past& to) const {
    to.add(Event{a.now, lanes, uint8_t(agent)});
    if (!a.apart) return;
    each_lane(lanes, [&](unsigned l) {
        for (unsigned x = 0; x < 32; ++x)
            if ((*a.rows)[l][x]) to.add(Event{(*a.rows)[l][x], 1u << x, uint8_t(agent)});
    });
}

void HappensBefore::sync_lanes(unsigned agent, uint32_t lanes, uint32_t live) {
    Agent& a = agents_[agent];
    if (a.seers & lanes) a.seers |= lanes;
    if ((lanes & live) == live) {
        if (a.acquirers) a.known.add(a.acquired);
        a.acquirers = 0;
        a.acquired.clear();
        a.known.all[agent] = a.now;
        a.apart = false;
    } else {
        if (a.acquirers & lanes) a.acquirers |= lanes;
        Rows& rows = rows_of(a);
        std::array<Moment, 32> all{};
        each_lane(lanes, [&](unsigned l) {
            for (unsigned x = 0; x < 32; ++x) all[x] = std::max(all[x], rows[l][x]);
        });
        each_lane(lanes, [&](unsigned l) { all[l] = a.now; });
        each_lane(lanes, [&](unsigned l) { rows[l] = all; });
    }
    ++a.now;
}

void HappensBefore::arrive(unsigned agent, uint32_t lanes, uint32_t live, unsigned barrier, bool goes_on) {
    Agent& a = agents_[agent];
    Past& all = barriers_[barrier];
    all.add(a.known);
    if (a.acquirers & lanes) all.add(a.acquired);
    if ((lanes & live) == live) all.all[agent] = std::max(all.all[agent], a.now);
    else add_own(a, agent, lanes, all);
    if (goes_on) ++a.now;
}

// Clocks of warps that leave a barrier are made equal, so that "all read in the same interval" is one number.
void HappensBefore::release(unsigned barrier, uint32_t waiters) {
    Past& all = barriers_[barrier];
    Moment next = *std::max_element(all.all.begin(), all.all.end());
    each_lane(waiters, [&](unsigned w) { next = std::max(next, agents_[w].now); });
    each_lane(waiters, [&](unsigned w) {
        Agent& a = agents_[w];
        if (a.acquirers) a.known.add(a.acquired);
        a.acquired.clear();
        a.acquirers = 0;
        a.known.add(all);
        a.known.all[w] = a.now;
        a.apart = false;
        a.now = next + 1;
    });
    all.clear();
}

void HappensBefore::fence(unsigned agent, uint32_t lanes, uint32_t live) {
    Agent& a = agents_[agent];
    if (a.seers & lanes) {
        learn(agent, lanes, a.seen);
        if ((lanes & live) == live) a.seen.clear(), a.seers = 0;
    }
    a.has_fenced = true;
    a.fenced = a.known;
    if (a.acquirers & lanes) a.fenced.add(a.acquired);
    if (a.apart)
        each_lane(lanes, [&](unsigned l) {
            for (unsigned x = 0; x < 32; ++x)
                if (x != l && (*a.rows)[l][x]) a.fenced.add(Event{(*a.rows)[l][x], 1u << x, uint8_t(agent)});
        });
    each_lane(lanes, [&](unsigned l) { a.fence[l] = a.now; });
    ++a.now;
}

void HappensBefore::fence_proxy(unsigned agent, uint32_t lanes) {
    Agent& a = agents_[agent];
    proxied_.add(a.known);
    if (a.acquirers & lanes) proxied_.add(a.acquired);
    add_own(a, agent, lanes, proxied_);
    ++a.now;
}

void HappensBefore::read(unsigned agent, unsigned lane, uint32_t name, bool acquire) {
    const auto object = objects_.find(name);
    if (object == objects_.end()) return;
    if (acquire) return learn(agent, 1u << lane, object->second);
    agents_[agent].seen.add(object->second);
    agents_[agent].seers |= 1u << lane;
}

bool HappensBefore::write(unsigned agent, unsigned lane, uint32_t name, bool release) {
    Agent& a = agents_[agent];
    if (!release && !a.fence[lane]) return false;
    Past& object = objects_[name];
    if (release) {
        object.add(a.known);
        if (a.acquirers >> lane & 1) object.add(a.acquired);
        add_own(a, agent, 1u << lane, object);
        return true;
    }
    object.add(a.fenced);
    // Lanes that fenced too, before a bar.warp.sync that this one has seen.
    for (unsigned l = 0; l < 32; ++l) {
        const Moment known = l == lane ? a.fence[l] : std::min(a.fence[l], a.known.all[agent]);
        if (known) object.add(Event{known, 1u << l, uint8_t(agent)});
    }
    return true;
}

} // namespace emu
