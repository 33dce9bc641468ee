// SPDX-License-Identifier: Apache-2.0
// Runs one case with one kernel and brings back all memory it could have touched.
// Two kinds: the library (through its public C API, on the emulator or a card), and the oracle itself, which computes
// nothing on a device and exists to test the comparison.
#pragma once

#include "check/case.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace check {

// A kernel that is legal for a case. `id` 0: the library's own way (the only one where nothing is launched).
struct Choice {
    std::string name;
    uint64_t id = 0;
    uint64_t workspace = 0;
    bool deterministic = true;
};

constexpr size_t GUARD = 4096; // bytes before and after each storage
// What cp.async copies at once. compute-sanitizer takes one of fewer bytes (src-size) as one of CHUNK, and
// reports it at the end of an allocation, though it never leaves the aligned chunk whose first bytes are there.
constexpr size_t CHUNK = 16;
constexpr uint8_t GUARD_BYTE = 0xfd; // a NaN in no format's canonical form; seen in results it says where it came from

struct RunOptions {
    uint8_t poison = 0xff; // what outputs hold before the launch
    bool tight = false;    // no guard zones: the allocation ends where the storage ends, so that reads beyond it fault
    bool chunks = false;   // with tight: it ends at the next multiple of CHUNK
    bool graph = false;    // captured into a graph, which is then launched
    bool alone = false;    // nothing else is launched before it
    int again = 0;         // launched so many times more from the same memory: each must leave the same bytes
};

// Memory after a run: for each storage the bytes before it, its own, and those behind.
struct Image {
    std::vector<uint8_t> bytes;
    size_t front = 0, size = 0; // the storage is bytes[front, front + size)
    const uint8_t* data() const { return bytes.data() + front; }
    uint8_t* data() { return bytes.data() + front; }
};

using Spent = std::map<std::string, uint64_t>; // kernel -> warp instructions

class Runner {
public:
    virtual ~Runner() = default;
    virtual std::string device() = 0;
    // Both return an empty string, or a sentence that says what went wrong.
    virtual std::string kernels(const Case& c, std::vector<Choice>& out) = 0;
    virtual std::string run(const Case& c, const Choice& kernel, const RunOptions& options,
                            std::vector<Image>& out) = 0;
    virtual std::string explain(const Case& c) = 0;
    // Median and least milliseconds of `repeats` launches; buffers rotate through more memory than the L2 cache holds.
    virtual std::string bench(const Case& c, const Choice& kernel, int repeats, double& median, double& least,
                              uint64_t& flops, uint64_t& bytes) = 0;
    virtual bool real() const { return false; }    // a card: schedules differ from launch to launch
    virtual bool computes() const { return true; } // false: results are some that are right, not always the same
    virtual Spent spent() { return {}; }           // since the last call, on the emulator
    virtual bool usable() const { return true; }   // false after an error that the device does not survive
};

std::unique_ptr<Runner> make_oracle_runner();
// Offline: no driver at all; kernels() and explain() work, as for compute capability 12.0.
std::unique_ptr<Runner> make_library_runner(bool offline, std::string& error);

// The storage before a launch, as options ask for it: outputs poisoned, guards around it.
Image initial_image(const Case& c, size_t storage, const RunOptions& options);

} // namespace check
