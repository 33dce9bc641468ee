// SPDX-License-Identifier: Apache-2.0
// Launches with clusters: who says how large they are, what is refused, and that captures keep it.
#include "tests/emu/driver/fixture.h"

namespace {
CUmodule module_of_clusters;

CUfunction kernel(const char* name) {
    CUfunction found = nullptr;
    OK(cuModuleGetFunction(&found, module_of_clusters, name));
    return found;
}

int load(void** state) {
    open_context(state);
    OK(cuModuleLoadData(&module_of_clusters, CLUSTER_PTX));
    return 0;
}

struct Launch {
    CUlaunchAttribute attribute{};
    CUlaunchConfig config{};
    explicit Launch(unsigned grid, unsigned x = 0, unsigned y = 1, unsigned z = 1) {
        attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        attribute.value.clusterDim = {x, y, z};
        config = {grid, 1, 1, 32, 1, 1, 0, fx.a, &attribute, x ? 1u : 0u};
    }
    const CUlaunchConfig* at() const { return &config; }
    CUresult go(CUfunction function) {
        CUdeviceptr out = fx.data;
        void* params[] = {&out};
        return cuLaunchKernelEx(&config, function, params, nullptr);
    }
};

unsigned last_block_of(Launch launch, CUfunction function) {
    OK(launch.go(function));
    OK(cuStreamSynchronize(fx.a));
    return read_one(fx.data + 4 * (launch.config.gridDimX - 1));
}
} // namespace

static void the_launch_or_the_kernel_says_it(void**) {
    assert_int_equal(last_block_of(Launch(4), kernel("any")), 10); // clusters of one block that nobody asked for
    assert_int_equal(last_block_of(Launch(4, 1), kernel("any")), 1010);
    assert_int_equal(last_block_of(Launch(8, 4), kernel("any")), 1043);
    assert_int_equal(last_block_of(Launch(8), kernel("pairs")), 1021);
    assert_int_equal(last_block_of(Launch(8, 2), kernel("pairs")), 1021);
    assert_int_equal(last_block_of(Launch(8, 8), kernel("some")), 1087);
    CUfunction any = kernel("any");
    OK(cuFuncSetAttribute(any, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2));
    OK(cuFuncSetAttribute(any, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, 1));
    OK(cuFuncSetAttribute(any, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, 1));
    assert_int_equal(last_block_of(Launch(8), any), 1021);
    FAILS(CUDA_ERROR_INVALID_CLUSTER_SIZE, Launch(8, 4).go(any));
    OK(cuFuncSetAttribute(any, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 0));
    OK(cuFuncSetAttribute(any, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, 0));
    OK(cuFuncSetAttribute(any, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, 0));
    FAILS(CUDA_ERROR_NOT_PERMITTED, cuFuncSetAttribute(kernel("pairs"), CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 4));
    int value = 0;
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, kernel("pairs")));
    assert_int_equal(value, 2);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, kernel("some")));
    assert_int_equal(value, 1);
    OK(cuDeviceGetAttribute(&value, CUdevice_attribute(120), 0)); // CLUSTER_LAUNCH
    assert_int_equal(value, 1);
}

static void refuses_what_a_card_refuses(void**) {
    FAILS(CUDA_ERROR_INVALID_CLUSTER_SIZE, Launch(6, 4).go(kernel("any"))); // no multiple
    FAILS(CUDA_ERROR_INVALID_CLUSTER_SIZE, Launch(16, 16).go(kernel("any")));
    FAILS(CUDA_ERROR_INVALID_CLUSTER_SIZE, Launch(8, 4).go(kernel("pairs")));
    FAILS(CUDA_ERROR_INVALID_CLUSTER_SIZE, Launch(7).go(kernel("pairs")));
    FAILS(CUDA_ERROR_INVALID_CLUSTER_SIZE, Launch(8).go(kernel("some")));
    FAILS(CUDA_ERROR_INVALID_CLUSTER_SIZE, Launch(8, 8).go(kernel("few")));
    OK(Launch(8, 4).go(kernel("few")));
    FAILS(CUDA_ERROR_INVALID_VALUE, Launch(8, 2, 0).go(kernel("any")));
    CUfunction any = kernel("any"); // 16 blocks: not on this card, whatever the kernel allows
    OK(cuFuncSetAttribute(any, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
    FAILS(CUDA_ERROR_INVALID_CLUSTER_SIZE, Launch(16, 16).go(any));
    OK(cuFuncSetAttribute(any, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 0));
}

static void says_how_many_fit(void**) {
    int multiprocessors = 0, blocks = 0, clusters = 0;
    OK(cuDeviceGetAttribute(&multiprocessors, CUdevice_attribute(16), 0));
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel("any"), 32, 0));
    OK(cuOccupancyMaxActiveClusters(&clusters, kernel("any"), Launch(8, 4).at()));
    assert_int_equal(clusters, multiprocessors * blocks / 4);
    OK(cuOccupancyMaxPotentialClusterSize(&blocks, kernel("any"), Launch(8).at()));
    assert_int_equal(blocks, 8);
    OK(cuOccupancyMaxPotentialClusterSize(&blocks, kernel("few"), Launch(8).at()));
    assert_int_equal(blocks, 4);
    OK(cuOccupancyMaxPotentialClusterSize(&blocks, kernel("pairs"), Launch(8).at()));
    assert_int_equal(blocks, 2);
}

static void graphs_keep_it(void**) {
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    CUgraphNode node = nullptr;
    size_t count = 1;
    OK(cuStreamBeginCapture_v2(fx.a, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(Launch(8, 4).go(kernel("any")));
    OK(cuStreamEndCapture(fx.a, &graph));
    OK(cuGraphGetNodes(graph, &node, &count));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, fx.a));
    OK(cuStreamSynchronize(fx.a));
    assert_int_equal(read_one(fx.data + 4 * 7), 1043);
    CUdeviceptr out = fx.data + 64;
    void* params[] = {&out};
    CUDA_KERNEL_NODE_PARAMS changed{};
    changed.func = kernel("any");
    changed.gridDimX = 8, changed.gridDimY = changed.gridDimZ = 1;
    changed.blockDimX = 32, changed.blockDimY = changed.blockDimZ = 1;
    changed.kernelParams = params;
    OK(cuGraphExecKernelNodeSetParams_v2(exec, node, &changed));
    OK(cuGraphLaunch(exec, fx.a));
    OK(cuStreamSynchronize(fx.a));
    assert_int_equal(read_one(fx.data + 64 + 4 * 7), 1043);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(the_launch_or_the_kernel_says_it),
        cmocka_unit_test(refuses_what_a_card_refuses),
        cmocka_unit_test(says_how_many_fit),
        cmocka_unit_test(graphs_keep_it),
    };
    return cmocka_run_group_tests(tests, load, close_context);
}
