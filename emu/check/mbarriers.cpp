// SPDX-License-Identifier: Apache-2.0
// mbarriers: every operation is an access to their word; arrivals release to the phase, a test that finds it complete
// acquires. A copy that lands hands over what its thread had done when it bound it to the mbarrier: that is more than
// the copied bytes, so a race can be missed so, never invented. Part of Checker.
#include "checker.h"

namespace emu {

bool Checker::mbarrier_change(Warp& w, uint32_t mask, const uint32_t* addr) {
    if (!write_all(w, mask, addr, 8, meets(mask, addr, 8), true)) return false;
    const bool releases = w.kernel->code[w.pc].order.releases();
    for (uint32_t m = mask; m; m &= m - 1) {
        const unsigned lane = unsigned(__builtin_ctz(m));
        order_.write(w.index, lane, addr[lane], releases);
    }
    if (releases) order_.step(w.index);
    return true;
}

bool Checker::mbarrier_test(Warp& w, uint32_t mask, const uint32_t* addr, uint32_t passed) {
    if (!shared_read(w, mask, addr, 8)) return false;
    for (uint32_t m = passed; m; m &= m - 1) {
        const unsigned lane = unsigned(__builtin_ctz(m));
        order_.read(w.index, lane, HappensBefore::completed(addr[lane]), w.kernel->code[w.pc].order.acquires());
    }
    return true;
}

void Checker::mbarrier_complete(Cta&, uint32_t address) { order_.complete_phase(address); }

} // namespace emu
