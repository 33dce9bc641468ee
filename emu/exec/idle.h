// SPDX-License-Identifier: Apache-2.0
// When host threads have only blocks that wait for others: do they wait for each other for ever? Yes, once every thread
// has found so since memory last changed. A thread that still runs may change it, so the rest wait a little and look
// again.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace emu {

class Idle {
public:
    // A number that grows with every change() of memory.
    uint64_t moment() {
        std::lock_guard<std::mutex> lock(mutex_);
        return moment_;
    }
    void change() {
        std::lock_guard<std::mutex> lock(mutex_);
        ++moment_;
        waiting_ = 0;
        changed_.notify_all();
    }
    void thread_begins() { // beside the first
        std::lock_guard<std::mutex> lock(mutex_);
        ++threads_;
    }
    void thread_ends() {
        std::lock_guard<std::mutex> lock(mutex_);
        --threads_;
    }
    // All blocks of this thread have been seen to wait since `moment`. True: nobody can go on any more.
    bool for_ever(uint64_t moment) {
        std::unique_lock<std::mutex> lock(mutex_);
        if (moment != moment_) return false;
        if (++waiting_ == threads_) return true;
        // By the clock of the day: the other one needs a newer glibc, and a jump of it costs one look too many.
        changed_.wait_until(lock, std::chrono::system_clock::now() + std::chrono::milliseconds(1),
                            [&] { return moment != moment_; });
        if (moment == moment_) --waiting_;
        return false;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    uint64_t threads_ = 1, waiting_ = 0, moment_ = 0;
};

} // namespace emu
