// SPDX-License-Identifier: Apache-2.0
#include "helpers.h"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace emu {

class Helper {
public:
    Helper() : thread_([this] { serve(); }) {}
    ~Helper() {
        begin({});
        thread_.join();
    }
    Helper(const Helper&) = delete;
    Helper& operator=(const Helper&) = delete;
    void begin(std::function<void()> work) { // nothing: the thread ends
        std::lock_guard<std::mutex> lock(mutex_);
        work_ = std::move(work);
        busy_ = true;
        changed_.notify_all();
    }
    void wait() {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [&] { return !busy_; });
    }

private:
    void serve() {
        std::unique_lock<std::mutex> lock(mutex_);
        for (;;) {
            changed_.wait(lock, [&] { return busy_; });
            if (!work_) return;
            lock.unlock();
            work_();
            lock.lock();
            busy_ = false;
            changed_.notify_all();
        }
    }
    std::mutex mutex_;
    std::condition_variable changed_;
    std::function<void()> work_;
    bool busy_ = false;
    std::thread thread_; // the last member: it uses the others
};

namespace {
// Those that nobody has called now. Never destroyed, for a launch may come after the destructors of this library; ended
// by one of them.
class Resting {
public:
    std::unique_ptr<Helper> take() {
        std::lock_guard<std::mutex> lock(mutex_);
        forget_parents();
        if (resting_.empty()) return nullptr;
        std::unique_ptr<Helper> last = std::move(resting_.back());
        resting_.pop_back();
        return last;
    }
    void give_back(std::unique_ptr<Helper>&& helper) { // it ends if enough of them rest
        std::lock_guard<std::mutex> lock(mutex_);
        if (resting_.size() < most_) resting_.push_back(std::move(helper));
    }
    void end() {
        std::lock_guard<std::mutex> lock(mutex_);
        forget_parents();
        most_ = 0;
        resting_.clear();
    }

private:
    // After a fork they are threads of the parent alone.
    void forget_parents() {
        if (const pid_t now = getpid(); std::exchange(process_, now) == now) return;
        for (std::unique_ptr<Helper>& helper : resting_) of_parents_.push_back(helper.release());
        resting_.clear();
    }
    std::mutex mutex_;
    std::vector<std::unique_ptr<Helper>> resting_;
    std::vector<Helper*> of_parents_; // nobody may join them
    size_t most_ = std::max(1u, std::thread::hardware_concurrency());
    pid_t process_ = getpid();
};

Resting& resting() {
    static Resting* const all = new Resting;
    static const struct End {
        ~End() { all->end(); }
    } end;
    return *all;
}
} // namespace

void Helpers::call(std::function<void()> work) {
    std::unique_ptr<Helper> helper = resting().take();
    if (!helper) helper = std::make_unique<Helper>();
    called_.push_back(std::move(helper));
    called_.back()->begin(std::move(work));
}

Helpers::Helpers() = default;
Helpers::~Helpers() {
    for (std::unique_ptr<Helper>& helper : called_) {
        helper->wait();
        resting().give_back(std::move(helper));
    }
}

} // namespace emu
