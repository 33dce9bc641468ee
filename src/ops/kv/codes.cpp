// SPDX-License-Identifier: Apache-2.0
// Caches of codes, whose tokens are numbers: what kernels are told of the scales of k_cache and v_cache. Called by
// check_rows, which knows all else.
#include "core/dtype.h"
#include "ops/common/coded.h"
#include "ops/kv/problem.h"

namespace spark {
namespace {

bool are_numbers(uint32_t dtype) {
    return dtype == SPARK_DTYPE_F32 || dtype == SPARK_DTYPE_F16 || dtype == SPARK_DTYPE_BF16;
}

int64_t step_of(const QuantView& quant, uint32_t d) { return quant.blocks[d] > 1 ? quant.stride[d] : 0; }

// Those of one cache. FP8 without a form has the scale 1.
spark_status scales_of(const ValidatedArgs& bound, uint32_t field, bool gathers, KvScales& out, Report& report) {
    const View& v = bound.view[field];
    const QuantView& quant = v.quant;
    const char* name = bound.spec->fields[field].name;
    out = {};
    if (quant.form == nullptr) {
        if (v.elem_bits == 8) return SPARK_OK;
        return report.fail_field(SPARK_ERR_INVALID_VALUE, field,
                                 "%s.quant.scheme is 0; that of NVFP4 wanted, since %s.dtype is E2M1", name, name);
    }
    if (quant.layout != SPARK_SCALE_LINEAR) {
        return report.fail_field(SPARK_ERR_UNSUPPORTED_LAYOUT, field, "%s.quant.scale_layout is %u; %u wanted, LINEAR",
                                 name, quant.layout, SPARK_SCALE_LINEAR);
    }
    out = {quant.scale,       step_of(quant, 0),  step_of(quant, 1),  step_of(quant, 2),
           step_of(quant, 3), quant.global_scale, quant.global_stride};
    out.made = !gathers && (is_nv(quant) || quant.form->scheme == SPARK_QUANT_PER_ROW);
    return SPARK_OK;
}

} // namespace

spark_status check_kv_codes(const ValidatedArgs& bound, bool gathers, KvRows& p, Report& report) {
    namespace field = kv_append_field;
    const View &k = bound.view[field::K], &k_cache = bound.view[field::K_CACHE];
    p.codes = k_cache.dtype != k.dtype ? k_cache.dtype : 0;
    for (uint32_t cache : {uint32_t{field::K_CACHE}, uint32_t{field::V_CACHE}}) {
        if (p.codes != 0 || bound.view[cache].quant.form == nullptr) continue;
        return report.fail_field(SPARK_ERR_INVALID_RESERVED, cache,
                                 "%s.quant is set; all of it must be 0 where k is of the caches' own type, whose bits "
                                 "are moved",
                                 bound.spec->fields[cache].name);
    }
    if (p.codes == 0) return SPARK_OK;
    if (!are_numbers(k.dtype)) {
        return report.fail_field(SPARK_ERR_UNSUPPORTED_DTYPE, field::K,
                                 "k.dtype is %s; F32, F16, BF16 or that of the caches wanted, which is %s",
                                 dtype_info(k.dtype).name, dtype_info(k_cache.dtype).name);
    }
    for (uint32_t d : {1u, 2u}) { // counted in 32 bits
        if (k.shape[d] < int64_t{1} << 31) continue;
        return report.fail_field(SPARK_ERR_UNSUPPORTED_SHAPE, field::K, "k.shape[%u] is %lld; less than 2^31 wanted", d,
                                 static_cast<long long>(k.shape[d]));
    }
    p.numbers = k.dtype;
    if (spark_status s = scales_of(bound, field::K_CACHE, gathers, p.k.scales, report)) return s;
    return scales_of(bound, field::V_CACHE, gathers, p.v.scales, report);
}

} // namespace spark
