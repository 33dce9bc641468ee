// SPDX-License-Identifier: Apache-2.0
// Races between launches: see launch_races.h.
#include "emu/driver/launch_races.h"

#include "emu/driver/work.h"

#include <algorithm>

namespace emu::driver {
namespace {

using Ticks = std::vector<uint64_t>;

uint64_t tick_of(const Ticks& known, size_t chain) { return chain < known.size() ? known[chain] : 0; }

void join(Ticks& known, const Ticks& other) {
    if (known.size() < other.size()) known.resize(other.size());
    for (size_t i = 0; i < other.size(); i++) known[i] = std::max(known[i], other[i]);
}

// As between blocks of a launch: both strong, or what the earlier one released and the later one acquired.
bool conflict(const Touch& then, const Touch& now) {
    return !(then.strong && now.strong) && !(then.released && now.acquired);
}

// The first two entries that overlap and conflict; false: none.
bool meet(const std::vector<Touch>& then, const std::vector<Touch>& now, const Touch*& a, const Touch*& b) {
    size_t i = 0, j = 0;
    while (i < then.size() && j < now.size()) {
        a = &then[i], b = &now[j];
        if (a->from < b->end && b->from < a->end && conflict(*a, *b)) return true;
        (a->end <= b->end ? i : j)++;
    }
    return false;
}

std::string side(const char* what, const std::string& name, const Footprint& of, const Touch& touch) {
    const std::string place = touch.place < of.places.size() ? "   " + of.places[touch.place] : "";
    return std::string("  ") + what + "  " + name + place + "\n";
}

} // namespace

void LaunchRaces::place(OpOrder& op, const std::vector<std::shared_ptr<Op>>& after) {
    op.known = host_;
    for (const std::shared_ptr<Op>& before : after)
        if (before) join(op.known, before->order.known);
    op.chain = 0; // one whose last op comes before this one, or a new one
    while (op.chain < tails_.size() && tails_[op.chain] > tick_of(op.known, op.chain)) op.chain++;
    if (op.chain == tails_.size()) tails_.push_back(0);
    op.tick = ++tails_[op.chain];
    op.known.resize(tails_.size());
    op.known[op.chain] = op.tick;
}

void LaunchRaces::learn(const OpOrder& op) {
    join(host_, op.known);
    std::erase_if(past_, [&](const Past& p) { return p.tick <= tick_of(host_, p.chain); });
}

void LaunchRaces::learn_all() {
    host_ = tails_;
    past_.clear();
}

LaunchRaces::Race LaunchRaces::done(const OpOrder& op, const std::string& name, Footprint footprint) {
    Race race;
    if (!op.tick || (footprint.writes.empty() && footprint.reads[0].empty())) return race;
    for (const Past& then : past_) {
        if (then.tick <= tick_of(op.known, then.chain)) continue;
        const Footprint &a = then.footprint, &b = footprint;
        const Touch *first = nullptr, *second = nullptr;
        const char *was = "write", *is = "write";
        const auto found = [&](const char* before, const std::vector<Touch>& x, const char* now,
                               const std::vector<Touch>& y) {
            was = before, is = now;
            return meet(x, y, first, second);
        };
        if (!found("write", a.writes, "write", b.writes) && !found("write", a.writes, "read ", b.reads[0]) &&
            !found("write", a.writes, "read ", b.reads[1]) && !found("read ", a.reads[0], "write", b.writes) &&
            !found("read ", a.reads[1], "write", b.writes))
            continue;
        race.sides = side(is, name, b, *second) + side(was, then.name, a, *first);
        race.address = std::max(first->from, second->from);
        race.replay = b.replay.empty() ? a.replay : b.replay;
        break;
    }
    past_.push_back({op.chain, op.tick, name, std::move(footprint)});
    return race;
}

void LaunchRaces::forget(uint64_t address, uint64_t bytes) {
    for (Past& p : past_)
        for (std::vector<Touch>* list : {&p.footprint.writes, &p.footprint.reads[0], &p.footprint.reads[1]})
            std::erase_if(*list, [&](const Touch& t) { return t.from < address + bytes && address < t.end; });
}

} // namespace emu::driver
