// SPDX-License-Identifier: Apache-2.0
// spark_rope_args -> Rope. What the description cannot say: which strides kernels take, and that codes have scales; of
// angles, angles.cpp.
#include <algorithm>

#include "ops/common/coded.h"
#include "ops/rope/problem.h"
#include "ops/rope/teams.h"

namespace spark {
namespace {

using namespace rope_field;

int64_t alignment(const View& v, const HeadTensor& t) {
    const uint32_t bits = v.elem_bits;
    return std::min({v.alignment(), low_bit(t.outer, bits), low_bit(t.inner, bits), low_bit(t.head, bits)});
}

// Which of x, y and the scales of y, in this order, have a token dimension too many, beside what it is that has it.
spark_status fail_fold(const ValidatedArgs& bound, uint32_t bad, const char* most, Report& report) {
    const uint32_t field = bad == 0 ? X : Y;
    return report.fail_field(SPARK_ERR_UNSUPPORTED_LAYOUT, field,
                             "the dimensions of %s%s before H do not fold to %s%s; strides of a packed tensor, or "
                             "of one slice of it, wanted",
                             bound.spec->fields[field].name, bad > 1 ? ".quant.scale" : "", most,
                             bad > 0 ? " together with those of x" : "");
}

spark_status fill_tokens(const ValidatedArgs& bound, Rope& p, Report& report) {
    const View &x = bound.view[X], &y = bound.view[Y], scales = p.code_type != 0 ? scale_rows(y) : y;
    const View* views[] = {&x, &y, &scales};
    const uint32_t leading = x.ndim - 2, count = p.code_type != 0 ? 3 : 2;
    const std::span<const View* const> all{views, count};
    if (p.code_type != 0 && first_unfoldable(all.first(1), leading, 1) == 0) {
        return fail_fold(bound, 0, "one where y is codes", report);
    }
    const uint32_t bad = first_unfoldable(all, leading, 2);
    if (bad < count) return fail_fold(bound, bad, "two", report);
    Rows rows = fold_rows(all, leading);
    p.tokens0 = rows.dims > 0 ? rows.size[rows.dims - 1] : 1;
    p.tokens1 = rows.dims > 1 ? rows.size[0] : 1;
    HeadTensor* targets[] = {&p.x, &p.y, &p.codes.scale};
    for (uint32_t i = 0; i < count; ++i) {
        *targets[i] = {views[i]->data, rows.dims > 1 ? rows.stride[i][0] : 0,
                       rows.dims > 0 ? rows.stride[i][rows.dims - 1] : 0, p.heads > 1 ? views[i]->last_stride(1) : 0};
    }
    return SPARK_OK;
}

// y as codes: their form, and heads that a team takes.
spark_status check_codes_of_y(const ValidatedArgs& bound, Rope& p, Report& report) {
    if (spark_status s = check_form(bound, X, Y, report)) return s;
    const View& y = bound.view[Y];
    const QuantView& quant = y.quant;
    p.type = bound.view[X].dtype;
    if (quant.form == nullptr) return SPARK_OK;
    if (quant.layout != SPARK_SCALE_LINEAR) {
        return report.fail_field(SPARK_ERR_UNSUPPORTED_LAYOUT, Y, "y.quant.scale_layout is %u; %u wanted, LINEAR",
                                 quant.layout, SPARK_SCALE_LINEAR);
    }
    p.code_type = y.dtype;
    const CodedKind kind = coded_kind(quant);
    const int64_t block = quant.block[y.ndim - 1];
    p.codes.block = kind.blocks && block < p.width ? block : 0;
    p.codes.step = quant.blocks[y.ndim - 1] > 1 ? quant.stride[y.ndim - 1] : 0;
    p.codes.made = quant.form->scheme != SPARK_QUANT_PER_TENSOR;
    p.codes.powers = kind.powers, p.codes.scale_bytes = kind.scale_bytes;
    return check_teams(bound, X, p.angles.pairs, report);
}

// Whether runs of eight elements are one access each, and pairs whole runs.
bool has_runs(const Rope& p, int64_t x_align, int64_t y_align) {
    return p.angles.pairs % HEAD_RUN == 0 && p.width % HEAD_RUN == 0 && x_align >= 16 && y_align >= HEAD_RUN;
}

Contract contract_of(const Rope& p) {
    constexpr Contract BF16 = "rope_bf16", F16 = "rope_f16", F32 = "rope_f32", CODES = "rope_append";
    if (p.code_type != 0) return CODES;
    return p.type == SPARK_DTYPE_BF16 ? BF16 : p.type == SPARK_DTYPE_F16 ? F16 : F32;
}

} // namespace

spark_status check_rope(const ValidatedArgs& bound, CheckedOp& work, Report& report) {
    const View &positions = bound.view[POSITIONS], &x = bound.view[X], &y = bound.view[Y];
    Rope& p = work.as<Rope>();
    p = {};
    p.heads = x.last(1), p.width = x.last(0);
    const auto& args = bound.arguments<spark_rope_args>();
    constexpr AngleFields FIELDS = {TABLE, X, THETA, ROTARY_DIM};
    if (spark_status s = check_angles(bound, FIELDS, args.theta, args.rotary_dim, p.angles, report)) return s;
    if (spark_status s = check_codes_of_y(bound, p, report)) return s;
    work.empty = x.count == 0;
    if (spark_status s = work.empty ? SPARK_OK : fill_tokens(bound, p, report)) return s;
    p.positions = positions.data;
    p.positions64 = positions.dtype == SPARK_DTYPE_I64;
    p.invalid_count = bound.view[INVALID_COUNT].present ? bound.view[INVALID_COUNT].data : 0;
    p.in_place = x.data == y.data && x.data != 0;
    p.flags = bound.flags;

    const int64_t x_align = alignment(x, p.x), y_align = alignment(y, p.y);
    int64_t facts[ROPE_FACTS] = {p.tokens0 * p.tokens1,        p.heads, p.width, p.angles.pairs, x_align, y_align,
                                 has_runs(p, x_align, y_align)};
    memcpy(work.facts, facts, sizeof facts);
    const auto count = static_cast<uint64_t>(x.count);
    const uint64_t elem = x.elem_bits / 8, rotated = count / std::max<uint64_t>(static_cast<uint64_t>(p.width), 1) *
                                                     static_cast<uint64_t>(p.angles.pairs);
    work.flops = 6 * rotated;
    work.bytes = positions.bytes + (p.in_place ? 4 * elem * rotated : (elem + y.elem_bits / 8) * count) +
                 (p.code_type != 0 ? y.quant.scale_bytes : 0);
    work.contract = contract_of(p);
    return SPARK_OK;
}

} // namespace spark
