// SPDX-License-Identifier: Apache-2.0
// Is the library's choice the best one? Shapes drawn at random, or the rows of the bench, each computed by every kernel
// that is legal for it.
#pragma once

#include "items.h"

namespace bench {

struct Draw {
    uint64_t seed = 0;
    int count = 0;     // 0: no choices are asked for
    bool rows = false; // not drawn: the rows of the bench, or these
    std::vector<std::string> given;
    double seconds = 150;
    bool explain = false; // nothing runs: what the library would choose, and why
};

// Writes an object a line to `path`: first the card, then a shape each, with the median of every legal kernel, the
// chosen one first, or with what spark_op_explain says. Exit status.
int measure_choices(spark_context* ctx, const spark_device_info& device, const Draw& draw, const std::string& only,
                    bool small, const std::string& path);

} // namespace bench
