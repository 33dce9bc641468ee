// SPDX-License-Identifier: Apache-2.0
// Cases of kv_copy: from a row of copy.inc (or a random one) to arguments, memory and right results.
// Called by spark-check through families.cpp; pairs come from tests/ref. Everything is compared as bits, so that a page
// that no pair writes must be what it was before.
#include "ops/kv/caches.h"

#include "ref/kv_copy.h"

#include <algorithm>
#include <cstddef>

namespace check::kv_copy {
namespace {

constexpr int64_t WITHIN = -1; // no cache to copy from but the one that is copied to

struct CopyShape {
    const char* name = "";
    int64_t n = 1, b = 8, c = WITHIN, s = 4, h = 2, d = 64;
    int64_t head_pad = 0, row_pad = 0, from_row_pad = 0;     // elements
    bool heads_outside = false, from_heads_outside = false;  // [B, H, S, D] in memory
    int64_t misalign = 0, from_misalign = 0, v_misalign = 0; // elements off the 16-byte boundary
    unsigned types = KINDS;
    Said coded = Said::as_type;
    bool wide = true; // pairs are I64
    Bad bad = Bad::none;
    Tier tier = Tier::quick;
};

const CopyShape SHAPES[] = {
#include "ops/kv/copy.inc"
};

// Pages in a random order; those that are written are no pair's source. Sources may stand in many pairs.
std::vector<int64_t> draw(const CopyShape& s, Random& r) {
    const bool within = s.c == WITHIN;
    std::vector<int64_t> order(static_cast<size_t>(s.b));
    for (size_t i = 0; i < order.size(); ++i) {
        order[i] = static_cast<int64_t>(i);
        std::swap(order[i], order[static_cast<size_t>(r.below(static_cast<int64_t>(i) + 1))]);
    }
    const int64_t written = within ? (s.b + 1) / 2 : s.b, sources = within ? s.b - written : s.c;
    std::vector<int64_t> pairs;
    for (int64_t n = 0; n < s.n; ++n) {
        const bool bad = s.bad == Bad::all || (s.bad != Bad::none && n % 3 == 1) || n >= written;
        const bool first = r.chance(0.5); // which of the two is wrong
        const Bad kind = s.bad == Bad::all || s.bad == Bad::none ? Bad::mixed : s.bad;
        const int64_t to = n < written ? order[static_cast<size_t>(n)] : 0;
        const int64_t some = sources > 0 ? r.below(sources) : 0; // without any: the page itself, or one that is outside
        const int64_t from = !within ? some : sources > 0 ? order[static_cast<size_t>(written + some)] : to;
        pairs.push_back(bad && first ? bad_index(kind, within ? s.b : s.c, s.wide, r) : from);
        pairs.push_back(bad && !first ? bad_index(kind, s.b, s.wide, r) : to);
    }
    return pairs;
}

// What is at `field` afterwards: of the pages that are written, those they come from; all else stays.
std::vector<Allowed> expect(const Case& before, const ref::KvMoves& moves, const std::string& field, bool within) {
    if (field == "invalid_count") {
        return counted(moves.refused);
    }
    const Operand &to = operand_of(before, field),
                  &from = within ? to : operand_of(before, field.substr(0, 1) + "_from");
    std::vector<Allowed> out(static_cast<size_t>(to.view.count()), Allowed{Allowed::unchanged});
    const int64_t page = to.view.shape[1] * to.view.shape[2] * to.view.shape[3];
    for (const auto& move : moves.moves) {
        for (int64_t i = 0; i < page; ++i) {
            out[static_cast<size_t>(move.to * page + i)] = as_in(before, from, move.from * page + i);
        }
    }
    return out;
}

Case build(const CopyShape& s, ref::Type type, const std::string& name, const Seed& seed) {
    using Args = spark_kv_copy_args;
    Case c = make_case<Args>("kv_copy", name, SPARK_OP_KV_COPY, seed);
    Random r(seed, name);
    const bool within = s.c == WITHIN;
    const std::vector<int64_t> pairs = draw(s, r);
    add_indices(c, "pairs", offsetof(Args, pairs), pairs, s.wide, 2);
    const View to = cache_view({type, {s.b, s.s, s.h, s.d}}, s.head_pad, s.row_pad, s.heads_outside);
    add_bits(c, "k_cache", offsetof(Args, k_cache), to, s.misalign, true, r);
    add_bits(c, "v_cache", offsetof(Args, v_cache), to, s.misalign + s.v_misalign, true, r);
    add_counter(c, offsetof(Args, invalid_count));
    if (!within) {
        const View from = cache_view({type, {s.c, s.s, s.h, s.d}}, s.head_pad, s.from_row_pad, s.from_heads_outside);
        add_bits(c, "k_from", offsetof(Args, k_from), from, s.from_misalign, false, r);
        add_bits(c, "v_from", offsetof(Args, v_from), from, s.from_misalign, false, r);
    }
    recode(c, s.coded,
           {offsetof(Args, k_cache), offsetof(Args, v_cache), offsetof(Args, k_from), offsetof(Args, v_from)});
    c.exact = true;
    c.large = s.tier == Tier::card;
    c.note = "N " + std::to_string(s.n) + ", B " + std::to_string(s.b) + ", S " + std::to_string(s.s) + ", H " +
             std::to_string(s.h) + ", D " + std::to_string(s.d) + (within ? "" : ", C " + std::to_string(s.c));
    ref::KvMoves moves = ref::kv_moves(pairs, within ? s.b : s.c, s.b);
    if (s.s * s.h * s.d == 0) {
        moves = {};
    }
    // The case is copied without its expectation: it holds the pages.
    c.kind = any_kernel;
    c.expect = [before = c, moves, within](size_t index, const std::string&) {
        return expect(before, moves, before.operands[index].field, within);
    };
    return c;
}

Entry entry(const CopyShape& s, ref::Type type, const std::string& name) {
    return {"kv_copy", name, s.tier, [s, type, name](const Seed& seed) { return build(s, type, name, seed); }};
}

void expand(const CopyShape& s, const std::string& name, std::vector<Entry>& out) {
    for (ref::Type type : types_of(s.types)) {
        out.push_back(entry(s, type, name + "." + ref::name_of(type)));
    }
}

void named(std::vector<Entry>& out) { add_table("kv_copy", SHAPES, expand, out); }

Entry random(uint64_t seed, int64_t index) {
    const std::string name = "random_" + std::to_string(index);
    Random r(seed, "kv_copy." + name);
    CopyShape s;
    s.n = r.between(1, 12);
    s.b = r.between(1, 20);
    s.c = r.chance(0.5) ? WITHIN : r.between(0, 12);
    s.s = r.between(1, 9);
    s.h = r.between(1, 5);
    s.d = r.chance(0.4) ? r.between(1, 70) : r.pick<int64_t>({8, 16, 64, 80});
    s.head_pad = r.chance(0.2) ? r.pick<int64_t>({1, 8}) : 0;
    s.row_pad = r.chance(0.3) ? r.pick<int64_t>({1, 8, 64}) : 0;
    s.from_row_pad = r.chance(0.3) ? r.pick<int64_t>({1, 8, 64}) : 0;
    s.heads_outside = r.chance(0.3);
    s.from_heads_outside = r.chance(0.3);
    s.misalign = r.chance(0.15) ? r.between(1, 7) : 0;
    s.from_misalign = r.chance(0.15) ? r.between(1, 7) : 0;
    s.v_misalign = r.chance(0.15) ? r.between(1, 7) : 0;
    s.wide = r.chance(0.5);
    s.bad = r.pick<Bad>({Bad::none, Bad::negative, Bad::beyond, Bad::smallest, Bad::largest, Bad::wraps, Bad::mixed});
    const ref::Type type = r.pick(types_of(KINDS | E5M2));
    s.coded = type == ref::Type::e4m3 ? r.pick<Said>({Said::as_type, Said::e2m1, Said::ue4m3}) : Said::as_type;
    return entry(s, type, name);
}

void sized(const std::vector<int64_t>& dims, std::vector<Entry>& out) {
    if (dims.size() == 4) {
        const CopyShape s{.n = dims[0], .b = 2 * dims[0], .s = dims[1], .h = dims[2], .d = dims[3]};
        expand(s, dims_name(dims), out);
    }
}

Entry worded(Words& words) {
    const CopyShape s{.n = words.number("pairs"),
                      .b = words.number("pages"),
                      .s = words.number("page"),
                      .h = words.number("heads"),
                      .d = words.number("d")};
    return entry(s, words.type(KINDS), words.name());
}

constexpr OpCases CASES{"kv_copy", named, random, sized, "N,S,H,D", worded};

} // namespace
} // namespace check::kv_copy

const check::OpCases check::KV_COPY = check::kv_copy::CASES;
