// SPDX-License-Identifier: Apache-2.0
// See gated.h.
#include "ops/gemm/gated.h"

#include <algorithm>
#include <cmath>

namespace check {

Allowed gated(const ref::Gate& gate, ref::Activation activation, ref::Type out, GemmNumber g, GemmNumber u) {
    constexpr double EPS = 0x1p-24;
    const ref::GatedFactors f = ref::gated_factors(gate, activation, g.value, u.value);
    const double x = gate.limit == 0 ? g.value : std::min(g.value, gate.limit);
    double e = activation == ref::Activation::none ? g.error : 1.13 * g.error + 0x1p-20 * std::fabs(x);
    if (activation == ref::Activation::relu_squared) {
        e = (2 * std::fabs(x) + g.error) * g.error + EPS * f.gate;
    }
    const double up = u.error + (gate.gpt_oss ? EPS * std::fabs(f.up) : 0), d = f.gate * f.up;
    return allow(out, d, e * std::fabs(f.up) + up * std::fabs(f.gate) + e * up + EPS * std::fabs(d) + 0x1p-148);
}

void set_gate(spark_gemm_args& args, const ref::Gate& gate) {
    args.hdr.flags |= gate.on ? SPARK_GEMM_GATED : 0;
    args.hdr.flags |= gate.interleaved ? SPARK_GEMM_INTERLEAVED : 0;
    args.hdr.flags |= gate.up_first ? SPARK_GEMM_UP_FIRST : 0;
    args.hdr.flags |= gate.gpt_oss ? SPARK_GEMM_GPT_OSS : 0;
    args.limit = static_cast<float>(gate.limit);
}

ref::Gate random_gate(Random& r, int64_t n) {
    ref::Gate gate;
    gate.on = r.chance(0.3) && n % 2 == 0;
    gate.interleaved = r.chance(0.5) && gate.on;
    gate.up_first = r.chance(0.3) && gate.on;
    gate.gpt_oss = r.chance(0.3) && gate.on;
    const double limit = r.pick<double>({0, 0, 7, 0.5});
    gate.limit = gate.on ? limit : 0;
    return gate;
}

} // namespace check
