// SPDX-License-Identifier: Apache-2.0
// Named barriers: the order that a completed phase gives. Part of Checker. What the arrivals of a phase must agree on
// is seen where they are counted; deadlock is the launch loop's to find: only it knows that nobody can go on.
#include "checker.h"

namespace emu {

bool Checker::barrier_arrive(Warp& w, unsigned id, bool sync) {
    order_.arrive(w.agent, w.mask, w.live, id & 15, !sync);
    return true;
}

bool Checker::barrier_release(Cta&, unsigned id, uint32_t sync_warps, uint32_t) {
    order_.release(cta_->rank, id & 15, sync_warps);
    forget_known(sync_warps);
    return true;
}

} // namespace emu
