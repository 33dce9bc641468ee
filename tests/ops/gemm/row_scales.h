// SPDX-License-Identifier: Apache-2.0
// Scales of codes in a and b of gemm's cases: none, one for all, or one a row.
#pragma once

#include "check/case.h"
#include "check/random.h"

#include <cmath>
#include <cstddef>
#include <vector>

namespace check::gemm {

enum class Scaling { none, tensor, row };

// Of a row of a or b; scales that are one for all have no others.
inline double scale_of(const std::vector<double>& scales, size_t row) {
    return scales.empty() ? 1 : scales.size() == 1 ? scales[0] : scales[row];
}

// Scales of the operand that was added last, and what its descriptor says of them. step: from a row's to the next;
// powers: they are powers of two.
inline void add_scales(Case& c, Scaling scales, int64_t step, bool powers, Random& random) {
    if (scales == Scaling::none) {
        return;
    }
    const Operand codes = c.operands.back();
    auto& quant = reinterpret_cast<spark_tensor*>(&c.args[codes.args_offset])->quant;
    View view = packed(ref::Type::f32, {1});
    if (scales == Scaling::row) {
        view = packed(ref::Type::f32, {codes.view.shape.begin(), codes.view.shape.end() - 1});
        for (size_t d = 0; d < view.shape.size(); ++d) {
            view.stride[d] *= step;
            quant.scale_stride[d] = step == 1 ? 0 : view.stride[d];
        }
    }
    quant.scheme = scales == Scaling::row ? SPARK_QUANT_PER_ROW : SPARK_QUANT_PER_TENSOR;
    quant.scale_dtype = SPARK_DTYPE_F32;
    quant.scale_bytes = static_cast<uint64_t>(view.span()) * sizeof(float);
    const size_t address = offsetof(spark_tensor, quant) + offsetof(spark_quant, scale);
    const Operand added = c.add_array(codes.field + ".scale", codes.args_offset + address, view, 0, false);
    for (int64_t i = 0; i < view.count(); ++i) {
        const double power = std::ldexp(1, static_cast<int>(random.between(-5, 2)));
        const double sign = random.chance(0.1) ? -1 : 1;
        ref::store(ref::Type::f32, powers ? power : sign * power * (1 + random.unit()), c.element(added, i));
    }
}

} // namespace check::gemm
