// SPDX-License-Identifier: Apache-2.0
// Cases of kv_append and kv_gather, which move the same rows to a cache and out of it: from a row of shapes.inc (or a
// random one) to arguments, memory and right results.
// Called by spark-check through families.cpp; rows come from tests/ref. Everything is compared as bits, so that a row
// that no token names must be what it was before.
#include "ops/kv/rows.h"

#include <algorithm>
#include <cstddef>

namespace check::kv_rows {
namespace {

using kv::Codes;
using kv::Scales;
using kv::Shape;
using kv::Whole;

const Shape SHAPES[] = {
#include "ops/kv/codes.inc"
#include "ops/kv/shapes.inc"
};

// The two operators: their arguments are the same fields at the same places, rope_append's first ones too.
struct Op {
    const char* name;
    spark_op number;
    bool gathers;
};
constexpr Op APPENDS{"kv_append", SPARK_OP_KV_APPEND, false}, GATHERS{"kv_gather", SPARK_OP_KV_GATHER, true};
using Args = spark_kv_append_args;
static_assert(sizeof(Args) == sizeof(spark_kv_gather_args));
#define SAME(field)                                                                \
    static_assert(offsetof(Args, field) == offsetof(spark_kv_gather_args, field)); \
    static_assert(offsetof(Args, field) == offsetof(spark_rope_append_args, field))
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

Case build(const Op& op, const Shape& s, ref::Type type, const std::string& name, const Seed& seed) {
    Case c = make_case<Args>(op.name, name, op.number, seed);
    Random r(seed, name);
    const auto add = [&](const char* field, size_t at, const View& view, int64_t misalign, bool written) {
        add_bits(c, field, at, view, misalign, written, r);
    };
    add("k", offsetof(Args, k), kv::tokens_view(s, type, s.h), s.misalign, op.gathers);
    add("v", offsetof(Args, v), kv::tokens_view(s, type, s.h), s.v_misalign, op.gathers);
    const kv::Where where = kv::draw_places(s, op.gathers, r);
    add_indices(c, "positions", offsetof(Args, positions), where.positions, s.wide);
    if (s.named) {
        add_indices(c, "batch", offsetof(Args, batch), where.batch, s.wide_batch);
    }
    kv::add_table(c, s, where.table);
    add("k_cache", offsetof(Args, k_cache), kv::caches_view(s, type), s.cache_misalign, !op.gathers);
    add("v_cache", offsetof(Args, v_cache), kv::caches_view(s, type), s.cache_misalign, !op.gathers);
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
    s.coded = type == ref::Type::e4m3 ? r.pick<Said>({Said::as_type, Said::e2m1, Said::ue4m3}) : Said::as_type;
    s.listed = r.chance(0.5);
    if (r.chance(0.5)) {
        s.coded = Said::as_type;
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
} // namespace check::kv_rows

const check::OpCases check::KV_APPEND = check::kv_rows::CASES<check::kv_rows::APPENDS>;
const check::OpCases check::KV_GATHER = check::kv_rows::CASES<check::kv_rows::GATHERS>;
