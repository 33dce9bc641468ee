// SPDX-License-Identifier: Apache-2.0
// Sets of past accesses, the currency of happens-before. An agent is whoever makes accesses under one clock: here a
// warp, whose lanes are told apart; those of a cluster's block of rank r begin with r * WARPS. Knows no memory and no
// instructions.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace emu {

constexpr unsigned WARPS = 32; // of a block
using Moment = uint32_t;       // of an agent's clock; 0: before everything

// Who made an access, and when. Several lanes: they made it together.
struct Event {
    Moment moment = 0;
    uint32_t lanes = 0;
    uint16_t agent = 0;
};

// Of each agent every lane's accesses up to a moment, and of some lanes more.
class Past {
public:
    using Warps = std::array<Moment, WARPS>;
    // What is known of all lanes of a block's warps.
    const Warps& of(unsigned block) const {
        return block == 0 ? first_ : block <= rest_.size() ? rest_[block - 1] : NONE;
    }
    Warps& of(unsigned block) {
        is_empty_ = false;
        if (block == 0) return first_;
        if (block > rest_.size()) rest_.resize(block);
        return rest_[block - 1];
    }
    Moment all(unsigned agent) const { return of(agent / WARPS)[agent % WARPS]; }
    Moment& all(unsigned agent) { return of(agent / WARPS)[agent % WARPS]; }
    bool knows_block(unsigned block) const {
        const Warps& warps = of(block);
        const auto in_block = [&](const Event& e) { return e.agent / WARPS == block; };
        return std::any_of(warps.begin(), warps.end(), [](Moment m) { return m != 0; }) ||
               std::any_of(lanes_.begin(), lanes_.end(), in_block);
    }

    void clear() {
        if (is_empty_) return;
        first_.fill(0);
        for (Warps& warps : rest_) warps.fill(0);
        lanes_.clear();
        is_empty_ = true;
    }
    void add(const Past& other) {
        is_empty_ &= other.is_empty_;
        add(first_, other.first_);
        for (unsigned b = 1; b <= other.rest_.size(); ++b) add(of(b), other.of(b));
        if (!lanes_.empty()) forget_known();
        for (const Event& e : other.lanes_) add(e);
    }
    void add(const Event& e) {
        is_empty_ = false;
        if (e.moment <= all(e.agent)) return;
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
        if (e.moment <= all(e.agent)) return true;
        uint32_t left = e.lanes;
        for (const Event& have : lanes_)
            if (have.agent == e.agent && have.moment >= e.moment) left &= ~have.lanes;
        return !left;
    }
    const std::vector<Event>& lanes() const { return lanes_; }

private:
    static void add(Warps& to, const Warps& from) {
        for (unsigned w = 0; w < WARPS; ++w) to[w] = std::max(to[w], from[w]);
    }
    void forget_known() {
        std::erase_if(lanes_, [&](const Event& e) { return e.moment <= all(e.agent); });
    }
    static constexpr Warps NONE{};
    bool is_empty_ = true;    // nothing has come in since it was cleared, as is mostly so where blocks begin
    Warps first_{};           // of the block of rank 0: the only one where there are no clusters
    std::vector<Warps> rest_; // of the others, as far as something is known
    std::vector<Event> lanes_;
};

} // namespace emu
