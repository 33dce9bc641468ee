// SPDX-License-Identifier: Apache-2.0
// Launches as data, and the one function that hands them to the driver.
#pragma once

#include <cstring>

#include "runtime/module.h"
#include "runtime/objects.h"

namespace spark {

struct Launch {
    const Kernel* kernel;
    uint32_t grid[3];
    uint32_t smem;
    uint32_t param_bytes; // of the struct; the kernel reads Kernel::param_bytes of it
    alignas(16) std::byte params[1024];

    template <class Params> void set_params(const Params& value) {
        static_assert(sizeof(Params) <= sizeof params && sizeof(Params) % 8 == 0);
        memcpy(params, &value, sizeof value);
        param_bytes = sizeof value;
    }
};

// Everything that one call enqueues: launches in order, each of which sees what those before it have written.
struct Plan {
    static constexpr uint32_t MAX_LAUNCHES = 3;

    spark_devptr workspace;  // told to the operator's plan; 0 where only sizes and kernels are asked for
    uint64_t workspace_size; // bytes that the launches need of it, from the declared bounds alone
    uint32_t count;
    Launch launches[MAX_LAUNCHES];

    Launch& add(const Kernel& kernel) {
        Launch& launch = launches[count++];
        launch.kernel = &kernel;
        launch.smem = kernel.smem;
        return launch;
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
