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

constexpr int64_t MAX_GRID_Y = 65535, PLAIN_TILE_M = 8, PLAIN_TILE_N = 32;
constexpr uint32_t RASTER_GROUP = 8; // rows of tiles walked together, so that they share columns of b in L2

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Bits 0..1 dtype of c and d, bit 2 bias is F32, bits 4..5 activation: as ptx/gemm reads them.
uint32_t kernel_flags(const Gemm& p) {
    uint32_t dtype = p.d_dtype == SPARK_DTYPE_F32 ? 0 : p.d_dtype == SPARK_DTYPE_BF16 ? 1 : 2;
    return dtype | (p.bias_f32 ? 4u : 0u) | p.activation << 4;
}

// A tile a block; the batch is spread over y and z.
void plan(const Work& work, const Kernel& kernel, Plan& calls) {
    Launch& launch = calls.add(kernel);
    const Gemm& p = work.as<Gemm>();
    int64_t tm = kernel.constant("TM"), tn = kernel.constant("TN");
    int64_t tiles = ceil_div(p.m, tm != 0 ? tm : PLAIN_TILE_M) * ceil_div(p.n, tn != 0 ? tn : PLAIN_TILE_N);
    int64_t y = std::min(p.batch, MAX_GRID_Y);
    launch.grid[0] = static_cast<uint32_t>(std::min<int64_t>(tiles, INT32_MAX));
    launch.grid[1] = static_cast<uint32_t>(y);
    launch.grid[2] = static_cast<uint32_t>(ceil_div(p.batch, y));
    launch.set_params(kernels::gemm_params{
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
    });
}

} // namespace

extern const Operator GEMM = {
    SPARK_OP_GEMM, ROWS, GEMM_FACT_NAMES, 1u << GEMM_M | 1u << GEMM_BATCH | 1u << GEMM_TILES128, check_gemm, plan};

} // namespace spark
