// SPDX-License-Identifier: Apache-2.0
// Gemm and a kernel -> Plan; and the operator's entry in the list.
#include <algorithm>

#include "ops/gemm/problem.h"
#include "spark_kernels.h"

namespace spark {
namespace {

constexpr Row ROWS[] = {
#define ROW(kernel, prefer, because) make_row(kernels::kernel, prefer, because, GEMM_FACT_NAMES),
#include "ops/gemm/table.inc"
#undef ROW
};

constexpr const Kernel& MERGE = kernels::gemm_merge__8x256;
constexpr int64_t MAX_GRID_Y = 65535, PLAIN_TILE_M = 8, PLAIN_TILE_N = 32;
constexpr uint32_t RASTER_GROUP = 8; // rows of tiles walked together, so that they share columns of b in L2

// Below these a split costs more than it saves. H200, n = k = 4096: 32 rows take 22 us in 4 parts and 32 in 2; 128 rows
// 25 us whole and 34 in 2 parts.
constexpr int64_t LEAST_PART = 512, LEAST_PARTS = 4;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Bits 0..1 dtype of c and d, bit 2 bias is F32, bits 4..6 activation: as ptx/gemm reads them.
uint32_t kernel_flags(const Gemm& p) {
    uint32_t dtype = p.d_dtype == SPARK_DTYPE_F32 ? 0 : p.d_dtype == SPARK_DTYPE_BF16 ? 1 : 2;
    return dtype | (p.bias_f32 ? 4u : 0u) | p.activation << 4;
}

kernels::gemm_params params_of(const Gemm& p) {
    return {
        .a = p.a,
        .b = p.b,
        .c = p.c,
        .d = p.d,
        .bias = p.bias,
        .lda = p.lda,
        .ldb = p.ldb,
        .ldc = p.ldc,
        .ldd = p.ldd,
        .a_batch = p.stride_a,
        .b_batch = p.stride_b,
        .c_batch = p.stride_c,
        .d_batch = p.stride_d,
        .m = p.m,
        .n = p.n,
        .k = p.k,
        .batch = p.batch,
        .alpha = p.alpha,
        .beta = p.beta,
        .flags = kernel_flags(p),
        .group = RASTER_GROUP,
        .k_short = 0,
    };
}

// A tile a block; the batch is spread over y and z.
void add_tiles(const Kernel& kernel, int64_t tiles, const kernels::gemm_params& params, Plan& calls) {
    Launch& launch = calls.add(kernel);
    int64_t y = std::min(params.batch, MAX_GRID_Y);
    launch.grid[0] = static_cast<uint32_t>(std::min<int64_t>(tiles, INT32_MAX));
    launch.grid[1] = static_cast<uint32_t>(y);
    launch.grid[2] = static_cast<uint32_t>(ceil_div(params.batch, y));
    launch.set_params(params);
}

// Of how many elements of k a part is where the tiles of d are too few for the device; all of k where they are not.
int64_t part_of_k(const Gemm& p, const Kernel& kernel, int64_t tiles, uint32_t sm_count) {
    int64_t tk = kernel.constant("TK"); // of kernels that can split
    if (tk == 0 || p.batch != 1 || p.batch_invariant) return p.k;
    int64_t room = int64_t{sm_count} * kernel.ctas_per_sm / tiles;
    int64_t parts = std::min({room, p.k / LEAST_PART, MERGE.constant("PARTS")});
    return parts < LEAST_PARTS ? p.k : ceil_div(ceil_div(p.k, parts), tk) * tk;
}

// The parts are a batch of products whose sums go to the workspace, [parts, m, pitch] in F32. A second launch adds
// them, always in the same order, and does what follows the sum. How many there are depends on shape and device alone.
void plan_parts(const Gemm& p, const Kernel& kernel, int64_t tiles, int64_t part, Plan& calls) {
    int64_t parts = ceil_div(p.k, part), pitch = ceil_div(p.n, 4) * 4;
    calls.workspace_size = static_cast<uint64_t>(parts * p.m * pitch) * sizeof(float);
    kernels::gemm_params sums = params_of(p);
    sums.c = sums.bias = 0;
    sums.d = calls.workspace, sums.ldd = pitch, sums.d_batch = p.m * pitch;
    sums.a_batch = p.a_along ? part : part * p.lda;
    sums.b_batch = p.b_along ? part : part * p.ldb;
    sums.k = part, sums.batch = parts, sums.k_short = parts * part - p.k;
    sums.alpha = 1, sums.beta = 0, sums.flags = 0;
    add_tiles(kernel, tiles, sums, calls);

    kernels::gemm_params merged = params_of(p);
    merged.a = calls.workspace, merged.lda = pitch, merged.a_batch = p.m * pitch;
    merged.k = parts;
    add_tiles(MERGE, ceil_div(p.m * p.n, MERGE.block), merged, calls);
}

void plan(const Work& work, const Kernel& kernel, Plan& calls) {
    const Gemm& p = work.as<Gemm>();
    int64_t tm = kernel.constant("TM"), tn = kernel.constant("TN");
    int64_t tiles = ceil_div(p.m, tm != 0 ? tm : PLAIN_TILE_M) * ceil_div(p.n, tn != 0 ? tn : PLAIN_TILE_N);
    int64_t part = part_of_k(p, kernel, tiles, work.sm_count);
    if (part < p.k) plan_parts(p, kernel, tiles, part, calls);
    else add_tiles(kernel, tiles, params_of(p), calls);
}

constexpr uint32_t BATCH_FACTS = 1u << GEMM_M | 1u << GEMM_BATCH | 1u << GEMM_TILES128 | 1u << GEMM_TALL_WAVES;

} // namespace

extern const Operator GEMM = {SPARK_OP_GEMM, ROWS, GEMM_FACT_NAMES, BATCH_FACTS, check_gemm, plan};

} // namespace spark
