// SPDX-License-Identifier: Apache-2.0
// Host threads that stay from launch to launch: to make one, and what it keeps of its blocks, takes longer than to run
// a small launch. Called by launch.cpp; knows nothing of launches.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace emu {

class Helper;

// Those that one launch has called. Ends only once all of them have done their work.
class Helpers {
public:
    Helpers();
    ~Helpers();
    Helpers(const Helpers&) = delete;
    Helpers& operator=(const Helpers&) = delete;
    void call(std::function<void()> work); // on one more thread; throws std::system_error if there is none
    size_t count() const { return called_.size(); }

private:
    std::vector<std::unique_ptr<Helper>> called_;
};

} // namespace emu
