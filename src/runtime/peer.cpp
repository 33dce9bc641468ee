// SPDX-License-Identifier: Apache-2.0
// Two devices: whether one may reach the memory of the other, and copies between them.
#include "runtime/capture.h"
#include "runtime/memory.h"
#include "runtime/scope.h"

namespace spark {

spark_status peer_can_access(const Context& ctx, const Context& peer, uint32_t& can, Report& report) {
    if (spark_status s = check_symbol(ctx.driver->peer_can_access, DRIVER_NAMES.peer_can_access, report)) return s;
    int answer = 0;
    if (ctx.device != peer.device) {
        int code = ctx.driver->peer_can_access(&answer, ctx.device, peer.device);
        if (code != DRIVER_OK) return driver_failed(*ctx.driver, code, "asking about peer access", report);
    }
    can = answer != 0;
    return SPARK_OK;
}

spark_status peer_enable(const Context& ctx, const Context& peer, Report& report) {
    if (spark_status s = check_symbol(ctx.driver->peer_enable, DRIVER_NAMES.peer_enable, report)) return s;
    uint32_t can = 0;
    if (spark_status s = peer_can_access(ctx, peer, can, report)) return s;
    if (can == 0) {
        return report.fail(SPARK_ERR_INVALID_DEVICE, "peer is a context of device %d, %s device %d", peer.info.device,
                           ctx.device == peer.device ? "and ctx too; one of another device than"
                                                     : "whose memory cannot be reached from",
                           ctx.info.device);
    }
    return within(ctx, "enabling peer access", report, [&](const Driver& d) {
        int code = d.peer_enable(peer.cu_context, 0);
        return code == DRIVER_PEER_ALREADY_ENABLED ? static_cast<int>(DRIVER_OK) : code;
    });
}

spark_status copy_peer(const Peers& peers, spark_devptr dst, spark_devptr src, uint64_t bytes, const Stream& stream,
                       Report& report) {
    const Context& ctx = peers.dst;
    if (bytes == 0) return SPARK_OK;
    if (spark_status s = need_address(dst, "dst", report)) return s;
    if (spark_status s = need_address(src, "src", report)) return s;
    if (spark_status s = check_symbol(ctx.driver->copy_peer, DRIVER_NAMES.copy_peer, report)) return s;
    if (spark_status s = refuse_implicit(ctx, stream, "copying between devices", report)) return s;
    return within(ctx, "copying between devices", report, [&](const Driver& d) {
        return d.copy_peer(dst, ctx.cu_context, src, peers.src.cu_context, bytes, stream.native());
    });
}

} // namespace spark
