// SPDX-License-Identifier: Apache-2.0
// Cases of activation, glu and add: from a row of shapes.inc (or a random one) to arguments, memory and right results.
// Called by spark-check through families.cpp; results come from tests/ref.
#include "ref/pointwise.h"
#include "ops/quant/coded.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <ranges>

namespace check::pointwise {
namespace {

enum Ops : unsigned { ACT = 1, SWIGLU = 2, SUM = 4, TWO_INPUTS = SWIGLU | SUM, ALL_OPS = 7 };
enum class Place { apart, onto_x, onto_z };       // where y is
enum class Halves { no, x_first, z_first, same }; // x and z side by side in one tensor; same: x and z are one tensor
// normal; every: each of the 65536 bit patterns (F32: random ones); low: evenly from -110 to 10
enum class Values { normal, every, low };

const char* name_of(unsigned op) { return op == ACT ? "activation" : op == SWIGLU ? "glu" : "add"; }

struct Shape {
    const char* name = "";
    int64_t rows1 = 1, rows0 = 1, n = 1;
    int64_t pad = 0, pad1 = 0;                              // elements between rows, and after each group of rows0 rows
    int64_t y_pad = -1;                                     // pad of y; -1: as x
    int64_t x_misalign = 0, z_misalign = 0, y_misalign = 0; // elements off the 16-byte boundary
    unsigned types = ALL, ops = ALL_OPS;
    spark_activation_kind kind = SPARK_ACTIVATION_SILU;
    float cap = 0; // of SOFTCAP
    bool round = false;
    Place place = Place::apart;
    Halves halves = Halves::no;
    Values values = Values::normal;
    Special special = Special::none;
    bool special_in_z = false;
    double scale = 2;
    Quantised quant = {}; // of glu
    Tier tier = Tier::quick;
};

const Shape SHAPES[] = {
#include "ops/pointwise/shapes.inc"
};

// How much act(v) may err, with FP32 arithmetic and the instruction set's errors of 2^x and 1/x (2 and 1 units in the
// last place): exact functions not at all, but the square by its rounding; the others by what is derived in
// ptx/lib/tile/activation.ptxh, relative, and below 1.2e-36 (GELU_ERF: 2^-126) they may be 0.
double error_of(ref::Activation kind, double v, double result) {
    const double below = std::fabs(std::min(v, 0.0)), size = std::fabs(result);
    if (!std::isfinite(result)) {
        return 0;
    }
    switch (kind) {
    case ref::Activation::none:
    case ref::Activation::relu: return 0;
    case ref::Activation::relu_squared: return 0x1p-24 * size + 0x1p-149;
    case ref::Activation::silu: return (5e-7 + 8e-8 * below) * size + 1.2e-36;
    case ref::Activation::gelu_tanh: {
        const double u = 0.7978845608 * below * (1 + 0.044715 * below * below);
        return (5e-7 + 4.2e-7 * u) * size + 1.2e-36;
    }
    case ref::Activation::softcap: return 7.5e-7 * size + 0x1p-128;
    case ref::Activation::gelu_erf: return (9e-7 + 6e-8 * below * below) * size + 0x1p-126;
    }
    return 0;
}

// The ends are the oracle itself with act(gate) erring down and up; the product rounds once to FP32. y: its type.
Allowed allow_glu(ref::Type y, ref::Type type, ref::Activation kind, bool round, double gate, double up, double cap) {
    const double t = ref::activate(kind, gate, cap), error = error_of(kind, gate, t);
    if (std::isinf(up) && error != 0 && std::fabs(t) <= error) {
        return {Allowed::any}; // act(gate) may be 0, and 0 times infinity is NaN
    }
    const double low = ref::glu(kind, round, type, gate, up, -error, cap),
                 high = ref::glu(kind, round, type, gate, up, error, cap);
    const Allowed one = allow(y, low, 0x1p-24 * std::fabs(low) + 0x1p-149);
    const Allowed other = allow(y, high, 0x1p-24 * std::fabs(high) + 0x1p-149);
    if (one.kind != Allowed::range) {
        return one;
    }
    Allowed both;
    both.low = std::min(one.low, other.low);
    both.high = std::max(one.high, other.high);
    return both;
}

Allowed allow_element(unsigned op, const Shape& s, ref::Type type, double x, double z) {
    const auto kind = static_cast<ref::Activation>(s.kind); // the enums agree by design of both
    if (op == SUM) {
        return allow(type, ref::add(x, z), 0); // exact: one FP32 addition, one rounding
    }
    if (op == SWIGLU) {
        return allow_glu(s.quant.form ? ref::Type::f32 : type, type, kind, s.round, x, z, s.cap);
    }
    const double y = ref::activate(kind, x, s.cap);
    return allow(type, y, error_of(kind, x, y));
}

// Of codes of numbers that F32 results with these allowed values would be, or of their scales.
std::vector<Allowed> allow_codes(const Shape& s, std::span<const Allowed> results, bool codes) {
    Numbers numbers;
    for (const Allowed& result : results) {
        numbers.add(result);
    }
    const CodedAllowed allowed = allow_coded(coded_of(s), numbers);
    return codes ? allowed.codes : allowed.scales;
}

void fill_values(Case& c, const Operand& operand, const Shape& s, Random& random) {
    if (s.values == Values::normal) {
        return fill(c, operand, random, s.scale);
    }
    const int64_t count = c.to_fill(operand);
    for (int64_t i = 0; i < count; ++i) {
        uint8_t* to = c.element(operand, i);
        if (s.values == Values::low) {
            ref::store(operand.view.type, -110 + 120 * static_cast<double>(i) / static_cast<double>(count), to);
        } else {
            const bool wide = operand.view.type == ref::Type::f32;
            ref::store_bits(operand.view.type, wide ? random.next() >> 32 : static_cast<uint64_t>(i) & 0xffff, to);
        }
    }
}

// The inputs: operand 0 is x (gate, a), operand 1 is z (up, b), whichever lies first in memory.
template <class Args> void add_inputs(Case& c, const Shape& s, ref::Type type, unsigned op, Random& random) {
    const size_t size = ref::size_of(type), half = static_cast<size_t>(s.n) * size;
    const bool packed_halves = s.halves == Halves::x_first || s.halves == Halves::z_first;
    const View view = rows_view(type, s.rows1, s.rows0, s.n, s.pad + (packed_halves ? s.n : 0), s.pad1);
    const auto base = [&](int64_t misalign) { return 16 + static_cast<size_t>(misalign) * size; };
    if constexpr (requires(Args a) { a.x; }) {
        c.add("x", offsetof(Args, x), view, base(s.x_misalign), false);
    } else {
        constexpr bool gated = requires(Args a) { a.gate; };
        constexpr size_t x_at = sizeof(spark_args), z_at = x_at + sizeof(spark_tensor);
        c.add(gated ? "gate" : "a", x_at, view, base(s.x_misalign), false);
        const char* z = gated ? "up" : "b";
        s.halves == Halves::no ? c.add(z, z_at, view, base(s.z_misalign), false)
                               : c.add_slice(z, z_at, view, 0, packed_halves ? half : 0);
        if (s.halves == Halves::z_first) {
            std::swap(c.operands[0].offset, c.operands[1].offset);
        }
    }
    fill_values(c, c.operands[0], s, random);
    if (op != ACT && s.halves != Halves::same) {
        fill(c, c.operands[1], random, s.scale);
    }
    make_special(c, c.operands[s.special_in_z ? 1 : 0], s.special, s.rows1 * s.rows0 / 2, s.n, random);
}

template <class Args>
Case build(const Shape& s, unsigned op, spark_op number, ref::Type type, const std::string& name, const Seed& seed) {
    Case c = make_case<Args>(name_of(op), name, number, seed);
    Random random(seed, name);
    add_inputs<Args>(c, s, type, op, random);
    if (s.quant.form) {
        add_coded(c, "y", offsetof(Args, y), coded_of(s), s.y_pad < 0 ? s.pad : s.y_pad, s.pad1,
                  static_cast<size_t>(s.y_misalign));
    } else if (s.place == Place::apart) {
        const View view = rows_view(type, s.rows1, s.rows0, s.n, s.y_pad < 0 ? s.pad : s.y_pad, s.pad1);
        c.add("y", offsetof(Args, y), view, 16 + static_cast<size_t>(s.y_misalign) * ref::size_of(type), true);
    } else {
        c.add_in_place("y", offsetof(Args, y), s.place == Place::onto_x ? 0 : 1);
    }
    c.as<Args>().hdr.flags = s.round && op == SWIGLU ? SPARK_GLU_ROUND_ACTIVATION : 0;
    if constexpr (requires(Args a) { a.activation; }) {
        c.as<Args>().activation = s.kind, c.as<Args>().cap = s.cap;
    }
    const bool exact =
        s.kind == SPARK_ACTIVATION_NONE || s.kind == SPARK_ACTIVATION_RELU || s.kind == SPARK_ACTIVATION_RELU_SQUARED;
    c.exact = op == SUM || exact;
    c.large = s.tier == Tier::card;
    c.note = "rows " + std::to_string(s.rows1) + "x" + std::to_string(s.rows0) + ", N " + std::to_string(s.n) +
             (op == SUM ? "" : ", activation " + std::to_string(s.kind));
    c.kind = any_kernel;
    c.expect = [=, x = c.values(c.operands[0]), z = c.values(c.operands[op == ACT ? 0 : 1])](size_t index,
                                                                                             const std::string&) {
        std::vector<Allowed> out;
        for (size_t i = 0; i < x.size(); ++i) {
            out.push_back(allow_element(op, s, type, x[i], z[i]));
        }
        return s.quant.form ? allow_codes(s, out, index == 2) : out;
    };
    return c;
}

Entry entry(const Shape& s, unsigned op, ref::Type type, const std::string& name) {
    switch (op) {
    case ACT:
        return {"activation", name, s.tier, [=](const Seed& seed) {
                    return build<spark_activation_args>(s, ACT, SPARK_OP_ACTIVATION, type, name, seed);
                }};
    case SWIGLU:
        return {"glu", name, s.tier,
                [=](const Seed& seed) { return build<spark_glu_args>(s, SWIGLU, SPARK_OP_GLU, type, name, seed); }};
    default:
        return {"add", name, s.tier,
                [=](const Seed& seed) { return build<spark_add_args>(s, SUM, SPARK_OP_ADD, type, name, seed); }};
    }
}

template <unsigned OP> void expand(const Shape& s, const std::string& name, std::vector<Entry>& out) {
    for (ref::Type type : types_of(s.types)) {
        for (const Form& form : forms_of(s.quant.forms, s.quant.codes)) {
            Shape with = s;
            with.quant.form = form;
            out.push_back(entry(with, OP, type, name + "." + name_of(form) + "." + ref::name_of(type)));
        }
        if (s.quant.forms == 0) {
            out.push_back(entry(s, OP, type, name + "." + ref::name_of(type)));
        }
    }
}

template <unsigned OP> void named(std::vector<Entry>& out) {
    add_table(name_of(OP), SHAPES | std::views::filter([](const Shape& s) { return (s.ops & OP) != 0; }), expand<OP>,
              out);
}

template <unsigned OP> Entry random(uint64_t seed, int64_t index) {
    const std::string name = "random_" + std::to_string(index);
    Random r(seed, "pointwise." + std::to_string(OP) + name);
    Shape s;
    s.rows1 = r.chance(0.3) ? r.between(2, 5) : 1;
    s.rows0 = r.between(1, 12);
    s.n = r.chance(0.5) ? r.between(1, 600) : 8 * r.between(1, 256);
    s.pad = r.chance(0.4) ? r.pick<int64_t>({1, 2, 4, 8, 16, 24}) : 0;
    s.pad1 = r.chance(0.4) ? r.pick<int64_t>({1, 8, 64}) : 0;
    s.y_pad = r.chance(0.3) ? r.pick<int64_t>({0, 1, 8}) : -1;
    s.x_misalign = r.chance(0.1) ? r.between(1, 7) : 0;
    s.z_misalign = r.chance(0.1) ? r.between(1, 7) : 0;
    s.y_misalign = r.chance(0.1) ? r.between(1, 7) : 0;
    s.kind = static_cast<spark_activation_kind>(r.between(SPARK_ACTIVATION_NONE, SPARK_ACTIVATION_SOFTCAP));
    const float cap = r.pick<float>({30, 1, 0x1p-20f, 0x1p20f});
    s.cap = s.kind == SPARK_ACTIVATION_SOFTCAP ? cap : 0;
    s.round = r.chance(0.4);
    s.place = r.pick<Place>({Place::apart, Place::onto_x, OP == ACT ? Place::apart : Place::onto_z});
    s.halves = r.pick<Halves>({Halves::no, Halves::no, Halves::x_first, Halves::z_first, Halves::same});
    if (s.halves == Halves::x_first || s.halves == Halves::z_first) {
        s.pad1 = 0; // slices are told apart by the one pitch that all their rows have
    }
    s.special = r.chance(0.3)
                    ? r.pick<Special>({Special::nan_row, Special::inf_row, Special::denormal_row, Special::zero_row})
                    : Special::none;
    s.special_in_z = OP != ACT && r.chance(0.3);
    s.scale = r.pick<double>({2, 8, 40, 0x1p-10});
    if (OP == SWIGLU && r.chance(0.4)) {
        draw_codes(r, s.quant);
    }
    return entry(s, OP, r.pick(types_of(ALL)), name);
}

template <unsigned OP> void sized(const std::vector<int64_t>& dims, std::vector<Entry>& out) {
    if (dims.size() == 2) {
        expand<OP>({.rows0 = dims[0], .n = dims[1]}, dims_name(dims), out);
    }
}

template <unsigned OP> Entry worded(Words& words) {
    Shape s{.rows0 = words.number("rows"), .n = words.number("n")};
    if (OP == SUM) {
        words.one_of({"in"}), words.one_of({"place"});
        s.place = Place::onto_x;
    } else {
        const std::string name = words.one_of({"silu", "gelu", "gelu_tanh"});
        s.kind = name == "silu"   ? SPARK_ACTIVATION_SILU
                 : name == "gelu" ? SPARK_ACTIVATION_GELU_ERF
                                  : SPARK_ACTIVATION_GELU_TANH;
    }
    s.halves = OP == SWIGLU && words.take("packed") ? Halves::x_first : Halves::no;
    const ref::Type type = words.type(ALL);
    if (OP == SWIGLU && words.take("to")) {
        s.quant.form = worded_form(words);
    }
    return entry(s, OP, type, words.name());
}

constexpr OpCases ACTIVATION{"activation", named<ACT>, random<ACT>, sized<ACT>, "rows,N", worded<ACT>};
constexpr OpCases GLU{"glu", named<SWIGLU>, random<SWIGLU>, sized<SWIGLU>, "rows,N", worded<SWIGLU>};
constexpr OpCases ADD{"add", named<SUM>, random<SUM>, sized<SUM>, "rows,N", worded<SUM>};

} // namespace
} // namespace check::pointwise

const check::OpCases check::ACTIVATION = check::pointwise::ACTIVATION;
const check::OpCases check::GLU = check::pointwise::GLU;
const check::OpCases check::ADD = check::pointwise::ADD;
