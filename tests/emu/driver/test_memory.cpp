// SPDX-License-Identifier: Apache-2.0
// Allocation, copies, fills, their bounds, and what is known of an address.
#include "tests/emu/driver/fixture.h"

static void copies_round_trip(void**) {
    std::vector<uint8_t> from(1000), to(1000);
    for (size_t i = 0; i < from.size(); i++) from[i] = uint8_t(i * 7);
    CUdeviceptr x, y;
    OK(cuMemAlloc_v2(&x, 1000));
    OK(cuMemAlloc_v2(&y, 1000));
    assert_int_equal(x % 256, 0);
    OK(cuMemcpyHtoD_v2(x, from.data(), 1000));
    OK(cuMemcpyDtoD_v2(y, x, 1000));
    OK(cuMemcpyDtoH_v2(to.data(), y, 1000));
    assert_memory_equal(from.data(), to.data(), 1000);
    std::fill(to.begin(), to.end(), 0);
    OK(cuMemcpyHtoDAsync_v2(x, from.data() + 1, 999, fx.a));
    OK(cuMemcpyDtoDAsync_v2(y, x, 999, fx.a));
    OK(cuMemcpyDtoHAsync_v2(to.data(), y, 999, fx.a));
    assert_memory_equal(from.data() + 1, to.data(), 999); // pageable: done when the call returns
    OK(cuMemcpy(reinterpret_cast<CUdeviceptr>(to.data()), x, 10));
    OK(cuMemFree_v2(x));
    OK(cuMemFree_v2(y));
}

static void refuses_bad_ranges(void**) {
    uint8_t host[64] = {};
    CUdeviceptr x;
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAlloc_v2(&x, 0));
    FAILS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&x, size_t{1} << 50));
    size_t room, total;
    OK(cuMemGetInfo_v2(&room, &total));
    FAILS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&x, room + 1)); // the card has it, perhaps, and the host has not
    size_t pitch;
    FAILS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocPitch_v2(&x, &pitch, SIZE_MAX, 1, 4));
    FAILS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocPitch_v2(&x, &pitch, 512, SIZE_MAX / 256, 4));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemsetD32_v2(fx.data, 0, size_t{1} << 62));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemsetD2D8_v2(fx.data, size_t{1} << 63, 0, 1, 3));
    OK(cuMemAlloc_v2(&x, 64));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(x + 1, host, 64)); // one byte beyond
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2(host, x - 1, 2));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(reinterpret_cast<CUdeviceptr>(host), host, 1)); // not device memory
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(x, nullptr, 1));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemsetD8_v2(x, 1, 65));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemsetD32_v2(x + 1, 1, 1));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(x + 1));
    OK(cuMemcpyHtoD_v2(x, host, 0));
    OK(cuMemFree_v2(x));
    OK(cuMemFree_v2(0));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(x)); // twice
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(x, host, 1));
    OK(cuCtxSynchronize()); // none of it is sticky
}

static void copies_and_fills_rectangles(void**) {
    CUdeviceptr x;
    size_t pitch = 0;
    OK(cuMemAllocPitch_v2(&x, &pitch, 12, 3, 4));
    assert_true(pitch >= 12 && pitch % 32 == 0);
    OK(cuMemsetD2D8_v2(x, pitch, 9, 12, 3));
    OK(cuMemsetD2D16_v2(x + 2, pitch, 0x0102, 2, 2));
    uint8_t host[3][12] = {};
    CUDA_MEMCPY2D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = x;
    copy.srcPitch = pitch;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = host;
    copy.dstPitch = 12;
    copy.WidthInBytes = 12;
    copy.Height = 3;
    OK(cuMemcpy2D_v2(&copy));
    const uint8_t want[3][12] = {{9, 9, 2, 1, 2, 1, 9, 9, 9, 9, 9, 9},
                                 {9, 9, 2, 1, 2, 1, 9, 9, 9, 9, 9, 9},
                                 {9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9}};
    assert_memory_equal(host, want, sizeof want);
    copy.Height = 4;
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(&copy));
    copy.Height = 3;
    copy.srcPitch = 4; // narrower than a row
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpy2DAsync_v2(&copy, fx.a));
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(&copy));
    copy.srcArray = reinterpret_cast<CUarray>(uintptr_t{64});
    FAILS(CUDA_ERROR_NOT_SUPPORTED, cuMemcpy2D_v2(&copy));
    OK(cuMemFree_v2(x));
}

static void shares_host_memory(void**) {
    void* pointer = nullptr;
    OK(cuMemHostAlloc(&pointer, COUNT * 4, CU_MEMHOSTALLOC_DEVICEMAP));
    auto* words = static_cast<unsigned*>(pointer);
    for (unsigned i = 0; i < COUNT; i++) words[i] = i;
    CUdeviceptr address = 0;
    OK(cuMemHostGetDevicePointer_v2(&address, pointer, 0));
    OK(launch_add(fx.a, 5, address));
    OK(cuStreamSynchronize(fx.a));
    assert_int_equal(words[7], 12);
    unsigned type = 0;
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
    assert_int_equal(type, CU_MEMORYTYPE_HOST);
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(address)); // the wrong way to free it
    OK(cuMemFreeHost(pointer));
}

static void knows_its_addresses(void**) {
    size_t before, after, total, bytes;
    OK(cuMemGetInfo_v2(&before, &total));
    CUdeviceptr x, base;
    OK(cuMemAlloc_v2(&x, 1 << 20));
    OK(cuMemGetInfo_v2(&after, &total));
    assert_true(before - after >= 1 << 20);
    OK(cuMemGetAddressRange_v2(&base, &bytes, x + 1000));
    assert_int_equal(base, x);
    assert_int_equal(bytes, 1 << 20);
    FAILS(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange_v2(&base, &bytes, x + (1 << 20)));
    CUcontext context = nullptr;
    OK(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, x));
    assert_ptr_equal(context, fx.context);
    int local = 0;
    FAILS(CUDA_ERROR_INVALID_VALUE,
          cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, reinterpret_cast<CUdeviceptr>(&local)));
    CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    unsigned type = 9;
    void* answers[] = {&type, &bytes};
    OK(cuPointerGetAttributes(2, asked, answers, reinterpret_cast<CUdeviceptr>(&local)));
    assert_int_equal(type, 0);
    OK(cuMemFree_v2(x));
}

static void allocates_in_stream_order(void**) {
    CUmemoryPool pool;
    cuuint64_t used = 0;
    CUdeviceptr x;
    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    OK(cuMemAllocAsync(&x, COUNT * 4, fx.a));
    OK(launch_set(fx.a, 3, x));
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    assert_int_equal(used, COUNT * 4);
    assert_int_equal(read_one(x), 3);
    OK(cuMemFreeAsync(x, fx.a));
    OK(cuStreamSynchronize(fx.a));
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    assert_int_equal(used, 0);
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(x, fx.a));
}

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(copies_round_trip),           cmocka_unit_test(refuses_bad_ranges),
        cmocka_unit_test(copies_and_fills_rectangles), cmocka_unit_test(shares_host_memory),
        cmocka_unit_test(knows_its_addresses),         cmocka_unit_test(allocates_in_stream_order),
    };
    return cmocka_run_group_tests_name("memory", tests, open_context, close_context);
}
