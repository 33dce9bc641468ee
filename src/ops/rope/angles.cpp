// SPDX-License-Identifier: Apache-2.0
// The rotary width, theta and the table, of which each may say what another says. Called by the checks of rope and
// rope_append.
#include "ops/rope/angles.h"

#include <cmath>

#include "ops/rope/ratio.h"

namespace spark {
namespace {

spark_status check_width(const ValidatedArgs& bound, const AngleFields& fields, uint32_t rotary_dim, Angles& out,
                         Report& report) {
    const View &table = bound.view[fields.table], &heads = bound.view[fields.heads];
    const bool told = !bound.is_default(fields.rotary_dim);
    const int64_t width = table.present ? table.shape[1] : told ? rotary_dim : heads.last(0);
    if (table.present && told && rotary_dim != width) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, fields.rotary_dim,
                                 "rotary_dim is %u; table.shape[1] wanted, which is %lld, or nothing", rotary_dim,
                                 static_cast<long long>(width));
    }
    out.pairs = width / 2;
    if (width % 2 == 0 && width <= heads.last(0)) return SPARK_OK;
    const uint32_t field = table.present ? fields.table : told ? fields.rotary_dim : fields.heads;
    return report.fail_field(field == fields.rotary_dim ? SPARK_ERR_INVALID_VALUE : SPARK_ERR_INVALID_SHAPE, field,
                             "%s%s is %lld; an even rotary width of at most D = %lld wanted",
                             table.present ? "table.shape[1]"
                             : told        ? "rotary_dim"
                                           : "the size of a head of ",
                             table.present || told ? "" : bound.spec->fields[fields.heads].name,
                             static_cast<long long>(width), static_cast<long long>(heads.last(0)));
}

} // namespace

spark_status check_angles(const ValidatedArgs& bound, const AngleFields& fields, float theta, uint32_t rotary_dim,
                          Angles& out, Report& report) {
    const View& table = bound.view[fields.table];
    out = {};
    if (spark_status s = check_width(bound, fields, rotary_dim, out, report)) return s;
    if (table.present && !bound.is_default(fields.theta)) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, fields.theta,
                                 "theta is %g; none wanted, since table is given", static_cast<double>(theta));
    }
    if (!(std::isfinite(theta) && theta > 1)) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, fields.theta, "theta is %g; finite and above 1 wanted",
                                 static_cast<double>(theta));
    }
    if (!table.present) {
        if (out.pairs != 0) out.ratio = rope_ratio(theta, out.pairs);
        return SPARK_OK;
    }
    out.table = table.data, out.table_rows = table.shape[0];
    out.table_stride = out.table_rows > 1 ? table.stride[0] : table.shape[1];
    out.table_f32 = table.dtype == SPARK_DTYPE_F32;
    return SPARK_OK;
}

} // namespace spark
