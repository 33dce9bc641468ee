// SPDX-License-Identifier: Apache-2.0
// Who waits for what: warps that go round a loop until another thread changes memory, lanes that wait at a join for
// such a loop, and words for all of them. Used by the loop, the block's schedule and the launch.
#pragma once

#include "warp.h"

namespace emu {

// At each branch backwards that is taken: is this warp where it was before, with nothing changed? Then no turn of its
// own will take it further, and lanes that wait at a join for its looping lanes go on without them.
void note_loop(Warp& w, const Inst& in);
// Every lane of this warp waits: at a barrier, for lanes of its warp, or in a loop that only others can end.
bool waits(const Warp& w);
bool can_go_on(const Warp& w); // some lane is not blocked; it may still go round such a loop
// In a loop that reads what others change, and for long without a change: a spin whose registers count its tries.
bool spins_long(const Warp& w);
// One line for each group of lanes: where they are and what they wait for.
std::string describe_waits(const Warp& w);
// The instruction by which the looping lanes would see that they may go on; code size: no lane loops.
uint32_t watching_pc(const Warp& w);

} // namespace emu
