// SPDX-License-Identifier: Apache-2.0
// mbarriers: every operation is an access to their word; arrivals release to the phase, a test that finds it complete
// acquires. A copy that lands hands over what its thread had done when it bound it to the mbarrier: that is more than
// the copied bytes, so a race can be missed so, never invented. Part of Checker.
#include "checker.h"

namespace emu {

void Checker::mbarrier_made(Warp& w, uint32_t mask, const uint32_t* addr) {
    for (uint32_t m = mask; m; m &= m - 1)
        made_[addr[__builtin_ctz(m)]] = {{order_.now(w.agent), m & -m, uint16_t(w.agent)}, w.pc};
}

// Whoever uses an mbarrier must know that it was made: a later arrival of the thread that made it does not tell.
bool Checker::comes_after_made(Warp& w, uint32_t mask, const uint32_t* addr, bool test) {
    for (uint32_t m = mask; m; m &= m - 1) {
        const unsigned lane = unsigned(__builtin_ctz(m));
        const auto made = made_.find(addr[lane]);
        const Access a{w, m & -m, addr[lane], 8, true, true, false};
        if (made == made_.end() || is_before(a, made->second.event, false, true)) continue;
        return race(a, test ? "test " : "change", "making", made->second.event, made->second.pc);
    }
    return true;
}

bool Checker::mbarrier_change(Warp& w, uint32_t mask, const uint32_t* addr) {
    if (!comes_after_made(w, mask, addr, false) || !write_all(w, mask, addr, 8, meets(mask, addr, 8), true))
        return false;
    const Order order = w.kernel->code[w.pc].order;
    const unsigned agent = w.agent;
    for (uint32_t m = mask; m; m &= m - 1) {
        const unsigned lane = unsigned(__builtin_ctz(m));
        order_.write(agent, lane, name_of(addr[lane]), order.releases(), is_wide(order));
    }
    if (order.releases()) order_.step(agent);
    return true;
}

bool Checker::mbarrier_test(Warp& w, uint32_t mask, const uint32_t* addr, uint32_t passed) {
    if (!comes_after_made(w, mask, addr, true) || !shared_read(w, mask, addr, 8)) return false;
    const Order order = w.kernel->code[w.pc].order;
    for (uint32_t m = passed; m; m &= m - 1) {
        const unsigned lane = unsigned(__builtin_ctz(m));
        order_.read(w.agent, lane, HappensBefore::completed(name_of(addr[lane])), order.acquires(), is_wide(order));
    }
    return true;
}

void Checker::mbarrier_complete(Cta&, uint32_t address) { order_.complete_phase(name_of(address)); }

} // namespace emu
