// SPDX-License-Identifier: Apache-2.0
// See rows.h: which rows of a cache tokens have, by slots, positions, tables and lists, right ones and wrong ones.
#include "ops/kv/rows.h"

#include <algorithm>
#include <cstddef>

namespace check::kv {
namespace {

// Every page is somebody's, in any order; what is left of the table names none.
ref::KvTable draw_table(const Shape& s, Random& r) {
    ref::KvTable table;
    if (s.sequences == 0) {
        return table;
    }
    table.entries = s.b / s.sequences + 1;
    const int64_t all = s.sequences * table.entries;
    for (int64_t i = 0; i < all; ++i) {
        table.pages.push_back(i < s.b ? i : r.pick<int64_t>({-1, s.b, std::numeric_limits<int32_t>::min()}));
        std::swap(table.pages.back(), table.pages[static_cast<size_t>(r.below(i + 1))]);
    }
    if (s.listed) { // any number of entries for each
        table.firsts = {0, all};
        for (int64_t b = 1; b < s.sequences; ++b) {
            table.firsts.push_back(r.between(0, all));
        }
        std::sort(table.firsts.begin(), table.firsts.end());
        table.firsts.back() += s.bad == Bad::none ? 0 : 1000; // more than there are
        table.entries = 0;
    }
    return table;
}

// The sequence that has entry `at` of the table, and where its entries begin.
struct Owner {
    int64_t sequence, first;
};
Owner owner_of(const ref::KvTable& table, int64_t at) {
    if (table.firsts.empty()) {
        return {at / table.entries, at / table.entries * table.entries};
    }
    const auto next = std::upper_bound(table.firsts.begin(), table.firsts.end(), at);
    return {next - table.firsts.begin() - 1, *(next - 1)};
}

// The same tokens told by the table; every third beyond it, or where it names no page.
void tell_by_table(const Shape& s, Where& where, Random& r) {
    const ref::KvTable& table = where.table;
    const auto find = [&](auto wanted) {
        return std::find_if(table.pages.begin(), table.pages.end(), wanted) - table.pages.begin();
    };
    for (size_t t = 0; t < where.positions.size(); ++t) {
        int64_t &position = where.positions[t], &batch = where.batch[t];
        if (batch >= s.b || position >= s.s) { // beyond the table too
            batch = batch >= s.b ? std::max(batch, s.sequences) : 0;
            position = position >= s.s ? std::max(position, std::ssize(table.pages) * s.s) : position;
            continue;
        }
        if (position < 0 || batch < 0) {
            continue;
        }
        const bool bad = s.bad != Bad::none && r.chance(0.3);
        const int64_t at = find([&](int64_t page) { return bad ? page < 0 || page >= s.b : page == batch; });
        const Owner owner = owner_of(table, at);
        batch = owner.sequence;
        position += (at - owner.first) * s.s;
    }
}

} // namespace

Where draw_places(const Shape& s, bool repeats, Random& r) {
    Where out;
    const int64_t slots = s.b * s.s;
    std::vector<int64_t> order(static_cast<size_t>(slots));
    for (size_t i = 0; i < order.size(); ++i) {
        order[i] = static_cast<int64_t>(i);
        std::swap(order[i], order[static_cast<size_t>(r.below(static_cast<int64_t>(i) + 1))]);
    }
    for (int64_t t = 0; t < s.t; ++t) {
        const bool bad = s.bad == Bad::all || (s.bad != Bad::none && t % 3 == 1) || t >= slots;
        const bool again = repeats && t % 4 == 3;
        const int64_t slot = bad ? 0 : order[static_cast<size_t>(again ? t - 1 : t)];
        const Bad kind = s.bad == Bad::all || s.bad == Bad::none ? Bad::mixed : s.bad;
        if (!s.named) {
            out.positions.push_back(bad ? bad_index(kind, slots, s.wide, r) : slot);
            continue;
        }
        const bool in_batch = bad && r.chance(0.5); // which of the two is wrong; the other is right
        out.batch.push_back(in_batch ? bad_index(kind, s.b, s.wide_batch, r)
                            : bad    ? r.below(std::max<int64_t>(s.b, 1))
                                     : slot / s.s);
        out.positions.push_back(!bad       ? slot % s.s
                                : in_batch ? r.below(std::max<int64_t>(s.s, 1))
                                           : bad_index(kind, s.s, s.wide, r));
    }
    out.table = draw_table(s, r);
    if (s.sequences > 0) {
        tell_by_table(s, out, r);
    }
    return out;
}

View caches_view(const Shape& s, ref::Type type) {
    return cache_view(packed(cache_type(s, type), {s.b, s.s, s.h, cache_width(s)}), s.cache_head_pad, s.row_pad,
                      s.heads_outside);
}

View tokens_view(const Shape& s, ref::Type type, int64_t heads) {
    const int64_t head = std::max<int64_t>(s.d + s.head_pad, 1);
    return {type, {s.t, heads, s.d}, {std::max<int64_t>(heads * head + s.token_pad, 1), head, 1}};
}

static void add_entries(Case& c, const char* field, size_t at, const View& view, const std::vector<int64_t>& entries) {
    const Operand& list = c.add(field, at, view, 4, false);
    for (size_t i = 0; i < entries.size(); ++i) {
        ref::store_bits(ref::Type::i32, static_cast<uint64_t>(entries[i]), c.element(list, static_cast<int64_t>(i)));
    }
}

// With gaps between the rows of a table.
void add_table(Case& c, const Shape& s, const ref::KvTable& table) {
    const auto list_of = [](const std::vector<int64_t>& entries) {
        return packed(ref::Type::i32, {std::ssize(entries)});
    };
    if (s.sequences > 0 && s.listed) {
        add_entries(c, "kv_indptr", offsetof(spark_kv_append_args, kv_indptr), list_of(table.firsts), table.firsts);
        add_entries(c, "kv_indices", offsetof(spark_kv_append_args, kv_indices), list_of(table.pages), table.pages);
    } else if (s.sequences > 0) {
        const View view{ref::Type::i32, {s.sequences, table.entries}, {table.entries + 1, 1}};
        add_entries(c, "block_table", offsetof(spark_kv_append_args, block_table), view, table.pages);
    }
}

} // namespace check::kv
