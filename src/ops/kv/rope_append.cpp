// SPDX-License-Identifier: Apache-2.0
// All of rope_append: spark_rope_append_args -> RopeAppend, RopeAppend and a kernel -> Launch, its rows, and the
// operator's entry in the list. Which rows tokens have is kv_append's, of angles it is rope's.
#include <algorithm>
#include <cmath>

#include "ops/common/coded.h"
#include "ops/common/rows.h"
#include "ops/kv/params.h"
#include "ops/rope/teams.h"
#include "spark_kernels.h"

namespace spark {
namespace {

using namespace rope_append_field;

// Of heads that follow each other in a token; strides in elements.
struct Heads {
    spark_devptr data;
    int64_t token, head;
};

struct RopeAppend {
    KvRows rows;
    Angles angles;
    Heads q, q_out;
    spark_devptr turned, q_scale, q_weight, k_weight; // 0 = absent, but for the first
    int64_t queries;
    float eps;
    uint32_t q_bytes, q_codes; // of an element of q_out; dtype, 0: numbers
    bool turned64, q_weight_f32, k_weight_f32, is_f16, interleaved, plus_one;
};

Heads heads_of(const View& v) {
    if (!v.present) return {};
    return {v.data, v.shape[0] > 1 ? v.stride[0] : 0, v.shape[1] > 1 ? v.stride[1] : 0};
}

spark_status fill_queries(const ValidatedArgs& bound, RopeAppend& p, Report& report) {
    const View &q = bound.view[Q], &q_out = bound.view[Q_OUT];
    p.q = heads_of(q), p.q_out = heads_of(q_out);
    p.queries = q.present ? q.shape[1] : 0;
    p.q_bytes = q_out.present ? q_out.elem_bits / 8 : 0;
    if (!q_out.present || q_out.dtype == q.dtype) {
        if (q_out.quant.form == nullptr) return SPARK_OK;
        return report.fail_field(SPARK_ERR_INVALID_RESERVED, Q_OUT,
                                 "q_out.quant is set; all of it must be 0 where q_out is of q's own type");
    }
    p.q_codes = q_out.dtype;
    if (q_out.quant.form != nullptr) p.q_scale = q_out.quant.scale;
    return SPARK_OK;
}

spark_status fill_norms(const ValidatedArgs& bound, RopeAppend& p, Report& report) {
    const View &q = bound.view[Q_WEIGHT], &k = bound.view[K_WEIGHT];
    p.eps = bound.arguments<spark_rope_append_args>().eps;
    p.q_weight = q.data, p.q_weight_f32 = q.dtype == SPARK_DTYPE_F32;
    p.k_weight = k.data, p.k_weight_f32 = k.dtype == SPARK_DTYPE_F32;
    if (std::isfinite(p.eps) && p.eps >= 0) return SPARK_OK;
    return report.fail_field(SPARK_ERR_INVALID_VALUE, EPS, "eps is %g; finite and not negative wanted",
                             static_cast<double>(p.eps));
}

// Whether each run of eight elements of a present tensor is one access; blocks of codes are bytes apart already.
bool has_runs(const View& v) {
    if (!v.present || v.count == 0) return true;
    int64_t align = v.alignment();
    for (uint32_t d = 0; d + 1 < v.ndim; ++d) {
        if (v.shape[d] > 1) align = std::min(align, low_bit(v.stride[d], v.elem_bits));
    }
    return align >= std::min<int64_t>(HEAD_RUN * v.elem_bits / 8, 16);
}

bool has_runs(const ValidatedArgs& bound, const RopeAppend& p) {
    constexpr uint32_t FIELDS[] = {K, V, K_CACHE, V_CACHE, Q, Q_OUT, Q_WEIGHT, K_WEIGHT};
    return p.angles.pairs % HEAD_RUN == 0 && p.rows.width % HEAD_RUN == 0 &&
           std::ranges::all_of(FIELDS, [&](uint32_t field) { return has_runs(bound.view[field]); });
}

} // namespace

spark_status check_rope_append(const ValidatedArgs& bound, CheckedOp& work, Report& report) {
    const auto& args = bound.arguments<spark_rope_append_args>();
    RopeAppend& p = work.as<RopeAppend>();
    p = {};
    if (spark_status s = fill_kv_rows(bound, false, p.rows, report)) return s;
    constexpr AngleFields FIELDS = {TABLE, K, THETA, ROTARY_DIM};
    if (spark_status s = check_angles(bound, FIELDS, args.theta, args.rotary_dim, p.angles, report)) return s;
    if (spark_status s = fill_queries(bound, p, report)) return s;
    if (spark_status s = fill_norms(bound, p, report)) return s;
    for (uint32_t field : {uint32_t{K}, uint32_t{Q}}) {
        if (!bound.view[field].present) continue;
        if (spark_status s = check_teams(bound, field, p.angles.pairs, report)) return s;
    }
    p.turned = p.rows.positions, p.turned64 = p.rows.positions64;
    if (bound.view[SLOTS].present) p.rows.positions = bound.view[SLOTS].data;
    p.is_f16 = bound.view[K].dtype == SPARK_DTYPE_F16;
    p.interleaved = (bound.flags & SPARK_ROPE_APPEND_INTERLEAVED) != 0;
    p.plus_one = (bound.flags & SPARK_ROPE_APPEND_WEIGHT_PLUS_ONE) != 0;

    const View& q = bound.view[Q];
    work.empty = bound.view[K].count == 0 && q.count == 0;
    work.facts[KV_TOKENS] = p.rows.tokens, work.facts[KV_HEADS] = p.rows.heads, work.facts[KV_WIDTH] = p.rows.width;
    work.facts[KV_RUNS] = has_runs(bound, p);
    const uint64_t queries = q.count;
    work.bytes = bytes_of_kv_rows(bound, p.rows) + bound.view[SLOTS].bytes + queries * (2 + p.q_bytes);
    work.flops = 3 * (queries + static_cast<uint64_t>(bound.view[K].count));
    constexpr Contract ALL = "rope_append";
    work.contract = ALL;
    return SPARK_OK;
}

namespace {

consteval Tile tile_of(const Kernel&) { return {}; }

template <class Params> void fill_tokens(const KvRows& p, Params& params) {
    set_kv_rows(p, params);
    set_kv_scales(p, params);
    const int64_t wide = p.codes == 0 ? p.elem_bytes : 1;
    params.k_token *= 2, params.k_head *= 2, params.v_token *= 2, params.v_head *= 2;
    params.k_cache_batch *= wide, params.k_cache_row *= wide, params.k_cache_head *= wide;
    params.v_cache_batch *= wide, params.v_cache_row *= wide, params.v_cache_head *= wide;
}

template <class Params> void fill_heads(const RopeAppend& p, Params& params) {
    const int64_t q_bytes = p.q_bytes;
    params.q = p.q.data, params.q_token = 2 * p.q.token, params.q_head = 2 * p.q.head;
    params.q_out = p.q_out.data, params.q_scale = p.q_scale;
    params.q_out_token = q_bytes * p.q_out.token, params.q_out_head = q_bytes * p.q_out.head;
    params.q_weight = p.q_weight, params.k_weight = p.k_weight;
    params.turned = p.turned;
    params.queries = static_cast<uint32_t>(p.queries), params.heads = static_cast<uint32_t>(p.rows.heads);
    params.eps = p.eps, params.share = 1 / static_cast<float>(p.rows.width);
    params.largest = largest_code(p.rows.codes);
}

kernels::rope_append_flags flags_of(const RopeAppend& p) {
    const KvRows& rows = p.rows;
    return {.positions_i64 = rows.positions64,
            .batch_i64 = rows.batch64,
            .turned_i64 = p.turned64,
            .f16 = p.is_f16,
            .angles_f32 = p.angles.table_f32,
            .q_weight_f32 = p.q_weight_f32,
            .k_weight_f32 = p.k_weight_f32,
            .interleaved = p.interleaved,
            .plus_one = p.plus_one,
            .codes = rows.codes != 0,
            .e5m2 = rows.codes == SPARK_DTYPE_E5M2,
            .k_made = rows.k.scales.made,
            .v_made = rows.v.scales.made,
            .q_codes = p.q_codes != 0,
            .q_e5m2 = p.q_codes == SPARK_DTYPE_E5M2,
            .nvfp4 = rows.codes == SPARK_DTYPE_E2M1,
            .blocks = rows.codes == SPARK_DTYPE_E2M1};
}

void plan(const CheckedOp& work, const Row&, const kernels::rope_append_kernel& kernel, Plan& calls) {
    const RopeAppend& p = work.as<RopeAppend>();
    const KvRows& rows = p.rows;
    kernels::rope_append_params params{};
    fill_tokens(rows, params);
    fill_heads(p, params);
    const int64_t heads = p.queries + 2 * rows.heads;
    const int64_t parts = set_teams(p.angles, rows.width, rows.tokens, heads, kernel.block, params);
    if (rows.codes == SPARK_DTYPE_E2M1) params.group_mask = 0;
    params.flags = flags_of(p);
    calls.add(kernel, params, parts);
}

PLAN_OF_ROWS

constexpr Draft DRAFTS[] = {
    //   kernel, because
    ROW(rope_append__x8, "runs of eight elements, each one access")
        ROW(rope_append__generic, "one element at a time; legal for every shape")};
constexpr auto TABLE_OF_ROWS = make_table<DRAFTS, KV_FACT_NAMES>();

} // namespace

extern const Operator ROPE_APPEND = {SPARK_OP_ROPE_APPEND, TABLE_OF_ROWS, KV_FACT_NAMES, check_rope_append, nullptr};

} // namespace spark
