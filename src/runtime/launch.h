// SPDX-License-Identifier: Apache-2.0
// Launches as data, and the one function that hands them to the driver.
#pragma once

#include <cstring>

#include "runtime/context.h"
#include "runtime/module.h"
#include "runtime/objects.h"
#include "runtime/tensor_map.h"

namespace spark {

struct Launch {
    const Kernel* kernel;
    Grid grid;
    Grid cluster; // the kernel's, or as the plan says
    uint32_t smem;
    alignas(64) std::byte params[1024]; // the kernel reads Kernel::param_bytes of it
};

// Everything that one call enqueues: launches in order, each of which sees what those before it have written.
struct Plan {
    static constexpr uint32_t MAX_LAUNCHES = 7;

    const Context* encoder;  // told to the operator's plan; nullptr where only sizes and kernels are asked for
    int encoding;            // its first refusal of a tensor map
    spark_devptr workspace;  // told as well; 0 where only sizes and kernels are asked for
    uint64_t workspace_size; // bytes that the launches need of it, from the declared bounds alone
    uint32_t count;
    Launch launches[MAX_LAUNCHES];

    // The kernel's own parameters, and the dimensions of its grid that its header leaves to the plan, as `?`.
    template <class Of, class... Chosen>
    void add(const Of& kernel, const typename Of::Params& params, Chosen... chosen) {
        static_assert(sizeof params <= sizeof Launch::params && sizeof params % 8 == 0);
        Launch& launch = launches[count++];
        launch.kernel = &kernel;
        launch.grid = kernel.grid(params, chosen...);
        launch.cluster = kernel.cluster;
        launch.smem = kernel.smem;
        memcpy(launch.params, &params, sizeof params);
    }
    // A parameter of a launch; without a context, which the driver encodes in, it says nothing.
    TensorMap map(const TensorTile& tile) {
        TensorMap made{};
        if (encoder == nullptr) return made;
        const Current current(*encoder);
        const int code = current.code() != DRIVER_OK ? current.code() : encode(*encoder->driver, tile, made);
        if (encoding == DRIVER_OK) encoding = code;
        return made;
    }
    std::span<const Launch> all() const { return {launches, count}; }
};

// Loads what the plan needs and is not loaded yet; is all of it loaded?
spark_status load(Context& ctx, const Plan& plan, Report& report);
bool loaded(const Context& ctx, const Plan& plan);

// Enqueues all of it, or nothing if a kernel cannot be had. Loads code if needed, but never on a capturing stream
// (SPARK_ERR_NOT_PREPARED).
spark_status launch(Context& ctx, const Stream& stream, const Plan& plan, Report& report);

} // namespace spark
