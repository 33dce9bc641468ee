// SPDX-License-Identifier: Apache-2.0
// cuInit and the version. LIBSPARK_EMU is read here; with a wrong word in it nothing starts.
#include "emu/driver/call.h"
#include "emu/driver/configure.h"

#include <cstdlib>

using namespace emu;
using namespace emu::driver;

constexpr int DRIVER_VERSION = 13000; // the newest interface that is answered for

CUresult cuInit(unsigned flags) {
    ENTER(cuInit, NEED_NOTHING);
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (s.initialised) return CUDA_SUCCESS;
    if (const char* text = secure_getenv("LIBSPARK_EMU"))
        if (const std::string problem = configure(text); !problem.empty()) {
            remark("LIBSPARK_EMU: " + problem);
            return CUDA_ERROR_INVALID_VALUE;
        }
    if (!s.profile) s.profile = find_profile("gb10");
    s.memory.open(*s.profile);
    auto pool = std::make_shared<Pool>();
    pool->is_default = true;
    s.default_pool = s.current_pool = s.pools.add(pool);
    s.initialised = true;
    return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int* version) {
    ENTER(cuDriverGetVersion, NEED_NOTHING);
    if (!version) return CUDA_ERROR_INVALID_VALUE;
    *version = DRIVER_VERSION;
    return CUDA_SUCCESS;
}
