// SPDX-License-Identifier: Apache-2.0
// The emulator's own functions, where the library has opened it: what it found, and what the kernels have cost.
#pragma once

#include "check/runner.h"

namespace check {

class Emulator {
public:
    Emulator(); // looks for it; nothing is found on a card
    // All reports since the last call, and an emulator that works again. Refused images are told only where nothing
    // else is and the run failed: the library offers machine code first and PTX next, and the emulator takes only the
    // second.
    std::string take(bool went_well);
    bool recovers() const { return recover_ != nullptr; }
    Spent spent();

private:
    size_t (*count_)() = nullptr;
    size_t (*text_)(size_t, char*, size_t) = nullptr;
    void (*clear_)() = nullptr;
    void (*recover_)() = nullptr;
    size_t (*counters_)(char*, size_t) = nullptr;
    void (*reset_)() = nullptr;
};

} // namespace check
