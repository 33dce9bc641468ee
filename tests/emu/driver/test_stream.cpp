// SPDX-License-Identifier: Apache-2.0
// Order: what streams and events promise holds under every seed, and what they do not promise does not.
#include "tests/emu/driver/fixture.h"

// Runs `body` under many seeds of the deferred schedule and collects what it left in the buffer.
template <class Body> static std::set<unsigned> outcomes(Body body) {
    std::set<unsigned> seen;
    for (int seed = 0; seed < 24; seed++) {
        assert_int_equal(spark_emu_configure(("sched=random,seed=" + std::to_string(seed)).c_str()), 0);
        OK(cuMemsetD8_v2(fx.data, 0, COUNT * 4));
        OK(cuCtxSynchronize());
        body();
        OK(cuCtxSynchronize());
        seen.insert(read_one());
    }
    assert_int_equal(spark_emu_configure("sched=round_robin"), 0);
    return seen;
}

static void shows_a_missing_dependency(void**) {
    const auto seen = outcomes([] {
        OK(launch_set(fx.a, 1));
        OK(launch_add(fx.a, 2));
        OK(launch_twice(fx.b)); // may come first, between, or last
    });
    assert_true(seen == (std::set<unsigned>{3, 4, 6}));
}

static void respects_events(void**) {
    CUevent event;
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    const auto seen = outcomes([&] {
        OK(launch_set(fx.a, 1));
        OK(launch_add(fx.a, 2));
        OK(cuEventRecord(event, fx.a));
        OK(cuStreamWaitEvent(fx.b, event, 0));
        OK(launch_twice(fx.b));
        OK(cuEventRecord(event, fx.b));
        OK(cuStreamWaitEvent(fx.a, event, 0));
        OK(launch_add(fx.a, 10));
    });
    assert_true(seen == std::set<unsigned>{16});
    OK(cuEventDestroy_v2(event));
}

static void waits_for_the_record_made_before(void**) { // a later record does not move an earlier wait
    CUevent event;
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    const auto seen = outcomes([&] {
        OK(launch_set(fx.a, 1));
        OK(cuEventRecord(event, fx.a));
        OK(cuStreamWaitEvent(fx.b, event, 0));
        OK(launch_twice(fx.b));
        OK(cuStreamSynchronize(fx.b));
        OK(launch_add(fx.a, 5));
        OK(cuEventRecord(event, fx.a));
    });
    assert_true(seen == std::set<unsigned>{7});
    OK(cuEventDestroy_v2(event));
}

static void orders_blocking_streams_with_the_legacy_stream(void**) {
    CUstream blocking;
    OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    const auto ordered = outcomes([&] {
        OK(launch_set(blocking, 1));
        OK(launch_twice(nullptr));
        OK(launch_add(blocking, 3));
    });
    assert_true(ordered == std::set<unsigned>{5});
    const auto free = outcomes([&] {
        OK(launch_add(fx.a, 1)); // non-blocking: the legacy stream does not wait
        OK(launch_twice(nullptr));
    });
    assert_true(free == (std::set<unsigned>{1, 2}));
    const auto per_thread = outcomes([&] {
        OK(launch_set(CU_STREAM_PER_THREAD, 1));
        OK(launch_twice(CU_STREAM_LEGACY));
    });
    assert_true(per_thread == std::set<unsigned>{2});
    OK(cuStreamDestroy_v2(blocking));
    FAILS(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(blocking));
}

static void defers_until_asked(void**) {
    void* pinned = nullptr;
    OK(cuMemAllocHost_v2(&pinned, 4));
    auto* word = static_cast<volatile unsigned*>(pinned);
    assert_int_equal(spark_emu_configure("sched=random,seed=1"), 0);
    OK(launch_set(fx.a, 4711));
    OK(cuMemcpyDtoHAsync_v2(pinned, fx.data, 4, fx.a));
    *word = 0;
    int polls = 0;
    while (cuStreamQuery(fx.a) == CUDA_ERROR_NOT_READY) assert_true(++polls < 100);
    assert_true(polls > 0);
    assert_int_equal(*word, 4711);
    // A pageable source is read when the call is made, a pinned one when the copy runs.
    unsigned pageable = 5;
    *word = 6;
    OK(cuMemcpyHtoDAsync_v2(fx.data, &pageable, 4, fx.a));
    OK(cuMemcpyHtoDAsync_v2(fx.data + 4, pinned, 4, fx.a));
    pageable = 50;
    *word = 60;
    OK(cuStreamSynchronize(fx.a));
    assert_int_equal(read_one(fx.data), 5);
    assert_int_equal(read_one(fx.data + 4), 60);
    assert_int_equal(spark_emu_configure("sched=round_robin"), 0);
    OK(cuMemFreeHost(pinned));
}

static void finds_work_on_freed_memory(void**) {
    CUdeviceptr x;
    assert_int_equal(spark_emu_configure("sched=starve_low"), 0); // the newest stream first
    OK(cuMemAllocAsync(&x, COUNT * 4, fx.a));
    OK(launch_set(fx.a, 1, x));
    OK(cuStreamSynchronize(fx.a));
    OK(launch_twice(fx.a, x));
    OK(cuMemFreeAsync(x, fx.b)); // not ordered behind the launch
    FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
    assert_int_equal(spark_emu_configure("sched=round_robin"), 0);
    spark_emu_recover();
    spark_emu_clear_reports();
}

static void times_with_events(void**) {
    CUevent start, end, untimed;
    float ms = -1;
    OK(cuEventCreate(&start, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&end, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
    OK(cuEventQuery(start)); // never recorded: complete
    FAILS(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime_v2(&ms, start, end));
    OK(cuEventRecord(start, fx.a));
    OK(launch_set(fx.a, 1));
    OK(cuEventRecord(end, fx.a));
    OK(cuEventRecord(untimed, fx.a));
    OK(cuEventSynchronize(end));
    OK(cuEventElapsedTime_v2(&ms, start, end));
    assert_true(ms >= 0 && ms < 10000);
    FAILS(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime_v2(&ms, start, untimed));
    OK(cuEventDestroy_v2(start));
    FAILS(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(start, fx.a));
    OK(cuEventDestroy_v2(end));
    OK(cuEventDestroy_v2(untimed));
}

// Milliseconds between two events around so many launches.
static float time_of(int launches) {
    CUevent start, end;
    float ms = -1;
    OK(cuEventCreate(&start, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&end, CU_EVENT_DEFAULT));
    OK(cuEventRecord(start, fx.a));
    for (int i = 0; i < launches; i++) OK(launch_set(fx.a, 1));
    OK(cuEventRecord(end, fx.a));
    OK(cuEventSynchronize(end));
    OK(cuEventElapsedTime_v2(&ms, start, end));
    OK(cuEventDestroy_v2(start));
    OK(cuEventDestroy_v2(end));
    return ms;
}

static void counts_time_where_asked(void**) {
    assert_int_equal(spark_emu_configure("clock=counted"), 0);
    const float none = time_of(0), one = time_of(1), three = time_of(3);
    assert_true(none == 1e-3f); // the record itself
    assert_true(one > 2e-3f && one < 1);
    assert_true(std::abs(three - none - 3 * (one - none)) < 1e-6f);
    assert_int_equal(spark_emu_configure("clock=host"), 0);
    assert_int_not_equal(spark_emu_configure("clock=card"), 0);
}

struct Called {
    int times = 0;
    CUresult inner = CUDA_SUCCESS;
};
static void host_function(void* data) {
    auto* called = static_cast<Called*>(data);
    called->times++;
    CUdeviceptr x;
    called->inner = cuMemAlloc_v2(&x, 4);
}
static void stream_callback(CUstream, CUresult status, void* data) {
    auto* called = static_cast<Called*>(data);
    called->times++;
    called->inner = status;
}

static void calls_the_host_in_order(void**) {
    Called function, callback;
    OK(launch_set(fx.a, 1));
    OK(cuLaunchHostFunc(fx.a, host_function, &function));
    OK(cuStreamAddCallback(fx.a, stream_callback, &callback, 0));
    OK(cuStreamSynchronize(fx.a));
    assert_int_equal(function.times, 1);
    assert_int_equal(function.inner, CUDA_ERROR_NOT_PERMITTED); // no driver calls in there
    assert_int_equal(callback.times, 1);
    assert_int_equal(callback.inner, CUDA_SUCCESS);
    OK(launch_beyond(fx.a));
    FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(fx.a));
    spark_emu_recover();
}

static void describes_streams(void**) {
    CUstream stream;
    int priority = 9, least, greatest;
    unsigned flags = 9;
    unsigned long long id_a, id_b;
    CUcontext context;
    OK(cuCtxGetStreamPriorityRange(&least, &greatest));
    OK(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, greatest - 10)); // clamped
    OK(cuStreamGetPriority(stream, &priority));
    assert_int_equal(priority, greatest);
    OK(cuStreamGetFlags(stream, &flags));
    assert_int_equal(flags, CU_STREAM_NON_BLOCKING);
    OK(cuStreamGetId(fx.a, &id_a));
    OK(cuStreamGetId(fx.b, &id_b));
    assert_true(id_a != id_b);
    OK(cuStreamGetCtx(stream, &context));
    assert_ptr_equal(context, fx.context);
    OK(cuStreamDestroy_v2(stream));
}

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(shows_a_missing_dependency),
        cmocka_unit_test(respects_events),
        cmocka_unit_test(waits_for_the_record_made_before),
        cmocka_unit_test(orders_blocking_streams_with_the_legacy_stream),
        cmocka_unit_test(defers_until_asked),
        cmocka_unit_test(finds_work_on_freed_memory),
        cmocka_unit_test(times_with_events),
        cmocka_unit_test(counts_time_where_asked),
        cmocka_unit_test(calls_the_host_in_order),
        cmocka_unit_test(describes_streams),
    };
    return cmocka_run_group_tests_name("stream", tests, open_context, close_context);
}
