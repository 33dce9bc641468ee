// SPDX-License-Identifier: Apache-2.0
// st.bulk: each lane fills words of 8 bytes of its block's shared memory with zeros, by ordinary stores.
//
// Inst: r = address, bytes; the address as space.h says; target = its Space.
#include "run.h"
#include "space.h"

namespace emu::EMU_LEVEL {
namespace {

constexpr uint32_t UNIT = 8;

bool fill_one(Warp& w, int l, uint64_t address, uint64_t bytes) {
    const uint64_t room = w.cta->shared_end;
    if (bytes % UNIT || bytes > room) {
        report_access(w, bytes > room ? "smem-budget" : "misaligned", l, Space::shared, address, UNIT, true,
                      "st.bulk fills " + std::to_string(bytes) + " bytes: a multiple of 8, and no more than there are");
        return false;
    }
    uint32_t addr[32];
    for (uint64_t done = 0; done < bytes; done += UNIT) {
        addr[l] = address + done > UINT32_MAX ? 0 : uint32_t(address + done);
        if (!check_shared(w, addr, 1u << l, UNIT, true, nullptr)) return false;
        define_shared(w, addr, 1u << l, UNIT);
        std::memset(w.cta->shared + addr[l], 0, UNIT);
    }
    return true;
}

Flow fill(Warp& w, const Inst& in) {
    const uint64_t window = Space(in.target) == Space::generic ? SHARED_WINDOW : 0;
    const uint64_t* bytes = w.reg<uint64_t>(in.r[1]);
    for (uint32_t m = w.mask; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        const uint64_t address = nth_address(w, in, 0, 0, l) - window;
        if (address >= WINDOW_BYTES)
            return report_access(w, "space", l, Space::generic, address + window, UNIT, true,
                                 "st.bulk fills shared memory");
        if (!fill_one(w, l, address, bytes[l])) return Flow::failed;
    }
    return Flow::next;
}
} // namespace

Handler pick_fill(const Form& form, Inst& in) {
    if (form.operands[2].value) return nullptr; // what it fills with
    keep_addresses(form, in);
    in.target = uint32_t(form.space);
    in.vec = 1;
    return &fill;
}

} // namespace emu::EMU_LEVEL
