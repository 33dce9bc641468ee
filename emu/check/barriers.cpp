// SPDX-License-Identifier: Apache-2.0
// Named barriers: what the arrivals of one phase must agree on, and the order that a completed phase gives.
// Part of Checker. Deadlock is the launch loop's to find: only it knows that nobody can go on.
#include "../report/report.h"
#include "checker.h"

namespace emu {

bool Checker::barrier_arrive(Warp& w, unsigned id, bool sync, uint32_t threads) {
    BarrierUse& use = barriers_[id & 15];
    const uint32_t bit = 1u << w.index;
    std::string wrong;
    if (threads % 32) wrong = "asks for " + std::to_string(threads) + " threads, which is no multiple of 32";
    else if (use.warps && use.threads != threads)
        wrong = "asks for " + (threads ? std::to_string(threads) : "all") + " threads, but warp " +
                std::to_string(use.first_warp) + " came at " + where(*w.kernel, use.pc) + " for " +
                (use.threads ? std::to_string(use.threads) : "all");
    else if (threads > w.cta->threads)
        wrong =
            "asks for " + std::to_string(threads) + " threads of a block that has " + std::to_string(w.cta->threads);
    if (!wrong.empty()) {
        report_raw(*w.cta, "barrier", w.pc,
                   "  warp " + std::to_string(w.index) + " at " + where(*w.kernel, w.pc) + ", barrier " +
                       std::to_string(id) + ": " + wrong + "\n" + replay(launch_));
        return false;
    }
    if (!use.warps) use.threads = threads, use.pc = w.pc, use.first_warp = uint8_t(w.index);
    use.warps |= bit;
    order_.arrive(w.agent, w.mask, w.live, id & 15, !sync);
    return true;
}

bool Checker::barrier_release(Cta&, unsigned id, uint32_t sync_warps, uint32_t) {
    order_.release(cta_->rank, id & 15, sync_warps);
    forget_known(sync_warps);
    barriers_[id & 15] = {};
    return true;
}

} // namespace emu
