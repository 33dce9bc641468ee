// SPDX-License-Identifier: Apache-2.0
// barrier.cluster: one barrier of all threads of a cluster that have not exited. Each arrives, then waits.
#include "run.h"

namespace emu {
namespace {
Flow misuse(Warp& w, uint32_t lanes, const char* what) { return report(w, "barrier", __builtin_ctz(lanes), what); }

void let_go(Warp& w) {
    w.cluster_passed |= w.cluster_came;
    w.cluster_came = 0;
    for (WarpSplit& f : w.frags) {
        if (f.state != WarpSplit::at_cluster) continue;
        f.state = WarpSplit::ready;
        w.cluster_passed &= ~f.mask;
        if (w.own->observer) w.own->observer->cluster_pass(w, f.mask);
    }
}

void complete(Cluster& cluster) {
    if (!cluster.arrived || cluster.arrived < cluster.live_threads) return;
    cluster.arrived = 0;
    if (Observer* any = cluster.blocks[0]->observer) any->cluster_complete();
    for (Cta* block : cluster.blocks) {
        block->changes++;
        for (uint32_t i = 0; i < block->nwarps; i++) let_go(block->warps[i]);
    }
}
} // namespace

Flow cluster_arrive(Warp& w, bool release) {
    if (const uint32_t again = w.mask & (w.cluster_came | w.cluster_passed))
        return misuse(w, again, "this lane arrives at the cluster's barrier again and has not waited in between");
    if (w.own->observer) w.own->observer->cluster_arrive(w, w.mask, release);
    w.cluster_came |= w.mask;
    w.own->cluster->arrived += count_lanes(w.mask);
    complete(*w.own->cluster);
    return Flow::next;
}

Flow cluster_wait(Warp& w) {
    if (const uint32_t never = w.mask & ~(w.cluster_came | w.cluster_passed))
        return misuse(w, never, "this lane waits at the cluster's barrier and has not arrived there");
    w.own->counters->barrier_waits++;
    if (const uint32_t now = w.mask & w.cluster_passed) {
        w.cluster_passed &= ~now;
        if (w.own->observer) w.own->observer->cluster_pass(w, now);
    }
    const uint32_t waiting = w.mask & w.cluster_came;
    return waiting ? park(w, waiting, WarpSplit::at_cluster) : Flow::next;
}

// Threads that have exited are waited for no longer.
void cluster_exit(Warp& w, uint32_t lanes) {
    Cluster& cluster = *w.own->cluster;
    cluster.live_threads -= count_lanes(lanes);
    cluster.arrived -= count_lanes(lanes & w.cluster_came);
    w.cluster_came &= ~lanes;
    w.cluster_passed &= ~lanes;
    complete(cluster);
}

} // namespace emu
