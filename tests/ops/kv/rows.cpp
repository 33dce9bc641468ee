// SPDX-License-Identifier: Apache-2.0
// Cases of kv_append and kv_gather, which move the same rows to a cache and out of it: from a row of shapes.inc (or a
// random one) to arguments, memory and right results.
// Called by spark-check through families.cpp; rows come from tests/ref. Everything is compared as bits, so that a row
// that no token names must be what it was before.
#include "ops/kv/rows.h"

#include <algorithm>
#include <cstddef>

namespace check {
namespace {

using kv::Codes;
using kv::Scales;
using kv::Shape;
using kv::Whole;

const Shape SHAPES[] = {
#include "ops/kv/codes.inc"
#include "ops/kv/shapes.inc"
};

// The two operators: their arguments are the same fields at the same places.
struct Op {
    const char* name;
    spark_op number;
    bool gathers;
};
constexpr Op APPENDS{"kv_append", SPARK_OP_KV_APPEND, false}, GATHERS{"kv_gather", SPARK_OP_KV_GATHER, true};
using Args = spark_kv_append_args;
static_assert(sizeof(Args) == sizeof(spark_kv_gather_args));
#define SAME(field) static_assert(offsetof(Args, field) == offsetof(spark_kv_gather_args, field))
SAME(k);
SAME(v);
SAME(positions);
SAME(batch);
SAME(k_cache);
SAME(v_cache);
SAME(invalid_count);
SAME(block_table);
SAME(kv_indptr);
SAME(kv_indices);
#undef SAME

struct Where {
    std::vector<int64_t> positions, batch;
    ref::KvTable table;
};

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

// Different rows for all tokens, as kv_append demands: a random step through the cache. For kv_gather some repeat.
Where draw(const Shape& s, bool gathers, Random& r) {
    Where out;
    const int64_t slots = s.b * s.s;
    std::vector<int64_t> order(static_cast<size_t>(slots));
    for (size_t i = 0; i < order.size(); ++i) {
        order[i] = static_cast<int64_t>(i);
        std::swap(order[i], order[static_cast<size_t>(r.below(static_cast<int64_t>(i) + 1))]);
    }
    for (int64_t t = 0; t < s.t; ++t) {
        const bool bad = s.bad == Bad::all || (s.bad != Bad::none && t % 3 == 1) || t >= slots;
        const bool again = gathers && t % 4 == 3;
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

// What is at `field` afterwards: of the rows that move, those of the other tensor of its side; all else stays.
std::vector<Allowed> expect(const Case& before, const ref::KvPlaces& places, const std::string& field, bool gathers) {
    if (field == "invalid_count") {
        return counted(places.refused);
    }
    const std::string side = field.substr(0, 1);
    const Operand &tokens = operand_of(before, side), &cache = operand_of(before, side + "_cache");
    const Operand &from = gathers ? cache : tokens, &to = gathers ? tokens : cache;
    std::vector<Allowed> out(static_cast<size_t>(to.view.count()), Allowed{Allowed::unchanged});
    const int64_t row = tokens.view.shape[1] * tokens.view.shape[2];
    for (size_t t = 0; t < places.slot.size(); ++t) {
        const int64_t token = static_cast<int64_t>(t) * row, slot = places.slot[t] * row;
        for (int64_t i = 0; i < row && slot >= 0; ++i) {
            out[static_cast<size_t>((gathers ? token : slot) + i)] = as_in(before, from, (gathers ? slot : token) + i);
        }
    }
    return out;
}

View caches_view(const Shape& s, ref::Type type) {
    return cache_view(packed(cache_type(s, type), {s.b, s.s, s.h, cache_width(s)}), s.cache_head_pad, s.row_pad,
                      s.heads_outside);
}

View tokens_view(const Shape& s, ref::Type type) {
    const int64_t head = std::max<int64_t>(s.d + s.head_pad, 1);
    return {type, {s.t, s.h, s.d}, {std::max<int64_t>(s.h * head + s.token_pad, 1), head, 1}};
}

void add_entries(Case& c, const char* field, size_t at, const View& view, const std::vector<int64_t>& entries) {
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
        add_entries(c, "kv_indptr", offsetof(Args, kv_indptr), list_of(table.firsts), table.firsts);
        add_entries(c, "kv_indices", offsetof(Args, kv_indices), list_of(table.pages), table.pages);
    } else if (s.sequences > 0) {
        const View view{ref::Type::i32, {s.sequences, table.entries}, {table.entries + 1, 1}};
        add_entries(c, "block_table", offsetof(Args, block_table), view, table.pages);
    }
}

Case build(const Op& op, const Shape& s, ref::Type type, const std::string& name, const Seed& seed) {
    Case c = make_case<Args>(op.name, name, op.number, seed);
    Random r(seed, name);
    const auto add = [&](const char* field, size_t at, const View& view, int64_t misalign, bool written) {
        add_bits(c, field, at, view, misalign, written, r);
    };
    add("k", offsetof(Args, k), tokens_view(s, type), s.misalign, op.gathers);
    add("v", offsetof(Args, v), tokens_view(s, type), s.v_misalign, op.gathers);
    const Where where = draw(s, op.gathers, r);
    add_indices(c, "positions", offsetof(Args, positions), where.positions, s.wide);
    if (s.named) {
        add_indices(c, "batch", offsetof(Args, batch), where.batch, s.wide_batch);
    }
    add_table(c, s, where.table);
    add("k_cache", offsetof(Args, k_cache), caches_view(s, type), s.cache_misalign, !op.gathers);
    add("v_cache", offsetof(Args, v_cache), caches_view(s, type), s.cache_misalign, !op.gathers);
    add_counter(c, offsetof(Args, invalid_count));
    for (const char* tokens : {"k", "v"}) {
        if (s.codes != Codes::none && !op.gathers) {
            fill_numbers(c, operand_of(c, tokens), s.numbers, r);
        }
    }
    add_scales(c, s, "k_cache", offsetof(Args, k_cache), op.gathers, r);
    add_scales(c, s, "v_cache", offsetof(Args, v_cache), op.gathers, r);
    recode(c, s.coded, {offsetof(Args, k), offsetof(Args, v), offsetof(Args, k_cache), offsetof(Args, v_cache)});
    c.exact = true;
    c.large = s.tier == Tier::card;
    c.note = "T " + std::to_string(s.t) + ", H " + std::to_string(s.h) + ", D " + std::to_string(s.d) + ", B " +
             std::to_string(s.b) + ", S " + std::to_string(s.s);
    ref::KvPlaces places = ref::kv_places(where.positions, where.batch, s.b, s.s, where.table);
    if (s.t * s.h * s.d == 0) {
        places = {};
    }
    // The case is copied without its expectation: it holds the tokens.
    c.kind = any_kernel;
    c.expect = [before = c, s, places, gathers = op.gathers](size_t index, const std::string&) {
        const std::string& field = before.operands[index].field;
        return s.codes == Codes::none || field == "invalid_count"
                   ? expect(before, places, field, gathers)
                   : expect_codes(before, s, places.slot, field, gathers);
    };
    return c;
}

Entry entry(const Op& op, const Shape& s, ref::Type type, const std::string& name) {
    return {op.name, name, s.tier, [op, s, type, name](const Seed& seed) { return build(op, s, type, name, seed); }};
}

template <const Op& OP> void named(std::vector<Entry>& out) {
    const auto expand = [](const Shape& s, const std::string& name, std::vector<Entry>& entries) {
        for (ref::Type type : types_of(s.codes == Codes::none ? s.types : s.types & ALL)) {
            entries.push_back(entry(OP, s, type, name + "." + ref::name_of(type)));
        }
    };
    add_table(OP.name, SHAPES, expand, out);
}

template <const Op& OP> Entry random(uint64_t seed, int64_t index) {
    const std::string name = "random_" + std::to_string(index);
    Random r(seed, OP.name + ("." + name));
    Shape s;
    s.t = r.between(1, 40);
    s.h = r.between(1, 9);
    s.d = r.chance(0.4) ? r.between(1, 140) : r.pick<int64_t>({8, 64, 80, 96, 128, 256});
    s.b = r.between(1, 6);
    s.s = r.between(1, 30);
    s.token_pad = r.chance(0.3) ? r.pick<int64_t>({1, 8, 64}) : 0;
    s.head_pad = r.chance(0.2) ? r.pick<int64_t>({1, 8}) : 0;
    s.row_pad = r.chance(0.3) ? r.pick<int64_t>({1, 8, 64}) : 0;
    s.cache_head_pad = r.chance(0.2) ? r.pick<int64_t>({1, 8}) : 0;
    s.heads_outside = r.chance(0.3);
    s.misalign = r.chance(0.15) ? r.between(1, 7) : 0;
    s.v_misalign = r.chance(0.15) ? r.between(1, 7) : 0;
    s.cache_misalign = r.chance(0.15) ? r.between(1, 7) : 0;
    s.named = r.chance(0.6);
    s.wide = r.chance(0.5);
    s.wide_batch = r.chance(0.5);
    s.sequences = s.named && r.chance(0.4) ? r.between(1, 4) : 0;
    s.bad = r.pick<Bad>({Bad::none, Bad::negative, Bad::beyond, Bad::smallest, Bad::largest, Bad::wraps, Bad::mixed});
    const ref::Type type = r.pick(types_of(KINDS | E5M2));
    s.coded = type == ref::Type::e4m3 ? r.pick<Coded>({Coded::as_type, Coded::e2m1, Coded::ue4m3}) : Coded::as_type;
    s.listed = r.chance(0.5);
    if (r.chance(0.5)) {
        s.coded = Coded::as_type;
        draw_codes(s, r);
        return entry(OP, s, r.pick(types_of(ALL)), name);
    }
    return entry(OP, s, type, name);
}

template <const Op& OP> void sized(const std::vector<int64_t>& dims, std::vector<Entry>& out) {
    if (dims.size() == 4) {
        const Shape s{.t = dims[0], .h = dims[1], .d = dims[2], .b = 1, .s = dims[3]};
        for (ref::Type type : types_of(KINDS)) {
            out.push_back(entry(OP, s, type, dims_name(dims) + "." + ref::name_of(type)));
        }
    }
}

template <const Op& OP> Entry worded(Words& words) {
    Shape s{.t = words.number("tokens"),
            .h = words.number("heads"),
            .d = words.number("d"),
            .b = words.number("b"),
            .s = words.number("capacity"),
            .numbers = kv::Numbers::usual};
    if (words.take("to")) {
        const std::string codes = words.one_of({"E4M3", "E4M3_ROW", "E5M2", "NVFP4"});
        s.codes = codes == "NVFP4" ? Codes::nvfp4 : codes == "E5M2" ? Codes::e5m2 : Codes::e4m3;
        s.k_scales = s.v_scales = codes == "E4M3_ROW" ? Scales::row : Scales::none;
    }
    return entry(OP, s, words.type(KINDS), words.name());
}

template <const Op& OP> constexpr OpCases CASES{OP.name, named<OP>, random<OP>, sized<OP>, "T,H,D,S", worded<OP>};

} // namespace

extern const OpCases KV_APPEND = CASES<APPENDS>;
extern const OpCases KV_GATHER = CASES<GATHERS>;

} // namespace check
