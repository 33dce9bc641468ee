// SPDX-License-Identifier: Apache-2.0
// X times its own transpose, as Muon takes it: a and b are the same memory, and d is symmetric to the bit.
#include <cmath>
#include <vector>

#include "outcome.h"

namespace {

struct Gram {
    spark_dtype dtype, out;
    int64_t rows, k;
};

// Numbers of either sign with few bits, so that no two sums are alike and none is far off in FP32.
double number_of(int64_t i) { return static_cast<double>((i * 2654435761 >> 7) % 255 - 127) / 64; }

std::vector<uint8_t> stored(const Gram& g) {
    std::vector<uint8_t> bytes;
    for (int64_t i = 0; i < g.rows * g.k; ++i) {
        const auto number = static_cast<float>(number_of(i));
        uint32_t word;
        std::memcpy(&word, &number, sizeof word);
        if (g.dtype == SPARK_DTYPE_I8) {
            bytes.push_back(static_cast<uint8_t>(static_cast<int8_t>(number * 64)));
        } else {
            bytes.push_back(static_cast<uint8_t>(word >> 16)), bytes.push_back(static_cast<uint8_t>(word >> 24));
        }
    }
    return bytes;
}

// Gives the launches.
uint32_t check(const Gram& g) {
    const std::vector<uint8_t> x = stored(g);
    const auto count = static_cast<size_t>(g.rows * g.rows);
    spark_gemm_args args{};
    args.hdr.struct_size = sizeof args, args.hdr.op = SPARK_OP_GEMM;
    args.a.dtype = g.dtype, args.a.ndim = 2, args.a.shape[0] = g.rows, args.a.shape[1] = g.k;
    ok(spark_mem_alloc(g_ctx, x.size(), &args.a.data, &g_err));
    ok(spark_mem_copy_to_device(g_ctx, args.a.data, x.data(), x.size(), 0, &g_err));
    args.b = args.a;
    args.d.dtype = g.out, args.d.ndim = 2, args.d.shape[0] = args.d.shape[1] = g.rows;
    ok(spark_mem_alloc(g_ctx, count * 4, &args.d.data, &g_err));
    spark_op_info info{};
    info.struct_size = sizeof info;
    ok(spark_op_prepare(g_ctx, &args.hdr, &info, &g_err));
    spark_exec exec{};
    exec.struct_size = sizeof exec, exec.workspace_size = info.workspace_size;
    if (info.workspace_size != 0) ok(spark_mem_alloc(g_ctx, info.workspace_size, &exec.workspace, &g_err));
    ok(spark_gemm(g_ctx, &args, &exec, &g_err));
    const size_t bytes = g.out == SPARK_DTYPE_BF16 ? 2 : 4;
    std::vector<uint8_t> d(count * bytes);
    ok(spark_mem_copy_to_host(g_ctx, d.data(), args.d.data, d.size(), 0, &g_err));
    const auto bits_of = [&](int64_t i, int64_t j) {
        uint32_t bits = 0;
        std::memcpy(&bits, &d[static_cast<size_t>(i * g.rows + j) * bytes], bytes);
        return bits;
    };
    for (int64_t i = 0; i < g.rows; ++i) {
        for (int64_t j = 0; j <= i; ++j) {
            const uint32_t here = bits_of(i, j), there = bits_of(j, i);
            if (here != there) fail_msg("%s: d[%d, %d] is %08x, and %08x", info.kernel, int(i), int(j), here, there);
        }
    }
    const int64_t row = g.rows - 1;
    double wanted = 0;
    for (int64_t k = 0; k < g.k; ++k) wanted += number_of(row * g.k + k) * number_of(k);
    if (g.dtype == SPARK_DTYPE_I8) {
        assert_int_equal(static_cast<int32_t>(bits_of(row, 0)), std::lround(wanted * 4096));
    } else {
        float found;
        const uint32_t bits = bits_of(row, 0) << (bytes == 2 ? 16 : 0);
        const double rounding = bytes == 2 ? 0x1p-8 * std::fabs(wanted) : 0;
        std::memcpy(&found, &bits, sizeof found);
        assert_true(std::fabs(found - wanted) < 1e-3 * static_cast<double>(g.k) + rounding);
    }
    for (const spark_devptr at : {args.a.data, args.d.data, exec.workspace}) {
        if (at != 0) ok(spark_mem_free(g_ctx, at, &g_err));
    }
    return info.launches;
}

void x_times_its_transpose(void**) {
    for (const int64_t rows : {1, 7, 16, 65, 130, 200}) {
        check({SPARK_DTYPE_BF16, SPARK_DTYPE_F32, rows, 96});
        check({SPARK_DTYPE_I8, SPARK_DTYPE_I32, rows, 128});
    }
    check({SPARK_DTYPE_BF16, SPARK_DTYPE_F32, 40, 2048}); // k is split
    check({SPARK_DTYPE_BF16, SPARK_DTYPE_F32, 33, 91});   // product by product
}

// On a device of one multiprocessor, where tiles are many: both quarters on the diagonal, one beside them, its copy.
void quarters(void**) {
    spark_device_info device{};
    device.struct_size = sizeof device;
    ok(spark_context_device(g_ctx, &device, &g_err));
    if (device.sm_count != 1) skip();
    assert_int_equal(check({SPARK_DTYPE_BF16, SPARK_DTYPE_F32, 512, 1024}), 3);
    assert_int_equal(check({SPARK_DTYPE_BF16, SPARK_DTYPE_BF16, 512, 1024}), 3);
    assert_int_equal(check({SPARK_DTYPE_BF16, SPARK_DTYPE_F32, 512, 512}), 1);
    assert_int_equal(check({SPARK_DTYPE_BF16, SPARK_DTYPE_F32, 384, 1024}), 1);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(x_times_its_transpose), cmocka_unit_test(quarters)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
