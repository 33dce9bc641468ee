// SPDX-License-Identifier: Apache-2.0
// Keys of I8 less their mean, by the calls that docs/ops/attention.md names: o is that of the keys before, lse less by
// the score of the mean; and worse codes without. Scales that move between the layouts of docs/layouts.md.
#include <algorithm>
#include <cmath>
#include <vector>

#include "outcome.h"

namespace {

constexpr int64_t T = 48, S = 8, H = 4, G = 2, D = 32;
constexpr float SCALE = 0.17677669F; // 1 / sqrt(D)

spark_devptr room(uint64_t bytes) {
    spark_devptr at = 0;
    ok(spark_mem_alloc(g_ctx, bytes, &at, &g_err));
    ok(spark_mem_set(g_ctx, at, 0, bytes, 0, &g_err));
    return at;
}

spark_tensor tensor(spark_dtype dtype, std::initializer_list<int64_t> shape) {
    spark_tensor t{};
    t.dtype = dtype;
    uint64_t count = 1;
    for (int64_t size : shape) t.shape[t.ndim++] = size, count *= static_cast<uint64_t>(size);
    t.data = room(count * 4 + 4);
    return t;
}

float of_bf16(uint16_t bits) {
    const uint32_t word = uint32_t{bits} << 16;
    float number;
    std::memcpy(&number, &word, sizeof number);
    return number;
}

// Normal numbers, near enough, about a mean of their column, up to far * D / 2.
spark_tensor numbers(uint32_t state, std::initializer_list<int64_t> shape, float far, std::vector<float>& all) {
    spark_tensor t = tensor(SPARK_DTYPE_BF16, shape);
    std::vector<uint16_t> bits(static_cast<size_t>(*shape.begin() * *(shape.begin() + 1) * D));
    for (size_t i = 0; i < bits.size(); ++i) {
        float number = far * static_cast<float>(static_cast<int64_t>(i * 7) % D - D / 2);
        for (int part = 0; part < 4; ++part) {
            state = state * 1664525 + 1013904223;
            number += static_cast<float>(state >> 8) / (1 << 23) - 1;
        }
        uint32_t word;
        std::memcpy(&word, &number, sizeof word);
        bits[i] = static_cast<uint16_t>(word >> 16);
        all.push_back(of_bf16(bits[i]));
    }
    ok(spark_mem_copy_to_device(g_ctx, t.data, bits.data(), bits.size() * 2, 0, &g_err));
    return t;
}

template <class Args> Args call(spark_op op) {
    Args args{};
    args.hdr.struct_size = sizeof args, args.hdr.op = op;
    return args;
}

const spark_exec* exec() {
    static spark_exec e{};
    if (e.workspace == 0) e.struct_size = sizeof e, e.workspace_size = 1 << 20, e.workspace = room(1 << 20);
    return &e;
}

spark_tensor as_rows(spark_tensor t) {
    t.ndim = 2, t.shape[1] *= t.shape[2], t.shape[2] = 0;
    return t;
}

// k [T, G, D] less its mean over the tokens.
spark_tensor less_mean(const spark_tensor& k) {
    auto mean = call<spark_gemm_args>(SPARK_OP_GEMM);
    std::vector<uint16_t> ones(T, 0x3f80);
    mean.a = tensor(SPARK_DTYPE_BF16, {1, T});
    ok(spark_mem_copy_to_device(g_ctx, mean.a.data, ones.data(), ones.size() * 2, 0, &g_err));
    mean.b = as_rows(k);
    mean.b.shape[0] = G * D, mean.b.shape[1] = T, mean.b.stride[0] = 1, mean.b.stride[1] = G * D;
    mean.d = tensor(SPARK_DTYPE_F32, {1, G * D});
    mean.alpha = -1.0F / T;
    ok(spark_gemm(g_ctx, &mean, exec(), &g_err));
    auto shifted = call<spark_gemm_args>(SPARK_OP_GEMM);
    shifted.a = tensor(SPARK_DTYPE_BF16, {T, 0}), shifted.b = tensor(SPARK_DTYPE_BF16, {G * D, 0});
    shifted.c = as_rows(k), shifted.beta = 1;
    shifted.bias = mean.d, shifted.bias.ndim = 1, shifted.bias.shape[0] = G * D, shifted.bias.shape[1] = 0;
    shifted.d = tensor(SPARK_DTYPE_BF16, {T, G * D});
    ok(spark_gemm(g_ctx, &shifted, exec(), &g_err));
    spark_tensor result = k;
    result.data = shifted.d.data;
    return result;
}

spark_tensor codes(const spark_tensor& x) {
    auto args = call<spark_quantize_args>(SPARK_OP_QUANTIZE);
    args.x = x;
    args.y = tensor(SPARK_DTYPE_I8, {x.shape[0], x.shape[1], x.shape[2]});
    args.y.quant.scheme = SPARK_QUANT_PER_ROW, args.y.quant.scale_dtype = SPARK_DTYPE_F32;
    args.y.quant.scale = room(static_cast<uint64_t>(x.shape[0] * x.shape[1]) * 4);
    ok(spark_quantize(g_ctx, &args, exec(), &g_err));
    return args.y;
}

spark_tensor of_one_sequence(spark_tensor t) {
    for (uint32_t d = 3; d > 0; --d) t.shape[d] = t.shape[d - 1];
    t.ndim = 4, t.shape[0] = 1;
    return t;
}

struct Result {
    std::vector<float> o, lse;
};
Result attention(const spark_tensor& q, const spark_tensor& k, const spark_tensor& v) {
    auto args = call<spark_attention_args>(SPARK_OP_ATTENTION);
    args.q = of_one_sequence(q), args.k = of_one_sequence(k), args.v = of_one_sequence(v);
    args.o = tensor(SPARK_DTYPE_BF16, {1, S, H, D}), args.lse = tensor(SPARK_DTYPE_F32, {1, S, H});
    ok(spark_attention(g_ctx, &args, exec(), &g_err));
    std::vector<uint16_t> bits(S * H * D);
    Result result{{}, std::vector<float>(S * H)};
    ok(spark_mem_copy_to_host(g_ctx, bits.data(), args.o.data, bits.size() * 2, 0, &g_err));
    ok(spark_mem_copy_to_host(g_ctx, result.lse.data(), args.lse.data, result.lse.size() * 4, 0, &g_err));
    for (uint16_t word : bits) result.o.push_back(of_bf16(word));
    return result;
}

float largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
    float most = 0;
    for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::fabs(a[i] - b[i]));
    return most;
}

void means_go(void**) {
    std::vector<float> q, k, v;
    const spark_tensor of_q = numbers(1, {S, H, D}, 0, q), of_k = numbers(2, {T, G, D}, 2, k),
                       of_v = numbers(3, {T, G, D}, 0, v);
    const Result wanted = attention(of_q, of_k, of_v), raw = attention(codes(of_q), codes(of_k), of_v),
                 smooth = attention(codes(of_q), codes(less_mean(of_k)), of_v);
    const float without = largest_difference(wanted.o, raw.o), with = largest_difference(wanted.o, smooth.o);
    print_message("o is off by at most %g, by %g with the mean in the codes\n", static_cast<double>(with),
                  static_cast<double>(without));
    assert_true(with < 0.08F && 2 * with < without);
    for (int64_t row = 0; row < S * H; ++row) {
        double shift = 0;
        for (int64_t j = 0; j < T; ++j)
            for (int64_t c = 0; c < D; ++c)
                shift += static_cast<double>(q[static_cast<size_t>(row * D + c)] *
                                             k[static_cast<size_t>((j * G + row % H / (H / G)) * D + c)]);
        const auto at = static_cast<size_t>(row);
        const double restored = static_cast<double>(smooth.lse[at]) + static_cast<double>(SCALE) * shift / T;
        assert_true(std::fabs(restored - static_cast<double>(wanted.lse[at])) < 0.15);
    }
}

// Scales of bytes in whole tiles of 128 x 4, from rows to tiles and back, by the views that docs/layouts.md names: four
// neighbours are one F32, whose bits a cast to F32 moves.
void scales_change_their_layout(void**) {
    constexpr int64_t TILES = 2, ROWS = 128 * TILES, WORDS = 3, COUNT = ROWS * WORDS;
    spark_tensor rows = tensor(SPARK_DTYPE_F32, {TILES, 4, 32, WORDS}), tiles = rows;
    tiles.data = room(COUNT * 4);
    const int64_t strides[] = {WORDS * 128, 1, 4, 128};
    std::copy(std::begin(strides), std::end(strides), tiles.stride);
    std::vector<uint8_t> scales(COUNT * 4), tiled(scales.size()), back(scales.size());
    for (size_t i = 0; i < scales.size(); ++i)
        scales[i] = static_cast<uint8_t>(i * 181 >> 3); // those that are no F32 too
    const auto cast = [](const spark_tensor& x, const spark_tensor& y) {
        spark_cast_args args{};
        args.hdr.struct_size = sizeof args, args.hdr.op = SPARK_OP_CAST;
        args.x = x, args.y = y;
        ok(spark_cast(g_ctx, &args, nullptr, &g_err));
    };
    ok(spark_mem_copy_to_device(g_ctx, rows.data, scales.data(), scales.size(), 0, &g_err));
    cast(rows, tiles);
    ok(spark_mem_copy_to_host(g_ctx, tiled.data(), tiles.data, tiled.size(), 0, &g_err));
    for (size_t m = 0; m < ROWS; ++m) {
        for (size_t k = 0; k < WORDS * 4; ++k) {
            const size_t at = (m / 128 * WORDS + k / 4) * 512 + m % 32 * 16 + m % 128 / 32 * 4 + k % 4;
            assert_int_equal(tiled[at], scales[m * WORDS * 4 + k]);
        }
    }
    ok(spark_mem_set(g_ctx, rows.data, 0, scales.size(), 0, &g_err));
    cast(tiles, rows);
    ok(spark_mem_copy_to_host(g_ctx, back.data(), rows.data, back.size(), 0, &g_err));
    assert_true(back == scales);
    for (const spark_devptr at : {rows.data, tiles.data}) ok(spark_mem_free(g_ctx, at, &g_err));
}

} // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(means_go), cmocka_unit_test(scales_change_their_layout)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
