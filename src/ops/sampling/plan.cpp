// SPDX-License-Identifier: Apache-2.0
// Sample and a kernel -> Plan; and the operator's entry in the list.
#include <algorithm>

#include "core/divide.h"
#include "ops/sampling/problem.h"
#include "spark_kernels.h"

namespace spark {
namespace {

constexpr auto ROWS = make_table({
#define ROW(kernel, because) make_row(kernels::kernel, because, SAMPLE_FACT_NAMES),
#include "ops/sampling/table.inc"
#undef ROW
});

// A block a row.
void plan_sample(const Sample& p, const Kernel& kernel, Plan& calls) {
    Launch& launch = calls.add(kernel);
    launch.grid[0] = static_cast<uint32_t>(p.rows);
    launch.grid[1] = launch.grid[2] = 1;
    launch.set_params(kernels::sample_params{
        .logits = p.logits,
        .ids = p.ids,
        .temperatures = p.temperatures,
        .top_ks = p.top_ks,
        .top_ps = p.top_ps,
        .min_ps = p.min_ps,
        .seeds = p.seeds,
        .offsets = p.offsets,
        .invalid_count = p.invalid_count,
        .stride = p.stride,
        .seed = p.seed,
        .offset = p.offset,
        .temperature = p.temperature,
        .top_k = p.top_k,
        .top_p = p.top_p,
        .min_p = p.min_p,
        .n = static_cast<uint32_t>(p.n),
    });
}

// Few rows are cut into parts, so that about as many blocks read them as the device has SMs; a second launch merges
// the parts. The largest of a row is the same however it is cut.
constexpr int64_t PART_UNITS = 1024, WARPS = 8, MERGED_ROWS = 4;

void plan_argmax(const Sample& p, const Kernel& kernel, int64_t sms, Plan& calls) {
    int64_t parts = std::clamp<int64_t>(std::min(p.units / PART_UNITS, sms / p.rows), 1, sms);
    int64_t part_units = ceil_div(ceil_div(p.units, parts), WARPS) * WARPS;
    parts = std::max<int64_t>(ceil_div(p.units, std::max<int64_t>(part_units, 1)), 1);
    Launch& launch = calls.add(kernel);
    launch.grid[0] = static_cast<uint32_t>(p.rows);
    launch.grid[1] = static_cast<uint32_t>(parts);
    launch.grid[2] = 1;
    launch.set_params(kernels::argmax_params{
        .logits = p.logits,
        .ids = p.ids,
        .invalid_count = p.invalid_count,
        .best_of_parts = calls.workspace,
        .stride = p.stride,
        .n = static_cast<uint32_t>(p.n),
        .part_units = static_cast<uint32_t>(part_units),
    });
    if (parts == 1) return;
    calls.workspace_size = static_cast<uint64_t>(p.rows * parts) * 8;
    Launch& merge = calls.add(kernels::argmax_merge__plain);
    merge.grid[0] = static_cast<uint32_t>(ceil_div(p.rows, MERGED_ROWS));
    merge.grid[1] = merge.grid[2] = 1;
    merge.set_params(kernels::argmax_merge_params{
        .best_of_parts = calls.workspace,
        .ids = p.ids,
        .invalid_count = p.invalid_count,
        .rows = static_cast<uint32_t>(p.rows),
        .parts = static_cast<uint32_t>(parts),
    });
}

void plan(const Work& work, const Row& row, Plan& calls) {
    const Kernel& kernel = *row.kernel;
    const Sample& p = work.as<Sample>();
    bool samples = std::string_view(kernel.contract).starts_with("sample");
    samples ? plan_sample(p, kernel, calls) : plan_argmax(p, kernel, work.target->sms, calls);
}

} // namespace

extern const Operator SAMPLE = {SPARK_OP_SAMPLE, ROWS, SAMPLE_FACT_NAMES, check_sample, plan, nullptr};

} // namespace spark
