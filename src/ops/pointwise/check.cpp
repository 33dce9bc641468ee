// SPDX-License-Identifier: Apache-2.0
// spark_activation_args, spark_glu_args and spark_add_args -> Pointwise. What the descriptions cannot say: which
// strides the kernels take, and that codes have scales. The three are one problem with one set of kernels: what is
// computed is the contract. Leading dimensions fold to two row dimensions, and rows without gaps join into one long
// row, so that an odd width costs nothing where tensors are packed.
#include <cstring>

#include "ops/common/activation.h"
#include "ops/pointwise/problem.h"

namespace spark {
namespace {

// Field numbers, in the order of op.toml: inputs, then y.
constexpr uint32_t ONE_INPUT[] = {0, 1}, TWO_INPUTS[] = {0, 1, 2};

// One contract for each dtype, in the order BF16, F16, F32.
spark_status fill(const ValidatedArgs& bound, std::span<const uint32_t> fields, const Contract (&contracts)[3],
                  uint32_t activation, float cap, CheckedOp& work, Report& report) {
    const View& x = bound.view[0];
    uint32_t count = static_cast<uint32_t>(fields.size());
    Pointwise& p = work.as<Pointwise>();
    p = {};
    p.n = x.last(0);
    p.per_chunk = 128 / x.elem_bits;
    p.activation = activation, p.cap = cap;
    p.flags = bound.flags;
    work.empty = x.count == 0;
    RowSet rows{};
    if (spark_status s = work.empty ? SPARK_OK : fold_to_two(bound, fields, rows, report)) return s;
    int64_t width[] = {p.n, p.n, p.n};
    join_rows(rows, std::span(width).first(count));
    p.n = width[0];
    p.rows0 = rows.rows0, p.rows1 = rows.rows1;
    p.x = rows.tensor[0], p.y = rows.tensor[count - 1];
    if (count > 2) p.z = rows.tensor[1];
    int64_t facts[POINTWISE_FACTS] = {p.n,
                                      p.rows0 * p.rows1,
                                      row_alignment(x, p.x),
                                      count > 2 ? row_alignment(bound.view[1], p.z) : 256,
                                      row_alignment(bound.view[fields.back()], p.y),
                                      0};
    memcpy(work.facts, facts, sizeof facts);
    work.bytes = count * static_cast<uint64_t>(x.count) * (x.elem_bits / 8);
    work.contract = contracts[x.dtype == SPARK_DTYPE_BF16 ? 0 : x.dtype == SPARK_DTYPE_F16 ? 1 : 2];
    return SPARK_OK;
}

constexpr Contract ACT[] = {"pointwise_bf16_act", "pointwise_f16_act", "pointwise_f32_act"};
constexpr Contract GLU[] = {"pointwise_bf16_glu", "pointwise_f16_glu", "pointwise_f32_glu"};
constexpr Contract ADD[] = {"pointwise_bf16_add", "pointwise_f16_add", "pointwise_f32_add"};

// Operations of an element as SiLU has them: exponential, sum, quotient, product. The others count alike.
uint64_t flops_of(uint32_t activation) { return activation == SPARK_ACTIVATION_NONE ? 0 : 4; }

// Rows as pointwise.codes_kept.ptx has them: at one distance, with a scale each that is made of their amax.
bool is_usual(const Pointwise& p) {
    constexpr int64_t FAR = INT32_MAX / 4;
    const auto is_near = [](int64_t stride) { return stride >= 0 && stride <= FAR; };
    const ScalePlaces& scale = p.codes.scale;
    const bool line = p.codes.rows1 == 1 && scale.quarter == scale.row * 32 && scale.tile == scale.row * 128;
    const bool near = is_near(p.x.inner) && is_near(p.z.inner) && is_near(p.y.inner) && is_near(scale.row);
    const bool function = p.activation == SPARK_ACTIVATION_SILU || p.activation == SPARK_ACTIVATION_GELU_TANH;
    return p.codes.dtype == SPARK_DTYPE_BF16 && p.kind.whole == 0 && !p.kind.blocks && function && line && near &&
           (p.flags & SPARK_GLU_ROUND_ACTIVATION) == 0 && p.codes.rows0 <= INT32_MAX;
}

// The same with y as codes: rows stay what they are, since scales belong to them.
spark_status fill_codes(const ValidatedArgs& bound, CheckedOp& work, Report& report) {
    constexpr uint32_t Y = TWO_INPUTS[2];
    const View &x = bound.view[0], &y = bound.view[Y];
    const auto& args = bound.arguments<spark_glu_args>();
    Pointwise& p = work.as<Pointwise>();
    p = {};
    p.activation = args.activation, p.cap = args.cap;
    p.flags = bound.flags;
    p.codes.dtype = x.dtype;
    work.contract = "pointwise_codes";
    work.empty = y.count == 0;
    RowTensor rows[3];
    if (spark_status s = work.empty ? SPARK_OK : fold_coded(bound, TWO_INPUTS, Y, p.codes, rows, report)) return s;
    p.x = rows[0], p.z = rows[1], p.y = rows[2];
    p.kind = coded_kind(y.quant);
    int64_t facts[POINTWISE_FACTS] = {x.last(0),
                                      p.codes.rows_scaled * p.codes.rows1,
                                      row_alignment(x, p.x),
                                      row_alignment(bound.view[1], p.z),
                                      row_alignment(y, p.y),
                                      is_usual(p)};
    memcpy(work.facts, facts, sizeof facts);
    work.bytes = static_cast<uint64_t>(x.count) * (2 * x.elem_bits + y.elem_bits) / 8 + y.quant.scale_bytes;
    return SPARK_OK;
}

} // namespace

spark_status check_activation(const ValidatedArgs& bound, CheckedOp& work, Report& report) {
    const auto& args = bound.arguments<spark_activation_args>();
    work.flops = flops_of(args.activation) * static_cast<uint64_t>(bound.view[0].count);
    if (spark_status s = check_cap(args.activation, args.cap, activation_field::CAP, report)) return s;
    return fill(bound, ONE_INPUT, ACT, args.activation, args.cap, work, report);
}

spark_status check_glu(const ValidatedArgs& bound, CheckedOp& work, Report& report) {
    const auto& args = bound.arguments<spark_glu_args>();
    work.flops = (flops_of(args.activation) + 1) * static_cast<uint64_t>(bound.view[0].count);
    if (spark_status s = check_cap(args.activation, args.cap, glu_field::CAP, report)) return s;
    if (spark_status s = check_form(bound, TWO_INPUTS[0], TWO_INPUTS[2], report)) return s;
    if (bound.view[TWO_INPUTS[2]].quant.form != nullptr) return fill_codes(bound, work, report);
    return fill(bound, TWO_INPUTS, GLU, args.activation, args.cap, work, report);
}

spark_status check_add(const ValidatedArgs& bound, CheckedOp& work, Report& report) {
    work.flops = static_cast<uint64_t>(bound.view[0].count);
    return fill(bound, TWO_INPUTS, ADD, SPARK_ACTIVATION_NONE, 0, work, report);
}

} // namespace spark
