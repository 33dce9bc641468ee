// SPDX-License-Identifier: Apache-2.0
// Control flow of a kernel: basic blocks, and for each branch the immediate post-dominator, where diverged lanes meet.
// A guarded exit is not an edge: lanes that leave are simply no longer waited for.
#include <algorithm>

#include "builder.h"

namespace emu {
namespace {
bool is_branch(const InstInfo& info) { return row_of(info).is(trait::branch); }
bool is_end(const InstInfo& info) { return row_of(info).is(trait::ends); }

// The tables of Lengauer and Tarjan, by depth-first number; 0 is the root.
class Dominators {
public:
    explicit Dominators(const std::vector<uint32_t>& parent)
        : parent_(parent), semi_(parent.size()), least_(parent.size()), above_(parent.size(), NONE),
          found_(parent.size()), bucket_(parent.size(), NONE), next_(parent.size(), NONE) {
        for (uint32_t v = 0; v < parent.size(); v++) semi_[v] = least_[v] = v;
    }
    // From high numbers to low: each edge that ends in v, then finish(v).
    void edge(uint32_t from, uint32_t v) { semi_[v] = std::min(semi_[v], semi_[eval(from)]); }
    void finish(uint32_t v) {
        next_[v] = bucket_[semi_[v]];
        bucket_[semi_[v]] = v;
        const uint32_t p = above_[v] = parent_[v];
        for (uint32_t w = bucket_[p]; w != NONE; w = next_[w]) {
            const uint32_t u = eval(w);
            found_[w] = semi_[u] < semi_[w] ? u : p;
        }
        bucket_[p] = NONE;
    }
    std::vector<uint32_t> immediate() {
        for (uint32_t v = 1; v < found_.size(); v++)
            if (found_[v] != semi_[v]) found_[v] = found_[found_[v]];
        return found_;
    }

private:
    static constexpr uint32_t NONE = UINT32_MAX;
    // The vertex of least semi-dominator between v and the root of its tree, which is not counted; shortens the way.
    uint32_t eval(uint32_t v) {
        if (above_[v] == NONE) return v;
        way_.clear();
        for (uint32_t u = v; above_[above_[u]] != NONE; u = above_[u]) way_.push_back(u);
        for (; !way_.empty(); way_.pop_back()) {
            const uint32_t u = way_.back(), a = above_[u];
            if (semi_[least_[a]] < semi_[least_[u]]) least_[u] = least_[a];
            above_[u] = above_[a];
        }
        return least_[v];
    }
    const std::vector<uint32_t>& parent_;
    std::vector<uint32_t> semi_, least_, above_, found_, bucket_, next_, way_;
};
} // namespace

void Builder::find_blocks() {
    const auto& code = kernel_.code;
    uint32_t n = uint32_t(code.size());
    std::vector<bool> leader(n + 1, false);
    leader[0] = leader[n] = true;
    for (uint32_t pc = 0; pc < n; pc++) {
        const InstInfo& info = kernel_.infos[pc];
        if (is_branch(info)) {
            leader[pc + 1] = true;
            each_target(pc, [&](uint32_t& target) { leader[target] = true; });
        }
        if (is_end(info) && code[pc].guard == 0) leader[pc + 1] = true;
    }
    block_of_.assign(n + 1, 0);
    for (uint32_t pc = 0; pc < n; pc++) {
        if (leader[pc]) blocks_.push_back({pc, pc, {}, {}, 0});
        blocks_.back().to = pc + 1;
        block_of_[pc] = uint32_t(blocks_.size() - 1);
    }
    uint32_t exit = uint32_t(blocks_.size()); // a virtual block after all ends
    blocks_.push_back({n, n, {}, {}, exit});
    block_of_[n] = exit;
    for (uint32_t b = 0; b < exit; b++) {
        uint32_t last = blocks_[b].to - 1;
        auto edge = [&](uint32_t to) {
            if (std::find(blocks_[b].next.begin(), blocks_[b].next.end(), to) != blocks_[b].next.end()) return;
            blocks_[b].next.push_back(to);
            blocks_[to].before.push_back(b);
        };
        bool guarded = code[last].guard != 0;
        if (is_branch(kernel_.infos[last])) {
            each_target(last, [&](uint32_t& target) { edge(block_of_[target]); });
            if (guarded) edge(b + 1);
        } else if (is_end(kernel_.infos[last]) && !guarded) {
            edge(exit);
        } else {
            edge(b + 1);
        }
    }
}

// Lengauer and Tarjan's algorithm, on the reversed graph: its time grows as n log n whatever the branches are. Blocks
// go by their number in a depth-first walk from the end; what cannot reach the end has none.
void Builder::find_post_dominators() {
    const uint32_t n = uint32_t(blocks_.size()), exit = n - 1, none = UINT32_MAX;
    std::vector<uint32_t> order, number(n, none), parent;
    std::vector<std::pair<uint32_t, size_t>> stack{{exit, 0}};
    number[exit] = 0, order = {exit}, parent = {none};
    while (!stack.empty()) {
        auto& [b, i] = stack.back();
        if (i == blocks_[b].before.size()) {
            stack.pop_back();
            continue;
        }
        const uint32_t p = blocks_[b].before[i++];
        if (number[p] != none) continue;
        parent.push_back(number[b]);
        number[p] = uint32_t(order.size());
        order.push_back(p);
        stack.push_back({p, 0});
    }
    Dominators tree(parent);
    for (uint32_t v = uint32_t(order.size()) - 1; v > 0; v--) {
        for (uint32_t s : blocks_[order[v]].next)
            if (number[s] != none) tree.edge(number[s], v);
        tree.finish(v);
    }
    const std::vector<uint32_t> post = tree.immediate();
    for (Block& b : blocks_) b.post = none;
    for (uint32_t v = 0; v < post.size(); v++) blocks_[order[v]].post = order[post[v]];
    for (uint32_t pc = 0; pc < kernel_.code.size(); pc++) {
        if (!is_branch(kernel_.infos[pc])) continue;
        const uint32_t meet = blocks_[block_of_[pc]].post; // none: an endless loop
        kernel_.infos[pc].reconverge = meet == none ? uint32_t(kernel_.code.size()) : blocks_[meet].from;
    }
}

} // namespace emu
