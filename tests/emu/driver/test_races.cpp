// SPDX-License-Identifier: Apache-2.0
// Races between launches, copies and fills: what streams, events, graphs and waits of the host do not order.
#include "tests/emu/driver/fixture.h"

namespace {

constexpr const char* SCHEDULES[] = {"sched=round_robin", "sched=random,seed=3", "sched=starve_low"};

// Does `body` end with a race, in one way under every schedule?
template <class Body> bool races(Body body) {
    int found = 0;
    for (const char* schedule : SCHEDULES) {
        OK(cuMemsetD8_v2(fx.data, 0, COUNT * 4));
        OK(cuCtxSynchronize());
        assert_int_equal(spark_emu_configure((std::string(schedule) + ",global_races=1").c_str()), 0);
        body();
        const CUresult ended = cuCtxSynchronize();
        if (ended) {
            assert_int_equal(ended, CUDA_ERROR_LAUNCH_FAILED);
            const char* text = spark_emu_last_report();
            assert_non_null(strstr(text, "race between launches"));
            assert_non_null(strstr(text, "orders the two"));
            found++;
            close_context(nullptr);
            open_context(nullptr);
        }
        assert_int_equal(spark_emu_configure("sched=round_robin,global_races=0"), 0);
        spark_emu_clear_reports();
    }
    assert_true(found == 0 || found == 3);
    return found;
}

void finds_launches_on_two_streams(void**) {
    assert_true(races([] {
        OK(launch_set(fx.a, 1));
        OK(launch_twice(fx.b)); // one reads what the other writes
    }));
    assert_true(races([] {
        OK(launch_set(fx.a, 1));
        OK(launch_set(fx.b, 2)); // both write
    }));
    assert_true(races([] {
        OK(launch_set(fx.a, 1));
        OK(launch_add(fx.a, 1));
        OK(launch_twice(fx.b)); // the first of a stream may not be the one that is met
    }));
    assert_false(races([] { // beside each other
        OK(launch_set(fx.a, 1));
        CUdeviceptr other;
        OK(cuMemAllocAsync(&other, COUNT * 4, fx.b));
        OK(launch_set(fx.b, 2, other));
        OK(cuMemFreeAsync(other, fx.b));
    }));
    assert_false(races([] { // one after the other
        OK(launch_set(fx.a, 1));
        OK(launch_twice(fx.a));
    }));
}

void finds_copies_and_fills(void**) {
    static unsigned host[COUNT];
    CUdeviceptr other;
    OK(cuMemAlloc_v2(&other, COUNT * 4));
    OK(cuMemsetD8_v2(other, 1, COUNT * 4));
    assert_true(races([&] {
        OK(launch_set(fx.a, 1));
        OK(cuMemcpyHtoDAsync_v2(fx.data, host, 4, fx.b));
    }));
    OK(cuMemAlloc_v2(&other, COUNT * 4)); // the context is another one
    OK(cuMemsetD8_v2(other, 1, COUNT * 4));
    assert_true(races([&] {
        OK(launch_set(fx.a, 1));
        CUdeviceptr to;
        OK(cuMemAlloc_v2(&to, COUNT * 4));
        OK(cuMemcpyDtoDAsync_v2(to, fx.data + 4 * (COUNT - 1), 4, fx.b)); // the last word is read
    }));
    assert_true(races([] {
        OK(launch_set(fx.a, 1));
        OK(cuMemsetD32Async(fx.data, 7, 1, fx.b));
    }));
    assert_false(races([] { // a copy and a launch that only read
        OK(cuMemcpyDtoHAsync_v2(host, fx.data, 4, fx.b));
        OK(cuMemcpyDtoHAsync_v2(host + 1, fx.data, 4, fx.a));
    }));
}

void knows_events_and_waits(void**) {
    const auto with_event = [](auto between) {
        return races([&] {
            CUevent event;
            OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
            OK(launch_set(fx.a, 1));
            OK(cuEventRecord(event, fx.a));
            between(event);
            OK(launch_twice(fx.b));
            cuEventDestroy_v2(event); // fails behind a race
        });
    };
    assert_true(with_event([](CUevent) {}));
    assert_false(with_event([](CUevent event) { OK(cuStreamWaitEvent(fx.b, event, 0)); }));
    assert_false(with_event([](CUevent event) { OK(cuEventSynchronize(event)); }));
    assert_false(with_event([](CUevent event) {
        while (cuEventQuery(event) == CUDA_ERROR_NOT_READY) {}
    }));
    assert_false(with_event([](CUevent) { OK(cuStreamSynchronize(fx.a)); }));
    assert_false(with_event([](CUevent) {
        while (cuStreamQuery(fx.a) == CUDA_ERROR_NOT_READY) {}
    }));
    assert_true(with_event([](CUevent) { OK(cuStreamSynchronize(fx.b)); })); // the other one
    assert_true(with_event([](CUevent event) {                               // what came behind the record
        OK(launch_add(fx.a, 1));
        OK(cuStreamWaitEvent(fx.b, event, 0));
    }));
}

void knows_the_legacy_stream(void**) {
    CUstream blocking;
    OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    assert_false(races([&] {
        OK(launch_set(blocking, 1));
        OK(launch_twice(nullptr));
        OK(launch_add(blocking, 3));
    }));
    OK(cuStreamDestroy_v2(blocking));
    assert_true(races([] {
        OK(launch_add(fx.a, 1)); // non-blocking: the legacy stream does not wait
        OK(launch_twice(nullptr));
    }));
}

void knows_host_functions(void**) {
    static std::atomic<bool> told;
    assert_false(races([] {
        told = false;
        OK(launch_set(fx.a, 1));
        OK(cuLaunchHostFunc(
            fx.a, [](void*) { told = true; }, nullptr));
        while (!told) cuStreamQuery(fx.a);
        OK(launch_twice(fx.b));
    }));
}

void knows_edges_of_graphs(void**) {
    const auto in_graph = [](bool joined) {
        return races([&] {
            CUevent fork, join;
            OK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
            OK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
            CUgraph graph;
            CUgraphExec exec;
            OK(cuStreamBeginCapture_v2(fx.a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
            OK(cuEventRecord(fork, fx.a));
            OK(cuStreamWaitEvent(fx.b, fork, 0));
            OK(launch_set(fx.a, 1));
            if (joined) {
                OK(cuEventRecord(fork, fx.a));
                OK(cuStreamWaitEvent(fx.b, fork, 0));
            }
            OK(launch_twice(fx.b));
            OK(cuEventRecord(join, fx.b));
            OK(cuStreamWaitEvent(fx.a, join, 0));
            OK(cuStreamEndCapture(fx.a, &graph));
            OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
            OK(cuGraphLaunch(exec, fx.a));
            launch_add(fx.a, 1); // behind all of it; fails behind a race, as the rest does
            cuGraphExecDestroy(exec);
            cuGraphDestroy(graph);
        });
    };
    assert_true(in_graph(false));
    assert_false(in_graph(true));
}

// count(at): one atomic addition. publish(at): a word, and behind a fence a flag. look(at): the word, if the flag that
// is acquired says so.
#define KERNEL(name, body)                                                                     \
    ".visible .entry " name "(.param .u64 at)\n{\n  .reg .pred p; .reg .b32 v; .reg .b64 a;\n" \
    "  ld.param.u64 a, [at]; mov.u32 v, %tid.x; setp.ne.u32 p, v, 0; @p ret;\n" body "  ret;\n}\n"
constexpr const char* FLAGS_PTX =
    ".version 7.0\n.target sm_80\n.address_size 64\n" KERNEL("count", "  atom.global.add.u32 v, [a], 1;\n")
        KERNEL("count_in_block", "  atom.relaxed.cta.global.add.u32 v, [a], 1;\n")
            KERNEL("publish", "  st.global.u32 [a+4], 7; fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [a], 1;\n")
                KERNEL("look", "  ld.acquire.gpu.global.u32 v, [a]; setp.ne.u32 p, v, 0; @p ld.global.u32 v, [a+4];\n");

// Two kernels on two streams, the second behind an event if they are `ordered`. Those with a box in their name take a
// tensor map of the data, the others its address.
bool pair(const char* text, const char* first, const char* second, bool ordered = false) {
    return races([&] {
        CUmodule module;
        CUtensorMap map;
        CUevent event;
        const cuuint64_t words = COUNT;
        const cuuint32_t box = 4, step = 1, u32 = 2; // of CUtensorMapDataType
        OK(cuModuleLoadData(&module, text));
        OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
        OK(cuTensorMapEncodeTiled(&map, u32, 1, reinterpret_cast<void*>(fx.data), &words, nullptr, &box, &step, 0, 0, 0,
                                  0));
        for (const auto& [name, stream] : {std::pair(first, fx.a), std::pair(second, fx.b)}) {
            CUfunction kernel;
            OK(cuModuleGetFunction(&kernel, module, name));
            void* params[] = {strstr(name, "box") ? static_cast<void*>(&map) : &fx.data};
            OK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, params, nullptr));
            if (!ordered) continue;
            OK(cuEventRecord(event, stream));
            OK(cuStreamWaitEvent(fx.b, event, 0));
        }
        cuEventDestroy_v2(event); // fails behind a race
    });
}

void knows_atomics_and_flags(void**) {
    assert_false(pair(FLAGS_PTX, "count", "count"));
    assert_true(pair(FLAGS_PTX, "count_in_block", "count"));
    assert_false(pair(FLAGS_PTX, "publish", "look"));
}

void knows_bulk_copies(void**) {
    for (const auto& [first, second] : {std::pair("store", "take"),
                                        {"give", "take"},
                                        {"sum", "take"},
                                        {"sum", "look_anyway"},
                                        {"store", "take_box"},
                                        {"give_box", "take"},
                                        {"give", "take_box"},
                                        {"sum_box", "take_box"},
                                        {"publish_early", "look_anyway"}}) {
        if (!pair(BULK_PTX, first, second)) fail_msg("%s, then %s", first, second);
        if (!pair(BULK_PTX, second, first)) fail_msg("%s, then %s", second, first);
        assert_false(pair(BULK_PTX, first, second, true));
    }
    assert_false(pair(BULK_PTX, "take", "take_box"));      // both read
    assert_false(pair(BULK_PTX, "sum", "sum_box"));        // both are atomic
    assert_false(pair(BULK_PTX, "give", "give_box"));      // the same values
    assert_false(pair(BULK_PTX, "give_next_box", "take")); // beside each other
    assert_false(pair(BULK_PTX, "publish", "look"));
}

void knows_values_that_stay(void**) { // as blocks that clear the same words
    assert_false(races([] {
        OK(launch_set(fx.a, 0));
        OK(launch_set(fx.b, 0));
    }));
}

void many_launches_in_order(void**) {
    assert_false(races([] {
        CUevent event;
        OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
        for (int i = 0; i < 40; i++) {
            const CUstream here = i % 2 ? fx.a : fx.b, there = i % 2 ? fx.b : fx.a;
            OK(launch_add(here, 1));
            OK(cuEventRecord(event, here));
            OK(cuStreamWaitEvent(there, event, 0));
        }
        OK(cuEventDestroy_v2(event));
    }));
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(finds_launches_on_two_streams), cmocka_unit_test(finds_copies_and_fills),
        cmocka_unit_test(knows_events_and_waits),        cmocka_unit_test(knows_the_legacy_stream),
        cmocka_unit_test(knows_host_functions),          cmocka_unit_test(knows_edges_of_graphs),
        cmocka_unit_test(knows_atomics_and_flags),       cmocka_unit_test(knows_bulk_copies),
        cmocka_unit_test(knows_values_that_stay),        cmocka_unit_test(many_launches_in_order),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
