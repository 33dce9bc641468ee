// SPDX-License-Identifier: Apache-2.0
// What a launch may do to the driver: enqueue, and nothing else. Counted at the driver boundary on the emulator, and
// shown by capturing every operator in a graph and replaying it, on the emulator and on a card.
#include "emulator.h"
#include "example.h"

#include <cstring>
#include <memory>
#include <string>

// Last: cmocka defines fail() as a macro, which the C++ headers must not see.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
extern "C" {
#include <cmocka.h>
}

namespace {

spark_context* g_ctx = nullptr;

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

std::vector<unsigned char> fetch(const spark_tensor& t) {
    std::vector<unsigned char> host(t.size_bytes);
    OK(spark_mem_copy_to_host(g_ctx, host.data(), t.data, host.size(), 0, &err));
    return host;
}

// Small finite numbers of the tensor's dtype, different in every element and from one `seed` to the next.
void fill(const spark_tensor& t, uint32_t seed) {
    std::vector<unsigned char> host(t.size_bytes);
    const size_t size = api::element_bits(t.dtype) / 8;
    for (size_t i = 0; i * size < host.size(); ++i) {
        uint64_t bits = (i * 7 + seed) % 13;
        const float value = 0.125f * static_cast<float>(bits) - 0.5f;
        uint32_t f32;
        std::memcpy(&f32, &value, 4);
        if (size >= 4) bits = i + seed % 3; // integers ascend: lists of row starts must, and no place is named twice
        if (t.dtype == SPARK_DTYPE_F32) bits = f32;
        if (t.dtype == SPARK_DTYPE_BF16) bits = f32 >> 16;
        if (t.dtype == SPARK_DTYPE_F16) bits = 0x3000 + bits * 16;
        std::memcpy(&host[i * size], &bits, size);
    }
    OK(spark_mem_copy_to_device(g_ctx, t.data, host.data(), host.size(), 0, &err));
}

void fill_inputs(api::Example& e, uint32_t seed) {
    for (uint32_t f = 0; f < e.desc().num_fields; ++f)
        if (e.desc().fields[f].kind == SPARK_KIND_TENSOR && e.tensor(f).ndim)
            fill(e.tensor(f), (e.desc().fields[f].flags & SPARK_FIELD_OUT) ? 99 : seed + f);
}

std::vector<std::vector<unsigned char>> outputs(api::Example& e) {
    std::vector<std::vector<unsigned char>> all;
    for (uint32_t f = 0; f < e.desc().num_fields; ++f)
        if ((e.desc().fields[f].flags & SPARK_FIELD_OUT) && e.tensor(f).ndim) all.push_back(fetch(e.tensor(f)));
    return all;
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
        OK(spark_stream_create(g_ctx, &stream, &err));
        exec.stream = stream;
        OK(spark_graph_begin(g_ctx, stream, &err));
        OK(spark_op_launch(g_ctx, e.head(), &exec, &err));
        OK(spark_graph_end(g_ctx, stream, &graph, &err));
        for (uint32_t seed : {1u, 5u}) {
            fill_inputs(e, seed);
            OK(spark_op_launch(g_ctx, e.head(), &exec, &err));
            OK(spark_stream_synchronize(g_ctx, stream, &err));
            const auto plain = outputs(e);
            fill_inputs(e, seed);
            OK(spark_graph_launch(g_ctx, graph, stream, &err));
            OK(spark_stream_synchronize(g_ctx, stream, &err));
            if (outputs(e) != plain) fail_msg("%s: the replayed graph gave other bits", spark_op_at(i)->name);
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
    OK(spark_stream_create(fresh, &stream, &err));
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
        OK(spark_graph_begin(fresh, stream, &err));
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

// Code that is not prepared loads at its first launch outside a capture, once.
void zero_sizes_launch_nothing(void**) {
    for (uint32_t i = 0; i < spark_op_count(); ++i) {
        const spark_op_desc& d = *spark_op_at(i);
        api::Arena arena(g_ctx);
        api::Example e(d, arena);
        for (uint32_t f = 0; f < d.num_fields; ++f) { // the first dimension of every field that has "..." becomes 0
            if (d.fields[f].kind != SPARK_KIND_TENSOR || !api::parse_shape(d.fields[f].shape).ellipsis) continue;
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

int setup(void**) {
    g_ctx = api::make_context();
    return g_ctx ? 0 : 1;
}

int teardown(void**) {
    spark_context_destroy(g_ctx);
    return 0;
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(unprepared_in_capture), // first: nothing is loaded yet
        cmocka_unit_test(launch_only_enqueues),
        cmocka_unit_test(captured_and_replayed),
        cmocka_unit_test(zero_sizes_launch_nothing),
    };
    return cmocka_run_group_tests_name("api.launch", tests, setup, teardown);
}
