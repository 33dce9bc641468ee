// SPDX-License-Identifier: Apache-2.0
// A launch as data, and the one function that hands it to the driver.
#pragma once

#include <cstring>

#include "runtime/module.h"

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

// Enqueues it. Loads code if needed, but never on a capturing stream (SPARK_ERR_NOT_PREPARED).
spark_status launch(spark_context& ctx, spark_stream stream, const Launch& launch, Report& report);

} // namespace spark
