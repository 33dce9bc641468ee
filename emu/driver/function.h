// SPDX-License-Identifier: Apache-2.0
// What can be asked of a function, whichever kind of handle names it. Used by function.cpp, library.cpp, occupancy.cpp
// and launch.cpp.
#pragma once

#include "emu/driver/state.h"

namespace emu::driver {

CUresult get_attribute(const Function& function, CUfunction_attribute attribute, int* value);
CUresult set_attribute(const Function& function, CUfunction_attribute attribute, int value);
CUresult param_info(const Function& function, size_t index, size_t* offset, size_t* bytes);

// No register allocation happens here, so this is an upper bound: what the text declares, within what a thread of the
// largest allowed block may have. A build's true figure comes from ptxas.
int registers_of(const Function& function);
int max_threads_of(const Function& function);
// Blocks of this shape that fit on one multiprocessor at once.
int resident_blocks(const Function& function, uint32_t block_threads, size_t dynamic_smem);
Dim3 required_cluster(const Function& function);    // 0: none
uint32_t most_of_cluster(const Function& function); // blocks

} // namespace emu::driver
