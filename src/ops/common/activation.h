// SPDX-License-Identifier: Apache-2.0
// What operators with an activation check of it beyond its number.
#pragma once

#include "ops/common/validate.h"

namespace spark {

// The number that belongs to SOFTCAP, and to no other function; `field` is the cap's.
spark_status check_cap(uint32_t activation, float cap, uint32_t field, Report& report);

} // namespace spark
