// SPDX-License-Identifier: Apache-2.0
// Sixteen host threads at once, in both kinds of schedule: run under ThreadSanitizer this is the proof that the one
// lock covers everything. cmocka's assertions belong to one thread, so the threads count their failures.
#include "tests/emu/driver/fixture.h"

static std::atomic<int> failures{0};

static void expect(bool good) {
    if (!good) failures++;
}

static void work_alone(unsigned number, unsigned rounds) {
    expect(cuCtxPushCurrent_v2(fx.context) == CUDA_SUCCESS);
    CUstream stream, side;
    CUevent event;
    CUdeviceptr own;
    expect(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    expect(cuStreamCreate(&side, CU_STREAM_DEFAULT) == CUDA_SUCCESS);
    expect(cuEventCreate(&event, 0) == CUDA_SUCCESS);
    for (unsigned round = 0; round < rounds; round++) {
        expect(cuMemAlloc_v2(&own, COUNT * 4) == CUDA_SUCCESS);
        std::vector<unsigned> got(COUNT);
        expect(launch_set(stream, number, own) == CUDA_SUCCESS);
        expect(cuEventRecord(event, stream) == CUDA_SUCCESS);
        expect(cuStreamWaitEvent(side, event, 0) == CUDA_SUCCESS);
        expect(launch_twice(side, own) == CUDA_SUCCESS);
        expect(cuMemcpyDtoHAsync_v2(got.data(), own, COUNT * 4, side) == CUDA_SUCCESS);
        for (unsigned value : got) expect(value == number * 2);
        cuStreamQuery(stream);
        expect(launch_set(CU_STREAM_PER_THREAD, 5, own) == CUDA_SUCCESS);
        expect(cuStreamSynchronize(CU_STREAM_PER_THREAD) == CUDA_SUCCESS);
        expect(cuMemFree_v2(own) == CUDA_SUCCESS);
        spark_emu_report_count();
        spark_emu_call_count("cuLaunchKernel");
    }
    expect(cuEventDestroy_v2(event) == CUDA_SUCCESS);
    expect(cuStreamDestroy_v2(stream) == CUDA_SUCCESS);
    expect(cuStreamDestroy_v2(side) == CUDA_SUCCESS);
    expect(cuCtxPopCurrent_v2(nullptr) == CUDA_SUCCESS);
}

static void sixteen(const char* schedule) {
    assert_int_equal(spark_emu_configure(schedule), 0);
    std::vector<std::thread> threads;
    for (unsigned number = 1; number <= 16; number++) threads.emplace_back(work_alone, number, 10u);
    for (std::thread& thread : threads) thread.join();
    assert_int_equal(failures.load(), 0);
    OK(cuCtxSynchronize());
    assert_int_equal(spark_emu_configure("sched=round_robin"), 0);
}

static void runs_eagerly(void**) { sixteen("sched=round_robin"); }
static void runs_deferred(void**) { sixteen("sched=random,seed=3"); }

static void counts_exactly(void**) {
    spark_emu_reset_counts();
    sixteen("sched=random,seed=4");
    assert_int_equal(spark_emu_call_count("cuLaunchKernel"), 16 * 10 * 3);
    assert_int_equal(spark_emu_call_count("cuMemAlloc_v2"), 16 * 10);
}

static void add_to(void* sum) { *static_cast<std::atomic<int>*>(sum) += 1; }

static void shares_one_stream(void**) {
    std::atomic<int> sum{0};
    OK(cuMemsetD8_v2(fx.data, 0, COUNT * 4));
    OK(cuCtxSynchronize());
    std::vector<std::thread> threads;
    for (int t = 0; t < 16; t++)
        threads.emplace_back([&] {
            for (int i = 0; i < 10; i++) {
                expect(launch_add(fx.a, 1) == CUDA_SUCCESS);
                expect(cuLaunchHostFunc(fx.a, add_to, &sum) == CUDA_SUCCESS);
            }
            expect(cuStreamSynchronize(fx.a) == CUDA_SUCCESS);
        });
    for (std::thread& thread : threads) thread.join();
    assert_int_equal(failures.load(), 0);
    assert_int_equal(sum.load(), 160);
    assert_int_equal(read_one(), 160);
}

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(runs_eagerly),
        cmocka_unit_test(runs_deferred),
        cmocka_unit_test(counts_exactly),
        cmocka_unit_test(shares_one_stream),
    };
    return cmocka_run_group_tests_name("threads", tests, open_context, close_context);
}
