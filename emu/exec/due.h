// SPDX-License-Identifier: Apache-2.0
// What is under way to an mbarrier: copies, remote writes, arrivals behind copies. Each failed test of it brings them
// nearer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace emu {

// Lands, by land(i), which takes it from the list, each that is due, until one says that no more may; was there any?
template <class Waiting, class Land> bool deliver_due(std::vector<Waiting>& waiting, uint32_t mbarrier, Land&& land) {
    bool any = false, more = true;
    for (size_t i = 0; more && i < waiting.size();) {
        if (waiting[i].mbarrier != mbarrier || waiting[i].tests-- > 0) {
            ++i;
            continue;
        }
        more = land(i);
        any = true;
    }
    return any;
}

} // namespace emu
