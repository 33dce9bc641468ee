// SPDX-License-Identifier: Apache-2.0
// Sample and a kernel -> Plan; and the operator's entry in the list.
#include <algorithm>

#include "core/divide.h"
#include "ops/sampling/problem.h"
#include "spark_kernels.h"

namespace spark {
namespace {

consteval Tile tile_of(const Kernel&) { return {}; }

// A block a row.
void plan(const CheckedOp& work, const Row&, const kernels::sample_kernel& kernel, Plan& calls) {
    const Sample& p = work.as<Sample>();
    const kernels::sample_params params = {
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
    };
    calls.add(kernel, params, p.rows);
}

// Eight blocks a row.
void plan(const CheckedOp& work, const Row&, const kernels::sample_p_kernel& kernel, Plan& calls) {
    constexpr int64_t BLOCKS = 8, ENTRY_BYTES = 8;
    const Sample& p = work.as<Sample>();
    const int64_t piece = cluster_piece(p.n, int64_t{32} * kernel.TOKENS);
    calls.workspace_size = static_cast<uint64_t>(p.rows * CLUSTER_WARPS * piece * ENTRY_BYTES);
    const kernels::sample_p_params params = {
        .logits = p.logits,
        .ids = p.ids,
        .min_ps = p.min_ps,
        .seeds = p.seeds,
        .offsets = p.offsets,
        .invalid_count = p.invalid_count,
        .entries = calls.workspace,
        .stride = p.stride,
        .seed = p.seed,
        .offset = p.offset,
        .temperature = p.temperature,
        .top_p = p.top_p,
        .min_p = p.min_p,
        .n = static_cast<uint32_t>(p.n),
        .piece = static_cast<uint32_t>(piece),
        .flags = kernels::sample_p_flags{.f32 = p.wide, .bf16 = p.brain},
    };
    calls.add(kernel, params, BLOCKS * p.rows);
}

// Few rows are cut into parts, so that about as many blocks read them as the device has SMs; a second launch merges
// the parts. The largest of a row is the same however it is cut.
constexpr int64_t PART_UNITS = 1024, WARPS = 8;

void plan(const CheckedOp& work, const Row&, const kernels::argmax_kernel& kernel,
          const kernels::argmax_merge_kernel& merge, Plan& calls) {
    const Sample& p = work.as<Sample>();
    const int64_t sms = work.target->sms;
    int64_t parts = std::clamp<int64_t>(std::min(p.units / PART_UNITS, sms / p.rows), 1, sms);
    int64_t part_units = ceil_div(ceil_div(p.units, parts), WARPS) * WARPS;
    parts = std::max<int64_t>(ceil_div(p.units, std::max<int64_t>(part_units, 1)), 1);
    const kernels::argmax_params params = {
        .logits = p.logits,
        .ids = p.ids,
        .invalid_count = p.invalid_count,
        .best_of_parts = calls.workspace,
        .stride = p.stride,
        .n = static_cast<uint32_t>(p.n),
        .part_units = static_cast<uint32_t>(part_units),
    };
    calls.add(kernel, params, p.rows, parts);
    if (parts == 1) return;
    calls.workspace_size = static_cast<uint64_t>(p.rows * parts) * 8;
    calls.add(merge, {
                         .best_of_parts = calls.workspace,
                         .ids = p.ids,
                         .invalid_count = p.invalid_count,
                         .rows = static_cast<uint32_t>(p.rows),
                         .parts = static_cast<uint32_t>(parts),
                     });
}

PLAN_OF_ROWS
constexpr Draft DRAFTS[] = {
#include "ops/sampling/table.inc"
};
constexpr auto TABLE = make_table<DRAFTS, SAMPLING_FACT_NAMES>();

} // namespace

extern const Operator SAMPLE = {SPARK_OP_SAMPLE, TABLE, SAMPLING_FACT_NAMES, check_sample, nullptr};

} // namespace spark
