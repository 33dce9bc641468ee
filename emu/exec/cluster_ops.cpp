// SPDX-License-Identifier: Apache-2.0
// mapa and getctarank, and the barrier of a cluster.
#include "lanes.h"
#include "peers.h"
#include "run.h"

namespace emu::EMU_LEVEL {
namespace {

// in.imm: what generic addresses of shared memory begin with, or 0.
template <class T> bool in_shared(Warp& w, const Inst& in, uint32_t* at) {
    const T* a = w.reg<T>(in.r[1]);
    for (uint32_t m = w.mask; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        const uint64_t offset = a[l] - uint64_t(in.imm);
        if (offset >= WINDOW_BYTES)
            return report_access(w, "space", l, Space::generic, a[l], 1, false, "is no address of shared memory"),
                   false;
        if (!block_of(*w.own, offset)) return no_such_block(w, l, offset, 1, false);
        at[l] = uint32_t(offset);
    }
    return true;
}

template <class T> Flow mapa(Warp& w, const Inst& in) {
    uint32_t at[32];
    if (!in_shared<T>(w, in, at)) return Flow::failed;
    const uint32_t* rank = w.reg<uint32_t>(in.r[2]);
    const size_t blocks = w.own->cluster->blocks.size();
    for (uint32_t m = w.mask; m; m &= m - 1)
        if (const int l = __builtin_ctz(m); rank[l] >= blocks)
            return report(w, "bounds", l,
                          "there is no block " + std::to_string(rank[l]) + " in the cluster, which has " +
                              std::to_string(blocks));
    return map_active<T>(w, in.r[0], [&](int l) { return T(address_in(*w.own, at[l], rank[l]) + uint64_t(in.imm)); });
}

template <class T> Flow getctarank(Warp& w, const Inst& in) {
    uint32_t at[32];
    if (!in_shared<T>(w, in, at)) return Flow::failed;
    return map_active<uint32_t>(w, in.r[0], [&](int l) { return block_of(*w.own, at[l])->rank; });
}

Flow arrive(Warp& w, const Inst& in) { return cluster_arrive(w, in.order.releases()); }
Flow wait(Warp& w, const Inst&) { return cluster_wait(w); }
} // namespace

Handler pick_mapa(const Form& form, Inst& in) {
    const bool wide = bytes_of(form.type()) == 8, generic = form.space == Space::generic;
    if (generic && !wide) return nullptr; // generic addresses have 64 bits
    in.imm = generic ? int64_t(SHARED_WINDOW) : 0;
    if (form.mnemonic == "mapa") return wide ? &mapa<uint64_t> : &mapa<uint32_t>;
    return wide ? &getctarank<uint64_t> : &getctarank<uint32_t>;
}

Handler pick_cluster(const Form& form, Inst&) { return form.has("arrive") ? &arrive : &wait; }

} // namespace emu::EMU_LEVEL
