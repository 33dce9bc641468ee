// SPDX-License-Identifier: Apache-2.0
// See activation.h.
#include "ops/common/activation.h"

namespace spark {

spark_status check_cap(uint32_t activation, float cap, uint32_t field, Report& report) {
    constexpr float LEAST = 0x1p-20f, MOST = 0x1p20f; // what ptx/lib/tile/activation.ptxh takes
    if (activation == SPARK_ACTIVATION_SOFTCAP) {
        if (cap >= LEAST && cap <= MOST) return SPARK_OK;
        return report.fail_field(SPARK_ERR_INVALID_VALUE, field, "cap is %g with SOFTCAP; from 2^-20 to 2^20 wanted",
                                 static_cast<double>(cap));
    }
    if (cap == 0) return SPARK_OK;
    return report.fail_field(SPARK_ERR_INVALID_VALUE, field,
                             "cap is %g but activation is %u; 0 wanted, or SPARK_ACTIVATION_SOFTCAP (6)",
                             static_cast<double>(cap), activation);
}

} // namespace spark
