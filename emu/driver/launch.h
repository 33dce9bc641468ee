// SPDX-License-Identifier: Apache-2.0
// From launch arguments to KernelWork, with every check a card makes before it starts. Shared with graph nodes.
#pragma once

#include "emu/driver/work.h"

namespace emu::driver {

struct LaunchArguments {
    CUfunction function = nullptr; // or a kernel handle
    Dim3 grid, block;
    unsigned dynamic_smem = 0;
    void** params = nullptr; // one pointer for each parameter ...
    void** extra = nullptr;  // ... or one packed buffer
    bool cooperative = false;
    Dim3 cluster{0, 0, 0}; // 0: the call does not say
    bool programmatic = false;
};
// What a call says beside its shape; of an attribute that is not known, an error.
CUresult read_attributes(const CUlaunchConfig& config, LaunchArguments& arguments);
// `context`: of the stream; a function handle of another context is refused.
CUresult prepare_launch(const LaunchArguments& arguments, const std::shared_ptr<Context>& context, KernelWork& out);
// `old`: a node's, whose attributes stay; or nullptr. In graph_exec.cpp.
CUresult kernel_node_work(const CUDA_KERNEL_NODE_PARAMS* params, const KernelWork* old, KernelWork& out);

} // namespace emu::driver
