// SPDX-License-Identifier: Apache-2.0
// Stream capture and graphs: replay, forks and joins, and every refusal with its code.
#include "tests/emu/driver/fixture.h"

static CUgraphExec instantiate(CUgraph graph) {
    CUgraphExec exec = nullptr;
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphDestroy(graph));
    return exec;
}

static void captures_and_replays(void**) {
    CUgraph graph = nullptr, seen = nullptr;
    CUstreamCaptureStatus status;
    const CUgraphNode* tips = nullptr;
    cuuint64_t id = 0;
    size_t count = 0;
    OK(launch_set(fx.a, 0));
    OK(cuStreamBeginCapture_v2(fx.a, CU_STREAM_CAPTURE_MODE_GLOBAL));
    unsigned value = 3;
    CUdeviceptr out = fx.data;
    unsigned n = COUNT;
    void* params[] = {&out, &value, &n};
    OK(cuLaunchKernel(fx.add, 2, 1, 1, 64, 1, 1, 0, fx.a, params, nullptr));
    value = 99; // parameters were copied
    OK(launch_twice(fx.a));
    OK(cuMemsetD32Async(fx.data + 8, 77, 1, fx.a));
    OK(cuStreamIsCapturing(fx.a, &status));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    OK(cuStreamGetCaptureInfo_v2(fx.a, &status, &id, &seen, &tips, &count));
    assert_int_equal(count, 1);
    CUgraphNodeType type;
    OK(cuGraphNodeGetType(tips[0], &type));
    assert_int_equal(type, CU_GRAPH_NODE_TYPE_MEMSET);
    OK(cuStreamEndCapture(fx.a, &graph));
    assert_ptr_equal(graph, seen);
    OK(cuStreamIsCapturing(fx.a, &status));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);
    OK(cuStreamSynchronize(fx.a));
    assert_int_equal(read_one(), 0); // nothing ran
    OK(cuGraphGetNodes(graph, nullptr, &count));
    assert_int_equal(count, 3);
    CUgraphNode nodes[3];
    OK(cuGraphGetNodes(graph, nodes, &count));
    OK(cuGraphGetRootNodes(graph, nullptr, &count));
    assert_int_equal(count, 1);
    CUgraphExec exec = instantiate(graph);
    OK(cuGraphUpload(exec, fx.b));
    OK(cuGraphLaunch(exec, fx.b));
    OK(cuGraphLaunch(exec, fx.b));
    OK(cuStreamSynchronize(fx.b));
    assert_int_equal(read_one(), 18); // ((0 + 3) * 2 + 3) * 2
    assert_int_equal(read_one(fx.data + 8), 77);
    OK(cuGraphExecDestroy(exec));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(exec, fx.b));
}

static void captures_across_streams(void**) {
    CUevent fork, join;
    CUgraph graph = nullptr;
    OK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
    OK(cuStreamBeginCapture_v2(fx.a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    OK(launch_set(fx.a, 1));
    OK(cuEventRecord(fork, fx.a));
    OK(cuStreamWaitEvent(fx.b, fork, 0));
    CUstreamCaptureStatus status;
    OK(cuStreamIsCapturing(fx.b, &status));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    OK(launch_add(fx.b, 4));
    OK(cuEventRecord(join, fx.b));
    OK(cuStreamWaitEvent(fx.a, join, 0));
    OK(launch_twice(fx.a));
    OK(cuStreamEndCapture(fx.a, &graph));
    size_t edges = 0;
    OK(cuGraphGetEdges(graph, nullptr, nullptr, &edges));
    assert_int_equal(edges, 3); // set-add, set-twice, add-twice
    CUgraphExec exec = instantiate(graph);
    for (int seed = 0; seed < 16; seed++) {
        spark_emu_configure(("sched=random,seed=" + std::to_string(seed)).c_str());
        OK(cuGraphLaunch(exec, fx.a));
        OK(cuStreamSynchronize(fx.a));
        assert_int_equal(read_one(), 10);
    }
    spark_emu_configure("sched=round_robin");
    OK(cuGraphExecDestroy(exec));
    // An unjoined fork.
    OK(cuStreamBeginCapture_v2(fx.a, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuEventRecord(fork, fx.a));
    OK(cuStreamWaitEvent(fx.b, fork, 0));
    OK(launch_add(fx.b, 4));
    FAILS(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(fx.a, &graph));
    assert_null(graph);
    OK(cuStreamQuery(fx.b)); // free again
    OK(cuEventDestroy_v2(fork));
    OK(cuEventDestroy_v2(join));
}

// Begins a capture, makes the forbidden call, expects its code, and that the capture is spoilt.
template <class Call> static void forbids(CUresult code, Call call, bool spoils = true, CUstream stream = fx.a) {
    CUgraph graph = reinterpret_cast<CUgraph>(uintptr_t{1});
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(launch_set(stream, 1));
    FAILS(code, call());
    CUstreamCaptureStatus status;
    OK(cuStreamIsCapturing(stream, &status));
    assert_int_equal(status, spoils ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE);
    if (spoils) FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, launch_set(stream, 1));
    FAILS(spoils ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS, cuStreamEndCapture(stream, &graph));
    if (spoils) assert_null(graph);
    else OK(cuGraphDestroy(graph));
}

static void refuses_unsafe_calls(void**) {
    CUdeviceptr x = 0;
    unsigned word = 0;
    CUevent outside;
    CUstream blocking;
    OK(cuEventCreate(&outside, 0));
    OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    forbids(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&] { return cuMemAlloc_v2(&x, 4); });
    forbids(
        CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, [&] { return cuMemcpyDtoH_v2(&word, fx.data, 4); }, true, blocking);
    forbids(
        CUDA_SUCCESS, [&] { return cuMemcpyDtoH_v2(&word, fx.data, 4); }, false);
    forbids(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&] { return cuStreamSynchronize(fx.b); });
    forbids(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&] { return cuStreamQuery(fx.b); });
    forbids(
        CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, [&] { return cuStreamQuery(nullptr); }, true, blocking);
    forbids(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&] { return cuModuleUnload(fx.module); });
    forbids(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&] { return cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 2048); });
    forbids(
        CUDA_SUCCESS, [&] { return cuStreamWaitEvent(fx.a, outside, 0); }, false); // never recorded
    OK(cuEventRecord(outside, fx.b));
    forbids(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&] { return cuStreamSynchronize(fx.a); });
    forbids(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&] { return cuStreamQuery(fx.a); });
    forbids(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&] { return cuCtxSynchronize(); });
    forbids(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&] { return cuEventQuery(outside); });
    forbids(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, [&] { return cuStreamWaitEvent(fx.a, outside, 0); });
    forbids(CUDA_ERROR_CAPTURED_EVENT, [&] {
        OK(cuEventRecord(outside, fx.a));
        return cuEventSynchronize(outside);
    });
    forbids(
        CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, [&] { return launch_set(nullptr, 1); }, true, blocking);
    forbids(
        CUDA_ERROR_ILLEGAL_STATE, [&] { return cuStreamBeginCapture_v2(fx.a, CU_STREAM_CAPTURE_MODE_GLOBAL); }, false);
    forbids(
        CUDA_SUCCESS, [&] { return launch_set(nullptr, 1); }, false); // fx.a does not block the legacy stream
    forbids(
        CUDA_SUCCESS, [&] { return launch_set(fx.b, 1); }, false);
    CUgraph graph;
    FAILS(CUDA_ERROR_INVALID_VALUE, cuEventQuery(outside)); // its capture has ended
    FAILS(CUDA_ERROR_INVALID_VALUE, cuStreamWaitEvent(fx.b, outside, 0));
    FAILS(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(fx.a, &graph));
    FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamBeginCapture_v2(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuEventDestroy_v2(outside));
    OK(cuStreamDestroy_v2(blocking));
}

static void refuses_merging(void**) {
    CUgraph graph;
    CUevent event;
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(cuStreamBeginCapture_v2(fx.a, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuStreamBeginCapture_v2(fx.b, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuEventRecord(event, fx.a));
    FAILS(CUDA_ERROR_STREAM_CAPTURE_MERGE, cuStreamWaitEvent(fx.b, event, 0));
    FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(fx.a, &graph));
    FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(fx.b, &graph));
    OK(cuEventDestroy_v2(event));
}

static void knows_modes_and_threads(void**) {
    CUdeviceptr x = 0;
    CUgraph graph;
    const auto from_another_thread = [&](CUresult expected) {
        CUresult got = CUDA_ERROR_UNKNOWN;
        std::thread([&] {
            cuCtxPushCurrent_v2(fx.context);
            got = cuMemAlloc_v2(&x, 4);
            if (got == CUDA_SUCCESS) cuMemFree_v2(x);
        }).join();
        assert_int_equal(got, expected);
    };
    OK(cuStreamBeginCapture_v2(fx.a, CU_STREAM_CAPTURE_MODE_GLOBAL));
    from_another_thread(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(fx.a, &graph));
    OK(cuStreamBeginCapture_v2(fx.a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    from_another_thread(CUDA_SUCCESS);
    OK(cuStreamEndCapture(fx.a, &graph));
    OK(cuGraphDestroy(graph));
    OK(cuStreamBeginCapture_v2(fx.a, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuMemAlloc_v2(&x, 4));
    OK(cuMemFree_v2(x));
    CUresult ended = CUDA_ERROR_UNKNOWN;
    std::thread([&] { ended = cuStreamEndCapture(fx.a, &graph); }).join();
    assert_int_equal(ended, CUDA_SUCCESS);
    OK(cuGraphDestroy(graph));
    OK(cuStreamBeginCapture_v2(fx.a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    std::thread([&] { ended = cuStreamEndCapture(fx.a, &graph); }).join();
    assert_int_equal(ended, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    FAILS(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(fx.a, &graph)); // the other thread did end it
    OK(cuStreamBeginCapture_v2(fx.a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    OK(cuMemAlloc_v2(&x, 4));
    OK(cuMemFree_v2(x));
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    OK(cuStreamEndCapture(fx.a, &graph));
    OK(cuGraphDestroy(graph));
}

static void counted(void* data) { ++*static_cast<int*>(data); }

static void builds_by_hand(void**) {
    CUgraph graph;
    CUgraphNode clear, set, host, empty, copy, recorded, bad;
    OK(cuGraphCreate(&graph, 0));
    CUdeviceptr out = fx.data;
    unsigned value = 5, n = COUNT;
    void* params[] = {&out, &value, &n};
    CUDA_KERNEL_NODE_PARAMS kernel{fx.add, 2, 1, 1, 64, 1, 1, 0, params, nullptr, nullptr, nullptr};
    const CUDA_MEMSET_NODE_PARAMS fill{fx.data, 0, 1, 4, COUNT, 1};
    int times = 0;
    const CUDA_HOST_NODE_PARAMS call{counted, &times};
    unsigned result = 0;
    CUDA_MEMCPY3D box{};
    box.srcMemoryType = CU_MEMORYTYPE_DEVICE, box.srcDevice = fx.data;
    box.dstMemoryType = CU_MEMORYTYPE_HOST, box.dstHost = &result;
    box.WidthInBytes = 4, box.Height = 1, box.Depth = 1;
    CUevent event;
    OK(cuEventCreate(&event, 0));
    OK(cuGraphAddMemsetNode(&clear, graph, nullptr, 0, &fill, fx.context));
    OK(cuGraphAddKernelNode_v2(&set, graph, &clear, 1, &kernel));
    OK(cuGraphAddHostNode(&host, graph, &set, 1, &call));
    OK(cuGraphAddEmptyNode(&empty, graph, &host, 1));
    OK(cuGraphAddMemcpyNode(&copy, graph, &empty, 1, &box, fx.context));
    OK(cuGraphAddEventRecordNode(&recorded, graph, &copy, 1, event));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddEmptyNode(&bad, graph, &bad, 1));
    CUgraphExec exec;
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, fx.a));
    OK(cuEventSynchronize(event));
    assert_int_equal(result, 6);
    assert_int_equal(times, 1);
    value = 40;
    OK(cuGraphExecKernelNodeSetParams_v2(exec, set, &kernel));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphExecKernelNodeSetParams_v2(exec, clear, &kernel));
    OK(cuGraphLaunch(exec, fx.a));
    OK(cuStreamSynchronize(fx.a));
    assert_int_equal(result, 41);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy(graph));
    OK(cuEventDestroy_v2(event));
}

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(captures_and_replays),    cmocka_unit_test(captures_across_streams),
        cmocka_unit_test(refuses_unsafe_calls),    cmocka_unit_test(refuses_merging),
        cmocka_unit_test(knows_modes_and_threads), cmocka_unit_test(builds_by_hand),
    };
    return cmocka_run_group_tests_name("capture", tests, open_context, close_context);
}
