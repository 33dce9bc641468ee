// SPDX-License-Identifier: Apache-2.0
// spark_repack_args -> Repack. What the description cannot say: in which dimension codes are neighbours.
#include "ops/quant/fields.h"
#include "ops/quant/problem.h"

namespace spark {
namespace {

long long ll(int64_t value) { return static_cast<long long>(value); }

} // namespace

spark_status check_repack(const ValidatedArgs& bound, CheckedOp& work, Report& report) {
    using namespace repack_field;
    const auto& args = bound.arguments<spark_repack_args>();
    const View &x = bound.view[X], &y = bound.view[Y];
    if (args.plus > 15) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, PLUS, "plus is %u; 0 to 15 wanted", args.plus);
    }
    Repack& p = work.as<Repack>();
    p = {};
    work.empty = y.count == 0;
    work.contract = {"repack"};
    work.bytes = static_cast<uint64_t>(y.count);
    if (work.empty) return SPARK_OK;
    int64_t bytes[3]; // a dimension of one element has no stride of its own
    p.across = y.stride[2] != 1;
    for (uint32_t d = 0; d < 3; ++d) {
        const bool codes = d == (p.across ? 0 : 2);
        bytes[d] = y.shape[d] > 1 ? y.stride[d] / 2 : 0;
        if (y.shape[d] < 2 || (codes ? y.stride[d] == 1 : y.stride[d] % 2 == 0)) continue;
        return report.fail_field(
            SPARK_ERR_UNSUPPORTED_LAYOUT, Y, "y.stride[%u] is %lld and y.stride[2] %lld; %s wanted", d, ll(y.stride[d]),
            ll(y.stride[2]), codes ? "1 for one of them" : "an even one, so that codes begin on whole bytes,");
    }
    p.x = x.data, p.y = y.data;
    p.rows = x.shape[0], p.words = x.shape[1];
    p.x_row = p.rows > 1 ? x.stride[0] : 0, p.x_word = p.words > 1 ? x.stride[1] : 0;
    p.y_row = bytes[0], p.y_word = bytes[1], p.y_column = bytes[2];
    p.plus = args.plus, p.interleaved = args.order == SPARK_WORD_ORDER_INTERLEAVED;
    work.facts[QUANT_N] = 8 * p.words;
    work.facts[QUANT_ROWS] = p.rows;
    work.facts[QUANT_X_ALIGN] = x.alignment();
    work.facts[QUANT_Y_ALIGN] = y.alignment();
    return SPARK_OK;
}

} // namespace spark
