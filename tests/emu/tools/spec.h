// SPDX-License-Identifier: Apache-2.0
// The `//!` lines of one test file (grammar: tests/emu/README.md). Used by ptx-run; knows nothing of any driver.
#pragma once

#include <string>
#include <vector>

#include "expr.h"
#include "tensor_map.h"

namespace ptxrun {

struct Buffer {
    enum Kind { in, out, inout, raw, arg, tensor_map } kind = in;
    std::string name, source;
    size_t count = 1;
    Array host; // contents before the launch, then after it; the bytes of a tensor map
    TensorMapSpec map;
};
struct Expectation {
    std::string name, source;
    bool bits = false; // compares raw bits
};
struct Approx {
    std::string name;
    double abs = 0, rel = 0, ulp = 0;
};
struct Fault {
    std::string kind;
    std::vector<int> lines; // any of them; empty: any line
};
struct Spec {
    std::string path, text, kernel, options, needs;
    unsigned grid[3] = {1, 1, 1}, block[3] = {32, 1, 1}, cluster[3] = {0, 1, 1}, smem = 0, launches = 1,
             cooperative = 0;    // cluster 0: none
    std::vector<Buffer> buffers; // in the order of the kernel's parameters
    std::vector<Expectation> expectations;
    std::vector<Approx> approx;
    std::vector<Fault> faults;
    std::vector<std::string> configs;
    bool clean = false;
};

// Throw std::string with what is wrong.
Spec read_spec(const std::string& path);
void fill_inputs(Spec& spec);
// Compares buffer contents after a run; returns "" or the first difference.
std::string compare(const Spec& spec, const std::vector<Buffer>& before);

} // namespace ptxrun
