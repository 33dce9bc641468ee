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

void HappensBefore::reset(unsigned blocks, unsigned warps) {
    blocks_ = blocks;
    std::swap(warps, warps_); // those that there were before become nobody again
    warps = std::max(warps, warps_);
    agents_.resize(size_t(blocks) * WARPS);
    barriers_.resize(size_t(blocks) * BARRIERS);
    for (size_t i = 0; i < agents_.size(); ++i) {
        if (i % WARPS >= warps) continue; // nobody
        Agent& a = agents_[i];
        a.now = blocks > 1 ? START + 1 : 1;
        a.known.clear();
        if (blocks > 1) a.known.of(blocks - 1);
        a.acquired.clear();
        a.acquirers = 0;
        for (Seen& seen : a.seen) seen.past.clear(), seen.lanes = 0;
        if (a.has_fenced)
            for (Fenced& fenced : a.fenced) fenced.known.clear(), fenced.at.fill(0);
        a.apart = a.has_fenced = false;
    }
    for (Past& b : barriers_) b.clear();
    for (Past* past : {&arriving_, &complete_, &proxied_}) past->clear();
    for (std::vector<Past>* pasts : {&arriving_in_, &complete_in_}) pasts->assign(blocks > 1 ? blocks : 0, {});
    after_cluster_ = 0;
    objects_.clear();
}

bool HappensBefore::before(const Event& e, unsigned agent, unsigned lane) const {
    const Agent& a = agents_[agent];
    if (e.moment <= a.known.all(e.agent)) return true;
    if (e.agent != agent) return a.known.has(e) || ((a.acquirers >> lane & 1) && a.acquired.has(e));
    const uint32_t others = e.lanes & ~(1u << lane);
    if (!others) return true;
    if (!a.apart) return false;
    bool all = true;
    each_lane(others, [&](unsigned l) { all &= (*a.rows)[lane][l] >= e.moment; });
    return all;
}

bool HappensBefore::knows_start(unsigned agent, unsigned lane, unsigned block) const {
    const Agent& a = agents_[agent];
    return a.known.knows_block(block) || ((a.acquirers >> lane & 1) && a.acquired.knows_block(block));
}

void HappensBefore::add_known(unsigned agent, uint32_t lanes, Past& to) const {
    const Agent& a = agents_[agent];
    to.add(a.known);
    if (a.acquirers & lanes) to.add(a.acquired);
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
    bool own = past.all(agent) > a.known.all(agent);
    for (const Event& e : past.lanes()) own |= e.agent == agent;
    if (!own) return;
    Rows& rows = rows_of(a);
    each_lane(lanes, [&](unsigned l) {
        for (Moment& m : rows[l]) m = std::max(m, past.all(agent));
        for (const Event& e : past.lanes())
            if (e.agent == agent) each_lane(e.lanes, [&](unsigned x) { rows[l][x] = std::max(rows[l][x], e.moment); });
    });
}

// What these lanes have done, and what they know of the other lanes of their warp.
void HappensBefore::add_own(const Agent& a, unsigned agent, uint32_t lanes, Past& to) const {
    to.add(Event{a.now, lanes, uint16_t(agent)});
    if (!a.apart) return;
    each_lane(lanes, [&](unsigned l) {
        for (unsigned x = 0; x < 32; ++x)
            if ((*a.rows)[l][x]) to.add(Event{(*a.rows)[l][x], 1u << x, uint16_t(agent)});
    });
}

void HappensBefore::sync_lanes(unsigned agent, uint32_t lanes, uint32_t live) {
    Agent& a = agents_[agent];
    for (Seen& seen : a.seen)
        if (seen.lanes & lanes) seen.lanes |= lanes;
    if ((lanes & live) == live) {
        if (a.acquirers) a.known.add(a.acquired);
        a.acquirers = 0;
        a.acquired.clear();
        a.known.all(agent) = a.now;
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

// What those who arrive at a barrier hand over.
void HappensBefore::add_arrival(unsigned agent, uint32_t lanes, uint32_t live, Past& to) {
    const Agent& a = agents_[agent];
    add_known(agent, lanes, to);
    if ((lanes & live) == live) to.all(agent) = std::max(to.all(agent), a.now);
    else add_own(a, agent, lanes, to);
}

void HappensBefore::arrive(unsigned agent, uint32_t lanes, uint32_t live, unsigned barrier, bool goes_on) {
    add_arrival(agent, lanes, live, barriers_[agent / WARPS * BARRIERS + barrier]);
    if (goes_on) ++agents_[agent].now;
}

// Clocks of warps that leave a barrier are made equal, so that "all read in the same interval" is one number.
void HappensBefore::release(unsigned block, unsigned barrier, uint32_t waiters) {
    Past& all = barriers_[block * BARRIERS + barrier];
    const unsigned first = block * WARPS;
    const Past::Warps& mine = all.of(block);
    Moment next = *std::max_element(mine.begin(), mine.end());
    each_lane(waiters, [&](unsigned w) { next = std::max(next, agents_[first + w].now); });
    each_lane(waiters, [&](unsigned w) {
        Agent& a = agents_[first + w];
        if (a.acquirers) a.known.add(a.acquired);
        a.acquired.clear();
        a.acquirers = 0;
        a.known.add(all);
        a.known.all(first + w) = a.now;
        a.apart = false;
        a.now = next + 1;
    });
    all.clear();
}

void HappensBefore::fence(unsigned agent, uint32_t lanes, uint32_t live, bool wide) {
    Agent& a = agents_[agent];
    for (Seen& seen : a.seen) {
        if (!(seen.lanes & lanes) || (&seen == &a.seen[1] && !wide)) continue;
        learn(agent, lanes, seen.past);
        if ((lanes & live) == live) seen.past.clear(), seen.lanes = 0;
    }
    a.has_fenced = true;
    Fenced& now = a.fenced[0];
    now.known = a.known;
    if (a.acquirers & lanes) now.known.add(a.acquired);
    if (a.apart)
        each_lane(lanes, [&](unsigned l) {
            for (unsigned x = 0; x < 32; ++x)
                if (x != l && (*a.rows)[l][x]) now.known.add(Event{(*a.rows)[l][x], 1u << x, uint16_t(agent)});
        });
    each_lane(lanes, [&](unsigned l) { now.at[l] = a.now; });
    if (wide && blocks_ > 1) {
        a.fenced[1].known = now.known;
        each_lane(lanes, [&](unsigned l) { a.fenced[1].at[l] = a.now; });
    }
    ++a.now;
}

void HappensBefore::fence_proxy(unsigned agent, uint32_t lanes) {
    Agent& a = agents_[agent];
    add_known(agent, lanes, proxied_);
    add_own(a, agent, lanes, proxied_);
    ++a.now;
}

void HappensBefore::cluster_arrive(unsigned agent, uint32_t lanes, uint32_t live, bool release) {
    Moment& told = arriving_.all(agent);
    told = std::max(told, START);
    if (!release) {
        const Agent& a = agents_[agent];
        Past& own = blocks_ > 1 ? arriving_in_[agent / WARPS] : arriving_;
        return each_lane(lanes, [&](unsigned l) {
            if (a.fenced[0].at[l]) add_fenced(a, agent, l, false, own);
            if (a.fenced[1].at[l]) add_fenced(a, agent, l, true, arriving_);
        });
    }
    add_arrival(agent, lanes, live, arriving_);
    ++agents_[agent].now;
}

void HappensBefore::cluster_complete() {
    std::swap(arriving_, complete_);
    std::swap(arriving_in_, complete_in_);
    arriving_.clear();
    for (Past& past : arriving_in_) past.clear();
    for (const Agent& a : agents_) after_cluster_ = std::max(after_cluster_, a.now);
}

// Clocks are made equal as in release().
void HappensBefore::cluster_pass(unsigned agent, uint32_t lanes, uint32_t live) {
    Agent& a = agents_[agent];
    const bool whole = (lanes & live) == live;
    const auto take = [&](const Past& past) { whole ? a.known.add(past) : learn(agent, lanes, past); };
    take(complete_);
    if (!complete_in_.empty()) take(complete_in_[agent / WARPS]);
    a.now = std::max(a.now, after_cluster_);
}

void HappensBefore::read(unsigned agent, unsigned lane, uint32_t name, bool acquire, bool wide) {
    Agent& a = agents_[agent];
    for (unsigned block = 0; block < blocks_; ++block)
        for (const bool for_all : {false, true}) {
            const bool other = block != agent / WARPS;
            if ((for_all && blocks_ == 1) || (other && !(wide && for_all))) continue;
            const auto found = objects_.find(object(name, block, for_all));
            if (found == objects_.end()) continue;
            if (acquire) {
                learn(agent, 1u << lane, found->second);
            } else {
                a.seen[other].past.add(found->second);
                a.seen[other].lanes |= 1u << lane;
            }
        }
}

// What the lane's last fence made ready. Lanes that fenced too, before a bar.warp.sync that this one has seen, count.
void HappensBefore::add_fenced(const Agent& a, unsigned agent, unsigned lane, bool wide, Past& to) const {
    const Fenced& fenced = a.fenced[wide];
    to.add(fenced.known);
    for (unsigned l = 0; l < 32; ++l) {
        const Moment known = l == lane ? fenced.at[l] : std::min(fenced.at[l], a.known.all(agent));
        if (known) to.add(Event{known, 1u << l, uint16_t(agent)});
    }
}

bool HappensBefore::write(unsigned agent, unsigned lane, uint32_t name, bool release, bool wide) {
    const Agent& a = agents_[agent];
    if (!release && !a.fenced[0].at[lane]) return false;
    wide &= blocks_ > 1;
    const unsigned block = agent / WARPS;
    if (release) {
        Past& to = objects_[object(name, block, wide)];
        add_known(agent, 1u << lane, to);
        add_own(a, agent, 1u << lane, to);
        return true;
    }
    add_fenced(a, agent, lane, false, objects_[object(name, block, false)]);
    if (wide && a.fenced[1].at[lane]) add_fenced(a, agent, lane, true, objects_[object(name, block, true)]);
    return true;
}

void HappensBefore::complete_phase(uint32_t name) {
    for (unsigned block = 0; block < blocks_; ++block)
        for (const bool for_all : {false, true})
            if (const auto found = objects_.find(object(name, block, for_all)); found != objects_.end()) {
                const Past past = found->second;
                objects_[object(completed(name), block, for_all)] = past;
            }
}

} // namespace emu
