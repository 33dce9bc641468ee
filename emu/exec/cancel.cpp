// SPDX-License-Identifier: Apache-2.0
// clusterlaunchcontrol: a cluster that has not begun is cancelled, and its first block told in 16 bytes that come
// asynchronously; queries take those bytes apart. They are the emulator's own: first block, then a mark.
//
// Inst: r = operands in the order of the text; addresses as space.h says; target = their Space; imm = the first
//       coordinate that a query asks for.
#include "cancel.h"

#include "bulk_issue.h"
#include "run.h"
#include "space.h"

namespace emu::EMU_LEVEL {
namespace {

constexpr uint32_t CANCELLED = 0x636c6331, NOT_CANCELLED = 0x636c6330;
struct Answer {
    uint32_t first[3], mark;
};
static_assert(sizeof(Answer) == sizeof(B128));
Answer answer_of(const Warp& w, uint16_t slot, int l) {
    Answer answer;
    std::memcpy(&answer, w.reg<B128>(slot) + l, sizeof answer);
    return answer;
}

RemoteWrite answer_to(Launch& launch) {
    Dim3 first;
    const bool cancelled = cancel_cluster(launch, first);
    const Answer answer{{first.x, first.y, first.z}, cancelled ? CANCELLED : NOT_CANCELLED};
    RemoteWrite write;
    write.bytes = sizeof answer;
    write.data.resize(sizeof answer);
    std::memcpy(write.data.data(), &answer, sizeof answer);
    return write;
}

// in.imm: all blocks of the cluster get the answer.
Flow try_cancel(Warp& w, const Inst& in) {
    for (uint32_t m = w.mask; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        Destination to;
        if (!find_remote(w, l, Space(in.target), nth_address(w, in, 0, 0, l), nth_address(w, in, 1, 1, l), to))
            return Flow::failed;
        const RemoteWrite answer = answer_to(*w.launch);
        const uint32_t all = (1u << w.own->cluster->blocks.size()) - 1;
        for (uint32_t left = in.imm ? all : to.blocks; left; left &= left - 1) {
            Destination one = to;
            one.blocks = left & -left;
            if (!issue_remote(w, l, one, RemoteWrite(answer))) return Flow::failed;
        }
    }
    return Flow::next;
}

Flow is_canceled(Warp& w, const Inst& in) {
    uint32_t yes = 0;
    for (uint32_t m = w.mask; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        const uint32_t mark = answer_of(w, in.r[1], l).mark;
        if (mark != CANCELLED && mark != NOT_CANCELLED)
            return report(w, "undefined", l, "these 16 bytes are no answer of clusterlaunchcontrol.try_cancel");
        if (mark == CANCELLED) yes |= m & -m;
    }
    set_pred(w, in.r[0], yes);
    return Flow::next;
}

// Coordinates of the first block; none of them is known if no cluster was cancelled, the fourth never.
Flow first_block(Warp& w, const Inst& in) {
    const uint16_t answer = in.r[in.vec];
    uint32_t unknown = 0;
    for (uint32_t m = w.mask; m; m &= m - 1)
        if (answer_of(w, answer, __builtin_ctz(m)).mark != CANCELLED) unknown |= m & -m;
    for (unsigned i = 0; i < in.vec; ++i) {
        const unsigned which = i + unsigned(in.imm);
        map_active<uint32_t>(w, in.r[i], [&](int l) { return which < 3 ? answer_of(w, answer, l).first[which] : 0; });
        w.set_undefined(in.r[i], which == 3 ? w.mask : unknown);
    }
    return Flow::next;
}
} // namespace

Handler pick_cancel(const Form& form, Inst& in) {
    if (form.has("is_canceled")) return &is_canceled;
    if (form.has("query_cancel")) {
        in.imm = form.has("get_first_ctaid::y") ? 1 : form.has("get_first_ctaid::z") ? 2 : 0;
        return &first_block;
    }
    keep_addresses(form, in);
    in.target = uint32_t(form.space);
    in.imm = form.has("multicast::cluster::all");
    return &try_cancel;
}

} // namespace emu::EMU_LEVEL
