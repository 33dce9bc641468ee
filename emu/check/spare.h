// SPDX-License-Identifier: Apache-2.0
// What a checker keeps of its block takes a megabyte, and longer to make than a small launch runs: a block takes what
// another block on the same host thread has left.
#pragma once

#include <memory>
#include <vector>

namespace emu {

template <class T> class Spare {
public:
    Spare() {
        std::vector<std::unique_ptr<T>>& left = left_behind();
        if (left.empty()) {
            held_ = std::make_unique<T>();
        } else {
            held_ = std::move(left.back());
            left.pop_back();
        }
    }
    ~Spare() {
        if (left_behind().size() < MOST) left_behind().push_back(std::move(held_));
    }
    Spare(const Spare&) = delete;
    Spare& operator=(const Spare&) = delete;
    T& operator*() const { return *held_; }

private:
    static constexpr size_t MOST = 2;
    static std::vector<std::unique_ptr<T>>& left_behind() {
        thread_local std::vector<std::unique_ptr<T>> left = [] {
            std::vector<std::unique_ptr<T>> none;
            none.reserve(MOST);
            return none;
        }();
        return left;
    }
    std::unique_ptr<T> held_;
};

} // namespace emu
