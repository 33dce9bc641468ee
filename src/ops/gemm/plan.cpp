// SPDX-License-Identifier: Apache-2.0
// Gemm and a kernel -> Plan; and the operator's entry in the list.
#include <algorithm>
#include <bit>
#include <string_view>
#include <type_traits>

#include "core/divide.h"
#include "core/dtype.h"
#include "core/place_of.h"
#include "ops/common/pieces.h"
#include "ops/common/rows.h"
#include "ops/gemm/params.h"
#include "ops/gemm/tiles.h"

namespace spark {
namespace {

// Elements from a row of sums in the workspace to the next.
int64_t pitch_of_sums(const Gemm& p) { return ceil_div(p.n, 4) * 4; }

// d of a gated product, from its sums in the workspace: [parts, batch, m, pitch] in F32 or I32.
void add_gate(const Gemm& p, int64_t parts, Plan& calls) {
    const kernels::gemm_gate_kernel& kernel = kernels::gemm_gate__4x256;
    constexpr int64_t MOST_BLOCKS = 1 << 20;
    Gemm last = p;
    if (!p.integers) last.a_scales = last.b_scales = {}; // which the sums have been multiplied by
    kernels::gemm_params params = params_of(last, 1);
    params.a = calls.workspace, params.lda = pitch_of_sums(p);
    params.b_batch = p.m * params.lda, params.a_batch = p.batch * params.b_batch, params.k = parts;
    calls.add(kernel, params, std::min(ceil_div(p.m * ceil_div(p.n, 8), int64_t{kernel.block}), MOST_BLOCKS));
}

// A gated product as one that is not, whose sums go to the workspace.
Gemm sums_of(const Gemm& p, spark_devptr workspace) {
    Gemm sums = p;
    sums.d = workspace, sums.ldd = pitch_of_sums(p), sums.stride_d = p.m * sums.ldd;
    sums.d_dtype = p.integers ? SPARK_DTYPE_I32 : SPARK_DTYPE_F32;
    if (p.integers) sums.a_scales = sums.b_scales = {};
    sums.bias = 0, sums.alpha = 1, sums.activation = SPARK_ACTIVATION_NONE, sums.gate = {}, sums.codes = {};
    return sums;
}

void add_product(const CheckedOp& work, const Row& row, const kernels::gemm_ordered_kernel& kernel, Plan& calls);
template <class Of> void add_product(const CheckedOp& work, const Row& row, const Of& kernel, Plan& calls);

// A gated product as its sums, which the caller plans between these two, by a kernel that knows no gates.
CheckedOp gated_sums(const CheckedOp& work, const Plan& calls) {
    CheckedOp sums = work;
    sums.as<Gemm>() = sums_of(work.as<Gemm>(), calls.workspace);
    return sums;
}
void end_gated(const Gemm& p, Plan& calls) {
    calls.workspace_size += static_cast<uint64_t>(p.batch * p.m * pitch_of_sums(p)) * sizeof(float);
    add_gate(p, 1, calls);
}
template <class Of> void plan_gated(const CheckedOp& work, const Row& row, const Of& kernel, Plan& calls) {
    add_product(gated_sums(work, calls), row, kernel, calls);
    end_gated(work.as<Gemm>(), calls);
}

// An operand whose k is contiguous: [products, rows, k] of it, or one for all products.
TensorTile tensor_of(const Gemm& p, spark_devptr data, int64_t rows, int64_t ld, int64_t stride, bool one,
                     const uint32_t (&box)[2]) {
    const auto bytes = [&](int64_t elements) { return static_cast<uint64_t>(elements) * p.elem_bits / 8; };
    return {
        .data = data,
        .elem_bytes = p.elem_bits / 8,
        .rank = 3,
        .shape = {static_cast<uint64_t>(p.k), static_cast<uint64_t>(rows), one ? 1 : static_cast<uint64_t>(p.batch)},
        .stride = {bytes(ld), bytes(one ? ld : stride)},
        .box = {box[0], box[1], 1},
        .swizzle = box[0] * p.elem_bits / 8};
}

// b of a gate and what it multiplies, one matrix for all products: [rows of one, halves, k].
TensorTile halves_of(const Gemm& p, const uint32_t (&box)[2]) {
    TensorTile tile = tensor_of(p, p.b, p.n, p.ldb, 0, true, box);
    const auto half = static_cast<uint64_t>(p.n / 2), row_bytes = tile.stride[0];
    tile.shape[1] = 2, tile.shape[2] = half;
    tile.stride[0] = half * row_bytes, tile.stride[1] = row_bytes;
    tile.box[1] = 2, tile.box[2] = box[1] / 2;
    return tile;
}

// Without the maps.
template <class Params> Params mapped_params(const kernels::gemm_params& all, bool a_one, bool b_one) {
    Params params{};
    params.c = all.c, params.d = all.d, params.bias = all.bias;
    params.ldc = all.ldc, params.ldd = all.ldd, params.c_batch = all.c_batch, params.d_batch = all.d_batch;
    params.m = all.m, params.n = all.n, params.k = all.k, params.batch = all.batch;
    params.alpha = all.alpha, params.beta = all.beta, params.flags = all.flags, params.group = all.group;
    params.a_one = a_one, params.b_one = b_one;
    params.a_scale = all.a_scale, params.a_scale_step = all.a_scale_step, params.a_scale_batch = all.a_scale_batch;
    params.b_scale = all.b_scale, params.b_scale_step = all.b_scale_step, params.b_scale_batch = all.b_scale_batch;
    params.limit = all.limit, params.cap = all.cap, params.d_scale = all.d_scale;
    return params;
}

template <class Of> void add_kernel(const Gemm&, const Of& kernel, const kernels::gemm_params& params, Plan& calls) {
    calls.add(kernel, params);
}
// By maps: parts of k lie in the same tensors.
template <class Params> Params parts_params(const Gemm& p, const kernels::gemm_params& all, bool a_one, bool b_one) {
    Params params = mapped_params<Params>(all, a_one, b_one);
    params.k_step = p.batch == 1 ? all.k : 0, params.k_short = all.k_short;
    return params;
}
// As many tiles as those of the kernel's height are, all of one.
uint32_t rows_of_tiles(int64_t m, int64_t tall) {
    constexpr int64_t EIGHT = 8; // which swizzles go by
    return static_cast<uint32_t>(ceil_div(ceil_div(m, ceil_div(m, tall)), EIGHT) * EIGHT);
}
// Even and odd rows apart, and which of them begin inside a sector: in the four bits from `bit` on and those behind.
void put_odd(const Gemm& p, const kernels::gemm_bulk_kernel& kernel, kernels::gemm_bulk_params& params, Plan& calls) {
    constexpr uint64_t SECTOR = 32;
    const auto half = [&](spark_devptr data, int64_t rows, int64_t ld, int64_t stride, bool one, uint32_t tile,
                          uint32_t odd, uint32_t bit) {
        const spark_devptr first = data + odd * static_cast<uint64_t>(ld) * p.elem_bits / 8;
        if (first % SECTOR != 0) params.inside |= kernel.ODD << bit;
        return calls.map(tensor_of(p, first, (rows + 1 - odd) / 2, 2 * ld, stride, one, {kernel.TK, tile / 2}));
    };
    params.a_rows = kernel.TM;
    params.a_map = half(p.a, p.m, p.lda, p.stride_a, params.a_one != 0, kernel.TM, 0, 0);
    params.a_odd = half(p.a, p.m, p.lda, p.stride_a, params.a_one != 0, kernel.TM, 1, 4);
    params.b_map = half(p.b, p.n, p.ldb, p.stride_b, params.b_one != 0, kernel.TN, 0, 8);
    params.b_odd = half(p.b, p.n, p.ldb, p.stride_b, params.b_one != 0, kernel.TN, 1, 12);
}
void add_kernel(const Gemm& p, const kernels::gemm_bulk_kernel& kernel, const kernels::gemm_params& all, Plan& calls) {
    const bool a_one = p.batch == 1 || p.stride_a == 0, b_one = p.batch == 1 || p.stride_b == 0;
    const bool halves = p.gate.on && !p.gate.interleaved;
    auto params = parts_params<kernels::gemm_bulk_params>(p, all, a_one, b_one);
    if (kernel.ODD != 0) {
        put_odd(p, kernel, params, calls);
        return calls.add(kernel, params);
    }
    params.a_rows = rows_of_tiles(p.m, kernel.TM);
    params.a_map = calls.map(tensor_of(p, p.a, p.m, p.lda, p.stride_a, a_one, {kernel.TK, params.a_rows}));
    params.b_map = calls.map(halves ? halves_of(p, {kernel.TK, kernel.TN})
                                    : tensor_of(p, p.b, p.n, p.ldb, p.stride_b, b_one, {kernel.TK, kernel.TN}));
    calls.add(kernel, params);
}

// b by rows of 32 of k, or, where it is contiguous along n, by rows of the tile's columns.
TensorTile columns_of(const Gemm& p, const kernels::gemm_ordered_kernel& kernel, bool one) {
    if (p.b_along) return tensor_of(p, p.b, p.n, p.ldb, p.stride_b, one, {kernel.TK, kernel.TN});
    TensorTile tile = tensor_of(p, p.b, p.k, p.ldb, p.stride_b, one, {kernel.TN, kernel.TK});
    tile.shape[0] = static_cast<uint64_t>(p.n);
    tile.swizzle = 0;
    return tile;
}

void add_product(const CheckedOp& work, const Row& row, const kernels::gemm_ordered_kernel& kernel, Plan& calls) {
    const Gemm& p = work.as<Gemm>();
    const bool a_one = p.batch == 1 || p.stride_a == 0, b_one = p.batch == 1 || p.stride_b == 0;
    if (gates_by_sums(p, row.tile)) return plan_gated(work, row, kernel, calls);
    auto params = mapped_params<kernels::gemm_bulk_params>(params_of(p, gemm_group(work, row)), a_one, b_one);
    TensorTile a = tensor_of(p, p.a, p.m, p.lda, p.stride_a, a_one, {kernel.TK, kernel.TM});
    a.swizzle = 0;
    params.a_map = calls.map(a);
    params.b_map = calls.map(columns_of(p, kernel, b_one));
    calls.add(kernel, params);
}

// b as it is stored, of which `unit` of k are so many bytes, and a row of a box so many; counted by two.
TensorTile codes_of(const Gemm& p, int64_t stored, int64_t unit, uint32_t row_bytes, uint32_t rows, bool one) {
    constexpr uint32_t HALF = 2;
    Gemm codes = p;
    codes.elem_bits = 8 * HALF, codes.k = p.k * stored / unit / HALF;
    TensorTile tile = tensor_of(codes, p.b, p.n, p.ldb / HALF, p.stride_b / HALF, one, {row_bytes / HALF, rows});
    tile.swizzle = std::has_single_bit(row_bytes) ? row_bytes : 0;
    return tile;
}
void add_kernel(const Gemm& p, const kernels::gemm_decoded_kernel& kernel, const kernels::gemm_params& all,
                Plan& calls) {
    const bool a_one = p.batch == 1 || p.stride_a == 0, b_one = p.batch == 1 || p.stride_b == 0;
    auto params = parts_params<kernels::gemm_decoded_params>(p, all, a_one, b_one);
    params.a_rows = rows_of_tiles(p.m, kernel.TM);
    params.a_map = calls.map(tensor_of(p, p.a, p.m, p.lda, p.stride_a, a_one, {kernel.TK, params.a_rows}));
    params.b_map = calls.map(codes_of(p, 1, 2, kernel.TK / 2, kernel.TN, b_one));
    params.b_scale_group = all.b_scale_group, params.b_zero = all.b_zero, params.b_group_shift = all.b_group_shift;
    params.b_scale_four = all.b_scale_four, params.b_scale_quarter = all.b_scale_quarter;
    params.b_scale_tile = all.b_scale_tile, params.b_whole = all.b_whole;
    calls.add(kernel, params);
}

void add_kernel(const Gemm& p, const kernels::gemm_grouped_bulk_kernel& kernel, const kernels::gemm_params& all,
                Plan& calls) {
    const bool a_one = p.batch == 1 || p.stride_a == 0, b_one = p.batch == 1 || p.stride_b == 0;
    const bool bytes = kernel.STORED == kernel.UNIT; // of which a lane takes 16 of k at a time
    auto params = parts_params<kernels::gemm_grouped_bulk_params>(p, all, a_one, b_one);
    const bool padded = kernel.BY == 256;
    params.a_rows = padded ? static_cast<uint32_t>(std::min<int64_t>(p.m, kernel.TM)) : kernel.TM;
    const uint32_t wide = padded ? 144 : bytes || kernel.UNIT == 64 ? 64 : 32;
    TensorTile of_a = tensor_of(p, p.a, p.m, p.lda, p.stride_a, a_one, {wide, params.a_rows});
    if (padded) of_a.swizzle = 0;
    params.a_map = calls.map(of_a);
    params.b_map = calls.map(codes_of(p, kernel.STORED, kernel.UNIT, kernel.PITCH, kernel.TN, b_one));
    params.b_scale_group = all.b_scale_group, params.b_zero = all.b_zero;
    calls.add(kernel, params);
}

// Two parts are the blocks of clusters, which add them.
void plan_joined(const CheckedOp& work, const Row& row, const kernels::gemm_bulk_kernel& kernel, const GemmCut& cut,
                 Plan& calls) {
    const bool gated = gates_by_sums(work.as<Gemm>(), row.tile);
    const Gemm p = gated ? sums_of(work.as<Gemm>(), calls.workspace) : work.as<Gemm>();
    kernels::gemm_params params = params_of(p, gemm_group(work, row));
    params.k = cut.part, params.batch = cut.parts, params.k_short = cut.parts * cut.part - p.k;
    add_kernel(p, kernel, params, calls);
    calls.launches[calls.count - 1].cluster = {1, 2, 1};
    if (gated) end_gated(work.as<Gemm>(), calls);
}

// One product of several, by itself: where its operands are.
Gemm product_of(const Gemm& p, int64_t index) {
    Gemm one = p;
    const auto behind = [&](int64_t elements) { return static_cast<uint64_t>(index * elements) * p.elem_bits / 8; };
    one.batch = 1;
    one.a += behind(p.stride_a), one.b += behind(p.stride_b);
    for (GemmScales* scales : {&one.a_scales, &one.b_scales}) {
        if (scales->data != 0) scales->data += static_cast<uint64_t>(index * scales->batch) * sizeof(float);
        scales->batch = 0;
    }
    return one;
}

Gemm without_scales(const Gemm& p) {
    Gemm unscaled = p;
    unscaled.a_scales = unscaled.b_scales = {};
    return unscaled;
}

// The parts of one product are a batch of products whose sums go to the workspace, rows `pitch` and parts `apart`
// elements from each other, in F32 or I32.
template <class Of>
void add_parts(const Gemm& p, const Of& kernel, const GemmCut& cut, uint32_t group, spark_devptr to, int64_t apart,
               Plan& calls) {
    kernels::gemm_params sums = params_of(p.integers ? without_scales(p) : p, group);
    sums.c = sums.bias = 0;
    sums.d = to, sums.ldd = pitch_of_sums(p), sums.d_batch = apart;
    sums.a_batch = p.a_along ? cut.part : cut.part * p.lda;
    sums.b_batch = p.b_along ? cut.part : cut.part * p.ldb;
    if (p.b_groups.shift != 0) { // codes of four bits, whose scales go along
        sums.b_batch = cut.part / 2;
        sums.b_scale_batch = (cut.part >> p.b_groups.shift) * p.b_groups.step;
    }
    if (p.b_blocked) { // of MXFP4 and NVFP4, likewise: four scales at a time
        put_blocks(p, sums);
        sums.b_batch = cut.part / 2, sums.b_scale_batch = cut.part / p.b_span * p.b_blocks.four;
    }
    if (p.kept.on) { // half of k in b, and four bits for each four of it
        put_kept(p.kept, sums);
        sums.b_batch = cut.part / 2, sums.b_scale_tile = cut.part / 8;
    }
    sums.k = cut.part, sums.batch = cut.parts, sums.k_short = cut.parts * cut.part - p.k;
    sums.alpha = 1, sums.beta = 0;
    const kernels::gemm_flags all = flags_of(p);
    sums.flags = kernels::gemm_flags{.d_i32 = p.integers,
                                     .a_e5m2 = p.a_e5m2,
                                     .b_e5m2 = p.b_e5m2,
                                     .b_i8 = all.b_i8,
                                     .i4 = all.i4,
                                     .scale_f32 = all.scale_f32,
                                     .scale_f16 = all.scale_f16};
    Gemm ungated = p; // b as it lies: what adds the parts knows where gates are
    ungated.gate = {};
    add_kernel(ungated, kernel, sums, calls);
}

// A launch for each product, whose sums go to the workspace, [parts, batch, m, pitch]. A last one adds them, always in
// the same order, and does what follows the sum, a gate too. The number of parts depends on shape and device alone.
template <class Of>
void plan_parts(const Gemm& p, const Of& kernel, const kernels::gemm_merge_kernel& merge, const GemmCut& cut,
                uint32_t group, Plan& calls) {
    const int64_t pitch = pitch_of_sums(p), product = p.m * pitch, part = p.batch * product;
    calls.workspace_size = static_cast<uint64_t>(cut.parts * part) * sizeof(float);
    for (int64_t i = 0; i < p.batch; ++i) {
        const spark_devptr to = calls.workspace + static_cast<uint64_t>(i * product) * sizeof(float);
        add_parts(product_of(p, i), kernel, cut, group, to, part, calls);
    }
    kernels::gemm_params merged = params_of(p.integers ? p : without_scales(p), group);
    merged.a = calls.workspace, merged.lda = pitch, merged.a_batch = part, merged.b_batch = product;
    merged.k = cut.parts;
    p.gate.on ? add_gate(p, cut.parts, calls) : calls.add(merge, merged);
}

// The same of any number of products along k: a launch for each part of all of them.
template <class Of>
void plan_parts_of_many(const Gemm& p, const Of& kernel, const kernels::gemm_merge_kernel& merge, const GemmCut& cut,
                        uint32_t group, Plan& calls) {
    const int64_t pitch = pitch_of_sums(p), product = p.m * pitch, part = p.batch * product;
    const uint64_t part_bytes = static_cast<uint64_t>(part) * sizeof(float);
    calls.workspace_size = static_cast<uint64_t>(cut.parts) * part_bytes;
    for (int64_t i = 0; i < cut.parts; ++i) {
        Gemm sums = sums_of(p, calls.workspace + static_cast<uint64_t>(i) * part_bytes);
        const auto first = static_cast<uint64_t>(i * cut.part) * p.elem_bits / 8;
        sums.a += first, sums.b += first, sums.k = std::min(cut.part, p.k - i * cut.part);
        sums.c = 0, sums.beta = 0;
        add_kernel(sums, kernel, params_of(sums, group), calls);
    }
    kernels::gemm_params merged = params_of(p, group);
    merged.a = calls.workspace, merged.lda = pitch, merged.a_batch = part, merged.b_batch = product;
    merged.k = cut.parts;
    calls.add(merge, merged);
}

// What codes of a and b are is told to a kernel that multiplies any.
kernels::gemm_scaled_flags scaled_flags_of(const Gemm& p) {
    const auto like_e5m2 = [](uint32_t dtype) { return dtype == SPARK_DTYPE_E5M2 || dtype == SPARK_DTYPE_E3M2; };
    const auto sixes = [](uint32_t dtype) { return dtype == SPARK_DTYPE_E2M3 || dtype == SPARK_DTYPE_E3M2; };
    const kernels::gemm_flags all = flags_of(p);
    return {.d_dtype = all.d_dtype,
            .bias_f32 = all.bias_f32,
            .activation = all.activation,
            .a_e5m2 = like_e5m2(p.dtype),
            .b_e5m2 = like_e5m2(p.b_dtype),
            .bias_bf16 = all.bias_bf16,
            .d_fp8 = all.d_fp8,
            .d_e5m2 = all.d_e5m2,
            .a_sixes = sixes(p.dtype),
            .b_sixes = sixes(p.b_dtype),
            .a_halves = p.dtype == SPARK_DTYPE_E2M1,
            .b_halves = p.b_dtype == SPARK_DTYPE_E2M1};
}

kernels::gemm_scaled_params scaled_params_of(const Gemm& p, uint32_t group) {
    kernels::gemm_scaled_params params{};
    put_product(p, params);
    params.flags = scaled_flags_of(p);
    params.group = group;
    params.a_blocks = p.a_blocks.data, params.a_blocks_batch = p.a_blocks.outer;
    params.a_blocks_tile = p.a_blocks.tile, params.a_blocks_quarter = p.a_blocks.quarter;
    params.a_blocks_row = p.a_blocks.row, params.a_blocks_four = p.a_blocks.four;
    params.a_blocks_step = p.a_blocks.step;
    params.b_blocks = p.b_blocks.data, params.b_blocks_batch = p.b_blocks.outer;
    params.b_blocks_tile = p.b_blocks.tile, params.b_blocks_quarter = p.b_blocks.quarter;
    params.b_blocks_row = p.b_blocks.row, params.b_blocks_four = p.b_blocks.four;
    params.b_blocks_step = p.b_blocks.step;
    return params;
}

// Of a symmetric product the quarters on the diagonal, as two of a batch, the lower left one, and the fourth from that.
template <class Of> void plan_mirrored(const Gemm& p, const Of& kernel, int64_t half, uint32_t group, Plan& calls) {
    Gemm part = p;
    part.m = part.n = half, part.batch = 2;
    part.stride_a = part.stride_b = half * p.lda, part.stride_d = half * (p.ldd + 1);
    add_kernel(part, kernel, params_of(part, group), calls);
    part.batch = 1;
    part.a += static_cast<uint64_t>(half * p.lda) * p.elem_bits / 8;
    part.d += static_cast<uint64_t>(half * p.ldd) * dtype_info(p.d_dtype).bits / 8;
    add_kernel(part, kernel, params_of(part, group), calls);
    add_mirrored(p, half, calls);
}

template <class Of> void add_product(const CheckedOp& work, const Row& row, const Of& kernel, Plan& calls) {
    const Gemm& p = work.as<Gemm>();
    if (gates_by_sums(p, row.tile)) return plan_gated(work, row, kernel, calls);
    const uint32_t group = gemm_group(work, row);
    if constexpr (std::is_same_v<Of, kernels::gemm_bulk_kernel> || std::is_same_v<Of, kernels::gemm_kernel>) {
        if (const int64_t half = mirrored_half(work, row)) return plan_mirrored(p, kernel, half, group, calls);
    }
    if constexpr (std::is_same_v<typename Of::Params, kernels::gemm_scaled_params>) {
        calls.add(kernel, scaled_params_of(p, group));
    } else {
        kernels::gemm_params params = params_of(p, group);
        if (p.b_blocked) put_blocks(p, params);
        if (p.kept.on) put_kept(p.kept, params);
        add_kernel(p, kernel, params, calls);
    }
}

template <class Of>
void add_product(const CheckedOp& work, const Row& row, const Of& kernel, const kernels::gemm_merge_kernel& merge,
                 Plan& calls) {
    GemmCut cut = cut_gemm(work, row);
    if (cut.parts == 1) return add_product(work, row, kernel, calls);
    if constexpr (std::is_same_v<Of, kernels::gemm_bulk_kernel>) {
        if (joins(work.as<Gemm>(), row.tile, cut)) return plan_joined(work, row, kernel, cut, calls);
    }
    if constexpr (std::is_same_v<Of, kernels::gemm_bulk_kernel> || std::is_same_v<Of, kernels::gemm_kernel>) {
        const Gemm& p = work.as<Gemm>();
        if (p.batch != 1 && p.parts != 0)
            return plan_parts_of_many(p, kernel, merge, cut, gemm_group(work, row), calls);
    }
    plan_parts(work.as<Gemm>(), kernel, merge, cut, gemm_group(work, row), calls);
}

// A gated product's sums, in parts or not, and what makes d of them.
template <class Of>
void add_product(const CheckedOp& work, const Row& row, const Of& kernel, const kernels::gemm_merge_kernel& merge,
                 const kernels::gemm_gate_kernel&, Plan& calls) {
    add_product(work, row, kernel, merge, calls);
}

// Weights, unpacked into the front of the workspace.
void add_unpacked(const Gemm& p, const kernels::dequantize_kernel& unpack, int64_t batches, Plan& calls) {
    calls.add(unpack,
              {
                  .x = p.b,
                  .y = calls.workspace,
                  .x_stride0 = p.ldb,
                  .x_stride1 = p.stride_b,
                  .y_stride0 = gemm_pitch(p),
                  .y_stride1 = p.n * gemm_pitch(p),
                  .n = p.k,
                  .rows0 = p.n,
                  .rows1 = batches,
                  .flags = kernels::dequantize_flags{.f32 = false, .f16 = p.dtype == SPARK_DTYPE_F16},
                  .soon = 0, // rows are short
              },
              ceil_div(p.k / 8, int64_t{unpack.block} * unpack.STEP));
}
// The kernel of the same format that asks for no alignment.
const kernels::dequantize_scaled_kernel& any_unpack(const kernels::dequantize_scaled_kernel& aligned) {
    using namespace kernels;
    constexpr const dequantize_scaled_kernel* KERNELS[][2] = {
#define SCALED(CODES, SCALES, F, W) {&dequantize_##F##__x8, &dequantize_##F##__generic},
#include "core/scaled.inc"
#undef SCALED
    };
    for (const auto& [wide, any] : KERNELS) {
        if (wide->id == aligned.id) return *any;
    }
    return dequantize_byte__generic;
}
ScalePlaces scales_of_weights(const Gemm& p) {
    if (p.b_blocked) return p.b_blocks;
    const int64_t step = p.b_scales.step;
    return {p.b_scales.data, p.b_scales.batch, 128 * step, 32 * step, step, 0, p.b_groups.step};
}
void add_unpacked(const Gemm& p, const kernels::dequantize_scaled_kernel& aligned, int64_t batches, Plan& calls) {
    const bool fits =
        (static_cast<uint64_t>(p.b) | static_cast<uint64_t>(p.ldb | p.stride_b | p.k)) % aligned.STEP == 0 &&
        p.n * batches <= int64_t{1} << (62 - 34 * aligned.NARROW); // the limits of both kernels
    const auto& unpack = fits ? aligned : any_unpack(aligned);
    const ScalePlaces scales = scales_of_weights(p);
    const Pieces cut = cut_rows(p.k, p.n * batches, 32 * int64_t{unpack.RUN} * unpack.CHUNKS);
    calls.add(unpack, {
                          .x = p.b,
                          .y = calls.workspace,
                          .scale = scales.data,
                          .whole = p.b_blocked ? p.b_scales.data : 0,
                          .x_stride0 = p.ldb,
                          .x_stride1 = p.stride_b,
                          .y_stride0 = gemm_pitch(p),
                          .y_stride1 = p.n * gemm_pitch(p),
                          .scale_stride1 = scales.outer,
                          .scale_tile = scales.tile,
                          .scale_quarter = scales.quarter,
                          .scale_row = scales.row,
                          .scale_four = scales.four,
                          .scale_step = scales.step,
                          .n = p.k,
                          .rows0 = p.n,
                          .rows1 = batches,
                          .part = cut.part,
                          .parts = cut.parts,
                          .parts_by = cut.by,
                          .parts_shift = cut.shift,
                          .flags = kernels::dequantize_scaled_flags{.f32 = false,
                                                                    .f16 = p.dtype == SPARK_DTYPE_F16,
                                                                    .i8 = p.b_i8,
                                                                    .i4 = p.b_i4,
                                                                    .scale_f32 = p.b_groups.dtype == SPARK_DTYPE_F32,
                                                                    .scale_f16 = p.b_groups.dtype == SPARK_DTYPE_F16,
                                                                    .nf4 = p.b_nf4},
                          .zero = p.b_groups.zeros,
                          .block_shift = p.b_groups.shift,
                          .soon = 0,
                          .soon_bytes = 0,
                          .soon_scales = 0,
                      });
}

// Then the product of numbers, with what follows them of the workspace.
template <class Of, class Unpack>
void add_product(const CheckedOp& work, const Row& row, const Of& kernel, const kernels::gemm_merge_kernel& merge,
                 const Unpack& unpack, Plan& calls) {
    const Gemm& p = work.as<Gemm>();
    const int64_t batches = gemm_unpacked(p), pitch = gemm_pitch(p);
    const auto size = static_cast<uint64_t>(ceil_div(batches * p.n * pitch * p.elem_bits / 8, 256) * 256);
    if (p.k != 0) add_unpacked(p, unpack, batches, calls);
    CheckedOp numbers = work;
    Gemm& q = numbers.as<Gemm>();
    q.b = calls.workspace, q.ldb = pitch, q.stride_b = batches == 1 ? 0 : p.n * pitch;
    q.b_scales = {}, q.b_groups = {}, q.b_blocks = {}, q.weights = q.b_blocked = q.b_i8 = q.b_i4 = q.b_nf4 = false;
    if (q.batch != 1) q.parts = 1; // splits_alone
    calls.workspace += calls.workspace != 0 ? size : 0;
    add_product(numbers, row, kernel, merge, calls);
    calls.workspace -= calls.workspace != 0 ? size : 0;
    calls.workspace_size += size;
}

// Of F32 that tensor cores do not take as it lies: the product of its copies, likewise.
template <class Of>
void add_product(const CheckedOp& work, const Row& row, const Of& kernel, const kernels::gemm_merge_kernel& merge,
                 const kernels::cast_turned_kernel&, Plan& calls) {
    CheckedOp along = work;
    const uint64_t size = move_operands(along.as<Gemm>(), calls);
    calls.workspace += calls.workspace != 0 ? size : 0;
    add_product(along, row, kernel, merge, calls);
    calls.workspace -= calls.workspace != 0 ? size : 0;
    calls.workspace_size += size;
}

// Of codes that are not bytes the product of their copies, which are.
template <class Of>
void add_product(const CheckedOp& work, const Row& row, const Of& kernel, const kernels::gemm_widen_kernel&,
                 Plan& calls) {
    CheckedOp bytes = work;
    const uint64_t size = move_operands(bytes.as<Gemm>(), calls);
    calls.workspace += calls.workspace != 0 ? size : 0;
    add_product(bytes, row, kernel, calls);
    calls.workspace -= calls.workspace != 0 ? size : 0;
    calls.workspace_size += size;
}

// The product with d in F32, in front of what follows of the workspace, and codes of it.
template <class... Of> void add_coded(const CheckedOp& work, const Row& row, Plan& calls, const Of&... kernels) {
    const Gemm& p = work.as<Gemm>();
    const int64_t columns = p.gate.on ? p.n / 2 : p.n, pitch = ceil_div(columns, 4) * 4;
    const auto size = static_cast<uint64_t>(ceil_div(p.batch * p.m * pitch * int64_t{sizeof(float)}, 256) * 256);
    const spark_devptr numbers = calls.workspace, rest = numbers != 0 ? numbers + size : 0;
    CheckedOp product = work;
    Gemm& q = product.as<Gemm>();
    q.d = numbers, q.ldd = pitch, q.stride_d = p.m * pitch, q.codes = {};
    calls.workspace = rest;
    add_product(product, row, kernels..., calls);
    const uint64_t before = calls.workspace_size;
    calls.workspace_size = 0;
    plan_written(p.codes.written, work.target, numbers, pitch, calls);
    calls.workspace = numbers;
    calls.workspace_size = size + std::max(before, calls.workspace_size);
}

// The largest magnitude of d, which is numbers.
void add_amax(const CheckedOp& work, Plan& calls) {
    const Gemm& p = work.as<Gemm>();
    CheckedOp rows{};
    rows.target = work.target;
    Scaled& d = rows.as<Scaled>();
    d.x = {p.d, p.stride_d, p.ldd};
    d.n = p.gate.on ? p.n / 2 : p.n, d.rows1 = p.batch, d.rows0 = p.m;
    d.dtype = p.d_dtype;
    const int64_t bits = p.d_dtype == SPARK_DTYPE_F32 ? 32 : 16;
    rows.facts[QUANT_X_ALIGN] = std::min({work.facts[GEMM_D_ALIGN], low_bit(p.ldd, static_cast<uint32_t>(bits)),
                                          low_bit(p.stride_d, static_cast<uint32_t>(bits))});
    const uint64_t before = calls.workspace_size;
    calls.workspace_size = 0;
    plan_amax(rows, p.codes.amax, calls);
    calls.workspace_size = std::max(before, calls.workspace_size);
}

template <class... Of> void add_any(const CheckedOp& work, const Row& row, Plan& calls, const Of&... kernels) {
    const GemmCodes& codes = work.as<Gemm>().codes;
    if (codes.on && !codes.direct) return add_coded(work, row, calls, kernels...);
    add_product(work, row, kernels..., calls);
    if (codes.amax_wanted) add_amax(work, calls);
}

// As rows name them: a kernel, and those that may follow it.
template <class Of> void plan(const CheckedOp& work, const Row& row, const Of& kernel, Plan& calls) {
    add_any(work, row, calls, kernel);
}
template <class Of, class Then>
void plan(const CheckedOp& work, const Row& row, const Of& kernel, const Then& then, Plan& calls) {
    add_any(work, row, calls, kernel, then);
}
template <class Of, class Then, class Last>
void plan(const CheckedOp& work, const Row& row, const Of& kernel, const Then& then, const Last& last, Plan& calls) {
    add_any(work, row, calls, kernel, then, last);
}

PLAN_OF_ROWS
constexpr Draft DRAFTS[] = {
#include "ops/gemm/table.inc"
};
constexpr auto TABLE = make_table<DRAFTS, GEMM_FACT_NAMES>();

// load.cpp shifts where it would divide.
static_assert([] {
    for (const Row& row : TABLE.rows) {
        for (uint32_t size : {row.tile.rows, row.tile.columns, row.tile.depth}) {
            if (!std::has_single_bit(size)) return false;
        }
    }
    return true;
}());

} // namespace

extern const Operator GEMM = {SPARK_OP_GEMM, TABLE, GEMM_FACT_NAMES, check_gemm, load_gemm, true, false, GEMM_M};

} // namespace spark
