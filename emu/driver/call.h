// SPDX-License-Identifier: Apache-2.0
// What every API function does first: count itself, take the state lock, and refuse when it may not run now.
// Included by the files that implement API functions, and by nothing else.
#pragma once

#include "emu/driver/capture.h"
#include "emu/driver/execute.h"
#include "emu/driver/report.h"
#include "emu/driver/scheduler.h"
#include "emu/driver/state.h"

namespace emu::driver {

enum Need : unsigned {
    NEED_NOTHING = 0, // not even cuInit
    NEED_INIT = 1,
    NEED_CONTEXT = 2,  // a current context without a sticky error; implies NEED_INIT
    UNSAFE = 4,        // "potentially unsafe" during stream capture: may be refused, and then invalidates the capture
    FROM_CALLBACK = 8, // may be called by a host function that a stream runs
    NEED_HEALTH = 16   // works without a context, but not under one with a sticky error; implies NEED_INIT
};
CUresult admit(unsigned needs); // the state lock is held

#define ENTER(symbol, needs)  \
    count_call(Fn::symbol);   \
    begin_call();             \
    Lock lock(state().mutex); \
    State& s = state();       \
    (void)s;                  \
    if (const CUresult refusal = admit(needs)) return refusal

} // namespace emu::driver
