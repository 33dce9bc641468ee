// SPDX-License-Identifier: Apache-2.0
// Rows of the user's own shapes, in the words in which the table names its rows: "gemm m=16 n=4096 k=4096 BF16 tn".
#pragma once

#include "problems.h"

namespace bench {

// Adds the row of a text. Throws std::runtime_error, which names the text and what is wrong with it.
void add_shape(Rows& rows, const std::string& text);

// The texts of a file, a line each, without empty ones and those that begin with '#'. Throws if it cannot be read.
std::vector<std::string> read_shapes(const std::string& path);

} // namespace bench
