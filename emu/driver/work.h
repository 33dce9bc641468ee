// SPDX-License-Identifier: Apache-2.0
// Work: what a stream does and what a graph node does, in one form, so that capture, replay and plain launches share
// every line below the API. Also Op: one piece of work with its place in the order. Used by the scheduler and the
// graphs.
#pragma once

#include "emu/driver/cuda_api.h"
#include "emu/driver/launch_races.h"
#include "emu/driver/names.h"
#include "emu/engine.h"

#include <chrono>
#include <cstddef>
#include <memory>
#include <variant>
#include <vector>

namespace emu::driver {

struct Context;
struct Event;
struct Function;
struct GraphExec;

struct KernelWork {
    std::shared_ptr<Function> function;
    Dim3 grid, block, cluster;
    bool explicit_cluster = false; // somebody said how large they are
    uint32_t dynamic_smem = 0;
    std::vector<std::byte> params; // packed as the kernel's .param list says
    bool cooperative = false;
    bool programmatic = false;          // may begin before the kernel before it on the stream has ended
    std::shared_ptr<const Names> names; // for findings; null: none were said
};

// A box of bytes: `height` x `depth` rows of `width` bytes; a plain copy is one row.
struct CopySide {
    uint64_t address = 0;
    size_t pitch = 0; // from row to row
    size_t slice = 0; // from plane to plane
};
struct CopyWork {
    CopySide from, to;
    size_t width = 0, height = 1, depth = 1;
    std::shared_ptr<std::vector<std::byte>> staged; // pageable source, copied when the call was made
};

struct FillWork {
    uint64_t address = 0;
    size_t pitch = 0; // from row to row
    uint32_t value = 0;
    uint32_t element = 1; // bytes: 1, 2 or 4
    size_t width = 0;     // elements in a row
    size_t height = 1;
};

struct HostWork {
    CUhostFn function = nullptr;
    CUstreamCallback callback = nullptr; // the older form, also told the stream and its status
    CUstream stream = nullptr;
    void* user_data = nullptr;
};

struct RecordWork {
    std::shared_ptr<Event> event;
};
struct WaitWork { // in a graph; in a stream a wait is a dependency
    std::shared_ptr<Event> event;
};
struct FreeWork {
    uint64_t address = 0;
};
struct NoWork {};

using Work = std::variant<NoWork, KernelWork, CopyWork, FillWork, HostWork, RecordWork, WaitWork, FreeWork>;

using Clock = std::chrono::steady_clock;

struct Op {
    uint64_t sequence = 0;            // order of submission
    std::shared_ptr<Context> context; // until it is done: the context's streams remember their last op
    Work work;
    uint32_t unmet = 0;           // dependencies that are not done
    const Op* overlaps = nullptr; // the one of them before whose end it may begin; only compared
    std::vector<std::shared_ptr<Op>> dependents;
    bool done = false;
    Clock::time_point finished{};
    OpOrder order; // with global_races alone
};

} // namespace emu::driver
