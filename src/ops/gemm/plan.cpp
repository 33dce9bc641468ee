// SPDX-License-Identifier: Apache-2.0
// Gemm and a kernel -> Plan; and the operator's entry in the list.
#include <algorithm>
#include <bit>

#include "core/divide.h"
#include "ops/gemm/problem.h"
#include "spark_kernels.h"

namespace spark {
namespace {

// rows, columns: of d, a block; depth: of k, a step.
consteval Tile tile_of(const Kernel& kernel) {
    constexpr uint32_t WARP = 32, ELEM = 2, PRODUCT = 16 * 8 * 16, FRAGMENT_LOAD = 512, COPY = 16, A_COPY = 7;
    const auto constant = [&](const char* name) { return static_cast<uint32_t>(kernel.constant(name)); };
    uint32_t tm = constant("TM"), tn = constant("TN"), tk = constant("TK"), warps = kernel.block / WARP;
    if (tm == 0)
        return {8, 32, 8, 0, 0, false, 0, {0, 0, (8 + 32) * 8 * ELEM, warps * 8 * 9}}; // a thread an element of d
    uint32_t depth = tk != 0 ? tk : warps * constant("STEPS") * 32;                    // without TK the warps share k
    uint32_t products = tm * tn * depth / PRODUCT, fetched = (tm + tn) * depth * ELEM;
    if (tk == 0) products = std::max(tn, 16u) * tm * depth / PRODUCT;
    // Each warp reads the fragments of its own rows and columns; without TK they come straight into registers.
    uint32_t read = tk != 0 ? warps * (16 * constant("MF") + 8 * constant("NF")) * depth * ELEM : 0;
    uint32_t issued = products + read / FRAGMENT_LOAD + fetched / COPY / WARP * A_COPY;
    uint32_t stages = tk != 0 ? constant("ST") - 1 : 1;
    return {tm, tn, depth, stages, tk == 0, tk != 0, 0, {products, tk != 0 ? read + fetched : 0, fetched, issued}};
}

constexpr auto ROWS = make_table(
    {
#define ROW(kernel, because) make_row(kernels::kernel, because, GEMM_FACT_NAMES),
#include "ops/gemm/table.inc"
#undef ROW
    },
    tile_of);

// load.cpp shifts where it would divide.
static_assert([] {
    for (const Row& row : ROWS) {
        for (uint32_t size : {row.tile.rows, row.tile.columns, row.tile.depth}) {
            if (!std::has_single_bit(size)) return false;
        }
    }
    return true;
}());

constexpr const Kernel& MERGE = kernels::gemm_merge__8x256;
constexpr int64_t MAX_GRID_Y = 65535;

// Bits 0..1 dtype of c and d, bit 2 bias is F32, bits 4..6 activation: as ptx/gemm reads them.
uint32_t kernel_flags(const Gemm& p) {
    uint32_t dtype = p.d_dtype == SPARK_DTYPE_F32 ? 0 : p.d_dtype == SPARK_DTYPE_BF16 ? 1 : 2;
    return dtype | (p.bias_f32 ? 4u : 0u) | p.activation << 4;
}

kernels::gemm_params params_of(const Gemm& p, uint32_t group) {
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
        .group = group,
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

// The parts are a batch of products whose sums go to the workspace, [parts, m, pitch] in F32. A second launch adds
// them, always in the same order, and does what follows the sum. How many there are depends on shape and device alone.
void plan_parts(const Gemm& p, const Kernel& kernel, const GemmCut& cut, uint32_t group, Plan& calls) {
    int64_t pitch = ceil_div(p.n, 4) * 4;
    calls.workspace_size = static_cast<uint64_t>(cut.parts * p.m * pitch) * sizeof(float);
    kernels::gemm_params sums = params_of(p, group);
    sums.c = sums.bias = 0;
    sums.d = calls.workspace, sums.ldd = pitch, sums.d_batch = p.m * pitch;
    sums.a_batch = p.a_along ? cut.part : cut.part * p.lda;
    sums.b_batch = p.b_along ? cut.part : cut.part * p.ldb;
    sums.k = cut.part, sums.batch = cut.parts, sums.k_short = cut.parts * cut.part - p.k;
    sums.alpha = 1, sums.beta = 0, sums.flags = 0;
    add_tiles(kernel, cut.tiles, sums, calls);

    kernels::gemm_params merged = params_of(p, group);
    merged.a = calls.workspace, merged.lda = pitch, merged.a_batch = p.m * pitch;
    merged.k = cut.parts;
    add_tiles(MERGE, ceil_div(p.m * p.n, MERGE.block), merged, calls);
}

void plan(const Work& work, const Row& row, Plan& calls) {
    const Gemm& p = work.as<Gemm>();
    GemmCut cut = cut_gemm(work, row);
    uint32_t group = gemm_group(work, row);
    if (cut.parts > 1) plan_parts(p, *row.kernel, cut, group, calls);
    else add_tiles(*row.kernel, cut.tiles, params_of(p, group), calls);
}

} // namespace

extern const Operator GEMM = {SPARK_OP_GEMM, ROWS, GEMM_FACT_NAMES, check_gemm, plan, load_gemm};

} // namespace spark
