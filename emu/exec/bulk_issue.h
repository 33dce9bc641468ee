// SPDX-License-Identifier: Apache-2.0
// What handlers of bulk copies share once they know which bytes go where: the checks of shared memory and of mbarriers,
// and the way into the engine. The side of global memory they have checked themselves.
#pragma once

#include "async.h"

namespace emu {

// A copy of one lane, still without its pieces. A shared address beyond 32 bits becomes one where nothing lies.
BulkCopy bulk_copy(const Warp& w, int lane, uint64_t shared, uint32_t bytes);
// Loads of all lanes of w.mask, told to mbarrier[lane].
Flow issue_loads(Warp& w, std::vector<BulkCopy>&& copies, const uint32_t* mbarrier);
Flow issue_store(Warp& w, BulkCopy&& copy);

// Bytes of global memory that a reduction changes: somebody has written them. False after a report.
bool check_reduced(Warp& w, int lane, uint64_t global, uint32_t bytes);

} // namespace emu
