// SPDX-License-Identifier: Apache-2.0
// Handles of all that the library hands out: one table of slots, never freed, so that a handle which is dead, of
// another kind or made up is recognised without touching what it stood for.
//
// A handle is a number, not an address:
//
//     0x5ca       kind      count      slot        Addresses of programs have zeros in bits 48 to 55; a handle has not.
//     12 bits     4 bits    28 bits    20 bits     A slot never gives a count twice, and so no handle is given twice.
#pragma once

#include <atomic>

#include "core/status.h"

namespace spark {

enum class Kind : uint8_t { CONTEXT = 1, STREAM, EVENT, GRAPH };

struct alignas(64) Slot {
    std::atomic<uint64_t> handle; // of what lives here; 0 = nothing that a call may use
    std::atomic<uint32_t> users;  // calls under way that use it
    std::atomic<uint32_t> count;  // of handles given out
    uint32_t index, next_free;
    void* object;                      // a Context, or what the driver gave
    const void* owner;                 // the Context that it belongs to, and ends with; nullptr = it is one
    std::atomic<uint64_t> recorded_in; // an event: see capture.h
};

constexpr spark_stream PER_THREAD_STREAM = 2; // 0 and 1 are the legacy default stream, of any context

// A free slot. It is filled with an object, which gives its handle, or given back.
spark_status slot_take(Slot*& out, Report& report);
uint64_t slot_fill(Slot& slot, Kind kind, void* object, const void* owner);
void slot_give_back(Slot& slot);

// The slot in which the handle lives, for a call that uses it: until slot_leave, its object is not destroyed. nullptr
// if it does not, or is of another kind.
Slot* slot_use(uint64_t handle, Kind kind);
inline void slot_leave(Slot& slot) { slot.users.fetch_sub(1); }
// Ends the handle, for one caller alone, when no call uses it any more: the slot, to be given back; nullptr if it was
// not live.
Slot* slot_end(uint64_t handle, Kind kind);
// The next thing, from slot `index` on, that belongs to this owner: its handle, and its kind; 0 = there is none.
uint64_t slot_next_of(const void* owner, uint32_t& index, Kind& kind);

bool is_handle(uint64_t number);
// Streams and events may also be the driver's own, which other software made.
bool may_be_foreign(Kind kind);
// Whether the number can be an address, as the driver's own handles are.
bool is_address(uint64_t number);

// Why `number`, given as the argument `name`, does not name a live thing of this kind; or not one of this context.
spark_status refuse_handle(uint64_t number, Kind kind, const char* name, Report& report);
spark_status refuse_owner(uint64_t number, Kind kind, const char* name, Report& report);

} // namespace spark
