// SPDX-License-Identifier: Apache-2.0
// What a call with weights says beyond what the description can: forms of b that go with numbers of a, where they lie,
// and which kernels multiply them.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <span>

#include "core/dtype.h"
#include "ops/gemm/fields.h"
#include "ops/gemm/problem.h"

namespace spark {
namespace {

using namespace gemm_field;

// Of weights in a form: dtypes of b and of scales; the contract for a in BF16 and in F16. record: 0 of codes with
// scales beside them.
struct Weights {
    uint32_t scheme, record;
    uint64_t dtypes, scales;
    Contract bf16, f16;
};
constexpr uint64_t bit(uint32_t dtype) { return uint64_t{1} << dtype; }
constexpr uint64_t U8 = bit(SPARK_DTYPE_U8), BYTES = bit(SPARK_DTYPE_I8) | bit(SPARK_DTYPE_E4M3);
constexpr uint64_t NF4 = bit(SPARK_DTYPE_NF4), NIBBLES = bit(SPARK_DTYPE_I4) | bit(SPARK_DTYPE_U4) | NF4;
constexpr uint64_t ANY = ~uint64_t{0};
constexpr Weights WEIGHTS[] = {
#define RECORD(NAME, F) {SPARK_QUANT_RECORD, SPARK_RECORD_##NAME, U8, ANY, "gemm_bf16_" #F, "gemm_f16_" #F},
#include "core/records.inc"
#undef RECORD
    {SPARK_QUANT_PER_TENSOR, 0, BYTES, ANY, "gemm_bf16_byte", "gemm_f16_byte"},
    {SPARK_QUANT_PER_ROW, 0, BYTES, ANY, "gemm_bf16_byte", "gemm_f16_byte"},
    {SPARK_QUANT_BLOCK, 0, NF4, ANY, "gemm_bf16_nf4", "gemm_f16_nf4"}, // which no kernel of int4 reads as stored
#define SCALED(CODES, SCALES, F, W) \
    {SPARK_QUANT_BLOCK, 0, bit(SPARK_DTYPE_##CODES), bit(SPARK_DTYPE_##SCALES), "gemm_bf16_" #F, "gemm_f16_" #F},
#include "core/scaled.inc"
#undef SCALED
};

bool has_groups(const View& v) { return (NIBBLES >> v.dtype & 1) != 0; }
bool has_blocks(const View& v) { return v.quant.form->scheme == SPARK_QUANT_BLOCK && !has_groups(v); }

// What the address and the strides of b, and K of codes, are multiples of: what kernels read at a time.
int64_t words_of(const spark_quant_form& form) {
    if (form.scheme == SPARK_QUANT_BLOCK) return 1;
    if (form.scheme != SPARK_QUANT_RECORD) return 4;
    const auto bytes = static_cast<int64_t>(form.record_bytes);
    return form.record == SPARK_RECORD_Q4_1 ? 2 : std::min<int64_t>(bytes & -bytes, 8);
}

const Weights* find_weights(const View& v) {
    if (v.quant.form == nullptr) return nullptr;
    for (const Weights& w : WEIGHTS) {
        const bool record = w.scheme == SPARK_QUANT_RECORD;
        if (w.scheme == v.quant.form->scheme && w.record == v.quant.form->record && (w.dtypes >> v.dtype & 1) &&
            (record || (w.scales >> v.quant.scale_dtype & 1)))
            return &w;
    }
    return nullptr;
}

long long ll(int64_t value) { return static_cast<long long>(value); }

} // namespace

bool has_weights(const ValidatedArgs& bound) {
    return bound.view[A].elem_bits == 16 && find_weights(bound.view[B]) != nullptr;
}

const char* forms_of_weights(const ValidatedArgs& bound, char* text, size_t capacity) {
    const uint32_t dtype = bound.view[B].dtype;
    const std::span<const spark_quant_form> forms = bound.spec->forms[B];
    const auto multiplied = [&](const spark_quant_form& form) {
        return std::ranges::any_of(WEIGHTS, [&](const Weights& w) {
            const bool scaled = w.record != 0 || (w.scales & form.scale_dtype_mask) != 0;
            return w.scheme == form.scheme && w.record == form.record && scaled &&
                   (w.dtypes & form.dtype_mask) >> dtype & 1;
        });
    };
    auto left = bound.view[A].elem_bits == 16 ? std::ranges::count_if(forms, multiplied) : 0;
    size_t used = 0;
    text[0] = 0;
    for (const spark_quant_form& form : forms) {
        if (left == 0 || !multiplied(form)) continue;
        const char* join = used == 0 ? ", or b.quant of " : left == 1 ? " or " : ", ";
        const int n = snprintf(text + used, capacity - used, "%s%s", join, form.name);
        used = std::min(used + static_cast<size_t>(std::max(n, 0)), capacity - 1), --left;
    }
    return text;
}

spark_status check_gemm_weights(const ValidatedArgs& bound, Report& report) {
    const View &a = bound.view[A], &b = bound.view[B];
    const bool records = b.dtype == SPARK_DTYPE_U8, nibbles = (NIBBLES >> b.dtype & 1) != 0;
    if (!records && !nibbles) return SPARK_OK;
    if (b.quant.form == nullptr) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, B, "b.dtype is %s but b.quant.scheme is 0; %s wanted",
                                 dtype_info(b.dtype).name, records ? "RECORD" : "BLOCK");
    }
    if (a.elem_bits != 16) {
        return report.fail_field(SPARK_ERR_UNSUPPORTED_DTYPE, B, "b is %s of %s and a.dtype is %s; BF16 or F16 wanted",
                                 records ? "records" : "codes", b.quant.form->name, dtype_info(a.dtype).name);
    }
    return SPARK_OK;
}

// Weights begin where kernels can read them, and lie along K as a does.
spark_status check_gemm_places(const ValidatedArgs& bound, bool a_along, bool b_along, Report& report) {
    const View& v = bound.view[B];
    if (!has_weights(bound) || v.count == 0) return SPARK_OK;
    const bool records = v.dtype == SPARK_DTYPE_U8;
    const char* name = records ? "records" : dtype_info(v.dtype).name;
    const int64_t words = words_of(*v.quant.form);
    if (!a_along || !b_along) {
        const uint32_t field = a_along ? B : A;
        return report.fail_field(SPARK_ERR_UNSUPPORTED_LAYOUT, field,
                                 "%s.stride[%u] is %lld; 1 wanted, since b is %s, multiplied along K alone",
                                 bound.spec->fields[field].name, bound.view[field].ndim - 1,
                                 ll(bound.view[field].last_stride(0)), name);
    }
    if (!records && v.last(0) % words != 0) {
        return report.fail_field(SPARK_ERR_UNSUPPORTED_SHAPE, B,
                                 "b.shape[%u] is %lld; a multiple of %lld wanted for %s", v.ndim - 1, ll(v.last(0)),
                                 ll(words), name);
    }
    if (has_groups(v)) return check_codes(bound, B, report);
    if (has_blocks(v)) return check_block_weights(bound, report);
    if (v.data % static_cast<uint64_t>(words) != 0) {
        return report.fail_field(SPARK_ERR_INVALID_ALIGNMENT, B, "b.data is 0x%llx; a multiple of %lld wanted for %s",
                                 static_cast<unsigned long long>(v.data), ll(words), name);
    }
    for (uint32_t d = 0; d + 1 < v.ndim; ++d) {
        if (v.stride[d] % words == 0 || v.shape[d] < 2) continue;
        return report.fail_field(SPARK_ERR_UNSUPPORTED_LAYOUT, B,
                                 "b.stride[%u] is %lld; a multiple of %lld wanted for %s", d, ll(v.stride[d]),
                                 ll(words), name);
    }
    return SPARK_OK;
}

void put_gemm_weights(const ValidatedArgs& bound, Gemm& p) {
    const View& v = bound.view[B];
    p.weights = true;
    p.b_i8 = v.dtype == SPARK_DTYPE_I8, p.b_i4 = v.dtype == SPARK_DTYPE_I4;
    p.b_nf4 = v.dtype == SPARK_DTYPE_NF4;
    if (has_blocks(v)) put_block_weights(bound, p);
    if (!has_groups(v)) return;
    p.ldb /= 2, p.stride_b /= 2; // bytes
    const uint32_t along = v.ndim - 1;
    p.b_groups = {.step = v.quant.blocks[along] > 1 ? v.quant.stride[along] : 0,
                  .shift = static_cast<uint32_t>(std::countr_zero(static_cast<uint64_t>(v.quant.block[along]))),
                  .dtype = v.quant.scale_dtype,
                  .zeros = v.count == 0 ? 0 : v.quant.zero_point};
}

Contract contract_of_weights(const ValidatedArgs& bound) {
    const Weights& weights = *find_weights(bound.view[B]);
    return bound.view[A].dtype == SPARK_DTYPE_F16 ? weights.f16 : weights.bf16;
}

} // namespace spark
