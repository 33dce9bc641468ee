// SPDX-License-Identifier: Apache-2.0
// Cases of gemm with weights: b is quantised, a is not. A kernel that takes b as it is stored sums exact numbers; one
// that unpacks it first sums numbers that are rounded to the type of a. Both are the definition, each has its oracle.
#include "ops/gemm/gated.h"
#include "ops/gemm/twins.h"
#include "ops/gemm/weights_b.h"

#include "ops/quant/scaled.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>

namespace check::weights {
namespace {

using Shape = WeightsShape;
using Format = WeightFormat;
using Problem = WeightsProblem;

const Shape SHAPES[] = {
#include "ops/gemm/weights.inc"
};

// INT4 that becomes numbers in the kernel is rounded, as if it were unpacked before.
bool takes_codes(const std::string& kernel) {
    if (kernel.find("_int4__128x128x64_d") != std::string::npos) return false;
    for (const char* codes : {"_q", "_iq", "_byte", "_int4", "16_mxfp4", "16_nvfp4", "16_nv4"}) {
        if (kernel.find(codes) != std::string::npos) return true;
    }
    return false;
}
bool has_tensor_cores(const std::string& kernel) { return kernel.find("generic") == std::string::npos; }

// Of a sum of K products, with u = 2^-24 and tensor cores as in gemm.cpp (a step of 16 products truncates by 2u):
//   unpacked: as there;
//   codes as stored, and NVFP4 and GGUF's, whose scales are in their numbers: as unpacked, and one more operation, the
//     scale;
//   records, INT4 and MXFP4 as stored: 32 products in two steps, from 0, so 3 * 2u of their magnitude times the scale;
//     each such sum is added by a fused multiply-add, one more where a record has an offset: u of what has been
//     summed; at the end four meet.
double error_of_sum(const Problem& p, double magnitude, double terms, const std::string& kernel) {
    constexpr double u = 0x1p-24;
    const double k = static_cast<double>(p.k);
    if (p.of_blocks && takes_codes(kernel)) {
        return (3 * 2 * u + (2 * std::ceil(k / 32) + 4) * u) * terms + k * 0x1p-148;
    }
    const double steps = has_tensor_cores(kernel) ? std::ceil(k / 16) + 1 + std::min(std::floor(k / 32), 8.0) : k;
    return steps * ((has_tensor_cores(kernel) ? 2 * u : u) * magnitude + 0x1p-148);
}

// Element (row, n) of all products, of the numbers b, before a gate.
GemmNumber number(const Problem& p, const std::vector<double>& b, size_t row, size_t n, const std::string& kernel) {
    const size_t b_row = (p.b_same ? 0 : row / p.m) * p.n + n;
    const auto a = std::span(p.a).subspan(row * p.k, p.k), terms = std::span(p.terms).subspan(b_row * p.k, p.k);
    const double c = p.c.empty() ? 0 : p.c[row * p.n + n], bias = p.bias.empty() ? 0 : p.bias[n];
    const auto e = ref::gemm_element(p.op, a, std::span(b).subspan(b_row * p.k, p.k), c, bias);
    double of_terms = 0;
    for (size_t k = 0; k < p.k; ++k) {
        of_terms += std::fabs(a[k]) * terms[k];
    }
    const double sum = error_of_sum(p, e.magnitude, of_terms, kernel) * std::fabs(p.op.alpha);
    return {e.value, gemm_error(p.op, e, sum, c, bias, p.of_blocks ? 0 : 1)};
}

std::vector<Allowed> expect(const Problem& p, const std::string& kernel) {
    std::vector<double> b = p.b;
    for (double& number : b) {
        number = takes_codes(kernel) ? number : ref::rounded(p.type, number);
    }
    std::vector<Allowed> out;
    out.reserve(p.batch * p.m * p.columns());
    for (size_t at = 0; at < p.batch * p.m * p.columns(); ++at) {
        const size_t row = at / p.columns(), n = at % p.columns();
        if (p.gate.on) {
            const auto [g, u] = ref::gated_rows(p.gate, p.n, n);
            out.push_back(
                gated(p.gate, p.activation, p.out, number(p, b, row, g, kernel), number(p, b, row, u, kernel)));
            continue;
        }
        const GemmNumber d = number(p, b, row, n, kernel);
        out.push_back(allow(p.out, d.value, d.error));
    }
    return out;
}

void add_operands(Case& c, const Shape& s, const Format& format, Random& random, Problem& p) {
    using Args = spark_gemm_args;
    const auto in_size = static_cast<int64_t>(ref::size_of(p.type));
    const Operand a = c.add("a", offsetof(Args, a), weights_matrix(p.type, s.batch, s.m, s.k, s.a_pad),
                            static_cast<size_t>(16 + s.a_misalign * in_size), false);
    fill(c, a, random);
    make_special(c, a, s.special, s.m * 2 / 3, s.k, random);
    p.a = c.values(a);
    add_weights(c, s, format, random, p);
    add_others(c, s, random, p);
}

Case build(const Shape& s, const Format& format, ref::Type type, ref::Type out, const std::string& name,
           const Seed& seed) {
    Case c = make_case<spark_gemm_args>("gemm", name, SPARK_OP_GEMM, seed);
    Random random(seed, name);
    auto p = std::make_shared<Problem>();
    p->type = type, p->out = out;
    p->batch = static_cast<size_t>(s.batch), p->m = static_cast<size_t>(s.m);
    p->n = static_cast<size_t>(s.n), p->k = static_cast<size_t>(s.k);
    p->b_same = s.b_same && format.group == 0 && format.form == 0;
    p->of_blocks = (format.record != nullptr && format.record->record != ref::Record::gguf_nvfp4) ||
                   format.group != 0 || format.form == MXFP4;
    p->gate = s.gate, p->activation = static_cast<ref::Activation>(s.activation);
    p->op = {.alpha = s.alpha, .beta = s.beta, .activation = s.gate.on ? ref::Activation::none : p->activation};
    add_operands(c, s, format, random, *p);
    auto& args = c.as<spark_gemm_args>();
    args.alpha = s.alpha, args.beta = s.beta, args.activation = s.activation;
    args.hdr.flags = s.flags;
    set_gate(args, s.gate);
    c.large = s.tier == Tier::card;
    c.note = "weights, B " + std::to_string(s.batch) + ", M " + std::to_string(s.m) + ", N " + std::to_string(s.n) +
             ", K " + std::to_string(s.k);
    c.kind = [](const std::string& kernel) {
        return takes_codes(kernel) ? "as stored" : has_tensor_cores(kernel) ? "unpacked" : "unpacked, one by one";
    };
    c.expect = [p](size_t, const std::string& kernel) { return expect(*p, kernel); };
    return c;
}

Entry entry(const Shape& s, const Format& format, ref::Type type, ref::Type out, const std::string& name) {
    const auto build_all = [=](const Seed& seed) {
        Case c = build(s, format, type, out, name, seed);
        if (s.twins && !seed.outline) {
            const auto rebuilt = [&](int64_t m, int64_t, const std::string& change) {
                Shape other = s;
                other.m = m;
                return build(other, format, type, out, change, seed);
            };
            gemm::add_twins(c, s.m, false, rebuilt, seed);
        }
        return c;
    };
    return {"gemm", name, s.tier, build_all};
}

} // namespace

void named(std::vector<Entry>& out) {
    for (const Shape& s : SHAPES) {
        for (size_t i = 0; i < weight_formats().size(); ++i) {
            for (ref::Type type : types_of(s.types)) {
                for (ref::Type to : types_of(s.outs)) {
                    if (s.formats >> i & 1) {
                        out.push_back(entry(s, weight_formats()[i], type, to,
                                            std::string("weights_") + s.name + "." + weight_formats()[i].name + "." +
                                                ref::name_of(type) + "." + ref::name_of(to)));
                    }
                }
            }
        }
    }
}

Entry random(Random& r, const std::string& name) {
    Shape s;
    s.batch = r.chance(0.15) ? r.between(2, 3) : 1;
    s.m = r.chance(0.7) ? r.between(1, 20) : r.between(1, 90);
    s.n = r.between(1, 80);
    s.k = 32 * (r.chance(0.6) ? r.between(1, 12) : 8 * r.between(1, 5));
    s.a_pad = r.pick<int64_t>({0, 0, 0, 4, 8, 1});
    s.d_pad = r.pick<int64_t>({0, 0, 8, 3});
    s.b_pad = r.pick<int64_t>({0, 0, 0, 2, 16});
    s.b_pad += r.chance(0.5) ? 14 * s.k / 32 % 16 : 0; // Q8_0: rows of 16 bytes, for the kernel that asks for it
    s.a_misalign = r.chance(0.1) ? r.between(1, 7) : 0;
    s.b_misalign = r.chance(0.1) ? 2 * r.between(1, 7) : 0;
    s.alpha = r.pick<float>({1, 1, -0.5f, 3});
    s.beta = r.pick<float>({0, 0, 1, -0.25f});
    s.bias = r.chance(0.5);
    s.b_same = r.chance(0.4);
    s.activation = r.pick<spark_activation_kind>({SPARK_ACTIVATION_NONE, SPARK_ACTIVATION_NONE, SPARK_ACTIVATION_SILU});
    s.special = r.chance(0.15) ? Special::nan_row : Special::none;
    s.nans = r.chance(0.1);
    s.flags = r.pick<unsigned>({0, 0, SPARK_FLAG_DETERMINISTIC, SPARK_FLAG_BATCH_INVARIANT});
    const Format& format = weight_formats()[static_cast<size_t>(r.between(0, std::ssize(weight_formats()) - 1))];
    if (format.record && (format.record->elements > 32 || format.record->bytes % 4 == 0)) {
        s.k = (s.k + 255) / 256 * 256;
        s.b_pad = s.b_pad / 8 * 8, s.b_misalign = s.b_misalign / 8 * 8;
    }
    if (format.group != 0) {
        s.k = r.chance(0.5) ? r.between(1, 300) : s.k;
        s.scale_step = r.pick<int64_t>({1, 1, 3});
    } else if (format.form != 0) {
        s.k = format.form == NVFP4 && r.chance(0.3) ? s.k + 16 : s.k;
        s.b_pad = r.pick<int64_t>({0, 0, 0, 16, 3});
        s.scale_step = r.pick<int64_t>({1, 1, 4});
        s.tiled = r.chance(0.5), s.columns = r.chance(0.2), s.no_whole = r.chance(0.2);
    } else if (!format.record) {
        s.k = r.chance(0.5) ? 4 * r.between(1, 60) : 16 * r.between(1, 80);
        s.b_pad = r.chance(0.5) ? 4 * r.between(0, 3) : (16 - s.k % 16) % 16;
        s.b_misalign = s.b_misalign / 4 * 4;
        s.scale_step = r.pick<int64_t>({1, 1, 3});
    }
    s.gate = random_gate(r, s.n);
    if (s.gate.on) {
        s.beta = 0;
        s.activation = s.gate.gpt_oss ? SPARK_ACTIVATION_SILU : s.activation;
    }
    const auto type = r.pick(types_of(BF16 | F16)), out = r.pick(types_of(ALL));
    s.twins = (s.flags & SPARK_FLAG_BATCH_INVARIANT) != 0 && s.batch == 1 && r.chance(0.2);
    return entry(s, format, type, out, name);
}

// "m=1 n=4096 k=4096 BF16 Q8_0": results of the type of a.
Entry worded(Words& words, const std::string& format, int64_t m, int64_t n, int64_t k, ref::Type type) {
    const Shape s{.m = m, .n = n, .k = k};
    return entry(s, *std::ranges::find(weight_formats(), format, &Format::name), type, type, words.name());
}

std::string taken(Words& words) {
    for (const Format& format : weight_formats()) {
        if (words.take(format.name)) {
            return format.name;
        }
    }
    return {};
}

} // namespace check::weights

double check::gemm_error(const ref::Gemm& op, const ref::GemmElement& e, double sum, double c, double bias,
                         int scales) {
    constexpr double u = 0x1p-24;
    double error = sum + 3 * u * (std::fabs(op.alpha) * e.magnitude + std::fabs(op.beta * c) + std::fabs(bias));
    error += scales * u * std::fabs(op.alpha) * e.magnitude;
    if (op.activation == ref::Activation::relu_squared) {
        return (2 * std::fabs(e.before) + error) * error + u * e.value;
    }
    return op.activation == ref::Activation::none ? error : 1.13 * error + 0x1p-20 * std::fabs(e.before);
}
