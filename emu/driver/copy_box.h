// SPDX-License-Identifier: Apache-2.0
// A three-dimensional copy as the API describes it, turned into the one form the scheduler knows. Shared with graphs.
#pragma once

#include "emu/driver/transfer.h"

namespace emu::driver {

struct BoxCopy {
    CopyWork work;
    Place from, to;
};
CUresult box_of(const CUDA_MEMCPY3D* copy, BoxCopy& out); // arrays are refused with CUDA_ERROR_NOT_SUPPORTED

} // namespace emu::driver
