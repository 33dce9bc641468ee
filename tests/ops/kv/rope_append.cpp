// SPDX-License-Identifier: Apache-2.0
// Cases of rope_append: from a row of rope_append.inc (or a random one) to arguments, memory and right results.
// Called by spark-check through families.cpp. Which rows tokens have, caches and their scales are those of kv_append's
// cases; what may come of a norm and of a turn is what rmsnorm's and rope's cases allow, one after the other.
#include "ops/kv/rows.h"
#include "ops/norm/between.h"
#include "ops/rope/turned.h"

#include <algorithm>
#include <cstddef>

namespace check::rope_append {
namespace {

using Args = spark_rope_append_args;

enum class Table { none, same, f32 };
enum class Coding { none, one, given }; // of q_out: numbers; codes without a scale, or with one

struct Shape {
    const char* name = "";
    kv::Shape rows = {}; // of k and v, and their caches
    int64_t queries = 2;
    int64_t rotary = 0; // 0: not told, all of d
    bool interleaved = false;
    Table table = Table::none;
    int64_t table_rows = 64, table_pad = 0;
    bool slots = false; // told beside the positions
    Column q_weight = Column::none, k_weight = Column::none;
    int64_t weight_misalign = 0;
    bool plus_one = false;
    float eps = 0; // not told
    bool in_place = false;
    Coding q_codes = Coding::none;
    bool q_e5m2 = false;
    Ends ends = Ends::none;
    Tier tier = Tier::quick;
};

const Shape SHAPES[] = {
#include "ops/kv/rope_append.inc"
};

struct Heads {
    std::vector<double> x, weight;
};

struct Inputs {
    Shape s;
    Heads q, k;
    std::vector<double> table;
    std::vector<int64_t> positions;
    int64_t pairs = 0;
    double theta = 0, eps = 0, q_scale = 1;
    ref::Type type{};
    kv::Shape rows = {};
    ref::KvPlaces places = {}; // of tokens whose position is one

    bool valid(int64_t p) const { return s.table == Table::none || (p >= 0 && p < s.table_rows); }
    ref::Turn turn(int64_t p, int64_t i) const {
        if (s.table == Table::none) return ref::rope_turn(p, theta, i, pairs);
        const auto at = static_cast<size_t>(p * 2 * pairs + i);
        return {table[at], table[at + static_cast<size_t>(pairs)]};
    }
    std::vector<ref::Turn> turns(int64_t p) const {
        std::vector<ref::Turn> out;
        for (int64_t i = 0; i < pairs; ++i) out.push_back(turn(p, i));
        return out;
    }
};

// A head of token t, number `head` of all those of its side, turned.
void add_head(const Inputs& in, const Heads& side, int64_t t, int64_t head, Numbers& out) {
    const auto d = static_cast<size_t>(in.rows.d);
    const auto x = std::span(side.x).subspan(static_cast<size_t>(head) * d, d);
    std::vector<double> low(x.begin(), x.end()), high = low;
    if (!side.weight.empty()) {
        ref::Rmsnorm norm{.eps = in.eps};
        norm.weight_plus_one = in.s.plus_one, norm.coded = true;
        const NormedRow ends = normed_between(norm, x, side.weight, {});
        Numbers normed;
        for (size_t i = 0; i < d; ++i) {
            normed.add(ends.low[i], ends.high[i], ends.slack[i]);
        }
        low = normed.low, high = normed.high;
    }
    const int64_t p = in.positions[static_cast<size_t>(t)];
    const double off = in.s.table == Table::none ? turn_error(p, in.pairs) : 0;
    if (in.valid(p)) {
        turned_between(low, high, in.turns(p), in.s.interleaved, off, out);
        return;
    }
    for (size_t i = 0; i < d; ++i) {
        const bool rotated = i < 2 * static_cast<size_t>(in.pairs);
        out.add(rotated ? NAN : low[i], rotated ? NAN : high[i], 0);
    }
}

std::vector<Allowed> expect_queries(const Inputs& in, ref::Type type) {
    std::vector<Allowed> out;
    for (int64_t t = 0; t < in.rows.t; ++t) {
        for (int64_t head = 0; head < in.s.queries; ++head) {
            Numbers numbers;
            add_head(in, in.q, t, t * in.s.queries + head, numbers);
            const Coded coded{{TENSOR, type}, {1, 1, in.rows.d}, static_cast<float>(in.q_scale)};
            std::ranges::copy(in.s.q_codes == Coding::none ? rounded_between(type, numbers)
                                                           : allow_coded(coded, numbers).codes,
                              std::back_inserter(out));
        }
    }
    return out;
}

// Rows of a cache of the tokens' own type: k turned, v moved.
std::vector<Allowed> expect_rows(const Case& before, const Inputs& in, bool of_keys) {
    const Operand& cache = operand_of(before, of_keys ? "k_cache" : "v_cache");
    std::vector<Allowed> out(static_cast<size_t>(cache.view.count()), Allowed{Allowed::unchanged});
    const int64_t row = in.rows.h * in.rows.d;
    for (int64_t t = 0; t < in.rows.t; ++t) {
        const int64_t slot = in.places.slot[static_cast<size_t>(t)];
        for (int64_t i = 0; i < row && slot >= 0 && !of_keys; ++i) {
            out[static_cast<size_t>(slot * row + i)] = as_in(before, operand_of(before, "v"), t * row + i);
        }
        for (int64_t h = 0; h < in.rows.h && slot >= 0 && of_keys; ++h) {
            Numbers numbers;
            add_head(in, in.k, t, t * in.rows.h + h, numbers);
            std::ranges::copy(rounded_between(in.type, numbers), out.begin() + slot * row + h * in.rows.d);
        }
    }
    return out;
}

std::vector<Allowed> expect(const Case& before, const Inputs& in, const Operand& operand) {
    const std::string& field = operand.field;
    if (field == "invalid_count") {
        return counted(in.places.refused);
    }
    if (field == "q_out") {
        return expect_queries(in, operand.view.type);
    }
    const bool of_keys = field[0] == 'k';
    if (in.rows.codes == kv::Codes::none) {
        return expect_rows(before, in, of_keys);
    }
    if (!of_keys) {
        return expect_codes(before, in.rows, in.places.slot, field, false);
    }
    return expect_codes(before, in.rows, in.places.slot, field, [&](int64_t t, int64_t h) {
        Numbers numbers;
        add_head(in, in.k, t, t * in.rows.h + h, numbers);
        return numbers;
    });
}

void add_queries(Case& c, const Shape& s, ref::Type type, Inputs& in, Random& r) {
    if (s.queries < 0) {
        return;
    }
    const View view = kv::tokens_view(s.rows, type, s.queries);
    const size_t q = c.operands.size(), misalign = 16 + static_cast<size_t>(s.rows.misalign) * ref::size_of(type);
    kv::fill_numbers(c, c.add("q", offsetof(Args, q), view, misalign, false), s.rows.numbers, r);
    make_ends(c, c.operands[q], s.ends, s.rows.t * s.queries / 2, s.rows.d, r);
    in.q.x = c.values(c.operands[q]);
    if (s.in_place && s.q_codes == Coding::none) {
        c.add_in_place("q_out", offsetof(Args, q_out), q);
        return;
    }
    const ref::Type codes = s.q_e5m2 ? ref::Type::e5m2 : ref::Type::e4m3;
    const View out = kv::tokens_view(s.rows, s.q_codes == Coding::none ? type : codes, s.queries);
    c.add("q_out", offsetof(Args, q_out), out, 16 + static_cast<size_t>(s.rows.v_misalign) * ref::size_of(out.type),
          true);
    if (s.q_codes == Coding::given) {
        in.q_scale = static_cast<double>(static_cast<float>(r.unit() + 0.01));
        auto& quant = c.as<Args>().q_out.quant;
        quant.scheme = SPARK_QUANT_PER_TENSOR, quant.scale_dtype = SPARK_DTYPE_F32, quant.scale_bytes = 4;
        const size_t at = offsetof(Args, q_out) + offsetof(spark_tensor, quant.scale);
        const Operand& scale = c.add_array("q_out.scale", at, packed(ref::Type::f32, {1}), 4, false);
        ref::store(ref::Type::f32, in.q_scale, c.element(scale, 0));
    }
}

// What angles are made of: some of the table's rows and some beyond it, or any numbers.
void add_positions(Case& c, const Shape& s, const kv::Where& where, Inputs& in, Random& r) {
    in.positions = where.positions;
    for (int64_t& position : in.positions) {
        const int64_t far = r.chance(0.2) ? r.between(-5, 1 << 20) : r.below(4000);
        const bool beyond = s.rows.bad != Bad::none && r.chance(0.2);
        position = !s.slots                 ? position
                   : s.table == Table::none ? far
                   : beyond                 ? r.pick<int64_t>({-1, s.table_rows})
                                            : r.below(s.table_rows);
    }
    add_indices(c, "positions", offsetof(Args, positions), in.positions, s.rows.wide);
    if (s.slots) {
        add_indices(c, "slots", offsetof(Args, slots), where.positions, s.rows.wide);
    }
    if (s.rows.named) {
        add_indices(c, "batch", offsetof(Args, batch), where.batch, s.rows.wide_batch);
    }
    kv::add_table(c, s.rows, where.table);
    in.places = ref::kv_places(where.positions, where.batch, s.rows.b, s.rows.s, where.table);
    for (size_t t = 0; t < in.positions.size(); ++t) {
        if (in.places.slot[t] >= 0 && !in.valid(in.positions[t])) {
            in.places.slot[t] = -1, ++in.places.refused;
        }
    }
}

void add_angles(Case& c, const Shape& s, ref::Type type, Inputs& in, Random& r) {
    c.as<Args>().rotary_dim = static_cast<uint32_t>(s.rotary);
    if (s.table == Table::none) {
        return;
    }
    const ref::Type table_type = s.table == Table::f32 ? ref::Type::f32 : type;
    const View view{table_type, {s.table_rows, 2 * in.pairs}, {std::max<int64_t>(2 * in.pairs + s.table_pad, 1), 1}};
    fill(c, c.add("table", offsetof(Args, table), view, 16 + ref::size_of(table_type), false), r);
    in.table = c.values(c.operands.back());
}

void add_caches(Case& c, const Shape& s, ref::Type type, Random& r) {
    const View view = kv::caches_view(s.rows, type);
    add_bits(c, "k_cache", offsetof(Args, k_cache), view, s.rows.cache_misalign, true, r);
    add_bits(c, "v_cache", offsetof(Args, v_cache), view, s.rows.cache_misalign, true, r);
    add_counter(c, offsetof(Args, invalid_count));
    kv::add_scales(c, s.rows, "k_cache", offsetof(Args, k_cache), false, r);
    kv::add_scales(c, s.rows, "v_cache", offsetof(Args, v_cache), false, r);
}

Case build(const Shape& s, ref::Type type, const std::string& name, const Seed& seed) {
    Case c = make_case<Args>("rope_append", name, SPARK_OP_ROPE_APPEND, seed);
    Random r(seed, name);
    Inputs in{.s = s, .type = type, .rows = s.rows};
    in.pairs = (s.rotary ? s.rotary : s.rows.d) / 2;
    in.theta = 10000, in.eps = s.eps != 0 ? static_cast<double>(s.eps) : 1e-6;
    const View tokens = kv::tokens_view(s.rows, type, s.rows.h);
    add_bits(c, "k", offsetof(Args, k), tokens, s.rows.misalign, false, r);
    add_bits(c, "v", offsetof(Args, v), tokens, s.rows.v_misalign, false, r);
    kv::fill_numbers(c, c.operands[0], s.rows.numbers, r);
    make_ends(c, c.operands[0], s.ends, s.rows.t * s.rows.h / 2, s.rows.d, r);
    in.k.x = c.values(c.operands[0]);
    add_positions(c, s, kv::draw_places(s.rows, false, r), in, r);
    add_angles(c, s, type, in, r);
    add_queries(c, s, type, in, r);
    add_column(c, "q_weight", offsetof(Args, q_weight), s.q_weight, type, s.rows.d, s.weight_misalign, r);
    add_column(c, "k_weight", offsetof(Args, k_weight), s.k_weight, type, s.rows.d, s.weight_misalign, r);
    in.q.weight = values_of(c, "q_weight"), in.k.weight = values_of(c, "k_weight");
    add_caches(c, s, type, r);
    c.as<Args>().hdr.flags =
        (s.interleaved ? SPARK_ROPE_APPEND_INTERLEAVED : 0) | (s.plus_one ? SPARK_ROPE_APPEND_WEIGHT_PLUS_ONE : 0);
    c.as<Args>().eps = s.eps;
    c.large = s.tier == Tier::card;
    c.note = "T " + std::to_string(s.rows.t) + ", G " + std::to_string(s.queries) + ", H " + std::to_string(s.rows.h) +
             ", D " + std::to_string(s.rows.d) + ", R " + std::to_string(2 * in.pairs);
    if (s.rows.t * s.rows.d * (s.rows.h + std::max<int64_t>(s.queries, 0)) == 0) {
        in.places = {std::vector<int64_t>(in.places.slot.size(), -1), 0};
    }
    c.kind = any_kernel;
    c.expect = [before = c, in = std::move(in)](size_t index, const std::string&) {
        return expect(before, in, before.operands[index]);
    };
    return c;
}

Entry entry(const Shape& s, ref::Type type, const std::string& name) {
    return {"rope_append", name, s.tier, [s, type, name](const Seed& seed) { return build(s, type, name, seed); }};
}

void named(std::vector<Entry>& out) {
    const auto expand = [](const Shape& s, const std::string& name, std::vector<Entry>& entries) {
        for (ref::Type type : types_of(s.rows.types & (F16 | BF16))) {
            entries.push_back(entry(s, type, name + "." + ref::name_of(type)));
        }
    };
    add_table("rope_append", SHAPES, expand, out);
}

void draw_rows(kv::Shape& s, Random& r) {
    s.t = r.between(1, 12);
    s.h = r.between(1, 4);
    s.d = r.chance(0.3) ? 2 * r.between(1, 80) : r.pick<int64_t>({16, 64, 80, 96, 128, 192, 256, 512});
    s.b = r.between(1, 6);
    s.s = r.between(1, 20);
    s.token_pad = r.chance(0.3) ? r.pick<int64_t>({1, 8, 64}) : 0;
    s.head_pad = r.chance(0.2) ? r.pick<int64_t>({1, 8}) : 0;
    s.row_pad = r.chance(0.3) ? r.pick<int64_t>({1, 8, 64}) : 0;
    s.heads_outside = r.chance(0.3);
    s.misalign = r.chance(0.1) ? r.between(1, 7) : 0;
    s.v_misalign = r.chance(0.1) ? r.between(1, 7) : 0;
    s.cache_misalign = r.chance(0.1) ? r.between(1, 7) : 0;
    s.named = r.chance(0.6);
    s.wide = r.chance(0.5);
    s.wide_batch = r.chance(0.5);
    s.sequences = s.named && r.chance(0.4) ? r.between(1, 4) : 0;
    s.listed = r.chance(0.5);
    s.bad = r.pick<Bad>({Bad::none, Bad::none, Bad::negative, Bad::beyond, Bad::wraps, Bad::mixed});
    s.numbers = r.pick<kv::Numbers>({kv::Numbers::usual, kv::Numbers::strange});
}

Entry random(uint64_t seed, int64_t index) {
    const std::string name = "random_" + std::to_string(index);
    Random r(seed, "rope_append." + name);
    Shape s;
    draw_rows(s.rows, r);
    const int64_t d = s.rows.d;
    s.queries = r.chance(0.15) ? -1 : s.rows.h * r.between(1, 4);
    s.rotary = r.chance(0.3) ? 2 * r.between(1, d / 2) : r.chance(0.3) && d >= 32 ? d / 2 / 16 * 16 : 0;
    s.rotary = d > 496 ? s.rotary / 16 * 16 : s.rotary;
    s.interleaved = r.chance(0.4);
    s.table = r.pick<Table>({Table::none, Table::same, Table::f32});
    s.table_rows = r.between(1, 120);
    s.table_pad = r.chance(0.3) ? r.pick<int64_t>({1, 8}) : 0;
    s.slots = r.chance(0.5);
    s.q_weight = s.queries < 0 ? Column::none : r.pick<Column>({Column::none, Column::same, Column::f32});
    s.k_weight = r.pick<Column>({Column::none, Column::same, Column::f32});
    s.weight_misalign = r.chance(0.1) ? r.between(1, 7) : 0;
    s.plus_one = r.chance(0.3);
    s.eps = r.pick<float>({0, 1e-5f, 1e-3f});
    s.in_place = r.chance(0.3);
    s.q_codes = r.pick<Coding>({Coding::none, Coding::none, Coding::one, Coding::given});
    s.q_e5m2 = r.chance(0.3);
    if (r.chance(0.6)) {
        const kv::Numbers numbers = s.rows.numbers;
        draw_codes(s.rows, r);
        s.rows.numbers = numbers;
    }
    if (s.rows.numbers == kv::Numbers::usual && r.chance(0.2)) {
        s.ends = static_cast<Ends>(r.between(1, static_cast<int64_t>(Ends::mixed)));
    }
    return entry(s, r.pick(types_of(F16 | BF16)), name);
}

void sized(const std::vector<int64_t>& dims, std::vector<Entry>& out) {
    if (dims.size() == 5) {
        const Shape s{.rows = {.t = dims[0], .h = dims[2], .d = dims[3], .b = 1, .s = dims[4]}, .queries = dims[1]};
        for (ref::Type type : types_of(F16 | BF16)) {
            out.push_back(entry(s, type, dims_name(dims) + "." + ref::name_of(type)));
        }
    }
}

// "tokens=64 h=32 hkv=8 d=128 b=64 capacity=4096 BF16", perhaps "norm", and what caches have.
Entry worded(Words& words) {
    Shape s;
    s.rows = {.t = words.number("tokens"), .numbers = kv::Numbers::usual};
    s.queries = words.number("h");
    s.rows.h = words.number("hkv");
    s.rows.d = words.number("d");
    s.rows.b = words.number("b");
    s.rows.s = words.number("capacity");
    s.rows.wide = s.rows.wide_batch = false;
    if (words.take("norm")) {
        s.q_weight = s.k_weight = Column::same;
    }
    const ref::Type type = words.type(F16 | BF16);
    if (words.take("to")) {
        const std::string codes = words.one_of({"E4M3", "E4M3_ROW", "NVFP4"});
        s.rows.codes = codes == "NVFP4" ? kv::Codes::nvfp4 : kv::Codes::e4m3;
        s.rows.k_scales = s.rows.v_scales = codes == "E4M3_ROW" ? kv::Scales::row : kv::Scales::none;
    }
    return entry(s, type, words.name());
}

constexpr OpCases CASES{"rope_append", named, random, sized, "T,G,H,D,S", worded};

} // namespace
} // namespace check::rope_append

const check::OpCases check::ROPE_APPEND = check::rope_append::CASES;
