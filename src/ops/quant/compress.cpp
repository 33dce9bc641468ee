// SPDX-License-Identifier: Apache-2.0
// All of compress: spark_compress_args -> Compress, Compress and a kernel -> Plan, its rows, and the operator's entry
// in the list. Shares with the family the names of facts alone.
#include <algorithm>

#include "core/divide.h"
#include "ops/common/rows.h"
#include "ops/quant/fields.h"
#include "spark_kernels.h"

namespace spark {
namespace {

using namespace compress_field;

// n: elements of a row of x. Strides are in elements, of kept in bytes.
struct Compress {
    RowTensor x, y, kept;
    int64_t n, rows1, rows0;
};

spark_status check_widths(const ValidatedArgs& bound, Report& report) {
    const int64_t k = bound.view[X].last(0);
    if (k % 4 != 0) {
        return report.fail_field(SPARK_ERR_UNSUPPORTED_SHAPE, X, "rows of x have %lld elements; a multiple of 4 wanted",
                                 static_cast<long long>(k));
    }
    const struct {
        uint32_t field;
        int64_t wanted;
    } widths[] = {{Y, k / 2}, {KEPT, ceil_div(k, 8)}};
    for (const auto& [field, wanted] : widths) {
        const int64_t width = bound.view[field].last(0);
        if (width == wanted) continue;
        return report.fail_field(SPARK_ERR_INVALID_SHAPE, field,
                                 "rows of %s have %lld elements; %lld wanted, since those of x have %lld",
                                 bound.spec->fields[field].name, static_cast<long long>(width),
                                 static_cast<long long>(wanted), static_cast<long long>(k));
    }
    return SPARK_OK;
}

} // namespace

spark_status check_compress(const ValidatedArgs& bound, CheckedOp& work, Report& report) {
    constexpr uint32_t ROW_FIELDS[] = {X, Y, KEPT};
    constexpr Contract HALVES = {"compress_b16"}, BYTES = {"compress_b8"};
    if (spark_status s = check_widths(bound, report)) return s;
    const View &x = bound.view[X], &y = bound.view[Y], &kept = bound.view[KEPT];
    Compress& p = work.as<Compress>();
    p = {};
    work.empty = x.count == 0;
    work.contract = x.elem_bits == 8 ? BYTES : HALVES;
    RowSet rows{};
    if (spark_status s = work.empty ? SPARK_OK : fold_to_two(bound, ROW_FIELDS, rows, report)) return s;
    int64_t width[] = {x.last(0), y.last(0), kept.last(0)};
    if (x.last(0) % 8 == 0) join_rows(rows, width); // else each row's last byte is half empty
    p = {rows.tensor[0], rows.tensor[1], rows.tensor[2], width[0], rows.rows1, rows.rows0};
    work.facts[QUANT_N] = p.n;
    work.facts[QUANT_ROWS] = p.rows0 * p.rows1;
    work.facts[QUANT_X_ALIGN] = row_alignment(x, p.x);
    work.facts[QUANT_Y_ALIGN] = row_alignment(y, p.y);
    work.flops = static_cast<uint64_t>(x.count);
    work.bytes = x.elem_bits / 8 * static_cast<uint64_t>(x.count + y.count) + static_cast<uint64_t>(kept.count);
    return SPARK_OK;
}

namespace {

consteval Tile tile_of(const Kernel&) { return {}; }

void plan(const CheckedOp& work, const Row&, const kernels::compress_kernel& kernel, Plan& calls) {
    constexpr int64_t MOST_AN_SM = 64;
    const Compress& p = work.as<Compress>();
    const int64_t octets = ceil_div(p.n, int64_t{8}), all = octets * p.rows0 * p.rows1;
    calls.add(kernel,
              {
                  .x = p.x.data,
                  .y = p.y.data,
                  .kept = p.kept.data,
                  .x_stride0 = p.x.inner,
                  .x_stride1 = p.x.outer,
                  .y_stride0 = p.y.inner,
                  .y_stride1 = p.y.outer,
                  .kept_stride0 = p.kept.inner,
                  .kept_stride1 = p.kept.outer,
                  .n = p.n,
                  .rows0 = p.rows0,
                  .rows1 = p.rows1,
              },
              std::min(ceil_div(all, int64_t{kernel.block}), MOST_AN_SM * work.target->sms));
}

//   kernel, because
PLAN_OF_ROWS
constexpr Draft DRAFTS[] = {ROW(compress_b16__x8, "16 bytes of x an access")
                                ROW(compress_b16__generic, "one element an access; legal for every shape")
                                    ROW(compress_b8__x8, "8 bytes of x an access")
                                        ROW(compress_b8__generic, "one element an access; legal for every shape")};
constexpr auto TABLE = make_table<DRAFTS, QUANT_FACT_NAMES>();

} // namespace

extern const Operator COMPRESS = {SPARK_OP_COMPRESS, TABLE, QUANT_FACT_NAMES, check_compress, nullptr};

} // namespace spark
