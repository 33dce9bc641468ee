// SPDX-License-Identifier: Apache-2.0
// How many instructions a launch may still run: Options::limit, shared out to its host threads turn by turn.
// Never more than the limit are run. Who finds nothing left waits for what the others give back, so that a launch is
// stopped if and only if it needs more than its limit, however many threads run it.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace emu {

class Allowance {
public:
    void open(uint64_t limit, uint64_t threads) {
        limited_ = limit != 0;
        left_ = limit;
        parts_ = 4 * threads; // so that blocks that wait for one another all get a turn
    }

    // What one block may run before another gets its turn.
    class Turn {
    public:
        explicit Turn(Allowance& from) : from_(from), length_(from.take()) {}
        ~Turn() { // a turn that an exception ends gives nothing back
            if (!ended_) from_.give_back(0);
        }
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;
        uint64_t length() const { return length_; }
        // True: all is used up, and nobody else has a turn.
        bool end(uint64_t executed) {
            ended_ = true;
            return from_.give_back(length_ - executed);
        }

    private:
        Allowance& from_;
        uint64_t length_;
        bool ended_ = false;
    };

private:
    // For one turn; 0 only when nothing is left and nobody else can give anything back.
    uint64_t take() {
        if (!limited_) return TURN;
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [&] { return left_ || !turns_; });
        const uint64_t part = left_ ? std::min(TURN, left_ / parts_ + 1) : 0;
        left_ -= part;
        ++turns_;
        return part;
    }
    bool give_back(uint64_t unused) {
        if (!limited_) return false;
        std::lock_guard<std::mutex> lock(mutex_);
        left_ += unused;
        --turns_;
        changed_.notify_all();
        return !left_ && !turns_;
    }

    static constexpr uint64_t TURN = 4u << 20; // warp instructions before another block gets its turn
    std::mutex mutex_;
    std::condition_variable changed_;
    bool limited_ = false;
    uint64_t left_ = 0, turns_ = 0, parts_ = 1;
};

} // namespace emu
