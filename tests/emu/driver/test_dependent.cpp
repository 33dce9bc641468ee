// SPDX-License-Identifier: Apache-2.0
// Launches with programmatic serialization: they begin before the kernel before them ends, wait for it in the kernel,
// and one that does not wait is seen to read too early. And what captures, graphs and their updates make of it.
#include "tests/emu/driver/fixture.h"

namespace {
CUmodule module_of_dependents;

CUfunction kernel(const char* name) {
    CUfunction found = nullptr;
    OK(cuModuleGetFunction(&found, module_of_dependents, name));
    return found;
}

int load(void** state) {
    open_context(state);
    OK(cuModuleLoadData(&module_of_dependents, DEPENDENT_PTX));
    return 0;
}

// data = 2 * data + value, a block each.
CUresult launch(const char* name, unsigned value, bool dependent, CUstream stream = fx.a) {
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = dependent;
    const CUlaunchConfig config{COUNT, 1, 1, 1, 1, 1, 0, stream, &attribute, 1};
    CUdeviceptr out = fx.data;
    unsigned n = COUNT;
    void* params[] = {&out, &value, &n};
    return cuLaunchKernelEx(&config, kernel(name), params, nullptr);
}

void begin(const char* schedule) {
    spark_emu_configure(schedule);
    OK(launch_set(fx.a, 1));
    OK(cuStreamSynchronize(fx.a));
}

unsigned end() {
    OK(cuStreamSynchronize(fx.a));
    const unsigned first = read_one();
    assert_int_equal(first, read_one(fx.data + 4 * (COUNT - 1)));
    return first;
}

constexpr unsigned IN_ORDER = (1 * 2 + 3) * 2 + 5, TOO_EARLY = (1 * 2 + 5) * 2 + 3;

unsigned after_late(const char* name, bool dependent) {
    OK(launch("late", 3, false));
    OK(launch(name, 5, dependent));
    return end();
}
} // namespace

static void one_that_waits_sees_all(void**) {
    for (const char* schedule : {"sched=round_robin", "sched=starve_low", "sched=starve_high", "sched=random,seed=1",
                                 "sched=random,seed=2", "sched=random,seed=3"}) {
        begin(schedule);
        assert_int_equal(after_late("waits", true), IN_ORDER);
        OK(launch("waits", 1, true)); // one after the other
        OK(launch("waits", 0, true));
        OK(launch("waits", 1, true));
        assert_int_equal(end(), IN_ORDER * 8 + 4 + 1);
    }
}

static void one_that_does_not_wait_is_found(void**) {
    for (const char* name : {"hasty", "never"}) {
        begin("sched=starve_low");
        assert_int_equal(after_late(name, true), TOO_EARLY);
        begin("sched=starve_high");
        assert_int_equal(after_late(name, true), TOO_EARLY);
    }
    std::set<unsigned> seen;
    for (int seed = 0; seed < 16; seed++) {
        begin(("sched=random,seed=" + std::to_string(seed)).c_str());
        seen.insert(after_late("hasty", true));
    }
    assert_true(seen == (std::set<unsigned>{IN_ORDER, TOO_EARLY}));
}

// Only a kernel of the same stream is overlapped, and only by a launch that says so.
static void others_are_waited_for_by_the_launch(void**) {
    CUevent event = nullptr;
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    begin("sched=starve_low");
    assert_int_equal(after_late("hasty", false), IN_ORDER);
    begin("sched=starve_low");
    OK(launch("late", 3, false));
    OK(cuMemsetD32Async(fx.data, 7, COUNT, fx.a));
    OK(launch("hasty", 5, true));
    assert_int_equal(end(), 19);
    begin("sched=starve_low");
    OK(launch("late", 3, false, fx.b));
    OK(cuEventRecord(event, fx.b));
    OK(cuStreamWaitEvent(fx.a, event, 0));
    OK(launch("hasty", 5, true));
    assert_int_equal(end(), IN_ORDER);
    OK(cuEventDestroy_v2(event));
}

static CUgraph capture(const char* name, bool dependent) {
    CUgraph graph = nullptr;
    OK(cuStreamBeginCapture_v2(fx.a, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(launch("late", 3, dependent)); // the first of a graph waits for what came before the graph
    OK(launch(name, 5, dependent));
    OK(cuStreamEndCapture(fx.a, &graph));
    return graph;
}

static void a_capture_has_programmatic_edges(void**) {
    CUgraphNode from[2], to[2];
    CUgraphEdgeData data[2];
    size_t count = 2;
    CUgraph graph = capture("waits", true);
    FAILS(CUDA_ERROR_LOSSY_QUERY, cuGraphGetEdges(graph, from, to, &count));
    OK(cuGraphGetEdges_v2(graph, from, to, data, &count));
    assert_int_equal(count, 1);
    assert_int_equal(data[0].from_port, 1);
    assert_int_equal(data[0].type, 1);
    OK(cuGraphDestroy(graph));
    graph = capture("waits", false);
    OK(cuGraphGetEdges(graph, from, to, &count));
    OK(cuGraphGetEdges_v2(graph, from, to, data, &count));
    assert_int_equal(data[0].type, 0);
    OK(cuGraphDestroy(graph));
}

static unsigned replay(CUgraphExec exec) {
    begin("sched=starve_low");
    OK(cuGraphLaunch(exec, fx.a));
    return end();
}

static void graphs_replay_and_update_it(void**) {
    CUgraphExec exec = nullptr;
    CUgraphExecUpdateResultInfo info{};
    CUgraph waits = capture("waits", true), hasty = capture("hasty", true), plain = capture("hasty", false);
    OK(cuGraphInstantiateWithFlags(&exec, waits, 0));
    assert_int_equal(replay(exec), IN_ORDER);
    OK(cuGraphExecUpdate_v2(exec, hasty, &info));
    assert_int_equal(replay(exec), TOO_EARLY);
    FAILS(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate_v2(exec, plain, &info));
    assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphInstantiateWithFlags(&exec, plain, 0));
    assert_int_equal(replay(exec), IN_ORDER);
    OK(cuGraphExecDestroy(exec));
    for (CUgraph graph : {waits, hasty, plain}) OK(cuGraphDestroy(graph));
}

static void a_fault_before_it_is_the_streams(void**) {
    begin("sched=starve_low");
    OK(launch_beyond(fx.a));
    OK(launch("waits", 5, true));
    FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(fx.a));
    spark_emu_recover();
    begin("sched=round_robin");
    assert_int_equal(end(), 1);
}

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(one_that_waits_sees_all),
        cmocka_unit_test(one_that_does_not_wait_is_found),
        cmocka_unit_test(others_are_waited_for_by_the_launch),
        cmocka_unit_test(a_capture_has_programmatic_edges),
        cmocka_unit_test(graphs_replay_and_update_it),
        cmocka_unit_test(a_fault_before_it_is_the_streams),
    };
    return cmocka_run_group_tests(tests, load, close_context);
}
