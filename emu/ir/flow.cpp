// SPDX-License-Identifier: Apache-2.0
// Control flow of a kernel: basic blocks, and for each branch the immediate post-dominator, where diverged lanes meet.
// A guarded exit is not an edge: lanes that leave are simply no longer waited for.
#include <algorithm>

#include "builder.h"

namespace emu {
namespace {
bool is_branch(const InstInfo& info) { return op_rows()[info.op].family == "branch"; }
bool is_end(const InstInfo& info) {
    std::string_view m = op_rows()[info.op].mnemonic;
    return m == "exit" || m == "ret" || m == "trap";
}
} // namespace

void Builder::find_blocks() {
    const auto& code = kernel_.code;
    uint32_t n = uint32_t(code.size());
    std::vector<bool> leader(n + 1, false);
    leader[0] = leader[n] = true;
    for (uint32_t pc = 0; pc < n; pc++) {
        const InstInfo& info = kernel_.infos[pc];
        if (is_branch(info)) leader[code[pc].target] = leader[pc + 1] = true;
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
            edge(block_of_[code[last].target]);
            if (guarded) edge(b + 1);
        } else if (is_end(kernel_.infos[last]) && !guarded) {
            edge(exit);
        } else {
            edge(b + 1);
        }
    }
}

// Cooper, Harvey and Kennedy's iteration, on the reversed graph.
void Builder::find_post_dominators() {
    uint32_t n = uint32_t(blocks_.size()), exit = n - 1, none = UINT32_MAX;
    std::vector<uint32_t> order, number(n, none); // post-order of the reversed graph
    std::vector<std::pair<uint32_t, size_t>> stack{{exit, 0}};
    std::vector<bool> seen(n, false);
    seen[exit] = true;
    while (!stack.empty()) {
        auto& [b, i] = stack.back();
        if (i < blocks_[b].before.size()) {
            uint32_t p = blocks_[b].before[i++];
            if (!seen[p]) {
                seen[p] = true;
                stack.push_back({p, 0});
            }
        } else {
            number[b] = uint32_t(order.size());
            order.push_back(b);
            stack.pop_back();
        }
    }
    for (Block& b : blocks_) b.post = none;
    blocks_[exit].post = exit;
    auto meet = [&](uint32_t a, uint32_t b) {
        while (a != b) {
            while (number[a] < number[b]) a = blocks_[a].post;
            while (number[b] < number[a]) b = blocks_[b].post;
        }
        return a;
    };
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t k = order.size(); k-- > 0;) {
            uint32_t b = order[k], post = none;
            if (b == exit) continue;
            for (uint32_t s : blocks_[b].next)
                if (number[s] != none && blocks_[s].post != none) post = post == none ? s : meet(post, s);
            if (post != blocks_[b].post) {
                blocks_[b].post = post;
                changed = true;
            }
        }
    }
    for (uint32_t pc = 0; pc < kernel_.code.size(); pc++) {
        if (!is_branch(kernel_.infos[pc])) continue;
        uint32_t post = blocks_[block_of_[pc]].post; // none: an endless loop
        kernel_.infos[pc].reconverge = post == none ? uint32_t(kernel_.code.size()) : blocks_[post].from;
    }
}

} // namespace emu
