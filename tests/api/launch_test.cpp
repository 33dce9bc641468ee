// SPDX-License-Identifier: Apache-2.0
// What a launch may do to the driver: enqueue, and nothing else. Counted at the driver boundary on the emulator, and
// shown by capturing every operator in a graph and replaying it, on the emulator and on a card.
#include "emulator.h"

#include <cstring>
#include <memory>
#include <random>
#include <string>

#include "outcome.h"

namespace {

#define OK(expression)                                                              \
    do {                                                                            \
        spark_error err{};                                                          \
        err.struct_size = sizeof err;                                               \
        if ((expression) != SPARK_OK) fail_msg("%s: %s", #expression, err.message); \
    } while (0)

// Every driver function that allocates, loads code or waits.
const char* const FORBIDDEN[] = {
    "cuMemAlloc_v2",      "cuMemAllocAsync",    "cuMemAllocManaged",   "cuMemAllocPitch_v2",  "cuMemFree_v2",
    "cuMemFreeAsync",     "cuMemHostAlloc",     "cuMemAllocHost_v2",   "cuLibraryLoadData",   "cuLibraryGetKernel",
    "cuModuleLoadData",   "cuModuleLoadDataEx", "cuModuleGetFunction", "cuStreamSynchronize", "cuCtxSynchronize",
    "cuEventSynchronize", "cuStreamQuery",      "cuEventQuery",        "cuMemcpyDtoH_v2",     "cuMemcpyHtoD_v2",
    "cuStreamCreate",     "cuEventCreate",
};

void launch_only_enqueues(void**) {
    if (api::driver_calls("cuInit") < 0) return; // a card counts nothing; the graph test below speaks for it
    for (uint32_t i = 0; i < spark_op_count(); ++i) {
        api::Arena arena(g_ctx);
        api::Example e(*spark_op_at(i), arena);
        OK(spark_op_prepare(g_ctx, e.head(), nullptr, &err));
        std::vector<int64_t> before;
        for (const char* name : FORBIDDEN) before.push_back(api::driver_calls(name));
        const int64_t launches = api::driver_calls("cuLaunchKernel") + api::driver_calls("cuLaunchKernelEx");
        OK(spark_op_launch(g_ctx, e.head(), nullptr, &err));
        for (size_t k = 0; k < std::size(FORBIDDEN); ++k)
            if (api::driver_calls(FORBIDDEN[k]) != before[k])
                fail_msg("%s: a launch called %s", spark_op_at(i)->name, FORBIDDEN[k]);
        assert_true(api::driver_calls("cuLaunchKernel") + api::driver_calls("cuLaunchKernelEx") > launches);
        OK(spark_stream_synchronize(g_ctx, 0, &err));
    }
}

// Captured once, replayed on new inputs: the same bits as plain launches on those inputs.
void captured_and_replayed(void**) {
    for (uint32_t i = 0; i < spark_op_count(); ++i) {
        api::Arena arena(g_ctx);
        api::Example e(*spark_op_at(i), arena);
        spark_stream stream = 0;
        spark_graph graph = 0;
        spark_exec exec{};
        exec.struct_size = sizeof exec;
        OK(spark_op_prepare(g_ctx, e.head(), nullptr, &err));
        OK(spark_stream_create(g_ctx, nullptr, &stream, &err));
        exec.stream = stream;
        OK(spark_graph_begin(g_ctx, stream, nullptr, &err));
        OK(spark_op_launch(g_ctx, e.head(), &exec, &err));
        OK(spark_graph_end(g_ctx, stream, &graph, &err));
        for (uint32_t seed : {1u, 5u}) {
            api::fill_tensors(g_ctx, e, seed);
            OK(spark_op_launch(g_ctx, e.head(), &exec, &err));
            OK(spark_stream_synchronize(g_ctx, stream, &err));
            const auto plain = api::outputs(g_ctx, e);
            api::fill_tensors(g_ctx, e, seed);
            OK(spark_graph_launch(g_ctx, graph, stream, &err));
            OK(spark_stream_synchronize(g_ctx, stream, &err));
            if (api::outputs(g_ctx, e) != plain)
                fail_msg("%s: the replayed graph gave other bits", spark_op_at(i)->name);
        }
        OK(spark_graph_destroy(g_ctx, graph, &err));
        OK(spark_stream_destroy(g_ctx, stream, &err));
    }
}

// In a fresh context nothing is loaded: a launch in a capture is refused, says so, and leaves the capture alive.
void unprepared_in_capture(void**) {
    spark_context* fresh = api::make_context();
    assert_non_null(fresh);
    spark_stream stream = 0;
    OK(spark_stream_create(fresh, nullptr, &stream, &err));
    for (uint32_t i = 0; i < spark_op_count(); ++i) {
        api::Arena arena(fresh);
        api::Example e(*spark_op_at(i), arena);
        spark_op_info info{};
        info.struct_size = sizeof info;
        OK(spark_op_query(fresh, e.head(), &info, &err));
        if (info.flags & SPARK_OP_INFO_LOADED) continue; // code is shared by the contexts of a device
        spark_exec exec{};
        exec.struct_size = sizeof exec;
        exec.stream = stream;
        OK(spark_stream_synchronize(fresh, stream, &err));
        OK(spark_graph_begin(fresh, stream, nullptr, &err));
        spark_error err{};
        err.struct_size = sizeof err;
        assert_int_equal(spark_op_launch(fresh, e.head(), &exec, &err), SPARK_ERR_NOT_PREPARED);
        assert_non_null(std::strstr(err.message, "prepare"));
        spark_graph graph = 0;
        OK(spark_graph_end(fresh, stream, &graph, &err));
        OK(spark_graph_destroy(fresh, graph, &err));
        OK(spark_op_prepare(fresh, e.head(), &info, &err));
        assert_true(info.flags & SPARK_OP_INFO_LOADED);
    }
    OK(spark_stream_destroy(fresh, stream, &err));
    spark_context_destroy(fresh);
}

// A tensor that claims more rows than its memory has: the finding names it, whichever call tells of it.
void faults_name_the_tensor(void**) {
    const auto recover = api::emulator_call<void (*)()>("spark_emu_recover");
    if (recover == nullptr) return; // a card says no address
    constexpr uint64_t ROW = 64 * sizeof(float), ROWS = 4;
    api::Arena arena(g_ctx);
    const uint64_t x = arena.take(ROW * (ROWS - 1)), y = arena.take(ROW * ROWS);
    spark_rmsnorm_args norm{};
    norm.hdr.struct_size = sizeof norm, norm.eps = 1e-5f;
    for (spark_tensor* tensor : {&norm.x, &norm.y})
        tensor->dtype = SPARK_DTYPE_F32, tensor->ndim = 2, tensor->shape[0] = ROWS, tensor->shape[1] = 64;
    norm.x.data = x, norm.y.data = y; // no size_bytes: nothing to check them against
    spark_error err{};
    err.struct_size = sizeof err;
    spark_status got = spark_rmsnorm(g_ctx, &norm, nullptr, &err);
    if (got == SPARK_OK) got = spark_stream_synchronize(g_ctx, 0, &err);
    recover();
    assert_int_equal(got, SPARK_ERR_LAUNCH);
    if (std::strstr(err.message, " of x, which has 1024 bytes") == nullptr) fail_msg("%s", err.message);
}

// Code that is not prepared loads at its first launch outside a capture, once.
void zero_sizes_launch_nothing(void**) {
    for (uint32_t i = 0; i < spark_op_count(); ++i) {
        const spark_op_desc& d = *spark_op_at(i);
        api::Arena arena(g_ctx);
        api::Example e(d, arena);
        for (uint32_t f = 0; f < d.num_fields; ++f) { // the first dimension of every field that has "..." becomes 0
            if (api::field(d, f).kind != SPARK_KIND_TENSOR || !api::parse_shape(api::field(d, f).shape).ellipsis)
                continue;
            e.tensor(f).shape[0] = 0;
            std::memset(e.tensor(f).stride, 0, sizeof e.tensor(f).stride);
        }
        spark_op_info info{};
        info.struct_size = sizeof info;
        OK(spark_op_query(g_ctx, e.head(), &info, &err));
        if (!(info.flags & SPARK_OP_INFO_EMPTY)) continue; // no "..." in this operator
        const int64_t before = api::driver_calls("cuLaunchKernel") + api::driver_calls("cuLaunchKernelEx");
        OK(spark_op_launch(g_ctx, e.head(), nullptr, &err));
        assert_int_equal(api::driver_calls("cuLaunchKernel") + api::driver_calls("cuLaunchKernelEx"), before);
        assert_int_equal(info.launches, 0);
        assert_true(arena.untouched());
    }
}

// The first row of d = a b^T of random numbers, by one kernel, or by the library's choice (nullptr).
std::vector<unsigned char> product(api::Arena& arena, int64_t rows, const char* kernel) {
    constexpr int64_t N = 136, K = 960; // a leading dimension that all kernels take
    const auto tensor = [&](int64_t count, int64_t width) {
        spark_tensor t{};
        t.dtype = SPARK_DTYPE_BF16, t.ndim = 2, t.shape[0] = count, t.shape[1] = width;
        t.size_bytes = static_cast<uint64_t>(count * width) * 2, t.data = arena.take(t.size_bytes);
        std::vector<uint16_t> host(static_cast<size_t>(count * width));
        uint32_t random = 1; // each row is the same whatever the number of rows is
        for (uint16_t& word : host) {
            random = random * 1664525 + 1013904223;
            word = static_cast<uint16_t>((random >> 16 & 0x807f) | 0x3f00);
        }
        OK(spark_mem_copy_to_device(g_ctx, t.data, host.data(), host.size() * 2, 0, &err));
        return t;
    };
    spark_gemm_args gemm{};
    gemm.hdr.struct_size = sizeof gemm, gemm.hdr.op = SPARK_OP_GEMM, gemm.hdr.flags = SPARK_FLAG_BATCH_INVARIANT;
    gemm.a = tensor(rows, K), gemm.b = tensor(N, K), gemm.d = tensor(rows, N);
    spark_op_info infos[16]{};
    for (spark_op_info& info : infos) info.struct_size = sizeof info;
    uint32_t count = 0;
    OK(spark_op_kernels(g_ctx, &gemm.hdr, UINT64_MAX, infos, 16, &count, &err));
    spark_exec exec{};
    exec.struct_size = sizeof exec;
    for (uint32_t i = 0; kernel != nullptr && i < count; ++i)
        if (std::string(infos[i].kernel) == kernel) exec.kernel_id = infos[i].kernel_id;
    assert_true(kernel == nullptr || exec.kernel_id != 0);
    OK(spark_op_launch(g_ctx, &gemm.hdr, &exec, &err));
    OK(spark_stream_synchronize(g_ctx, 0, &err));
    std::vector<unsigned char> bits = api::fetch(g_ctx, gemm.d);
    bits.resize(N * 2);
    return bits;
}

// Few tiles and a long sum: kernels that split it need a workspace, the others do not.
void kernels_within_a_workspace(void**) {
    const auto matrix = [](int64_t columns, spark_dtype dtype) {
        spark_tensor t{};
        t.dtype = dtype, t.ndim = 2, t.shape[0] = 128, t.shape[1] = columns;
        return t;
    };
    spark_gemm_args gemm{};
    gemm.hdr.struct_size = sizeof gemm, gemm.hdr.op = SPARK_OP_GEMM;
    gemm.a = gemm.b = matrix(2048, SPARK_DTYPE_BF16), gemm.d = matrix(128, SPARK_DTYPE_F32);
    const auto within = [&](uint64_t limit) {
        std::vector<spark_op_info> infos(16);
        for (spark_op_info& info : infos) info.struct_size = sizeof info;
        uint32_t count = 0;
        OK(spark_op_kernels(g_ctx, &gemm.hdr, limit, infos.data(), 16, &count, &err));
        infos.resize(count);
        return infos;
    };
    const std::vector<spark_op_info> all = within(UINT64_MAX);
    assert_int_not_equal(all[0].workspace_size, 0);
    for (uint64_t limit : {uint64_t{0}, all[0].workspace_size - 1, all[0].workspace_size}) {
        std::vector<spark_op_info> found = within(limit);
        size_t next = 0;
        for (const spark_op_info& info : all) {
            if (info.workspace_size > limit) continue;
            assert_true(next < found.size());
            assert_int_equal(found[next++].kernel_id, info.kernel_id);
        }
        assert_int_equal(next, found.size());
        assert_true(next >= 1 && (next < all.size() || limit == all[0].workspace_size));
        uint32_t count = 0;
        OK(spark_op_kernels(g_ctx, &gemm.hdr, limit, nullptr, 0, &count, &err));
        assert_int_equal(count, next);
    }
}

// What lets dispatch choose freely where a row's bits must not follow the batch.
void kernels_of_one_order_give_the_same_bits(void**) {
    std::vector<unsigned char> first;
    const char* const kernels[] = {"gemm_bf16_tn__64x64x64_s3", "gemm_bf16_tn__128x128x32_s6",
                                   "gemm_bf16_tn__128x256x32_b4", "gemm_bf16_tn__128x128x64_b3", nullptr};
    for (const char* kernel : kernels) {
        for (int64_t rows : {1, 40}) {
            api::Arena arena(g_ctx);
            const std::vector<unsigned char> bits = product(arena, rows, kernel);
            if (first.empty()) first = bits;
            assert_true(bits == first);
        }
    }
}

// Scales of the first `rows` of given rows, which rmsnorm writes with codes: each is made of its row's sum of squares.
std::vector<float> scales_of(uint32_t rows) {
    constexpr uint32_t N = 520; // more than half a turn of a warp
    std::vector<float> numbers(uint64_t{rows} * N), scales(rows);
    std::minstd_rand random;
    for (float& number : numbers) number = static_cast<float>(random()) * 0x1p-30f - 1.0f;
    api::Arena arena(g_ctx);
    spark_rmsnorm_args norm{};
    norm.hdr.struct_size = sizeof norm, norm.eps = 1e-5f;
    for (spark_tensor* tensor : {&norm.x, &norm.y}) tensor->ndim = 2, tensor->shape[0] = rows, tensor->shape[1] = N;
    norm.x.dtype = SPARK_DTYPE_F32, norm.y.dtype = SPARK_DTYPE_E4M3;
    norm.x.data = arena.take(numbers.size() * sizeof(float)), norm.y.data = arena.take(numbers.size());
    norm.y.quant.scheme = SPARK_QUANT_PER_ROW, norm.y.quant.scale_dtype = SPARK_DTYPE_F32;
    norm.y.quant.scale = arena.take(rows * sizeof(float));
    OK(spark_mem_copy_to_device(g_ctx, norm.x.data, numbers.data(), numbers.size() * sizeof(float), 0, &err));
    OK(spark_rmsnorm(g_ctx, &norm, nullptr, &err));
    OK(spark_mem_copy_to_host(g_ctx, scales.data(), norm.y.quant.scale, rows * sizeof(float), 0, &err));
    return scales;
}

// A few rows, and more than a device has warps for, take two ways of one kernel, and the same sums.
void codes_of_a_norm_do_not_follow_other_rows(void**) {
    const std::vector<float> few = scales_of(16), many = scales_of(513);
    assert_memory_equal(few.data(), many.data(), few.size() * sizeof(float));
}

// The kernel of as many rows of n numbers, all aligned.
template <class Args> uint64_t kernel_of(uint32_t op, spark_dtype dtype, int64_t rows, int64_t n) {
    Args args{};
    args.hdr.struct_size = sizeof args, args.hdr.op = op;
    if constexpr (requires { args.eps; }) args.eps = 1e-5f;
    for (spark_tensor* tensor : {&args.x, &args.y}) {
        tensor->dtype = dtype, tensor->ndim = 2, tensor->data = 4096;
        tensor->shape[0] = rows, tensor->shape[1] = n;
    }
    spark_op_info info{};
    info.struct_size = sizeof info;
    OK(spark_op_query(g_ctx, &args.hdr, &info, &err));
    return info.kernel_id;
}

// Kernels of other widths add in other orders: what costs least for many rows is not taken where few have another.
void a_rows_sums_do_not_follow_other_rows(void**) {
    for (spark_dtype dtype : {SPARK_DTYPE_F32, SPARK_DTYPE_BF16}) {
        for (int64_t n = 8; n <= 20000; n += n / 16 * 8 + 8) {
            for (int64_t rows : {7, 100, 1000, 10000, 1000000}) {
                const auto same = [&](auto args, uint32_t op) {
                    using Args = decltype(args);
                    assert_true(kernel_of<Args>(op, dtype, 1, n) == kernel_of<Args>(op, dtype, rows, n));
                };
                same(spark_rmsnorm_args{}, SPARK_OP_RMSNORM), same(spark_l2norm_args{}, SPARK_OP_L2NORM);
                same(spark_layernorm_args{}, SPARK_OP_LAYERNORM), same(spark_softmax_args{}, SPARK_OP_SOFTMAX);
            }
        }
    }
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(unprepared_in_capture), // first: nothing is loaded yet
        cmocka_unit_test(launch_only_enqueues),
        cmocka_unit_test(captured_and_replayed),
        cmocka_unit_test(zero_sizes_launch_nothing),
        cmocka_unit_test(kernels_of_one_order_give_the_same_bits),
        cmocka_unit_test(faults_name_the_tensor),
        cmocka_unit_test(kernels_within_a_workspace),
        cmocka_unit_test(codes_of_a_norm_do_not_follow_other_rows),
        cmocka_unit_test(a_rows_sums_do_not_follow_other_rows),
    };
    return cmocka_run_group_tests_name("api.launch", tests, set_up, tear_down);
}
