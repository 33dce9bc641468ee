// SPDX-License-Identifier: Apache-2.0
// Cases of gemm with 2:4 sparsity: b has two of each four numbers along K, and kept says which. What is right follows
// from those of a that they meet.
#include "ops/gemm/sparse.h"

#include "ops/gemm/gated.h"
#include "ops/gemm/row_scales.h"
#include "ops/gemm/weights_b.h"
#include "ref/compress.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>

namespace check::sparse {
namespace {

struct Shape {
    const char* name = "";
    int64_t batch = 1, m = 1, n = 1, k = 4;
    int64_t a_pad = 0, b_pad = 0, d_pad = 0, kept_pad = 0;     // elements after each row
    int64_t a_misalign = 0, b_misalign = 0, kept_misalign = 0; // elements off the 16-byte boundary
    unsigned types = BF16, outs = BF16;
    unsigned b_types = 0;                                                         // 0: that of a
    gemm::Scaling a_scales = gemm::Scaling::none, b_scales = gemm::Scaling::none; // of FP8
    int64_t scale_step = 1;                                                       // from a row's to the next
    float alpha = 1, beta = 0;
    bool bias = false, b_same = false; // one b for all of the batch
    spark_activation_kind activation = SPARK_ACTIVATION_NONE;
    Special special = Special::none; // a row of a
    unsigned flags = 0;
    ref::Gate gate = {}; // then n is even
    Tier tier = Tier::quick;
};

const Shape SHAPES[] = {
#include "ops/gemm/sparse.inc"
};

// a is [B, M, K], b [B, N, K / 2]; places: where each of b stood in its row.
struct Problem {
    ref::Gemm op;
    ref::Gate gate;
    ref::Activation activation; // which op has where there is no gate
    ref::Type out;
    size_t batch, m, n, k;
    std::vector<double> a, b, c, bias, a_scales, b_scales;
    std::vector<size_t> places;
    bool b_same;
    bool sampled; // a product this large is checked in some rows

    size_t columns() const { return gate.on ? n / 2 : n; } // of d
    bool row_is_checked(size_t row) const { return !sampled || row < 2 || row + 2 >= m || row % 128 == 127; }
};

bool has_tensor_cores(const std::string& kernel) { return kernel.find("generic") == std::string::npos; }

// As of gemm.cpp, of K / 2 products: a step sums 16 of them, of FP8 32 or, on 9.0, 16.
GemmNumber number(const Problem& p, size_t row, size_t n, bool tensor_cores) {
    constexpr double u = 0x1p-24;
    const size_t half = p.k / 2, b_row = (p.b_same ? 0 : row / p.m) * p.n + n;
    std::vector<double> met(half);
    for (size_t i = 0; i < half; ++i) {
        met[i] = p.a[row * p.k + p.places[b_row * half + i]];
    }
    const double c = p.c.empty() ? 0 : p.c[row * p.n + n], bias = p.bias.empty() ? 0 : p.bias[n];
    ref::Gemm op = p.op;
    op.scale = gemm::scale_of(p.a_scales, row) * gemm::scale_of(p.b_scales, row / p.m * p.n + n);
    const auto e = ref::gemm_element(op, met, std::span(p.b).subspan(b_row * half, half), c, bias);
    const auto k = static_cast<double>(half);
    const double steps = tensor_cores ? std::ceil(k / 16) + 1 + std::min(std::floor(k / 32), 8.0) : k;
    const double sum = steps * ((tensor_cores ? 2 * u : u) * e.magnitude + 0x1p-148) * std::fabs(p.op.alpha);
    return {e.value, gemm_error(p.op, e, sum, c, bias, p.a_scales.empty() && p.b_scales.empty() ? 0 : 2)};
}

std::vector<Allowed> expect(const Problem& p, bool tensor_cores) {
    std::vector<Allowed> out;
    for (size_t at = 0; at < p.batch * p.m * p.columns(); ++at) {
        const size_t row = at / p.columns(), n = at % p.columns();
        if (!p.row_is_checked(row % p.m)) {
            out.push_back({Allowed::any});
        } else if (p.gate.on) {
            const auto [g, u] = ref::gated_rows(p.gate, p.n, n);
            out.push_back(
                gated(p.gate, p.activation, p.out, number(p, row, g, tensor_cores), number(p, row, u, tensor_cores)));
        } else {
            const GemmNumber d = number(p, row, n, tensor_cores);
            out.push_back(allow(p.out, d.value, d.error));
        }
    }
    return out;
}

// kept, of any places that grow, and where they are.
void add_kept(Case& c, const Shape& s, Random& random, Problem& p) {
    constexpr uint8_t PLACES[] = {0b0100, 0b1000, 0b1001, 0b1100, 0b1101, 0b1110};
    const int64_t width = (s.k + 7) / 8;
    View view = weights_matrix(ref::Type::u8, s.batch, s.n, width, s.kept_pad);
    if (s.b_same && s.batch > 1) {
        view.stride[0] = 0;
    }
    const Operand kept =
        c.add("kept", offsetof(spark_gemm_args, kept), view, static_cast<size_t>(16 + s.kept_misalign), false);
    const int64_t rows = (s.b_same ? 1 : s.batch) * s.n;
    std::vector<uint8_t> bytes(static_cast<size_t>(width));
    for (int64_t row = 0; row < rows && !c.outline; ++row) {
        for (int64_t i = 0; i < width; ++i) {
            const uint8_t low = PLACES[random.below(6)], high = PLACES[random.below(6)];
            bytes[static_cast<size_t>(i)] = static_cast<uint8_t>(low | (8 * i + 4 < s.k ? high << 4 : 0));
            *c.element(kept, row * width + i) = bytes[static_cast<size_t>(i)];
        }
        for (int64_t i = 0; i < s.k / 2; ++i) {
            p.places.push_back(ref::kept_place(bytes, static_cast<size_t>(i)));
        }
    }
}

// Of the operand that was added last.
std::vector<double> scales_of(Case& c, gemm::Scaling scales, const Shape& s, Random& random) {
    if (scales == gemm::Scaling::none) {
        return {};
    }
    gemm::add_scales(c, scales, s.scale_step, false, random);
    return c.values(c.operands.back());
}

void add_operands(Case& c, const Shape& s, ref::Type type, ref::Type b_type, Random& random, Problem& p) {
    using Args = spark_gemm_args;
    const auto base = [&](int64_t misalign) { return 16 + static_cast<size_t>(misalign) * ref::size_of(type); };
    const View of_a = weights_matrix(type, s.batch, s.m, s.k, s.a_pad);
    const Operand a = c.add("a", offsetof(Args, a), of_a, base(s.a_misalign), false);
    fill(c, a, random);
    make_special(c, a, s.special, s.m * 2 / 3, s.k, random);
    p.a = c.values(a);
    p.a_scales = scales_of(c, s.a_scales, s, random);
    View of_b = weights_matrix(b_type, s.batch, s.n, s.k / 2, s.b_pad);
    if (s.b_same && s.batch > 1) {
        of_b.stride[0] = 0;
    }
    const Operand b = c.add("b", offsetof(Args, b), of_b, base(s.b_misalign), false);
    fill(c, b, random);
    p.b = c.values(b);
    p.b_scales = scales_of(c, s.b_scales, s, random);
    add_kept(c, s, random, p);
    add_others(c, s, random, p);
}

// Element types of a case.
struct Kinds {
    ref::Type a, b, out;
};

Case build(const Shape& s, const Kinds& kinds, const std::string& name, const Seed& seed) {
    Case c = make_case<spark_gemm_args>("gemm", name, SPARK_OP_GEMM, seed);
    Random random(seed, name);
    auto p = std::make_shared<Problem>();
    p->out = kinds.out;
    p->batch = static_cast<size_t>(s.batch), p->m = static_cast<size_t>(s.m);
    p->n = static_cast<size_t>(s.n), p->k = static_cast<size_t>(s.k);
    p->b_same = s.b_same && s.batch > 1;
    p->sampled = s.batch * s.m * s.n * s.k > (int64_t{1} << 31);
    p->gate = s.gate, p->activation = static_cast<ref::Activation>(s.activation);
    p->op = {.alpha = s.alpha, .beta = s.beta, .activation = s.gate.on ? ref::Activation::none : p->activation};
    add_operands(c, s, kinds.a, kinds.b, random, *p);
    auto& args = c.as<spark_gemm_args>();
    args.alpha = s.alpha, args.beta = s.beta, args.activation = s.activation;
    args.hdr.flags = s.flags | SPARK_GEMM_TWO_OF_FOUR;
    set_gate(args, s.gate);
    c.large = s.tier == Tier::card;
    c.note = "2:4, B " + std::to_string(s.batch) + ", M " + std::to_string(s.m) + ", N " + std::to_string(s.n) +
             ", K " + std::to_string(s.k);
    c.kind = [](const std::string& kernel) {
        return has_tensor_cores(kernel) ? "tensor cores" : "products one by one";
    };
    c.expect = [p](size_t, const std::string& kernel) { return expect(*p, has_tensor_cores(kernel)); };
    return c;
}

Entry entry(const Shape& s, const Kinds& kinds, const std::string& name) {
    return {"gemm", name, s.tier, [=](const Seed& seed) { return build(s, kinds, name, seed); }};
}

void expand(const Shape& s, const std::string& name, std::vector<Entry>& out) {
    for (ref::Type a : types_of(s.types)) {
        for (ref::Type b : s.b_types == 0 ? std::vector{a} : types_of(s.b_types)) {
            for (ref::Type to : types_of(s.outs)) {
                const std::string of_b = a == b ? "" : std::string("_") + ref::name_of(b);
                const std::string types = ref::name_of(a) + of_b + "." + ref::name_of(to);
                out.push_back(entry(s, {a, b, to}, "sparse_" + name + "." + types));
            }
        }
    }
}

} // namespace

void named(std::vector<Entry>& out) { add_table("gemm", SHAPES, expand, out); }

Entry random(Random& r, const std::string& name) {
    Shape s;
    s.batch = r.chance(0.15) ? r.between(2, 3) : 1;
    s.m = r.chance(0.5) ? r.between(1, 20) : r.between(1, 140);
    s.n = r.between(1, 140);
    s.k = r.chance(0.7) ? 64 * r.between(1, 6) : 4 * r.between(1, 60);
    s.a_pad = r.pick<int64_t>({0, 0, 0, 8, 1});
    s.b_pad = r.pick<int64_t>({0, 0, 0, 8, 3});
    s.d_pad = r.pick<int64_t>({0, 0, 8, 3});
    s.kept_pad = r.pick<int64_t>({0, 0, 0, 8, 1});
    s.a_misalign = r.chance(0.05) ? r.between(1, 7) : 0;
    s.b_misalign = r.chance(0.05) ? r.between(1, 7) : 0;
    s.kept_misalign = r.chance(0.05) ? r.between(1, 7) : 0;
    s.alpha = r.pick<float>({1, 1, -0.5f, 3});
    s.beta = r.pick<float>({0, 0, 1, -0.25f});
    s.bias = r.chance(0.5);
    s.b_same = r.chance(0.4);
    s.activation = r.pick<spark_activation_kind>({SPARK_ACTIVATION_NONE, SPARK_ACTIVATION_NONE, SPARK_ACTIVATION_SILU});
    s.special = r.chance(0.15) ? Special::nan_row : Special::none;
    s.flags = r.pick<unsigned>({0, 0, SPARK_FLAG_DETERMINISTIC, SPARK_FLAG_BATCH_INVARIANT});
    s.gate = random_gate(r, s.n);
    if (s.gate.on) {
        s.beta = 0;
        s.activation = s.gate.gpt_oss ? SPARK_ACTIVATION_SILU : s.activation;
    }
    const auto type = r.pick(types_of(BF16 | F16 | E4M3 | E5M2)), out = r.pick(types_of(ALL));
    const bool fp8 = ref::size_of(type) == 1;
    if (fp8) {
        s.k = r.chance(0.7) ? 128 * r.between(1, 4) : s.k;
        s.a_pad = r.chance(0.5) ? 2 * s.a_pad : s.a_pad, s.b_pad = r.chance(0.5) ? 2 * s.b_pad : s.b_pad;
        s.kept_pad *= 2;
        s.a_scales = r.pick<gemm::Scaling>({gemm::Scaling::none, gemm::Scaling::tensor, gemm::Scaling::row});
        s.b_scales = r.pick<gemm::Scaling>({gemm::Scaling::none, gemm::Scaling::tensor, gemm::Scaling::row});
        s.scale_step = r.chance(0.8) ? 1 : 2;
    }
    return entry(s, {type, fp8 && r.chance(0.25) ? ref::Type::e5m2 : type, out}, name);
}

Entry worded(Words& words, int64_t m, int64_t n, int64_t k, ref::Type type) {
    const bool fp8 = ref::size_of(type) == 1;
    const auto scales = fp8 ? gemm::Scaling::row : gemm::Scaling::none;
    return entry({.m = m, .n = n, .k = k, .a_scales = scales, .b_scales = scales},
                 {type, type, fp8 ? ref::Type::bf16 : type}, words.name());
}

} // namespace check::sparse
