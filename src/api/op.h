// SPDX-License-Identifier: Apache-2.0
// What the typed calls of forwards.cpp forward to.
#pragma once

#include <spark.h>

namespace spark {

// Launches the operator `op`, which hdr.op names too or leaves open; with SPARK_OP_NONE the one that hdr.op names.
spark_status launch_operator(spark_context* ctx, const spark_args* args, uint32_t op, const spark_exec* exec,
                             spark_error* err);

} // namespace spark
