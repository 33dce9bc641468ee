// SPDX-License-Identifier: Apache-2.0
// The report channel and the tallies: findings of kernels, remarks of the façade, counters of launches, counts of
// calls.
// Has its own lock, so it may be used with or without the state lock. Its readers are the spark_emu_* functions.
#pragma once

#include "emu/engine.h"

#include <span>
#include <string>

namespace emu::driver {

enum class Fn : uint32_t { // every implemented function, by its symbol
#define FUNCTION(base, symbol, version, per_thread, per_thread_version) symbol,
#include "emu/driver/functions.inc"
#undef FUNCTION
    count_
};
void count_call(Fn function);

// Exported without being implemented: see unimplemented.inc.
struct Unimplemented {
    const char* base;
    const char* symbol;
    int version;
    void* address;
};
std::span<const Unimplemented> unimplemented();
void count_unimplemented(size_t index); // counts, and reports the first call of each

void add_reports(const std::vector<Report>& reports);

// What the façade says of the calling thread's newest API call, for spark_emu_explain. A refusal that healthy programs
// meet is only explained; a remark is a report of kind "driver" too, which stops nothing.
void begin_call(); // says nothing of it yet
void explain(std::string text);
const std::string& explained();
void remark(std::string text);
void add_counters(const std::string& kernel, const Counters& counters);

// Where reports are also written when they are made: "" (nowhere), "stderr", or a file name.
void set_report_target(std::string target);

} // namespace emu::driver
