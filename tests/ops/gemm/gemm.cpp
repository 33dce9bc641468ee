// SPDX-License-Identifier: Apache-2.0
// Cases of gemm: from a row of shapes.inc (or a random one) to arguments, memory and right results.
// Called by spark-check through families.cpp; results come from tests/ref.
#include "ops/gemm/codes.h"
#include "ops/gemm/gated.h"
#include "ops/gemm/row_scales.h"
#include "ops/gemm/scaled.h"
#include "ops/gemm/sparse.h"
#include "ops/gemm/twins.h"
#include "ops/gemm/weights.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>

namespace check::gemm {
namespace {

enum Layouts : unsigned { TN = 1, NN = 2, NT = 4, TT = 8, ALL_LAYOUTS = 15 };
enum Broadcast : unsigned { A_SAME = 1, B_SAME = 2, C_SAME = 4, B_FLAT = 8 }; // stride 0; B_FLAT: no batch dimension
enum class Bias { none, f32, same };

struct Shape {
    const char* name = "";
    int64_t batch = 1, m = 1, n = 1, k = 1;
    int64_t a_pad = 0, b_pad = 0, d_pad = 0, batch_gap = 0; // elements after each row, and after each batch
    int64_t a_misalign = 0, b_misalign = 0, d_misalign = 0; // elements off the 16-byte boundary
    unsigned layouts = ALL_LAYOUTS, types = BF16, outs = BF16;
    unsigned b_types = 0; // 0: that of a
    float alpha = 1, beta = 0;
    bool alpha_given = false;                // a 0 is 0, not the default
    bool in_place = false, c_unread = false; // c_unread: c is there, all NaN, and beta is 0
    Bias bias = Bias::none;
    spark_activation_kind activation = SPARK_ACTIVATION_NONE;
    float cap = 0; // of SOFTCAP
    unsigned broadcast = 0;
    Special special = Special::none;
    bool special_in_b = false;
    Scaling a_scales = Scaling::none, b_scales = Scaling::none;
    int64_t scale_step = 1; // from a row's to the next
    bool powers = false;    // inputs and scales are powers of two, few and near enough that FP32 sums them exactly
    bool extremes = false;  // integers are all -128
    unsigned flags = 0;
    ref::Gate gate = {}; // then n is even
    Codes codes = {};    // d becomes them; then beta is 0
    bool twins = false;  // of a batch-invariant call of one product
    Tier tier = Tier::quick;
};

const Shape SHAPES[] = {
#include "ops/gemm/shapes.inc"
};

// rows x columns of the logical matrix; `transposed` puts the rows next to each other in memory.
//   plain:       stride {columns + pad, 1}        transposed:  stride {1, rows + pad}
View matrix(ref::Type type, int64_t batch, int64_t rows, int64_t columns, int64_t pad, int64_t gap, bool transposed) {
    const int64_t pitch = std::max<int64_t>((transposed ? rows : columns) + pad, 1);
    const int64_t size = (transposed ? columns : rows) * pitch + gap;
    View view{type, {rows, columns}, {transposed ? 1 : pitch, transposed ? pitch : 1}};
    if (batch != 1) {
        view.shape.insert(view.shape.begin(), batch);
        view.stride.insert(view.stride.begin(), size);
    }
    return view;
}

View same_for_all(View view) {
    if (view.shape.size() == 3) {
        view.stride[0] = 0;
    }
    return view;
}

View without_batch(View view) {
    if (view.shape.size() == 3) {
        view.shape.erase(view.shape.begin());
        view.stride.erase(view.stride.begin());
    }
    return view;
}

// Everything the oracle needs, decoded: a as [B, M, K], b as [B, N, K], c as [B, M, N].
struct Problem {
    ref::Gemm op;
    ref::Gate gate;
    ref::Activation activation; // which op has where there is no gate
    ref::Type out;
    size_t batch, m, n, k;
    std::vector<double> a, b, c, bias, a_scales, b_scales;
    ref::Products products;
    std::vector<double> a_factors, b_factors; // where F32 is not multiplied as it is
    bool b_has_batch;
    bool integers;                   // sums are
    bool exact;                      // there is one right result
    std::optional<AddedCodes> codes; // then d is F32 here
    size_t amax = 0;                 // the number of that output of other d; 0: there is none
    bool sampled;                    // a product this large is checked in some rows; the others only for repeatability

    size_t columns() const { return gate.on ? n / 2 : n; } // of d
    bool is_scaled() const { return !a_scales.empty() || !b_scales.empty(); }
    bool row_is_checked(size_t row) const {
        return !sampled || row < 2 || row + 2 >= m || row % 61 == 0 || row % 128 == 127;
    }
};

// What FP32 arithmetic may err by, u = 2^-24.
//   tensor cores: each step of 16 products is summed with 25 fraction bits and truncated: with partial sums bounded by
//     sum|ab|, (K/16 + 1) * 2^-23 * sum|ab| (ptx.md, "mma numerics"; simulated worst cases reach 0.4 of it);
//   fused multiply-add, one product after the other: K u sum|ab|;
//     TF32: 8 products a step; BF16X3: three steps for 16 of k, or three products of each;
//     a sum may be made of up to 8 parts, each of 32 products or more: one rounding more a part;
//   either may lose a subnormal bit (2^-149) per step;
//   E4M3: 32 products a step on 12.x, which rounds less often; scales are two more operations.
//   I8: the sum is exact, and rounded once, to F32;
//   F16 sums: that of each 16 products loses 2^-11 of it, or of F16's least normal number.
enum class Sums { one_by_one, tensor_cores, halves };
double error_of(const Problem& p, const ref::GemmElement& e, double c, double bias, Sums sums) {
    constexpr double u = 0x1p-24, half = 0x1p-11, least = 0x1p-14;
    const bool tensor_cores = sums != Sums::one_by_one;
    const double k = static_cast<double>(p.k), thrice = p.products == ref::Products::bf16x3 ? 3 : 1;
    const double a_step = p.products == ref::Products::tf32 ? 8 : 16;
    const double steps = p.integers     ? 1
                         : tensor_cores ? thrice * std::ceil(k / a_step) + 1 + std::min(std::floor(k / 32), 8.0)
                                        : thrice * k;
    double error = steps * ((tensor_cores ? 2 * u : u) * e.magnitude + 0x1p-148) * std::fabs(p.op.alpha);
    if (sums == Sums::halves) {
        error += half * (e.magnitude + std::ceil(k / 16) * least) * std::fabs(p.op.alpha);
    }
    return gemm_error(p.op, e, error, c, bias, p.is_scaled() ? 2 : 0);
}

// A name that ends in a tile of three numbers (128x128x32) is a tensor-core kernel, with F16 sums where an h follows
// (128x256x32_h4); others multiply and add.
Sums sums_of(const std::string& kernel) {
    const size_t way = kernel.find("__");
    if (way == std::string::npos || std::count(kernel.begin() + static_cast<long>(way), kernel.end(), 'x') < 2) {
        return Sums::one_by_one;
    }
    return kernel.find("_h", way + 2) == std::string::npos ? Sums::tensor_cores : Sums::halves;
}

Allowed as_integer(double value) {
    return {Allowed::bits, 0, 0, static_cast<uint32_t>(ref::encode(ref::Type::i32, value))};
}

// Its sum of products, of numbers as they are where that of their parts is NaN.
ref::GemmElement element(const Problem& p, const ref::Gemm& op, size_t a_row, size_t b_row, double c, double bias) {
    if (p.products != ref::Products::whole) {
        const size_t depth = p.products == ref::Products::bf16x3 ? 3 * p.k : p.k;
        const auto e = ref::gemm_element(op, std::span(p.a_factors).subspan(a_row * depth, depth),
                                         std::span(p.b_factors).subspan(b_row * depth, depth), c, bias);
        if (!std::isnan(e.before)) {
            return e;
        }
    }
    return ref::gemm_element(op, std::span(p.a).subspan(a_row * p.k, p.k), std::span(p.b).subspan(b_row * p.k, p.k), c,
                             bias);
}

// Element (m, n) of a product, before a gate.
GemmNumber number(const Problem& p, size_t batch, size_t m, size_t n, Sums sums) {
    const size_t b_row = (p.b_has_batch ? batch : 0) * p.n + n;
    const double c = p.c.empty() || p.op.beta == 0 ? 0 : p.c[(batch * p.m + m) * p.n + n];
    const double bias = p.bias.empty() ? 0 : p.bias[n];
    ref::Gemm op = p.op;
    op.scale = scale_of(p.a_scales, batch * p.m + m) * scale_of(p.b_scales, b_row);
    const auto e = element(p, op, batch * p.m + m, b_row, c, bias);
    return {e.value, error_of(p, e, c, bias, sums)};
}

Allowed expect_one(const Problem& p, size_t batch, size_t m, size_t n, Sums sums) {
    if (!p.row_is_checked(m)) {
        return {Allowed::any};
    }
    if (p.gate.on) {
        const auto [g, u] = ref::gated_rows(p.gate, p.n, n);
        return gated(p.gate, p.activation, p.out, number(p, batch, m, g, sums), number(p, batch, m, u, sums));
    }
    const GemmNumber d = number(p, batch, m, n, sums);
    return p.out == ref::Type::i32 ? as_integer(d.value)
           : p.exact               ? exactly(p.out, d.value)
                                   : allow(p.out, d.value, d.error);
}

std::vector<Allowed> expect(const Problem& p, Sums sums) {
    std::vector<Allowed> out;
    out.reserve(p.batch * p.m * p.columns());
    for (size_t batch = 0; batch < p.batch; ++batch) {
        for (size_t m = 0; m < p.m; ++m) {
            for (size_t n = 0; n < p.columns(); ++n) {
                out.push_back(expect_one(p, batch, m, n, sums));
            }
        }
    }
    return out;
}

// The numbers themselves, where sums are exact.
std::vector<double> numbers_of(const Problem& p) {
    std::vector<double> out;
    for (size_t i = 0; i < p.batch * p.m * p.n; ++i) {
        out.push_back(number(p, i / p.n / p.m, i / p.n % p.m, i % p.n, Sums::one_by_one).value);
    }
    return out;
}

std::vector<Allowed> expect(const Problem& p, size_t index, const std::string& kernel) {
    if (!p.codes) {
        const std::vector<Allowed> d = expect(p, sums_of(kernel));
        return p.amax != 0 && index == p.amax ? allowed_amax(d) : d;
    }
    return p.codes->exactly ? p.codes->allowed(index, numbers_of(p))
                            : p.codes->allowed(index, expect(p, sums_of(kernel)));
}

// +-2^-3 .. 2^3 and zeros: sums of up to 2^17 products are exact.
void fill_powers(Case& c, const Operand& operand, Random& random) {
    for (int64_t i = 0; i < c.to_fill(operand); ++i) {
        const auto power = static_cast<int>(random.between(-3, 3)); // one draw a line: arguments have no order
        const double sign = random.chance(0.5) ? 1 : -1;
        ref::store(operand.view.type, random.chance(0.1) ? 0 : std::ldexp(sign, power), c.element(operand, i));
    }
}

void fill_integers(Case& c, const Operand& operand, bool extremes, Random& random) {
    for (int64_t i = 0; i < c.to_fill(operand); ++i) {
        ref::store(operand.view.type, extremes ? -128 : static_cast<double>(random.between(-128, 127)),
                   c.element(operand, i));
    }
}

// Of the NaNs of FP8.
void make_nans_negative(Case& c, const Operand& operand, Random& random) {
    for (int64_t i = 0; i < c.to_fill(operand); ++i) {
        uint8_t* code = c.element(operand, i);
        *code |= *code == 0x7f && random.chance(0.5) ? 0x80 : 0;
    }
}

// Element types of a case.
struct Kinds {
    ref::Type a, b, out;
};

void add_codes(Case& c, const Shape& s, Problem& p) {
    const Quantised& quant = s.codes.quant;
    const Scales place{s.batch, s.m, s.gate.on ? s.n / 2 : s.n, quant.columns, quant.pad, quant.tiled, ref::Type::f32};
    p.codes = add_codes(c, s.codes, place, s.d_pad, s.batch_gap, static_cast<size_t>(s.d_misalign));
}

void add_operands(Case& c, const Shape& s, const Kinds& kinds, unsigned layout, Random& random) {
    using Args = spark_gemm_args;
    const auto& [type, b_type, out] = kinds;
    const size_t in_size = ref::size_of(type), out_size = ref::size_of(out);
    View a = matrix(type, s.batch, s.m, s.k, s.a_pad, s.batch_gap, layout == NT || layout == TT);
    View b = matrix(b_type, s.batch, s.n, s.k, s.b_pad, s.batch_gap, layout == NN || layout == NT);
    const View d = matrix(out, s.batch, s.m, s.gate.on ? s.n / 2 : s.n, s.d_pad, s.batch_gap, false);
    a = s.broadcast & A_SAME ? same_for_all(a) : a;
    b = s.broadcast & B_SAME ? same_for_all(b) : s.broadcast & B_FLAT ? without_batch(b) : b;

    const auto fill_in = [&](const Operand& operand, bool special, int64_t rows) {
        const ref::Type its_type = operand.view.type;
        if (its_type == ref::Type::i8) {
            fill_integers(c, operand, s.extremes, random);
            return;
        }
        s.powers ? fill_powers(c, operand, random) : fill(c, operand, random);
        make_special(c, operand, special ? s.special : Special::none, rows * 2 / 3, s.k, random);
        if (its_type == ref::Type::e4m3 || its_type == ref::Type::e5m2) {
            make_nans_negative(c, operand, random);
        }
    };
    fill_in(c.add("a", offsetof(Args, a), a, 16 + static_cast<size_t>(s.a_misalign) * in_size, false), !s.special_in_b,
            s.m);
    add_scales(c, s.a_scales, s.scale_step, s.powers, random);
    fill_in(c.add("b", offsetof(Args, b), b, 16 + static_cast<size_t>(s.b_misalign) * in_size, false), s.special_in_b,
            s.n);
    add_scales(c, s.b_scales, s.scale_step, s.powers, random);
    if (s.bias != Bias::none) {
        const ref::Type bias_type = s.bias == Bias::f32 ? ref::Type::f32 : out;
        fill(c, c.add("bias", offsetof(Args, bias), packed(bias_type, {s.n}), 16, false), random);
    }
    const size_t d_base = 16 + static_cast<size_t>(s.d_misalign) * out_size;
    if (s.beta != 0 || s.c_unread) {
        const View c_view = s.broadcast & C_SAME ? same_for_all(d) : d;
        c.add("c", offsetof(Args, c), c_view, d_base, false); // all NaN until filled
        if (!s.c_unread) {
            fill(c, c.operands.back(), random, 2);
        }
    }
    if (s.codes.quant.form) {
        return; // added behind all others
    }
    if (s.in_place) {
        c.add_in_place("d", offsetof(Args, d), c.operands.size() - 1);
    } else {
        c.add("d", offsetof(Args, d), d, d_base, true);
    }
}

void set_products(unsigned flags, Problem& p) {
    p.products = flags & SPARK_GEMM_TF32     ? ref::Products::tf32
                 : flags & SPARK_GEMM_BF16X3 ? ref::Products::bf16x3
                                             : ref::Products::whole;
    if (p.products != ref::Products::whole) {
        p.a_factors = ref::factors(p.products, p.a, false);
        p.b_factors = ref::factors(p.products, p.b, true);
    }
}

Case build(const Shape& s, const Kinds& kinds, unsigned layout, const std::string& name, const Seed& seed) {
    const ref::Type out = s.codes.quant.form ? ref::Type::f32 : kinds.out;
    Case c = make_case<spark_gemm_args>("gemm", name, SPARK_OP_GEMM, seed);
    Random random(seed, name);
    add_operands(c, s, kinds, layout, random);
    auto& args = c.as<spark_gemm_args>();
    args.alpha = s.alpha;
    args.beta = s.beta;
    args.activation = s.activation, args.cap = s.cap;
    args.hdr.flags = s.flags;
    args.hdr.given = s.alpha_given ? SPARK_GEMM_GIVEN_ALPHA : 0;
    set_gate(args, s.gate);
    c.large = s.tier == Tier::card;
    c.note = "B " + std::to_string(s.batch) + ", M " + std::to_string(s.m) + ", N " + std::to_string(s.n) + ", K " +
             std::to_string(s.k);

    auto p = std::make_shared<Problem>();
    p->op.alpha = s.alpha == 0 && !s.alpha_given ? 1 : s.alpha;
    p->op.beta = s.beta;
    p->activation = static_cast<ref::Activation>(s.activation); // the enums agree by design of both
    p->op.activation = s.gate.on ? ref::Activation::none : p->activation;
    p->op.cap = s.cap;
    p->gate = s.gate, p->gate.cap = s.cap;
    p->out = out;
    p->batch = static_cast<size_t>(s.batch);
    p->m = static_cast<size_t>(s.m);
    p->n = static_cast<size_t>(s.n);
    p->k = static_cast<size_t>(s.k);
    p->b_has_batch = !(s.broadcast & B_FLAT);
    p->sampled = s.batch * s.m * s.n * s.k > (int64_t{1} << 31);
    p->integers = kinds.a == ref::Type::i8;
    c.exact = (s.powers && !s.gate.on) || out == ref::Type::i32;
    p->exact = c.exact && !s.codes.quant.form;
    for (const Operand& operand : c.operands) {
        if (!operand.output) {
            (operand.field == "a"         ? p->a
             : operand.field == "b"       ? p->b
             : operand.field == "a.scale" ? p->a_scales
             : operand.field == "b.scale" ? p->b_scales
             : operand.field == "c"       ? p->c
                                          : p->bias) = c.values(operand);
        }
    }
    set_products(s.flags, *p);
    c.kind = [](const std::string& kernel) {
        constexpr const char* NAMES[] = {"products one by one", "tensor cores", "F16 sums"};
        return NAMES[static_cast<int>(sums_of(kernel))];
    };
    if (s.codes.quant.form) {
        add_codes(c, s, *p);
    } else if (s.codes.amax) {
        p->amax = c.operands.size();
        c.add("amax", offsetof(spark_gemm_args, amax), packed(ref::Type::f32, {1}), 4, true);
    }
    c.expect = [p](size_t index, const std::string& kernel) { return expect(*p, index, kernel); };
    return c;
}

const char* name_of(unsigned layout) { return layout == TN ? "tn" : layout == NN ? "nn" : layout == NT ? "nt" : "tt"; }

Case build_all(const Shape& s, const Kinds& kinds, unsigned layout, const std::string& name, const Seed& seed) {
    Case c = build(s, kinds, layout, name, seed);
    if (s.twins && !seed.outline) {
        const auto rebuilt = [=](int64_t m, int64_t batch, const std::string& change) {
            constexpr int64_t ALIKE = 128; // elements: bits follow from leading dimensions too, of a along M from M
            Shape other = s;
            other.m = m, other.batch = batch;
            other.a_pad += layout == NT || layout == TT ? ((s.m - m) % ALIKE + ALIKE) % ALIKE : 0;
            return build(other, kinds, layout, change, seed);
        };
        const auto lines = [](int64_t elements) { return elements % 16 == 0; }; // strides of a batch, else alignment
        const bool several = layout == TN && lines(s.k + s.a_pad) && lines(s.k + s.b_pad) && lines(s.batch_gap);
        add_twins(c, s.m, several, rebuilt, seed);
    }
    return c;
}

Entry entry(const Shape& s, const Kinds& kinds, unsigned layout, const std::string& name) {
    return {"gemm", name, s.tier, [=](const Seed& seed) { return build_all(s, kinds, layout, name, seed); }};
}

std::vector<Kinds> kinds_of(const Shape& s) {
    std::vector<Kinds> all;
    for (ref::Type a : types_of(s.types)) {
        for (ref::Type b : s.b_types == 0 ? std::vector{a} : types_of(s.b_types)) {
            for (ref::Type out : types_of(s.outs)) {
                all.push_back({a, b, out});
            }
        }
    }
    return all;
}

// Of d as codes one for each form, in F32 before that; the type of the bias is that of d else.
void add_entries(const Shape& s, const Kinds& kinds, unsigned layout, const std::string& name,
                 std::vector<Entry>& all) {
    for (const Form& form : forms_of(s.codes.quant.forms, s.codes.quant.codes)) {
        Shape with = s;
        with.codes.quant.form = form;
        if (form.codes != ref::Type::u8) { // zeros are not written, and so no U4
            all.push_back(entry(with, kinds, layout, name + "." + name_of(form)));
        }
    }
    if (s.codes.quant.forms == 0) {
        all.push_back(entry(s, kinds, layout, name));
    }
}

// One entry for each layout, input type and output type of a shape.
void expand(const Shape& s, const std::string& name, std::vector<Entry>& all) {
    for (unsigned layout : {TN, NN, NT, TT}) {
        for (const Kinds& kinds : kinds_of(s)) {
            if (s.layouts & layout && (layout == TN || ref::size_of(kinds.a) != 1)) {
                const std::string b = kinds.a == kinds.b ? "" : std::string("_") + ref::name_of(kinds.b);
                const std::string types = "." + (ref::name_of(kinds.a) + b) + "." + ref::name_of(kinds.out);
                add_entries(s, kinds, layout, name + "." + name_of(layout) + types, all);
            }
        }
    }
}

void named(std::vector<Entry>& all) {
    add_table("gemm", SHAPES, expand, all);
    block_scaled::named(all);
    weights::named(all);
    sparse::named(all);
}

void sized(const std::vector<int64_t>& dims, std::vector<Entry>& all) {
    if (dims.size() == 3) {
        expand({.m = dims[0], .n = dims[1], .k = dims[2]}, dims_name(dims), all);
    }
}

// A gate, a cap, codes: what goes with the rest.
void draw_result(Shape& s, Random& r) {
    s.gate = random_gate(r, s.n);
    if (s.gate.on) {
        s.beta = 0, s.in_place = false;
        s.activation = s.gate.gpt_oss ? SPARK_ACTIVATION_SILU : s.activation;
    }
    s.cap = s.activation == SPARK_ACTIVATION_SOFTCAP ? r.pick<float>({30, 1, 0.0625f}) : 0;
    if (s.beta == 0 && !s.c_unread && r.chance(0.2)) {
        s.codes = random_codes(r);
    }
}

Entry random(uint64_t seed, int64_t index) {
    const std::string name = "random_" + std::to_string(index);
    Random r(seed, "gemm." + name);
    if (index % 16 == 15) return block_scaled::random(r, name);
    if (index % 5 == 4) return weights::random(r, name);
    if (index % 16 == 7) return sparse::random(r, name);
    Shape s;
    const auto dim = [&r] { return r.chance(0.5) ? r.between(1, 150) : 8 * r.between(1, 20); };
    s.batch = r.chance(0.25) ? r.between(2, 4) : 1;
    s.m = r.chance(0.2) ? r.between(1, 16) : dim();
    s.n = dim();
    s.k = r.chance(0.05) ? 0 : dim();
    const std::vector<int64_t> pads = {0, 0, 0, 8, 16, 1, 3};
    s.a_pad = r.pick(pads);
    s.b_pad = r.pick(pads);
    s.d_pad = r.pick(pads);
    s.batch_gap = r.pick(pads);
    s.a_misalign = r.chance(0.1) ? r.between(1, 7) : 0;
    s.b_misalign = r.chance(0.1) ? r.between(1, 7) : 0;
    s.d_misalign = r.chance(0.1) ? r.between(1, 7) : 0;
    s.alpha = r.pick<float>({1, 1, 0, -0.5f, 3});
    s.alpha_given = r.chance(0.5);
    s.beta = r.pick<float>({0, 0, 1, -0.25f});
    s.in_place = s.beta != 0 && r.chance(0.5);
    s.c_unread = s.beta == 0 && r.chance(0.2);
    s.bias = r.pick<Bias>({Bias::none, Bias::none, Bias::f32, Bias::same});
    s.activation = r.chance(0.3)
                       ? SPARK_ACTIVATION_NONE
                       : static_cast<spark_activation_kind>(r.between(SPARK_ACTIVATION_NONE, SPARK_ACTIVATION_SOFTCAP));
    if (s.batch > 1 && r.chance(0.4)) {
        s.broadcast = s.in_place ? B_SAME : r.pick<unsigned>({A_SAME, B_SAME, C_SAME, B_FLAT, A_SAME | C_SAME});
    }
    s.special = r.chance(0.15) ? Special::nan_row : Special::none;
    s.flags = r.pick<unsigned>({0, 0, SPARK_FLAG_DETERMINISTIC, SPARK_FLAG_BATCH_INVARIANT});
    const auto half = r.pick(types_of(BF16 | F16));
    const bool floats = r.chance(0.15);
    const bool codes = r.chance(0.1); // few: the emulator takes its time
    const auto type = codes ? r.pick(types_of(E4M3 | E5M2 | I8)) : floats ? ref::Type::f32 : half;
    const auto other = r.pick(types_of(E4M3 | E5M2));
    const auto any_layout = r.pick<unsigned>({TN, TN, NN, NT, TT}); // one draw a line: arguments have no order
    const auto layout = codes ? TN : any_layout;
    if (codes) {
        s.a_scales = r.pick<Scaling>({Scaling::none, Scaling::tensor, Scaling::row, Scaling::row});
        s.b_scales = r.pick<Scaling>({Scaling::none, Scaling::tensor, Scaling::row, Scaling::row});
        s.scale_step = r.pick<int64_t>({1, 1, 3});
        s.a_pad += r.chance(0.5) ? (16 - (s.k + s.a_pad) % 16) % 16 : 0; // for the kernels that ask for it
        s.b_pad += r.chance(0.5) ? (16 - (s.k + s.b_pad) % 16) % 16 : 0;
    }
    draw_result(s, r);
    const auto out = r.pick(types_of(ALL));
    s.flags |= floats && !codes ? r.pick<unsigned>({0, 0, SPARK_GEMM_TF32, SPARK_GEMM_BF16X3}) : 0;
    const bool summed = type == ref::Type::f16 || (codes && type != ref::Type::i8);
    s.flags |= summed && r.chance(0.3) ? SPARK_GEMM_F16_SUMS : 0;
    s.twins = (s.flags & SPARK_FLAG_BATCH_INVARIANT) != 0 && s.batch == 1 && r.chance(0.2);
    return entry(s, {type, codes && type != ref::Type::i8 ? other : type, out}, layout, name);
}

// Codes have a scale a row, and results of BF16. Behind the type may stand a format of weights, or 2:4; behind the
// layout how numbers are multiplied, "m=1 n=64 k=64 F32 tn TF32", or F32 where d is that and a is not, or a gate,
// "m=1 n=64 k=64 BF16 tn SwiGLU interleaved", of halves without the last word; and last d's form, "to E4M3_TENSOR".
Entry worded(Words& words) {
    Shape s{.m = words.number("m"), .n = words.number("n"), .k = words.number("k")};
    if (words.take("to")) {
        s.codes.quant.form = worded_form(words);
    }
    Words codes_of_both = words; // the same forms behind a type are those of weights
    if (!s.codes.quant.form && codes_of_both.take("tn")) {
        if (const auto block_scaled = block_scaled::worded(codes_of_both, s.m, s.n, s.k)) {
            words = codes_of_both;
            return *block_scaled;
        }
    }
    const ref::Type type = words.type(ALL | E4M3 | E5M2 | I8);
    if (const std::string format = s.codes.quant.form ? "" : weights::taken(words); !format.empty()) {
        return weights::worded(words, format, s.m, s.n, s.k, type);
    }
    if (words.take("2:4")) {
        return sparse::worded(words, s.m, s.n, s.k, type);
    }
    const std::string layout = words.one_of({"tn", "nn", "nt", "tt"});
    const bool codes = ref::size_of(type) == 1;
    s.a_scales = s.b_scales = codes ? Scaling::row : Scaling::none;
    s.flags = words.take("TF32")       ? SPARK_GEMM_TF32
              : words.take("BF16X3")   ? SPARK_GEMM_BF16X3
              : words.take("F16_SUMS") ? SPARK_GEMM_F16_SUMS
                                       : 0;
    s.flags |= words.take("batch-invariant") ? SPARK_FLAG_BATCH_INVARIANT : 0;
    s.gate.on = words.take("SwiGLU");
    s.gate.interleaved = words.take("interleaved");
    s.activation = s.gate.on ? SPARK_ACTIVATION_SILU : SPARK_ACTIVATION_NONE;
    const ref::Type out = words.take("F32") ? ref::Type::f32 : codes ? ref::Type::bf16 : type;
    return entry(s, {type, type, out},
                 layout == "tn"   ? TN
                 : layout == "nn" ? NN
                 : layout == "nt" ? NT
                                  : TT,
                 words.name());
}

constexpr OpCases CASES{"gemm", named, random, sized, "M,N,K", worded};

} // namespace
} // namespace check::gemm

const check::OpCases check::GEMM = check::gemm::CASES;
