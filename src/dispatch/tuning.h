// SPDX-License-Identifier: Apache-2.0
// A tuning file: for some problems the kernel that was measured to be the fastest. It changes only which of the legal
// rows is taken (pick.h). Written by spark-bench --tune; the format stands in docs/tuning.md. Reads text, not files.
#pragma once

#include "dispatch/kernel.h"

namespace spark {

constexpr size_t MAX_TUNING_BYTES = size_t{1} << 20;

struct Tuned {
    uint64_t problem, kernel_id;
};

// Of a context: whose files it takes, and what the one that it was given says.
struct Tuning {
    char library[48], chip[96]; // as the file's second and third lines name them
    Tuned* tuned;               // by problem, in rising order; nullptr: no file
    uint32_t count;
};

enum class TuningIs : uint8_t { for_us, for_another_library, for_another_chip, damaged };

// What a text is; if it is damaged, in which line, and what is wrong there: "line 4 of that file " goes before it.
struct TuningVerdict {
    TuningIs is;
    uint32_t line = 0;
    const char* wrong = nullptr;
};

// If the text is for us, `to`, which has room for as many entries as the text has lines, receives the entries and
// `count` their number.
TuningVerdict read_tuning(std::string_view text, const Tuning& us, std::span<const Kernel* const> kernels, Tuned* to,
                          uint32_t& count);

// The kernel that the file has for a problem, or 0.
uint64_t find_tuned(const Tuning& tuning, uint64_t problem);

} // namespace spark
