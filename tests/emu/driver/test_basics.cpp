// SPDX-License-Identifier: Apache-2.0
// Initialisation, lookup of functions, device attributes, errors, contexts, configuration, and what is not implemented.
#include "emu/driver/report.h"
#include "tests/emu/driver/fixture.h"

static void refuses_before_init(void**) {
    int count = 7;
    FAILS(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&count));
    assert_int_equal(count, 7);
    assert_int_equal(spark_emu_configure("profile=nonsense"), 1);
    assert_non_null(strstr(spark_emu_last_report(), "gb10"));
    assert_int_equal(spark_emu_configure("colour=blue"), 1);
    for (const char* text :
         {"colour=blue", "sched=randm", "profile=gb11", "profile=", "profile", "report=", "report=stdrr",
          "report=/no/such/folder/file", "profile=gb10,profile=h200", "report=none,report=stderr", "multiprocessors=0",
          "multiprocessors", "multiprocessors=4x", "multiprocessors=49", "multiprocessors=2,multiprocessors=2"}) {
        setenv("LIBSPARK_EMU", text, 1);
        FAILS(CUDA_ERROR_INVALID_VALUE, cuInit(0)); // a run that ignored it would test nothing
        const char* word = strstr(text, ",") ? strstr(text, ",") + 1 : text;
        const std::string said = spark_emu_explain(CUDA_ERROR_INVALID_VALUE);
        if (said.find("LIBSPARK_EMU: ") == said.npos ||
            said.find(std::string(word, 0, strcspn(word, "="))) == said.npos)
            fail_msg("'%s' gives '%s'", text, said.c_str());
    }
    FAILS(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&count));
    setenv("LIBSPARK_EMU", "multiprocessors=3,seed=3", 1);
    OK(cuInit(0));
    assert_int_equal(spark_emu_configure("profile=h200"), 1); // too late
    assert_int_equal(spark_emu_configure("multiprocessors=4"), 1);
    assert_int_equal(spark_emu_configure("profile=gb10"), 0); // it is
    OK(cuInit(0));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuInit(1));
    spark_emu_clear_reports();
    assert_int_equal(spark_emu_report_count(), 0);
    assert_string_equal(spark_emu_last_report(), "");
}

static void looks_functions_up(void**) {
    void* const stale = reinterpret_cast<void*>(uintptr_t{0x1234});
    void* function = stale;
    auto status = static_cast<CUdriverProcAddressQueryResult>(3); // no enumerator, yet a value of the type
    // Above the driver's version: refused, and nothing is touched.
    FAILS(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress_v2("cuMemAlloc", &function, 99000, 0, &status));
    assert_ptr_equal(function, stale);
    assert_int_equal(status, 3);
    // Unknown: success, null, 1.
    OK(cuGetProcAddress_v2("cuNoSuchThing", &function, 13000, 0, &status));
    assert_null(function);
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    // Newer than asked for: success, null, 2.
    function = stale;
    OK(cuGetProcAddress_v2("cuLibraryLoadData", &function, 11000, 0, &status));
    assert_null(function);
    assert_int_equal(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    // The newest form that the version allows.
    OK(cuGetProcAddress_v2("cuMemAlloc", &function, 12000, 0, &status));
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SUCCESS);
    assert_ptr_equal(function, &cuMemAlloc_v2);
    OK(cuGetProcAddress_v2("cuCtxCreate", &function, 13000, 0, nullptr));
    assert_ptr_equal(function, &cuCtxCreate_v4);
    OK(cuGetProcAddress_v2("cuCtxCreate", &function, 3020, 0, nullptr));
    assert_ptr_equal(function, &cuCtxCreate_v2);
    OK(cuGetProcAddress_v2("cuGraphInstantiate", &function, 12000, 0, nullptr));
    assert_ptr_equal(function, &cuGraphInstantiateWithFlags);
    void* per_thread = nullptr;
    OK(cuGetProcAddress_v2("cuLaunchKernel", &per_thread, 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
                           nullptr));
    OK(cuGetProcAddress_v2("cuLaunchKernel", &function, 13000, 0, nullptr));
    assert_ptr_equal(function, &cuLaunchKernel);
    assert_ptr_not_equal(per_thread, function);
    FAILS(CUDA_ERROR_NOT_FOUND, cuGetProcAddress("cuNoSuchThing", &function, 13000, 0));
}

static int attribute(CUdevice_attribute which) {
    int value = -77;
    OK(cuDeviceGetAttribute(&value, which, 0));
    return value;
}

static void describes_the_device(void**) {
    CUdevice device = -1;
    int count = 0, version = 0;
    OK(cuDeviceGetCount(&count));
    assert_int_equal(count, 1);
    OK(cuDeviceGet(&device, 0));
    FAILS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, 1));
    OK(cuDriverGetVersion(&version));
    assert_int_equal(version, 13000);
    char name[64];
    OK(cuDeviceGetName(name, sizeof name, device));
    assert_string_equal(name, "NVIDIA GB10 (emulated)");
    assert_int_equal(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), 12);
    assert_int_equal(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR), 1);
    assert_int_equal(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT), 3); // as the words said
    assert_int_equal(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN), 101376);
    assert_int_equal(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR), 102400);
    assert_int_equal(attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE), 32);
    assert_int_equal(attribute(CU_DEVICE_ATTRIBUTE_INTEGRATED), 1);
    for (int number = 1; number <= 144; number++)
        OK(cuDeviceGetAttribute(&count, static_cast<CUdevice_attribute>(number), 0));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuDeviceGetAttribute(&count, static_cast<CUdevice_attribute>(0), 0));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuDeviceGetAttribute(&count, static_cast<CUdevice_attribute>(1000), 0));
}

static void names_every_error(void**) {
    const char* text = nullptr;
    OK(cuGetErrorName(CUDA_ERROR_NO_BINARY_FOR_GPU, &text));
    assert_string_equal(text, "CUDA_ERROR_NO_BINARY_FOR_GPU");
    OK(cuGetErrorString(CUDA_SUCCESS, &text));
    assert_string_equal(text, "no error");
    FAILS(CUDA_ERROR_INVALID_VALUE, cuGetErrorName(static_cast<CUresult>(12345), &text));
    assert_null(text);
}

static void keeps_a_stack_of_contexts(void**) {
    CUcontext primary = nullptr, again = nullptr, current = nullptr, own = nullptr;
    int value;
    FAILS(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize());
    OK(cuDevicePrimaryCtxRetain(&primary, 0));
    OK(cuDevicePrimaryCtxRetain(&again, 0));
    assert_ptr_equal(primary, again);
    OK(cuCtxPushCurrent_v2(primary));
    OK(cuCtxCreate_v2(&own, 0, 0));
    OK(cuCtxGetCurrent(&current));
    assert_ptr_equal(current, own);
    OK(cuCtxSetCurrent(primary)); // replaces the top
    OK(cuCtxPopCurrent_v2(&current));
    assert_ptr_equal(current, primary);
    OK(cuCtxPopCurrent_v2(&current));
    assert_ptr_equal(current, primary);
    FAILS(CUDA_ERROR_INVALID_CONTEXT, cuCtxPopCurrent_v2(&current));
    FAILS(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy_v2(primary));
    OK(cuCtxDestroy_v2(own));
    FAILS(CUDA_ERROR_INVALID_CONTEXT, cuCtxPushCurrent_v2(own));
    OK(cuDevicePrimaryCtxRelease_v2(0));
    OK(cuCtxPushCurrent_v2(primary));
    OK(cuDevicePrimaryCtxRelease_v2(0));
    FAILS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuCtxSynchronize());
    OK(cuCtxPopCurrent_v2(nullptr));
    FAILS(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease_v2(0));
    unsigned flags;
    OK(cuDevicePrimaryCtxGetState(0, &flags, &value));
    assert_int_equal(value, 0);
}

static void never_pretends(void**) {
    using namespace emu::driver;
    assert_true(unimplemented().size() > 300);
    spark_emu_clear_reports();
    for (const Unimplemented& row : unimplemented()) {
        assert_int_equal(spark_emu_call_count(row.symbol), 0);
        FAILS(CUDA_ERROR_NOT_SUPPORTED, reinterpret_cast<CUresult (*)()>(row.address)());
        FAILS(CUDA_ERROR_NOT_SUPPORTED, reinterpret_cast<CUresult (*)()>(row.address)());
        assert_int_equal(spark_emu_call_count(row.symbol), 2);
        assert_non_null(strstr(spark_emu_last_report(), row.symbol));
        assert_non_null(strstr(spark_emu_explain(CUDA_ERROR_NOT_SUPPORTED), row.symbol));
    }
    assert_int_equal(spark_emu_report_count(), unimplemented().size()); // said once each
    spark_emu_reset_counts();
    spark_emu_clear_reports();
    assert_int_equal(spark_emu_call_count("cuArrayCreate_v2"), 0);
}

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(refuses_before_init),       cmocka_unit_test(looks_functions_up),
        cmocka_unit_test(describes_the_device),      cmocka_unit_test(names_every_error),
        cmocka_unit_test(keeps_a_stack_of_contexts), cmocka_unit_test(never_pretends),
    };
    return cmocka_run_group_tests_name("basics", tests, nullptr, nullptr);
}
