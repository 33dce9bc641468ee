// SPDX-License-Identifier: Apache-2.0
// spark_rope_args -> Rope. What the description cannot say: the rotary width, theta, which strides kernels take.
#include <algorithm>
#include <cmath>

#include "ops/common/rows.h"
#include "ops/rope/problem.h"
#include "ops/rope/ratio.h"

namespace spark {
namespace {

using namespace rope_field;

int64_t alignment(const View& v, const HeadTensor& t) {
    const uint32_t bits = v.elem_bits;
    return std::min({v.alignment(), low_bit(t.outer, bits), low_bit(t.inner, bits), low_bit(t.head, bits)});
}

spark_status fill_pairs(const ValidatedArgs& bound, Rope& p, Report& report) {
    const auto& args = bound.arguments<spark_rope_args>();
    const View &table = bound.view[TABLE], &x = bound.view[X];
    bool told = !bound.is_default(ROTARY_DIM);
    int64_t width = table.present ? table.shape[1] : told ? args.rotary_dim : x.last(0);
    if (table.present && told && args.rotary_dim != width) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, ROTARY_DIM,
                                 "rotary_dim is %u; table.shape[1] wanted, which is %lld, or nothing", args.rotary_dim,
                                 static_cast<long long>(width));
    }
    if (width % 2 != 0 || width > x.last(0)) {
        uint32_t field = table.present ? TABLE : told ? ROTARY_DIM : X;
        return report.fail_field(field == ROTARY_DIM ? SPARK_ERR_INVALID_VALUE : SPARK_ERR_INVALID_SHAPE, field,
                                 "%s is %lld; an even rotary width of at most D = %lld wanted",
                                 table.present ? "table.shape[1]"
                                 : told        ? "rotary_dim"
                                               : "the size of a head of x",
                                 static_cast<long long>(width), static_cast<long long>(x.last(0)));
    }
    if (table.present && !bound.is_default(THETA)) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, THETA, "theta is %g; none wanted, since table is given",
                                 static_cast<double>(args.theta));
    }
    if (!(std::isfinite(args.theta) && args.theta > 1)) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, THETA, "theta is %g; finite and above 1 wanted",
                                 static_cast<double>(args.theta));
    }
    p.pairs = width / 2;
    if (!table.present && p.pairs != 0) p.ratio = rope_ratio(args.theta, p.pairs);
    return SPARK_OK;
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
    const View &positions = bound.view[POSITIONS], &table = bound.view[TABLE], &x = bound.view[X], &y = bound.view[Y];
    Rope& p = work.as<Rope>();
    p = {};
    p.heads = x.last(1), p.width = x.last(0);
    if (spark_status s = fill_pairs(bound, p, report)) return s;
    work.empty = x.count == 0;
    if (spark_status s = work.empty ? SPARK_OK : fill_tokens(bound, p, report)) return s;
    p.positions = positions.data;
    p.positions64 = positions.dtype == SPARK_DTYPE_I64;
    p.invalid_count = bound.view[INVALID_COUNT].present ? bound.view[INVALID_COUNT].data : 0;
    if (table.present) {
        p.table = table.data, p.table_rows = table.shape[0];
        p.table_stride = p.table_rows > 1 ? table.stride[0] : table.shape[1];
        p.table_f32 = table.dtype == SPARK_DTYPE_F32;
    }
    p.in_place = x.data == y.data && x.data != 0;
    p.flags = bound.flags;

    int64_t facts[ROPE_FACTS] = {p.tokens0 * p.tokens1, p.heads,          p.width, p.pairs,
                                 alignment(x, p.x),     alignment(y, p.y)};
    memcpy(work.facts, facts, sizeof facts);
    uint64_t elem = x.elem_bits / 8, rotated = static_cast<uint64_t>(x.count / std::max<int64_t>(p.width, 1) * p.pairs);
    work.flops = 6 * rotated;
    work.bytes = positions.bytes + 2 * elem * (p.in_place ? 2 * rotated : static_cast<uint64_t>(x.count));
    constexpr Contract BF16 = "rope_bf16", F16 = "rope_f16", F32 = "rope_f32";
    work.contract = x.dtype == SPARK_DTYPE_BF16 ? BF16 : x.dtype == SPARK_DTYPE_F16 ? F16 : F32;
    return SPARK_OK;
}

} // namespace spark
