// SPDX-License-Identifier: Apache-2.0
// spark_sample_args -> Sample. What the description cannot say: settings that no row can have, and how long a row may
// be. Calls that are greedy by their arguments are another contract, argmax.
#include <algorithm>
#include <cmath>

#include "ops/sampling/problem.h"

namespace spark {
namespace {

using namespace sample_field;

constexpr int64_t LONGEST = 1 << 23; // sums of weights of 2^40 stay below 2^63

spark_devptr address(const ValidatedArgs& bound, uint32_t field) {
    return bound.view[field].present ? bound.view[field].data : 0;
}

// Does the call ask for top-p alone, the same for all rows, which are long, with entries for a cluster a row in a
// small workspace? Short rows end in the list of one block.
bool p_alone(const ValidatedArgs& bound, const Sample& p) {
    constexpr int64_t LONG = 4096, MOST_ENTRIES = 1 << 23;
    for (uint32_t field : {TEMPERATURES, TOP_KS, TOP_PS}) {
        if (bound.view[field].present) return false;
    }
    return p.n >= LONG && p.temperature > 0 && p.top_p > 0 && p.top_p < 1 && (p.top_k <= 0 || p.top_k >= p.n) &&
           p.rows <= MOST_ENTRIES / (CLUSTER_WARPS * MOST_TAKEN) &&
           p.rows * CLUSTER_WARPS * cluster_piece(p.n, MOST_TAKEN) <= MOST_ENTRIES;
}

spark_status check_settings(const spark_sample_args& args, Report& report) {
    if (!std::isfinite(args.temperature) || args.temperature < 0) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, TEMPERATURE, "temperature is %g; finite and 0 or more wanted",
                                 static_cast<double>(args.temperature));
    }
    if (std::isnan(args.top_p)) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, TOP_P, "top_p is NaN; a number wanted");
    }
    if (std::isnan(args.min_p)) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, MIN_P, "min_p is NaN; a number wanted");
    }
    return SPARK_OK;
}

} // namespace

spark_status check_sample(const ValidatedArgs& bound, CheckedOp& work, Report& report) {
    const auto& args = bound.arguments<spark_sample_args>();
    const View& logits = bound.view[LOGITS];
    Sample& p = work.as<Sample>();
    p = {};
    p.rows = logits.shape[0], p.n = logits.shape[1];
    if (spark_status s = check_settings(args, report)) return s;
    if (p.n > LONGEST) {
        return report.fail_field(SPARK_ERR_UNSUPPORTED_SHAPE, LOGITS,
                                 "a row of logits has %lld elements; at most %lld wanted", static_cast<long long>(p.n),
                                 static_cast<long long>(LONGEST));
    }
    int64_t elem_bytes = logits.elem_bits / 8;
    p.stride = p.rows > 1 ? logits.stride[0] : 0;
    p.units = (p.n * elem_bytes + 15) / 16;
    p.logits = logits.data, p.ids = bound.view[IDS].data;
    p.temperatures = address(bound, TEMPERATURES), p.top_ks = address(bound, TOP_KS);
    p.top_ps = address(bound, TOP_PS), p.min_ps = address(bound, MIN_PS);
    p.seeds = address(bound, SEEDS), p.offsets = address(bound, OFFSETS);
    p.invalid_count = address(bound, INVALID_COUNT);
    p.temperature = args.temperature, p.top_k = args.top_k, p.top_p = args.top_p, p.min_p = args.min_p;
    p.seed = args.seed, p.offset = args.offset;
    work.empty = p.rows == 0;

    int64_t row_bytes = p.stride * elem_bytes;
    work.facts[SAMPLING_N] = p.n;
    work.facts[SAMPLING_ROWS] = p.rows;
    work.facts[SAMPLING_LOGITS_ALIGN] =
        row_bytes == 0 ? logits.alignment() : std::min(logits.alignment(), row_bytes & -row_bytes);
    work.bytes = static_cast<uint64_t>(p.rows) * static_cast<uint64_t>(p.n * elem_bytes + 4);
    constexpr Contract SAMPLE[] = {"sample_bf16", "sample_f16", "sample_f32"};
    constexpr Contract ARGMAX[] = {"argmax_bf16", "argmax_f16", "argmax_f32"};
    // A list of any of these three could hold a value with which a row has no answer.
    bool greedy = p.temperature == 0 && !bound.view[TEMPERATURES].present && !bound.view[TOP_PS].present &&
                  !bound.view[MIN_PS].present;
    uint32_t type = logits.dtype == SPARK_DTYPE_BF16 ? 0 : logits.dtype == SPARK_DTYPE_F16 ? 1 : 2;
    p.brain = type == 0, p.wide = type == 2;
    work.contract = greedy ? ARGMAX[type] : p_alone(bound, p) ? Contract("sample_p") : SAMPLE[type];
    return SPARK_OK;
}

} // namespace spark
