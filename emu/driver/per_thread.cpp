// SPDX-License-Identifier: Apache-2.0
// The forms that a program compiled for per-thread default streams calls: the same functions, with stream 0 standing
// for the calling thread's own default stream.
#include "emu/driver/state.h"

namespace {

struct PerThreadDefault {
    PerThreadDefault() { emu::driver::this_thread().per_thread_default = true; }
    ~PerThreadDefault() { emu::driver::this_thread().per_thread_default = false; }
};

} // namespace

#define PER_THREAD(symbol, suffix, parameters, arguments) \
    extern "C" CU_API CUresult symbol##suffix parameters; \
    extern "C" CUresult symbol##suffix parameters {       \
        const PerThreadDefault scope;                     \
        return symbol arguments;                          \
    }
#include "emu/driver/per_thread.inc"
#undef PER_THREAD
