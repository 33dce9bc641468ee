// SPDX-License-Identifier: Apache-2.0
// Cases of gemm whose a and b are codes with scales of their blocks: from a row of scaled.inc (or a random one) to
// arguments, memory and right results. The oracle takes each code times its scale, which is exact in double precision.
#include "ops/gemm/scaled.h"

#include "ops/gemm/gated.h"
#include "ops/gemm/scaled_codes.h"
#include "ref/gemm.h"
#include "ref/quantize.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>

namespace check::block_scaled {
namespace {

enum class Bias { none, f32, same };

// What a and b have.
struct Pair {
    Form a, b;
};
std::string name_of(const Pair& pair) {
    const std::string a = name_of(pair.a), b = name_of(pair.b);
    return a == b || pair.a == B128 ? a : a + "_" + b;
}

// OCP's formats, by each other: each code, and each size of one, on both sides.
constexpr Form OF_E4M3{MXFP8, ref::Type::e4m3}, OF_E5M2{MXFP8, ref::Type::e5m2}, OF_E2M1{MXFP4, ref::Type::e4m3},
    OF_E2M3{MXFP6, ref::Type::e4m3}, OF_E3M2{MXFP6, ref::Type::e5m2}, OF_SQUARES{B32X32, ref::Type::e4m3};
constexpr Pair MIXED[] = {{OF_E4M3, OF_E2M1}, {OF_E5M2, OF_E4M3}, {OF_E2M3, OF_E2M3},    {OF_E3M2, OF_E5M2},
                          {OF_E2M1, OF_E2M3}, {OF_E4M3, OF_E3M2}, {OF_E3M2, OF_E3M2},    {OF_E4M3, OF_SQUARES},
                          {OF_E4M3, OF_E5M2}, {OF_E5M2, OF_E5M2}, {OF_E5M2, OF_SQUARES}, {OF_E2M3, OF_SQUARES},
                          {OF_E2M3, OF_E3M2}, {OF_E3M2, OF_E2M3}, {OF_E2M3, OF_E4M3},    {OF_E4M3, OF_E2M3},
                          {OF_E2M3, OF_E5M2}, {OF_E5M2, OF_E2M3}, {OF_E3M2, OF_E4M3},    {OF_E5M2, OF_E3M2},
                          {OF_E2M1, OF_E4M3}, {OF_E2M1, OF_E5M2}, {OF_E5M2, OF_E2M1},    {OF_E2M1, OF_E3M2},
                          {OF_E2M3, OF_E2M1}, {OF_E3M2, OF_E2M1}};
// W4A8: E4M3 by E2M1, SQUARES: by E4M3 with scales of 32 x 32, BESIDE: by E5M2, and both of six bits. WAYS: each tile
// of 12.x, and each copy of an operand.
constexpr unsigned W4A8 = 1, SQUARES = 1 << 7, BESIDE = 1 << 8 | 1 << 2, WAYS = (1 << 10) - 1;
constexpr unsigned ALL_MIXED = (1 << std::size(MIXED)) - 1;

std::vector<Pair> pairs_of(unsigned forms, unsigned mixed) {
    std::vector<Pair> pairs;
    for (const Form& form : forms_of(forms, E4M3)) {
        pairs.push_back({form, {form == B128 ? B128X128 : form.scales, form.codes}});
    }
    for (size_t i = 0; i < std::size(MIXED); ++i) {
        if (mixed >> i & 1) {
            pairs.push_back(MIXED[i]);
        }
    }
    return pairs;
}

struct Shape {
    const char* name = "";
    int64_t batch = 1, m = 1, n = 1, k = 32;
    int64_t a_pad = 0, b_pad = 0, d_pad = 0;                // bytes of a and b, elements of d, after each row
    int64_t a_misalign = 0, b_misalign = 0, d_misalign = 0; // the same, off the 16-byte boundary
    bool tiled = true, scale_columns = false;
    int64_t scale_pad = 0;
    bool b_flat = false;   // no batch dimension
    bool no_whole = false; // NVFP4 without a scale of all
    bool nan_scales = false, zero_scales = false;
    bool exact = false; // scales are powers of two, so few and near that FP32 sums exactly
    unsigned forms = B128 | NVFP4 | MXFP4 | MXFP8, outs = BF16;
    unsigned mixed = 0; // bits of MIXED
    float alpha = 1, beta = 0;
    Bias bias = Bias::none;
    spark_activation_kind activation = SPARK_ACTIVATION_NONE;
    float cap = 0; // of SOFTCAP
    unsigned flags = 0;
    ref::Gate gate = {}; // then n is even
    Tier tier = Tier::quick;
};

const Shape SHAPES[] = {
#include "ops/gemm/scaled.inc"
};

struct Problem {
    ref::Gemm op;
    ref::Gate gate;
    ref::Activation activation; // which op has where there is no gate
    ref::Type out;
    int64_t batch, m, n, k;
    ScaledMatrix a, b;
    std::vector<double> c, bias;
    bool b_flat, exact, promoted; // promoted: sums of 128 products are added to others

    int64_t columns() const { return gate.on ? n / 2 : n; } // of d
    bool row_is_checked(int64_t row) const {
        return batch * m * n * k < (int64_t{1} << 31) || row < 2 || row + 2 >= m || row % 61 == 0;
    }
};

// What FP32 arithmetic may err by, u = 2^-24. Tensor cores: 64 products of 4 bits, or 32 of 8, are aligned, added to
// the sum and truncated: no more than (K/16 + 1) 2^-23 sum|ab|, as for halves. One after the other: a block's
// products are summed, each with an error u, then they are added to the rest: (K + K/16 + 1) u sum|ab|. Then two
// scales, alpha, beta and bias; activations as for halves. Promoted: a product of scales, and an addition each 128.
double error_of(const Problem& p, const ref::GemmElement& e, double c, double bias, bool tensor_cores) {
    constexpr double u = 0x1p-24;
    const double k = static_cast<double>(p.k), blocks = std::ceil(k / 16) + 1;
    double error = (tensor_cores ? 2 * blocks : k + blocks) * u * e.magnitude * std::fabs(p.op.alpha);
    error += (p.promoted ? std::ceil(k / 128) + 1 : 0) * u * e.magnitude * std::fabs(p.op.alpha);
    error += 5 * u * (std::fabs(p.op.alpha) * e.magnitude + std::fabs(p.op.beta * c) + std::fabs(bias));
    return p.op.activation == ref::Activation::none ? error : 1.13 * error + 0x1p-20 * std::fabs(e.before);
}

bool has_tensor_cores(const std::string& kernel) { return !kernel.ends_with("__generic"); }

// Element (row, column) of all products, before a gate.
GemmNumber number(const Problem& p, int64_t row, int64_t column, bool tensor_cores) {
    const auto row_of = [&](const ScaledMatrix& matrix, int64_t of) {
        return std::span(matrix.values).subspan(static_cast<size_t>(of * p.k), static_cast<size_t>(p.k));
    };
    ref::Gemm op = p.op;
    op.scale = p.a.whole * p.b.whole;
    const double c = p.c.empty() ? 0 : p.c[static_cast<size_t>(row * p.n + column)];
    const double bias = p.bias.empty() ? 0 : p.bias[static_cast<size_t>(column)];
    const int64_t b_row = (p.b_flat ? 0 : row / p.m) * p.n + column;
    const auto e = ref::gemm_element(op, row_of(p.a, row), row_of(p.b, b_row), c, bias);
    return {e.value, error_of(p, e, c, bias, tensor_cores)};
}

std::vector<Allowed> expect(const Problem& p, bool tensor_cores) {
    std::vector<Allowed> out;
    for (int64_t i = 0; i < p.batch * p.m * p.columns(); ++i) {
        const int64_t row = i / p.columns(), column = i % p.columns();
        if (!p.row_is_checked(row % p.m)) {
            out.push_back({Allowed::any});
            continue;
        }
        if (p.gate.on) {
            const auto [g, u] = ref::gated_rows(p.gate, static_cast<size_t>(p.n), static_cast<size_t>(column));
            out.push_back(gated(p.gate, p.activation, p.out, number(p, row, static_cast<int64_t>(g), tensor_cores),
                                number(p, row, static_cast<int64_t>(u), tensor_cores)));
            continue;
        }
        const GemmNumber d = number(p, row, column, tensor_cores);
        out.push_back(p.exact ? exactly(p.out, d.value) : allow(p.out, d.value, d.error));
    }
    return out;
}

void add_others(Case& c, const Shape& s, ref::Type out, Problem& p, Random& random) {
    using Args = spark_gemm_args;
    const View d = rows_view(out, s.batch, s.m, p.columns(), s.d_pad, 0);
    const size_t base = 16 + static_cast<size_t>(s.d_misalign) * ref::size_of(out);
    if (s.bias != Bias::none) {
        c.add("bias", offsetof(Args, bias), packed(s.bias == Bias::f32 ? ref::Type::f32 : out, {s.n}), 16, false);
        fill(c, c.operands.back(), random);
        p.bias = c.values(c.operands.back());
    }
    if (s.beta != 0) {
        c.add("c", offsetof(Args, c), d, base, false);
        fill(c, c.operands.back(), random, 2);
        p.c = c.values(c.operands.back());
    }
    c.add("d", offsetof(Args, d), d, base, true);
}

Case build(const Shape& s, const Pair& pair, ref::Type out, const std::string& name, const Seed& seed) {
    using Args = spark_gemm_args;
    Case c = make_case<Args>("gemm", name, SPARK_OP_GEMM, seed);
    Random random(seed, name);
    auto p = std::make_shared<Problem>(Problem{
        .op = {.alpha = s.alpha, .beta = s.beta, .cap = s.cap},
        .gate = s.gate,
        .activation = static_cast<ref::Activation>(s.activation),
        .out = out,
        .batch = s.batch,
        .m = s.m,
        .n = s.n,
        .k = s.k,
        .a = {},
        .b = {},
        .c = {},
        .bias = {},
        .b_flat = s.b_flat,
        .exact = s.exact && !s.gate.on,
        .promoted = pair.a == B128,
    });
    p->op.activation = s.gate.on ? ref::Activation::none : p->activation;
    const Scales of_a{s.batch, s.m, s.k, s.scale_columns, s.scale_pad, s.tiled};
    const Scales of_b{s.b_flat ? 1 : s.batch, s.n, s.k, s.scale_columns, s.scale_pad, s.tiled};
    const ScaledValues values{s.no_whole, s.nan_scales, s.zero_scales, s.exact};
    p->a = add_scaled_codes(c, {"a", offsetof(Args, a), pair.a, of_a, s.a_pad, s.a_misalign}, values, random);
    p->b = add_scaled_codes(c, {"b", offsetof(Args, b), pair.b, of_b, s.b_pad, s.b_misalign}, values, random);
    add_others(c, s, out, *p, random);
    auto& args = c.as<Args>();
    args.alpha = s.alpha;
    args.beta = s.beta;
    args.activation = s.activation, args.cap = s.cap;
    args.hdr.flags = s.flags;
    set_gate(args, s.gate);
    c.exact = p->exact;
    c.large = s.tier == Tier::card;
    c.note = name_of(pair) + (s.tiled ? ", scales in tiles" : "") + ", B " + std::to_string(s.batch) + ", M " +
             std::to_string(s.m) + ", N " + std::to_string(s.n) + ", K " + std::to_string(s.k);
    c.kind = [](const std::string& kernel) { return has_tensor_cores(kernel) ? "tensor cores" : "one by one"; };
    c.expect = [p](size_t, const std::string& kernel) { return expect(*p, has_tensor_cores(kernel)); };
    return c;
}

Entry entry(const Shape& s, const Pair& pair, ref::Type out, const std::string& name) {
    return {"gemm", name, s.tier, [=](const Seed& seed) { return build(s, pair, out, name, seed); }};
}

} // namespace

void named(std::vector<Entry>& out) {
    for (const Shape& s : SHAPES) {
        for (const Pair& pair : pairs_of(s.forms, s.mixed)) {
            for (ref::Type type : types_of(s.outs)) {
                out.push_back(entry(s, pair, type,
                                    std::string("scaled_") + s.name + "." + name_of(pair) + "." + ref::name_of(type)));
            }
        }
    }
}

Entry random(Random& r, const std::string& name) {
    Shape s;
    const auto dim = [&r] { return r.chance(0.5) ? r.between(1, 150) : 8 * r.between(1, 20); };
    s.batch = r.chance(0.25) ? r.between(2, 3) : 1;
    s.m = dim();
    s.n = dim();
    s.k = 32 * r.between(1, 12);
    const std::vector<int64_t> pads = {0, 0, 0, 16, 32, 1};
    s.a_pad = r.pick(pads);
    s.b_pad = r.pick(pads);
    s.d_pad = r.pick<int64_t>({0, 0, 1, 8});
    s.a_misalign = r.chance(0.1) ? r.between(1, 15) : 0;
    s.d_misalign = r.chance(0.1) ? r.between(1, 7) : 0;
    s.tiled = r.chance(0.6);
    s.scale_columns = r.chance(0.1);
    s.scale_pad = s.batch == 1 && r.chance(0.3) ? r.between(1, 8) : 0;
    s.b_flat = r.chance(0.2);
    s.no_whole = r.chance(0.2);
    s.nan_scales = r.chance(0.1);
    s.exact = !s.nan_scales && r.chance(0.3);
    s.alpha = s.exact ? 1 : r.pick<float>({1, 1, -0.5f, 3});
    s.beta = s.exact ? 0 : r.pick<float>({0, 0, 1, -0.25f});
    s.bias = s.exact ? Bias::none : r.pick<Bias>({Bias::none, Bias::none, Bias::f32, Bias::same});
    s.flags = r.pick<unsigned>({0, 0, SPARK_FLAG_DETERMINISTIC, SPARK_FLAG_BATCH_INVARIANT});
    const Pair pair = r.pick(pairs_of(Shape{}.forms, ALL_MIXED));
    s.k -= pair.a == B128 ? r.between(0, 31) : 0; // any K
    s.gate = random_gate(r, s.n);
    if (s.gate.on) {
        s.beta = 0;
        s.activation = SPARK_ACTIVATION_SILU;
    }
    return entry(s, pair, r.pick(types_of(ALL)), name);
}

std::optional<Entry> worded(Words& words, int64_t m, int64_t n, int64_t k) {
    for (const Pair& pair : pairs_of(Shape{}.forms, ALL_MIXED)) {
        std::string word = name_of(pair);
        std::ranges::transform(word, word.begin(), [](unsigned char letter) { return std::toupper(letter); });
        if (words.take(word.c_str())) {
            return entry({.m = m, .n = n, .k = k}, pair, ref::Type::bf16, words.name());
        }
    }
    return std::nullopt;
}

} // namespace check::block_scaled
