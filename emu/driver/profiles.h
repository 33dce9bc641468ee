// SPDX-License-Identifier: Apache-2.0
// Facts of a card that only the API answers for; the rest of a profile is emu/engine.h's DeviceProfile.
#pragma once

#include "emu/engine.h"

namespace emu::driver {

struct Extra {
    uint32_t memory_clock_khz; // with bus_bits: bandwidth = 2 * clock * bits / 8
    uint32_t bus_bits;
    bool pageable; // coherent with the host (GB10)
};
const Extra& extra_of(const DeviceProfile& profile);

} // namespace emu::driver
