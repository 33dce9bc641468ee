// SPDX-License-Identifier: Apache-2.0
// What every façade test starts from: cmocka, a current context, the test module, and shorthands for launches.
#pragma once

#include "emu/driver/cuda_api.h"
#include "emu/include/spark_emu.h"
#include "tests/emu/driver/kernels.h"

#include <atomic> // before cmocka.h, which has a macro of the name `fail`
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>
extern "C" {
#include <cmocka.h>
}

#define OK(call) assert_int_equal((call), CUDA_SUCCESS)
#define FAILS(code, call) assert_int_equal((call), (code))

inline constexpr unsigned COUNT = 100;

struct Fixture {
    CUcontext context{};
    CUmodule module{};
    CUfunction set{}, add{}, twice{}, beyond{}, odd{}, nothing{};
    CUdeviceptr data{};
    CUstream a{}, b{}; // non-blocking
};
inline Fixture fx;

inline int open_context(void**) { // group setup
    spark_emu_configure("sched=round_robin,seed=0");
    OK(cuInit(0));
    OK(cuCtxCreate_v4(&fx.context, nullptr, 0, 0));
    OK(cuModuleLoadData(&fx.module, TEST_PTX));
    OK(cuModuleGetFunction(&fx.set, fx.module, "set"));
    OK(cuModuleGetFunction(&fx.add, fx.module, "add"));
    OK(cuModuleGetFunction(&fx.twice, fx.module, "twice"));
    OK(cuModuleGetFunction(&fx.beyond, fx.module, "beyond"));
    OK(cuModuleGetFunction(&fx.odd, fx.module, "odd"));
    OK(cuModuleGetFunction(&fx.nothing, fx.module, "nothing"));
    OK(cuMemAlloc_v2(&fx.data, COUNT * 4));
    OK(cuMemsetD8_v2(fx.data, 0, COUNT * 4));
    OK(cuStreamCreate(&fx.a, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&fx.b, CU_STREAM_NON_BLOCKING));
    OK(cuCtxSynchronize());
    return 0;
}

inline int close_context(void**) { // group teardown
    spark_emu_recover();
    OK(cuCtxDestroy_v2(fx.context));
    return 0;
}

inline CUresult launch_set(CUstream stream, unsigned value, CUdeviceptr out = fx.data) {
    unsigned n = COUNT;
    void* params[] = {&out, &value, &n};
    return cuLaunchKernel(fx.set, 2, 1, 1, 64, 1, 1, 0, stream, params, nullptr);
}
inline CUresult launch_add(CUstream stream, unsigned value, CUdeviceptr out = fx.data) {
    unsigned n = COUNT;
    void* params[] = {&out, &value, &n};
    return cuLaunchKernel(fx.add, 2, 1, 1, 64, 1, 1, 0, stream, params, nullptr);
}
inline CUresult launch_twice(CUstream stream, CUdeviceptr out = fx.data) {
    unsigned n = COUNT;
    void* params[] = {&out, &n};
    return cuLaunchKernel(fx.twice, 2, 1, 1, 64, 1, 1, 0, stream, params, nullptr);
}
inline CUresult launch_beyond(CUstream stream) {
    CUdeviceptr out = fx.data;
    unsigned long long far = COUNT * 4;
    void* params[] = {&out, &far};
    return cuLaunchKernel(fx.beyond, 1, 1, 1, 1, 1, 1, 0, stream, params, nullptr);
}
inline unsigned read_one(CUdeviceptr from = fx.data) {
    unsigned value = 0;
    OK(cuMemcpyDtoH_v2(&value, from, 4));
    return value;
}
