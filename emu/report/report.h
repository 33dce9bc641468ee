// SPDX-License-Identifier: Apache-2.0
// One format for every finding, and the list that a launch fills. Called from handlers' slow paths and from checks.
#pragma once

#include <atomic>
#include <mutex>

#include "../exec/allowance.h"
#include "../exec/idle.h"
#include "../exec/warp.h"

namespace emu {

const char* name_of(Space space);         // as reports say it
std::string hex(uint64_t value);          // without 0x
std::string replay(const Launch& launch); // a line with the words that make this run again

struct Launch::State {
    std::mutex mutex;
    std::vector<Report> reports;
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> next_cluster{0};
    Allowance allowance;
    Idle idle;
    std::atomic<int64_t> places{1}; // blocks that the card would take on besides those that run
};

} // namespace emu
