// SPDX-License-Identifier: Apache-2.0
// A function that runs once: whoever comes first runs it, the others wait. pthread_once does the same, but stands in
// libc.so.6 only since glibc 2.34, and the library is to run on older ones (docs/abi.md).
#pragma once

#include "core/locked.h"

#include <atomic>

namespace spark {

class Once {
public:
    template <class Function> void operator()(Function first) {
        if (done_.load(std::memory_order_acquire)) return;
        const Locked lock(mutex_);
        if (done_.load(std::memory_order_relaxed)) return;
        first();
        done_.store(true, std::memory_order_release);
    }

private:
    std::atomic<bool> done_ = false;
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

} // namespace spark
