// SPDX-License-Identifier: Apache-2.0
// What clusterlaunchcontrol asks of the launch: clusters that have not begun need not begin.
#pragma once

#include "warp.h"

namespace emu {

// Takes a cluster that nobody has begun out of the launch, defined in cluster.cpp. False: there is none left.
bool cancel_cluster(Launch& launch, Dim3& first_block);

} // namespace emu
