// SPDX-License-Identifier: Apache-2.0
// One driver call (or a few) inside a context, with its refusal turned into a sentence, and checks of what comes with
// it. Private to runtime/.
#pragma once

#include "runtime/context.h"

namespace spark {

template <class Calls> spark_status within(const Context& ctx, const char* what, Report& report, Calls&& calls) {
    Current current(ctx);
    int code = current.code() != DRIVER_OK ? current.code() : calls(*ctx.driver);
    return code == DRIVER_OK ? SPARK_OK : driver_failed(*ctx.driver, code, what, report);
}

inline spark_status check_flags(uint32_t flags, uint32_t known, Report& report) {
    return (flags & ~known) == 0
               ? SPARK_OK
               : report.fail(SPARK_ERR_INVALID_RESERVED, "desc.flags is %u; bits of %u alone wanted", flags, known);
}

inline spark_status check_reserved(uint32_t reserved, Report& report) {
    return reserved == 0 ? SPARK_OK
                         : report.fail(SPARK_ERR_INVALID_RESERVED, "desc.reserved is %u; 0 wanted", reserved);
}

// A function that older drivers lack.
template <class Function> spark_status check_symbol(Function* found, const char* symbol, Report& report) {
    return found != nullptr
               ? SPARK_OK
               : report.fail(SPARK_ERR_UNSUPPORTED_DRIVER, "the driver has no %s; a newer one wanted", symbol);
}

} // namespace spark
