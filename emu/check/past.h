// SPDX-License-Identifier: Apache-2.0
// Sets of past accesses, the currency of happens-before. An agent is whoever makes accesses under one clock: here a
// warp, whose lanes are told apart. Knows no memory and no instructions.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace emu {

constexpr unsigned AGENTS = 32; // warps of a block
using Moment = uint32_t;        // of an agent's clock; 0: before everything

// Who made an access, and when. Several lanes: they made it together.
struct Event {
    Moment moment = 0;
    uint32_t lanes = 0;
    uint8_t agent = 0;
};

// Of each agent every lane's accesses up to a moment, and of some lanes more.
class Past {
public:
    std::array<Moment, AGENTS> all{};

    void clear() {
        all.fill(0);
        lanes_.clear();
    }
    void add(const Past& other) {
        for (unsigned a = 0; a < AGENTS; ++a) all[a] = std::max(all[a], other.all[a]);
        if (!lanes_.empty()) forget_known();
        for (const Event& e : other.lanes_) add(e);
    }
    void add(const Event& e) {
        if (e.moment <= all[e.agent]) return;
        for (Event& have : lanes_)
            if (have.agent == e.agent && have.moment == e.moment) {
                have.lanes |= e.lanes;
                return;
            }
        // What these lanes have done earlier is part of what they have done by now.
        for (Event& have : lanes_)
            if (have.agent == e.agent && have.moment < e.moment) have.lanes &= ~e.lanes;
        std::erase_if(lanes_, [](const Event& have) { return !have.lanes; });
        lanes_.push_back(e);
    }
    bool has(const Event& e) const {
        if (e.moment <= all[e.agent]) return true;
        uint32_t left = e.lanes;
        for (const Event& have : lanes_)
            if (have.agent == e.agent && have.moment >= e.moment) left &= ~have.lanes;
        return !left;
    }
    const std::vector<Event>& lanes() const { return lanes_; }

private:
    void forget_known() {
        std::erase_if(lanes_, [&](const Event& e) { return e.moment <= all[e.agent]; });
    }
    std::vector<Event> lanes_;
};

} // namespace emu
