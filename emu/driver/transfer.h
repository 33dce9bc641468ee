// SPDX-License-Identifier: Apache-2.0
// Rules that all copies share: which addresses are good, and what the kind of host memory means for synchronisation.
#pragma once

#include "emu/driver/call.h"

namespace emu::driver {

enum class Place { host, device, either };
enum class When { now, later }; // synchronous and asynchronous forms

// A box copy, checked and brought into stream order. Pageable sources of asynchronous copies are staged at once, and
// an asynchronous copy to pageable memory returns when it is done, as on a card.
CUresult transfer(Lock& lock, CopyWork work, Place from, Place to, CUstream stream, When when);

} // namespace emu::driver
