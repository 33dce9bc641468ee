// SPDX-License-Identifier: Apache-2.0
// Cases of rope: from a row of shapes.inc (or a random one) to arguments, memory and right results.
// Called by spark-check through families.cpp; results come from tests/ref. All instructions are exact, so that every
// driver must give the same bits.
#include "ops/rope/turned.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace check::rope {
namespace {

enum class Table { none, same, f32 };
// What positions are drawn from. outside: some rows that the table does not have, of every kind.
enum class Where { sequence, near, far, beyond_32_bits, negative, outside };

struct Shape {
    const char* name = "";
    int64_t tokens1 = 1, tokens0 = 1, heads = 1, d = 64;
    int64_t rotary = 0;                                    // 0: not told, all of d
    int64_t head_pad = 0, token_pad = 0, y_token_pad = -1; // elements after a head, after a token; -1: as x
    bool heads_outside = false;                            // [B, H, S, D] in memory, seen as [B, S, H, D]
    int64_t misalign = 0, y_misalign = 0;                  // elements off the 16-byte boundary
    unsigned types = ALL;
    Table table = Table::none;
    int64_t table_rows = 40, table_pad = 0;
    bool interleaved = false, in_place = false, wide = true, count = false;
    Where where = Where::near;
    float theta = 0;
    Special special = Special::none;
    Quantised quant = {};
    bool y_outside = false; // y alone has its heads outside
    Tier tier = Tier::quick;
};

const Shape SHAPES[] = {
#include "ops/rope/shapes.inc"
};

constexpr int32_t COUNT_BEFORE = 40; // the counter is counted up, not set

int64_t draw_position(const Shape& s, int64_t token, Random& r) {
    const int64_t rows = s.table_rows;
    const int64_t limit = s.wide ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int32_t>::max();
    switch (s.where) {
    case Where::sequence: return token % std::max<int64_t>(s.tokens0, 1);
    case Where::near: return r.below(std::min<int64_t>(rows, 5000));
    case Where::far: return (int64_t{1} << 20) - 8 + r.below(1 << 20);
    case Where::beyond_32_bits: {
        const int64_t high = int64_t{1} << r.between(32, 36); // one draw a line: operands have no order
        return high + r.below(1 << 30);
    }
    case Where::negative: return -r.between(1, 1 << 20);
    case Where::outside: break;
    }
    const std::vector<int64_t> bad = {-1, rows, limit, -limit - 1, s.wide ? (int64_t{7} << 32) + 1 : rows + 1};
    return token % 3 == 1 ? r.pick(bad) : r.below(std::max<int64_t>(rows, 1));
}

View heads_view(const Shape& s, ref::Type type, int64_t token_pad, bool outside) {
    int64_t head = s.d + s.head_pad, token = s.heads * head + token_pad, outer = s.tokens0 * token;
    if (outside) {
        token = s.d + s.head_pad, head = s.tokens0 * token + token_pad, outer = s.heads * head;
    }
    const auto at_least_one = [](int64_t v) { return std::max<int64_t>(v, 1); };
    if (s.tokens1 == 1) {
        return {type, {s.tokens0, s.heads, s.d}, {at_least_one(token), at_least_one(head), 1}};
    }
    return {
        type, {s.tokens1, s.tokens0, s.heads, s.d}, {at_least_one(outer), at_least_one(token), at_least_one(head), 1}};
}

struct Inputs {
    std::vector<double> x, table;
    std::vector<int64_t> positions;
    int64_t heads = 0, d = 0, pairs = 0, table_rows = 0;
    double theta = 0; // 0: from the table
    bool interleaved = false;
    ref::Type type{};

    bool valid(int64_t p) const { return theta != 0 || (p >= 0 && p < table_rows); }
    std::vector<ref::Turn> turns(int64_t p) const {
        std::vector<ref::Turn> out;
        for (int64_t i = 0; i < pairs; ++i) {
            const auto at = static_cast<size_t>(p * 2 * pairs + i);
            out.push_back(theta != 0 ? ref::rope_turn(p, theta, i, pairs)
                                     : ref::Turn{table[at], table[at + static_cast<size_t>(pairs)]});
        }
        return out;
    }
};

Coded coded_of_heads(const Shape& s) { return {*s.quant.form, {s.tokens1 * s.tokens0, s.heads, s.d}, s.quant.scale}; }

// Of a scale for each block of a head: those of a token `pad` apart, and of its heads beside each other or outside.
View scales_view(const Shape& s) {
    const Coded coded = coded_of_heads(s);
    if (coded.form == TENSOR) {
        return view_of(coded.place, coded.form);
    }
    Shape scales = s;
    scales.d = (s.d + block_of(coded.form, s.d) - 1) / block_of(coded.form, s.d);
    scales.head_pad = 0;
    View view = heads_view(scales, scale_type(coded.place, coded.form), s.quant.pad, s.y_outside);
    if (s.quant.columns && !s.y_outside) {
        const size_t head = view.shape.size() - 2;
        view.stride[head] = 1, view.stride[head + 1] = std::max<int64_t>(s.heads, 1);
    }
    return view;
}

// y, and the scales of codes behind it.
void add_y(Case& c, const Shape& s, ref::Type type) {
    using Args = spark_rope_args;
    const size_t at = offsetof(Args, y);
    if (!s.quant.form && s.in_place) {
        c.add_in_place("y", at, 0);
        return;
    }
    const bool coded = s.quant.form.has_value();
    const ref::Type elements = coded ? s.quant.form->codes : type;
    const View view =
        heads_view(s, elements, s.y_token_pad < 0 ? s.token_pad : s.y_token_pad, s.heads_outside || s.y_outside);
    c.add("y", at, view, 16 + static_cast<size_t>(s.y_misalign) * ref::size_of(elements), true);
    if (!coded) {
        return;
    }
    const View scales = scales_view(s);
    const bool given = *s.quant.form == TENSOR;
    describe(c.as<Args>().y, *s.quant.form, s.d, scales);
    c.add_array("y.quant.scale", at + offsetof(spark_tensor, quant.scale), scales, 4, !given);
    if (given) {
        ref::store(ref::Type::f32, static_cast<double>(s.quant.scale), c.element(c.operands.back(), 0));
    }
}

std::vector<Allowed> expect(const Inputs& in, const std::optional<Coded>& coded, const std::string& field) {
    int64_t refused = 0;
    std::vector<Allowed> out;
    Numbers all;
    const auto d = static_cast<size_t>(in.d), pairs = static_cast<size_t>(in.pairs);
    for (size_t token = 0; token < in.positions.size() && in.heads * in.d != 0; ++token) {
        const int64_t p = in.positions[token];
        const bool valid = in.valid(p);
        refused += !valid;
        const auto turns = valid ? in.turns(p) : std::vector<ref::Turn>();
        for (int64_t h = 0; h < in.heads; ++h) {
            const size_t first = (token * static_cast<size_t>(in.heads) + static_cast<size_t>(h)) * d;
            const auto x = std::span(in.x).subspan(first, d);
            Numbers head;
            if (valid) {
                const double off = in.theta == 0 ? 0 : turn_error(p, in.pairs);
                turned_between(x, x, turns, in.interleaved, off, coded ? all : head);
            }
            for (size_t i = 0; i < d && !valid; ++i) {
                const double value = i < 2 * pairs ? std::nan("") : x[i];
                (coded ? all : head).add(value, value, 0);
            }
            std::ranges::copy(rounded_between(in.type, head), std::back_inserter(out));
        }
    }
    if (field == "invalid_count") {
        return {{Allowed::bits, 0, 0, static_cast<uint32_t>(COUNT_BEFORE + (in.pairs != 0 ? refused : 0))}};
    }
    if (coded) {
        const CodedAllowed allowed = allow_coded(*coded, all);
        return field == "y" ? allowed.codes : allowed.scales;
    }
    return out;
}

void add_table(Case& c, const Shape& s, ref::Type type, int64_t width, Random& r) {
    const ref::Type table_type = s.table == Table::f32 ? ref::Type::f32 : type;
    const View view{table_type, {s.table_rows, width}, {std::max<int64_t>(width + s.table_pad, 1), 1}};
    const Operand& table = c.add("table", offsetof(spark_rope_args, table), view, 16 + ref::size_of(table_type), false);
    fill(c, table, r); // any numbers will do; factors of YaRN are not even sines
}

Case build(const Shape& s, ref::Type type, const std::string& name, const Seed& seed) {
    using Args = spark_rope_args;
    Case c = make_case<Args>("rope", name, SPARK_OP_ROPE, seed);
    Random r(seed, name);
    const size_t size = ref::size_of(type);
    Inputs in;
    in.heads = s.heads, in.d = s.d, in.pairs = (s.rotary ? s.rotary : s.d) / 2, in.table_rows = s.table_rows;
    in.type = type, in.interleaved = s.interleaved;
    in.theta = s.table != Table::none ? 0 : s.theta != 0 ? static_cast<double>(s.theta) : 10000;

    c.add("x", offsetof(Args, x), heads_view(s, type, s.token_pad, s.heads_outside),
          16 + static_cast<size_t>(s.misalign) * size, false);
    fill(c, c.operands[0], r, 2);
    make_special(c, c.operands[0], s.special, s.tokens1 * s.tokens0 * s.heads / 2, s.d, r);
    const ref::Type wide = s.wide ? ref::Type::i64 : ref::Type::i32;
    const View view = s.tokens1 == 1 ? packed(wide, {s.tokens0}) : packed(wide, {s.tokens1, s.tokens0});
    const Operand& positions = c.add("positions", offsetof(Args, positions), view, 16 + ref::size_of(wide), false);
    for (int64_t t = 0; t < s.tokens1 * s.tokens0; ++t) {
        in.positions.push_back(draw_position(s, t, r));
        ref::store_bits(wide, static_cast<uint64_t>(in.positions.back()), c.element(positions, t));
    }
    if (s.table != Table::none) {
        add_table(c, s, type, 2 * in.pairs, r);
        in.table = c.values(c.operands.back());
    }
    add_y(c, s, type);
    if (s.count) {
        Operand& counter = c.add("invalid_count", offsetof(Args, invalid_count), packed(ref::Type::i32, {1}), 20, true);
        counter.input = true;
        ref::store_bits(ref::Type::i32, COUNT_BEFORE, c.element(counter, 0));
    }
    in.x = c.values(c.operands[0]);
    c.as<Args>().hdr.flags = s.interleaved ? SPARK_ROPE_INTERLEAVED : 0;
    c.as<Args>().theta = s.theta;
    c.as<Args>().rotary_dim = static_cast<uint32_t>(s.rotary);
    c.exact = true;
    c.large = s.tier == Tier::card;
    c.note = "tokens " + std::to_string(s.tokens1) + "x" + std::to_string(s.tokens0) + ", H " +
             std::to_string(s.heads) + ", D " + std::to_string(s.d) + ", R " + std::to_string(2 * in.pairs);
    std::vector<std::string> fields;
    for (const Operand& operand : c.operands) {
        fields.push_back(operand.field);
    }
    c.kind = any_kernel;
    const std::optional<Coded> coded = s.quant.form ? std::optional(coded_of_heads(s)) : std::nullopt;
    c.expect = [in = std::move(in), coded, fields](size_t index, const std::string&) {
        return expect(in, coded, fields[index]);
    };
    return c;
}

Entry entry(const Shape& s, ref::Type type, const std::string& name) {
    return {"rope", name, s.tier, [s, type, name](const Seed& seed) { return build(s, type, name, seed); }};
}

void expand(const Shape& s, const std::string& name, std::vector<Entry>& out) {
    for (ref::Type type : types_of(s.types)) {
        for (const Form& form : forms_of(s.quant.forms, s.quant.codes)) {
            Shape with = s;
            with.quant.form = form;
            out.push_back(entry(with, type, name + "." + name_of(form) + "." + ref::name_of(type)));
        }
        if (s.quant.forms == 0) {
            out.push_back(entry(s, type, name + "." + ref::name_of(type)));
        }
    }
}

void named(std::vector<Entry>& out) { add_table("rope", SHAPES, expand, out); }

Entry random(uint64_t seed, int64_t index) {
    const std::string name = "random_" + std::to_string(index);
    Random r(seed, "rope." + name);
    Shape s;
    s.tokens1 = r.chance(0.3) ? r.between(2, 4) : 1;
    s.tokens0 = r.between(1, 12);
    s.heads = r.between(1, 9);
    s.d = r.chance(0.3) ? 2 * r.between(1, 80) : r.pick<int64_t>({16, 32, 64, 80, 96, 128, 192, 256, 512});
    s.rotary = r.chance(0.4) ? 2 * r.between(1, s.d / 2) : r.chance(0.3) && s.d >= 32 ? s.d / 2 / 16 * 16 : 0;
    s.head_pad = r.chance(0.2) ? r.pick<int64_t>({1, 8, 64}) : 0;
    s.token_pad = r.chance(0.4) ? r.pick<int64_t>({1, 8, 256}) : 0;
    s.y_token_pad = r.chance(0.3) ? r.pick<int64_t>({0, 3, 8}) : -1;
    s.heads_outside = r.chance(0.2);
    s.misalign = r.chance(0.2) ? r.between(1, 7) : 0;
    s.y_misalign = r.chance(0.2) ? r.between(1, 7) : 0;
    s.table = r.pick<Table>({Table::none, Table::none, Table::same, Table::f32});
    s.table_rows = s.table == Table::none ? 5000 : r.between(1, 60);
    s.table_pad = r.chance(0.3) ? r.pick<int64_t>({1, 8}) : 0;
    s.interleaved = r.chance(0.5);
    s.in_place = r.chance(0.4);
    s.wide = r.chance(0.5);
    s.count = s.table != Table::none && r.chance(0.7);
    s.where = s.table != Table::none ? r.pick<Where>({Where::near, Where::outside})
              : s.wide
                  ? r.pick<Where>({Where::sequence, Where::near, Where::far, Where::beyond_32_bits, Where::negative})
                  : r.pick<Where>({Where::sequence, Where::near, Where::far, Where::negative});
    s.theta = s.table != Table::none ? 0 : r.pick<float>({0, 10000, 500000, 1e6f, 1.5f});
    s.special = r.chance(0.2)
                    ? r.pick<Special>({Special::nan_row, Special::inf_row, Special::denormal_row, Special::zero_row})
                    : Special::none;
    const ref::Type type = r.pick(types_of(ALL));
    if (r.chance(0.4) && s.d <= (s.rotary % 16 == 0 ? 512 : 496)) {
        draw_codes(r, s.quant);
        s.y_outside = !s.heads_outside && r.chance(0.3);
        s.tokens1 = s.heads_outside ? 1 : s.tokens1; // else x has two token dimensions
    }
    return entry(s, type, name);
}

void sized(const std::vector<int64_t>& dims, std::vector<Entry>& out) {
    if (dims.size() == 3) {
        const Shape s{.tokens0 = dims[0], .heads = dims[1], .d = dims[2]};
        for (ref::Type type : types_of(ALL)) {
            out.push_back(entry(s, type, dims_name(dims) + "." + ref::name_of(type)));
        }
    }
}

Entry worded(Words& words) {
    Shape s{.tokens0 = words.number("tokens"),
            .heads = words.number("heads"),
            .d = words.number("d"),
            .table_rows = 32768,
            .wide = false};
    const ref::Type type = words.type(ALL);
    if (words.take("to")) {
        s.quant.form = worded_form(words);
    }
    return entry(s, type, words.name());
}

constexpr OpCases CASES{"rope", named, random, sized, "tokens,H,D", worded};

} // namespace
} // namespace check::rope

const check::OpCases check::ROPE = check::rope::CASES;
