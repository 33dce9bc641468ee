// SPDX-License-Identifier: Apache-2.0
// Modules, libraries, function attributes, launches and their refusals, findings that become sticky errors, counts.
#include "emu/driver/names.h"
#include "tests/emu/driver/fixture.h"

static void refuses_modules_with_a_reason(void**) {
    CUmodule module = nullptr;
    spark_emu_clear_reports();
    FAILS(CUDA_ERROR_NO_BINARY_FOR_GPU, cuModuleLoadData(&module, "\x7f"
                                                                  "ELF\2\1\1"));
    assert_non_null(strstr(spark_emu_explain(CUDA_ERROR_NO_BINARY_FOR_GPU), "cubin"));
    assert_int_equal(spark_emu_report_count(), 0); // a healthy program goes on with its PTX
    CUstream stream = nullptr;
    CUcontext gone = nullptr;
    OK(cuCtxCreate_v2(&gone, 0, 0));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    FAILS(CUDA_ERROR_NO_BINARY_FOR_GPU, cuModuleLoadData(&module, "\x7f"
                                                                  "ELF\2\1\1"));
    OK(cuCtxDestroy_v2(gone));
    FAILS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuStreamSynchronize(stream));
    assert_string_equal(spark_emu_explain(CUDA_ERROR_CONTEXT_IS_DESTROYED), ""); // nothing of the call before
    FAILS(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadData(&module, "hello"));
    FAILS(CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
          cuModuleLoadData(&module, ".version 99.0\n.target sm_80\n.address_size 64\n"));
    FAILS(CUDA_ERROR_INVALID_PTX, cuModuleLoadData(&module, ".version 8.8\n.target sm_130\n.address_size 64\n"));
    const char* bogus = ".version 7.0\n.target sm_80\n.address_size 64\n"
                        ".visible .entry k()\n{\n  .reg .b32 a;\n  bogus.u32 a, a, a;\n  ret;\n}\n";
    char log[512] = "untouched";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
    FAILS(CUDA_ERROR_INVALID_PTX, cuModuleLoadDataEx(&module, bogus, 2, options, values));
    assert_non_null(strstr(log, "bogus"));
    assert_int_equal(reinterpret_cast<size_t>(values[1]), strlen(log));
    assert_null(module);
    CUfunction function;
    FAILS(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&function, fx.module, "absent"));
    FAILS(CUDA_ERROR_INVALID_HANDLE, cuModuleGetFunction(&function, nullptr, "set"));
}

static void unwraps_fat_binaries(void**) {
    const std::string ptx = TEST_PTX;
    std::vector<char> bytes(16 + 64 + ptx.size() + 1);
    const auto put = [&](size_t at, auto value) { memcpy(bytes.data() + at, &value, sizeof value); };
    put(0, uint32_t{0xba55ed50}), put(4, uint16_t{1}), put(6, uint16_t{16}), put(8, uint64_t(bytes.size() - 16));
    put(16, uint16_t{1}), put(20, uint32_t{64}), put(24, uint64_t(ptx.size() + 1));
    memcpy(bytes.data() + 80, ptx.c_str(), ptx.size() + 1);
    CUmodule module;
    OK(cuModuleLoadFatBinary(&module, bytes.data()));
    OK(cuModuleUnload(module));
    put(16, uint16_t{2}); // ELF only
    FAILS(CUDA_ERROR_NO_BINARY_FOR_GPU, cuModuleLoadFatBinary(&module, bytes.data()));
}

static void loads_libraries_without_a_context(void**) {
    CUlibrary library;
    CUkernel set = nullptr, listed[8] = {};
    CUcontext held;
    unsigned count = 0;
    OK(cuCtxPopCurrent_v2(&held));
    OK(cuLibraryLoadData(&library, TEST_PTX, nullptr, nullptr, 0, nullptr, nullptr, 0));
    OK(cuLibraryGetKernelCount(&count, library));
    assert_int_equal(count, 6);
    OK(cuLibraryEnumerateKernels(listed, 8, library));
    OK(cuLibraryGetKernel(&set, library, "set"));
    FAILS(CUDA_ERROR_NOT_FOUND, cuLibraryGetKernel(&set, library, "absent"));
    OK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 101376, set, 0));
    FAILS(CUDA_ERROR_INVALID_VALUE,
          cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 101377, set, 0));
    size_t offset = 0, bytes = 0;
    OK(cuKernelGetParamInfo(set, 2, &offset, &bytes));
    assert_int_equal(offset, 12);
    assert_int_equal(bytes, 4);
    FAILS(CUDA_ERROR_INVALID_VALUE, cuKernelGetParamInfo(set, 3, &offset, &bytes));
    // No current context, a kernel handle, an explicit stream: works.
    CUdeviceptr out = fx.data;
    unsigned value = 21, n = COUNT;
    void* params[] = {&out, &value, &n};
    OK(cuLaunchKernel(reinterpret_cast<CUfunction>(set), 2, 1, 1, 64, 1, 1, 65536, fx.a, params, nullptr));
    OK(cuStreamSynchronize(fx.a));
    FAILS(CUDA_ERROR_INVALID_CONTEXT,
          cuLaunchKernel(reinterpret_cast<CUfunction>(set), 2, 1, 1, 64, 1, 1, 0, nullptr, params, nullptr));
    OK(cuCtxPushCurrent_v2(held));
    assert_int_equal(read_one(), 21);
    CUfunction function;
    OK(cuKernelGetFunction(&function, set));
    const char* name = nullptr;
    OK(cuFuncGetName(&name, function));
    assert_string_equal(name, "set");
    int value_of = 0;
    OK(cuFuncGetAttribute(&value_of, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function));
    assert_int_equal(value_of, 101376);
    OK(cuLibraryUnload(library));
    FAILS(CUDA_ERROR_INVALID_HANDLE,
          cuLaunchKernel(reinterpret_cast<CUfunction>(set), 1, 1, 1, 1, 1, 1, 0, fx.a, params, nullptr));
    FAILS(CUDA_ERROR_INVALID_HANDLE, cuLibraryUnload(library));
}

static void refuses_foreign_functions(void**) {
    CUcontext other;
    CUstream stream;
    OK(cuCtxCreate_v4(&other, nullptr, 0, 0));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    FAILS(CUDA_ERROR_INVALID_HANDLE, launch_set(stream, 1)); // a function of fx.context
    OK(launch_set(fx.a, 1));                                 // the stream decides, not the current context
    OK(cuStreamSynchronize(fx.a));
    OK(cuCtxDestroy_v2(other));
    FAILS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuStreamQuery(stream));
}

static void checks_launch_arguments(void**) {
    CUdeviceptr out = fx.data;
    unsigned value = 9, n = COUNT;
    void* params[] = {&out, &value, &n};
    const auto launch = [&](unsigned gx, unsigned gy, unsigned bx, unsigned by, unsigned bz, unsigned smem) {
        return cuLaunchKernel(fx.set, gx, gy, 1, bx, by, bz, smem, fx.a, params, nullptr);
    };
    FAILS(CUDA_ERROR_INVALID_VALUE, launch(0, 1, 32, 1, 1, 0));
    FAILS(CUDA_ERROR_INVALID_VALUE, launch(1, 65536, 32, 1, 1, 0));
    FAILS(CUDA_ERROR_INVALID_VALUE, launch(1, 1, 1025, 1, 1, 0));
    FAILS(CUDA_ERROR_INVALID_VALUE, launch(1, 1, 32, 33, 1, 0));
    FAILS(CUDA_ERROR_INVALID_VALUE, launch(1, 1, 1, 1, 65, 0));
    FAILS(CUDA_ERROR_INVALID_VALUE, launch(1, 1, 32, 1, 1, 49153)); // more than 48 KiB without the attribute
    OK(launch(1, 1, 32, 1, 1, 49152));
    FAILS(CUDA_ERROR_INVALID_VALUE,
          cuFuncSetAttribute(fx.set, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 101377));
    OK(cuFuncSetAttribute(fx.set, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 101376));
    OK(launch(1, 1, 32, 1, 1, 101376));
    FAILS(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, fx.a, params, nullptr));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(fx.set, 1, 1, 1, 1, 1, 1, 0, fx.a, nullptr, nullptr));
    OK(cuLaunchKernel(fx.nothing, 1, 1, 1, 1, 1, 1, 0, fx.a, nullptr, nullptr));
    OK(cuStreamSynchronize(fx.a));
}

static void launches_from_a_buffer_and_with_attributes(void**) {
    struct {
        CUdeviceptr out;
        unsigned value, n;
    } packed{fx.data, 33, COUNT};
    size_t bytes = sizeof packed;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    OK(cuLaunchKernel(fx.set, 2, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra));
    assert_int_equal(read_one(), 33);
    bytes = 24;
    FAILS(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, cuLaunchKernel(fx.set, 2, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra));
    void* params[] = {&packed.out, &packed.value, &packed.n};
    FAILS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(fx.set, 2, 1, 1, 64, 1, 1, 0, nullptr, params, extra));
    packed.value = 34;
    CUlaunchAttribute attributes[2] = {};
    attributes[0].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attributes[0].value.programmaticStreamSerializationAllowed = 1;
    attributes[1].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attributes[1].value.cooperative = 1;
    CUlaunchConfig config{2, 1, 1, 64, 1, 1, 0, fx.a, attributes, 2};
    OK(cuLaunchKernelEx(&config, fx.set, params, nullptr));
    OK(cuStreamSynchronize(fx.a));
    assert_int_equal(read_one(), 34);
    config.gridDimX = 1000000;
    FAILS(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, cuLaunchKernelEx(&config, fx.set, params, nullptr));
    int blocks = 0;
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fx.set, 512, 0));
    assert_int_equal(blocks, 3); // 48 warps
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fx.set, 32, 49 * 1024));
    assert_int_equal(blocks, 2);
}

static void errors_stay_until_the_context_goes(void**) {
    spark_emu_clear_reports();
    OK(launch_set(fx.a, 1));
    OK(launch_beyond(fx.a));
    FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(fx.a));
    FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(fx.b));
    FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
    FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, launch_set(fx.b, 1));
    unsigned value;
    FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemcpyDtoH_v2(&value, fx.data, 4));
    CUdeviceptr x;
    FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemAlloc_v2(&x, 4));
    int count;
    OK(cuDeviceGetCount(&count)); // not of the context
    FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cuFuncGetAttribute(&count, CU_FUNC_ATTRIBUTE_NUM_REGS, fx.set));
    CUcontext fresh;
    FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxCreate_v4(&fresh, nullptr, 0, 0)); // a card makes no new one either
    assert_int_equal(spark_emu_report_count(), 1);
    char text[1024];
    assert_true(spark_emu_report(0, text, sizeof text) > 0);
    assert_non_null(strstr(text, "beyond"));
    spark_emu_recover();
    assert_int_equal(read_one(), 1);
    CUdeviceptr out = fx.data;
    void* params[] = {&out};
    OK(cuLaunchKernel(fx.odd, 1, 1, 1, 1, 1, 1, 0, fx.a, params, nullptr));
    FAILS(CUDA_ERROR_MISALIGNED_ADDRESS, cuStreamSynchronize(fx.a));
    spark_emu_recover();
}

static void findings_name_memory(void**) {
    const emu::driver::Names names{{"x", 0x1000, 256}, {"y", 0x2000, 1}};
    const auto said = [&](const char* address) {
        return emu::driver::with_names(std::string("  load   global 0x") + address + "   4 bytes\n  seed 1\n", names);
    };
    assert_string_equal(said("1000").c_str(), "  load   global 0x1000   4 bytes\n  byte 0 of x, which has 256 bytes\n"
                                              "  seed 1\n");
    assert_true(said("10ff").find("  byte 255 of x, which") != std::string::npos);
    assert_true(said("1100").find("  0 bytes past the end of x, which") != std::string::npos);
    assert_true(said("1fff").find("  1 byte before y, which has 1 byte\n") != std::string::npos);
    assert_true(said("2001").find("  0 bytes past the end of y, which") != std::string::npos);
    assert_true(said("7f0000000000").find("x, which") == std::string::npos); // far from all
    assert_string_equal(emu::driver::with_names("shared 0x1000\n", names).c_str(), "shared 0x1000\n");
}

static void counts_calls_and_launches(void**) {
    spark_emu_reset_counts();
    OK(launch_set(fx.a, 1));
    OK(launch_set(fx.a, 2));
    OK(cuStreamSynchronize(fx.a));
    assert_int_equal(spark_emu_call_count("cuLaunchKernel"), 2);
    assert_int_equal(spark_emu_call_count("cuStreamSynchronize"), 1);
    assert_int_equal(spark_emu_call_count("cuMemAlloc_v2"), 0);
    assert_int_equal(spark_emu_call_count("cuNoSuchThing"), 0);
    std::string json(spark_emu_counters(nullptr, 0) + 1, 0);
    assert_int_equal(spark_emu_counters(json.data(), json.size()), json.size() - 1);
    assert_non_null(
        strstr(json.c_str(), "{\"launches\":2,\"kernels\":{\"set\":{\"launches\":2,\"warp_instructions\":"));
    spark_emu_reset_counts();
    spark_emu_counters(json.data(), json.size());
    assert_string_equal(json.c_str(), "{\"launches\":0,\"kernels\":{}}");
}

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(refuses_modules_with_a_reason),
        cmocka_unit_test(unwraps_fat_binaries),
        cmocka_unit_test(loads_libraries_without_a_context),
        cmocka_unit_test(refuses_foreign_functions),
        cmocka_unit_test(checks_launch_arguments),
        cmocka_unit_test(launches_from_a_buffer_and_with_attributes),
        cmocka_unit_test(errors_stay_until_the_context_goes),
        cmocka_unit_test(findings_name_memory),
        cmocka_unit_test(counts_calls_and_launches),
    };
    return cmocka_run_group_tests_name("launch", tests, open_context, close_context);
}
