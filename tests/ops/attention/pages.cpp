// SPDX-License-Identifier: Apache-2.0
// Pages of attention's keys and values, which a table or a list names. Called by attention.cpp.
#include "ops/attention/shape.h"

#include <algorithm>
#include <cstddef>

namespace check::attention {

using Args = spark_attention_args;

void add_list(Case& c, const char* field, size_t offset, const std::vector<int64_t>& numbers) {
    const Operand& list =
        c.add(field, offset, packed(ref::Type::i32, {static_cast<int64_t>(numbers.size())}), 4, false);
    for (size_t i = 0; i < numbers.size(); ++i) {
        ref::store_bits(ref::Type::i32, static_cast<uint64_t>(numbers[i]), c.element(list, static_cast<int64_t>(i)));
    }
}

// Pages in any order, some of them nobody's.
void draw_pages(const Shape& s, Problem& p, Random& random) {
    p.page = s.page;
    if (s.page == 0) {
        return;
    }
    const int64_t sequences = s.seqs + s.spare;
    p.entries = (s.sk + s.page - 1) / s.page;
    p.pages = sequences * p.entries + 2;
    for (int64_t i = 0; i < sequences * p.entries; ++i) {
        p.table.push_back(i);
        std::swap(p.table.back(), p.table[static_cast<size_t>(random.below(i + 1))]);
    }
    for (int64_t i = 0; i < sequences * p.entries; ++i) {
        int64_t& entry = p.table[static_cast<size_t>(i)];
        if (s.pages == Pages::shared && i % p.entries < 2) {
            entry = p.table[static_cast<size_t>(i % p.entries)];
        } else if (s.pages == Pages::wrong && random.chance(0.4)) {
            entry = random.pick<int64_t>({-1, p.pages, INT32_MIN, INT32_MAX});
        }
    }
    p.t = p.entries * s.page;
    if (!s.list_k) {
        p.k_len.assign(static_cast<size_t>(s.seqs), p.t);
    }
}

namespace {

// Entry `i` of sequence b; those behind the keys in use are no pages.
int64_t entry_of(const Shape& s, const Problem& p, int64_t b, int64_t i) {
    const bool used = b < s.seqs && i * p.page < p.k_len[static_cast<size_t>(b)];
    return used ? p.table[static_cast<size_t>(b * p.entries + i)] : -7 - i;
}

struct Some {
    int64_t pages, rest; // rest: what is said of the last one
};
// The pages of `keys` keys, and their last one's tokens, in one of the ways that there are to say it.
Some pages_of(int64_t keys, const Problem& p, Random& random) {
    const int64_t pages = (keys + p.page - 1) / p.page;
    if (keys % p.page != 0) {
        return {pages, keys % p.page};
    }
    if (pages < p.entries && random.chance(0.3)) { // a page more, of which nothing is in use
        return {pages + 1, random.pick<int64_t>({0, -5, INT32_MIN})};
    }
    return {pages, random.pick<int64_t>({p.page, p.page + 100000, INT32_MAX})};
}

} // namespace

// The table has gaps between its rows.
void add_table(Case& c, const Shape& s, const Problem& p, Random& random) {
    const int64_t rows = s.seqs + s.spare;
    if (s.page == 0) {
        return;
    }
    if (s.listed == Listed::none) {
        const Operand& table = c.add("block_table", offsetof(Args, block_table),
                                     {ref::Type::i32, {rows, p.entries}, {p.entries + 3, 1}}, 4, false);
        for (int64_t i = 0; i < rows * p.entries; ++i) {
            const int64_t entry = entry_of(s, p, i / p.entries, i % p.entries);
            ref::store_bits(ref::Type::i32, static_cast<uint64_t>(entry), c.element(table, i));
        }
        return;
    }
    std::vector<int64_t> firsts = {0}, entries, rest;
    const int64_t listed = s.list_q || s.list_k ? s.seqs : rows; // as many as the other lists
    for (int64_t b = 0; b < listed; ++b) {
        const bool told = s.listed == Listed::rest && b < s.seqs;
        const Some some = told ? pages_of(p.k_len[static_cast<size_t>(b)], p, random) : Some{p.entries, 3};
        for (int64_t i = 0; i < some.pages; ++i) {
            entries.push_back(entry_of(s, p, b, i));
        }
        firsts.push_back(firsts.back() + some.pages);
        rest.push_back(some.rest);
    }
    add_list(c, "kv_indptr", offsetof(Args, kv_indptr), firsts);
    add_list(c, "kv_indices", offsetof(Args, kv_indices), entries);
    if (s.listed == Listed::rest) {
        add_list(c, "kv_last_page_len", offsetof(Args, kv_last_page_len), rest);
    }
}

} // namespace check::attention
