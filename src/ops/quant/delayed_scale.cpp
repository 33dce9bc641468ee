// SPDX-License-Identifier: Apache-2.0
// All of delayed_scale: spark_delayed_scale_args -> DelayedScale, that and its kernel -> Plan, and the operator's entry
// in the list. Shares with the family the names of facts alone.
#include <cmath>

#include "ops/quant/fields.h"
#include "spark_kernels.h"

namespace spark {
namespace {

using namespace delayed_scale_field;

// history is [rows, columns], its rows `stride` elements apart; amax and inverse may be 0.
struct DelayedScale {
    spark_devptr amax, history, scale, inverse;
    int64_t stride, rows, columns;
    float largest;
    bool most_recent;
};

} // namespace

spark_status check_delayed_scale(const ValidatedArgs& bound, CheckedOp& work, Report& report) {
    const auto& args = bound.arguments<spark_delayed_scale_args>();
    if (!(args.largest > 0) || std::isinf(args.largest)) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, LARGEST, "largest is %g; finite and above 0 wanted",
                                 static_cast<double>(args.largest));
    }
    const View& history = bound.view[HISTORY];
    DelayedScale& p = work.as<DelayedScale>();
    p = {};
    work.empty = history.count == 0;
    work.contract = {"delayed_scale"};
    work.bytes = 8 * static_cast<uint64_t>(history.count);
    p.amax = bound.view[AMAX].data, p.history = history.data;
    p.scale = bound.view[SCALE].data, p.inverse = bound.view[INVERSE].data;
    p.rows = history.shape[0], p.columns = history.shape[1], p.stride = history.stride[0];
    p.largest = args.largest;
    p.most_recent = args.hdr.flags & SPARK_DELAYED_SCALE_MOST_RECENT;
    work.facts[QUANT_N] = p.columns;
    work.facts[QUANT_ROWS] = p.rows;
    return SPARK_OK;
}

namespace {

consteval Tile tile_of(const Kernel&) { return {}; }

void plan(const CheckedOp& work, const Row&, const kernels::delayed_scale_kernel& kernel, Plan& calls) {
    const DelayedScale& p = work.as<DelayedScale>();
    calls.add(kernel, {
                          .amax = p.amax,
                          .history = p.history,
                          .scale = p.scale,
                          .inverse = p.inverse,
                          .stride = p.stride,
                          .rows = p.rows,
                          .columns = p.columns,
                          .largest = p.largest,
                          .flags = kernels::delayed_scale_flags{.most_recent = p.most_recent},
                      });
}

PLAN_OF_ROWS
constexpr Draft DRAFTS[] = {
    // kernel, because
    ROW(delayed_scale__generic, "a block for eight scales; legal for every shape")};
constexpr auto TABLE = make_table<DRAFTS, QUANT_FACT_NAMES>();

} // namespace

extern const Operator DELAYED_SCALE = {SPARK_OP_DELAYED_SCALE, TABLE, QUANT_FACT_NAMES, check_delayed_scale, nullptr};

} // namespace spark
