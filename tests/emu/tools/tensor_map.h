// SPDX-License-Identifier: Apache-2.0
// `tensormap` lines of test files, in the terms of cuTensorMapEncodeTiled. Used by ptx-run; knows nothing of a driver.
#pragma once

#include <cstdint>
#include <sstream>
#include <string>

namespace ptxrun {

struct TensorMapSpec {
    std::string buffer; // whose address it takes
    uint64_t offset = 0;
    unsigned type = 0, rank = 0, swizzle = 0, fill = 0;
    uint64_t dim[5] = {}, stride[5] = {};
    uint32_t box[5] = {}, step[5] = {1, 1, 1, 1, 1};
};

// What follows the map's name: BUFFER TYPE dim D,D box B,B and what else the README says. Throws what is wrong.
TensorMapSpec read_tensor_map(std::istringstream& in);

} // namespace ptxrun
