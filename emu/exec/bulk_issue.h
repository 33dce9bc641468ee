// SPDX-License-Identifier: Apache-2.0
// What handlers of bulk copies share once they know which bytes go where: the checks of shared memory and of mbarriers,
// and the way into the engine. The side of global memory they have checked themselves.
#pragma once

#include "async.h"

namespace emu {

// A copy of one lane, still without its pieces. A shared address beyond 32 bits becomes one where nothing lies.
BulkCopy bulk_copy(const Warp& w, int lane, uint64_t shared, uint32_t bytes);

// Where a load of one lane goes: to the same place of shared memory in some blocks of the cluster.
struct Destination {
    uint32_t shared = 0, mbarrier = 0;
    uint32_t blocks = 0; // a bit each, by rank
};
// Which blocks an instruction reaches: its own, the one that its addresses lie in, those of a mask.
enum class Reach : uint8_t { own, addressed, mask };
Reach reach_of(const Form& form);
// From what a lane gave; `mask` only for Reach::mask. False after a report.
bool find_destination(Warp& w, int lane, Reach reach, uint64_t shared, uint64_t mbarrier, uint32_t mask,
                      Destination& to);
// The same for a write to one block by addresses of a space: generic ones, of the own block, of any.
bool find_remote(Warp& w, int lane, Space space, uint64_t shared, uint64_t mbarrier, Destination& to);
// Loads of all lanes of w.mask, with a destination for each of the 32.
Flow issue_loads(Warp& w, std::vector<BulkCopy>&& copies, const Destination* to);
Flow issue_store(Warp& w, BulkCopy&& copy);
// A write of one lane to one block, all but its data checked. False after a report.
bool issue_remote(Warp& w, int lane, const Destination& to, RemoteWrite&& write);
// May a lane of w write these bytes of w.cta's shared memory, or read them (multiples of 16)? False after a report.
bool check_shared_side(Warp& w, int lane, uint32_t address, uint32_t bytes, bool write);
// The mbarriers of the lanes of w.mask, in w.cta, that are to be told of bytes. False after a report.
bool check_mbarriers(Warp& w, const uint32_t* mbarrier);

// Bytes of global memory that a reduction changes: somebody has written them. False after a report.
bool check_reduced(Warp& w, int lane, uint64_t global, uint32_t bytes);

} // namespace emu
