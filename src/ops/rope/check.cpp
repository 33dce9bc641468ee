// SPDX-License-Identifier: Apache-2.0
// spark_rope_args -> Rope. What the description cannot say: which strides kernels take; of angles, angles.cpp.
#include <algorithm>

#include "ops/common/rows.h"
#include "ops/rope/problem.h"

namespace spark {
namespace {

using namespace rope_field;

int64_t alignment(const View& v, const HeadTensor& t) {
    const uint32_t bits = v.elem_bits;
    return std::min({v.alignment(), low_bit(t.outer, bits), low_bit(t.inner, bits), low_bit(t.head, bits)});
}

spark_status fill_tokens(const ValidatedArgs& bound, Rope& p, Report& report) {
    const View *views[] = {&bound.view[X], &bound.view[Y]}, &x = *views[0];
    constexpr uint32_t FIELDS[] = {X, Y};
    uint32_t leading = x.ndim - 2, bad = first_unfoldable(views, leading, 2);
    if (bad < 2) {
        return report.fail_field(SPARK_ERR_UNSUPPORTED_LAYOUT, FIELDS[bad],
                                 "the dimensions of %s before H do not fold to two%s; strides of a packed tensor, or "
                                 "of one slice of it, wanted",
                                 bound.spec->fields[FIELDS[bad]].name, bad > 0 ? " together with those of x" : "");
    }
    Rows rows = fold_rows(views, leading);
    p.tokens0 = rows.dims > 0 ? rows.size[rows.dims - 1] : 1;
    p.tokens1 = rows.dims > 1 ? rows.size[0] : 1;
    HeadTensor* targets[] = {&p.x, &p.y};
    for (uint32_t i = 0; i < 2; ++i) {
        *targets[i] = {views[i]->data, rows.dims > 1 ? rows.stride[i][0] : 0,
                       rows.dims > 0 ? rows.stride[i][rows.dims - 1] : 0, p.heads > 1 ? views[i]->last_stride(1) : 0};
    }
    return SPARK_OK;
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
    work.empty = x.count == 0;
    if (spark_status s = work.empty ? SPARK_OK : fill_tokens(bound, p, report)) return s;
    p.positions = positions.data;
    p.positions64 = positions.dtype == SPARK_DTYPE_I64;
    p.invalid_count = bound.view[INVALID_COUNT].present ? bound.view[INVALID_COUNT].data : 0;
    p.in_place = x.data == y.data && x.data != 0;
    p.flags = bound.flags;

    int64_t facts[ROPE_FACTS] = {p.tokens0 * p.tokens1, p.heads,           p.width,
                                 p.angles.pairs,        alignment(x, p.x), alignment(y, p.y)};
    memcpy(work.facts, facts, sizeof facts);
    uint64_t elem = x.elem_bits / 8,
             rotated = static_cast<uint64_t>(x.count / std::max<int64_t>(p.width, 1) * p.angles.pairs);
    work.flops = 6 * rotated;
    work.bytes = positions.bytes + 2 * elem * (p.in_place ? 2 * rotated : static_cast<uint64_t>(x.count));
    constexpr Contract BF16 = "rope_bf16", F16 = "rope_f16", F32 = "rope_f32";
    work.contract = x.dtype == SPARK_DTYPE_BF16 ? BF16 : x.dtype == SPARK_DTYPE_F16 ? F16 : F32;
    return SPARK_OK;
}

} // namespace spark
