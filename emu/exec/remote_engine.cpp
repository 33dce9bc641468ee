// SPDX-License-Identifier: Apache-2.0
// When asynchronous writes to another block's shared memory land: late (at the first test of their mbarrier that fails
// without them), early (at issue) or at a moment that the seed picks.
#include "remote.h"

#include <cstring>

#include "../report/report.h"
#include "async.h"
#include "due.h"
#include "run.h"

namespace emu {

void RemoteWrites::report_write(const char* kind, const RemoteWrite& w, const std::string& what) const {
    report_raw(*w.by, kind, w.pc,
               "  at  " + where(*cta_.kernel, w.pc) + "   " + (w.from ? "copy of " : "store of ") +
                   std::to_string(w.bytes) + " bytes, warp " + std::to_string(w.warp) + " lane " +
                   std::to_string(w.lane) + "   shared 0x" + hex(w.to) + " of block " + std::to_string(cta_.rank) +
                   " of the cluster\n  " + what + "\n" + replay(*cta_.launch));
}

void RemoteWrites::issue(RemoteWrite&& write) {
    if (!write.reduce) {
        std::memset(cta_.shared + write.to, POISON, write.bytes);
        for (uint32_t i = 0; i < write.bytes; ++i) cta_.set_shared_defined(write.to + i, 1, false);
    }
    const AsyncTiming timing = cta_.launch->options.async;
    if (timing == AsyncTiming::random) write.tests = next_random(cta_.rng) % 8;
    writes_.push_back(std::move(write));
    if (timing == AsyncTiming::early) land(writes_.size() - 1);
}

bool RemoteWrites::source_changed(const RemoteWrite& w) const {
    return w.from && std::memcmp(w.data.data(), w.by->shared + w.from, w.bytes) != 0;
}

// All bytes are there, and the mbarrier is told.
void RemoteWrites::land(size_t index) {
    const RemoteWrite w = std::move(writes_[index]);
    writes_.erase(writes_.begin() + long(index));
    if (source_changed(w)) report_write("async", w, "its source was written over before its mbarrier was told");
    if (w.reduce) w.reduce(cta_.shared + w.to, w.data.data(), w.bytes);
    else std::memcpy(cta_.shared + w.to, w.data.data(), w.bytes);
    for (uint32_t i = 0; i < w.bytes; ++i)
        if (w.undefined.empty() || !w.undefined[i]) cta_.set_shared_defined(w.to + i, 1, true);
    if (cta_.observer) cta_.observer->bulk_land(cta_, w.to, w.bytes);
    std::string problem;
    Mbarrier* b = mbarrier_at(cta_, w.mbarrier, problem);
    if (b) problem = b->complete(w.bytes);
    if (problem.empty()) mbarrier_changed(cta_, *b);
    else report_write("barrier", w, "has landed: " + problem);
}

// No more than the phase needs.
bool RemoteWrites::deliver(uint32_t mbarrier) {
    const Mbarrier* const b = cta_.mbarriers.find(mbarrier);
    if (!b) return false;
    const uint32_t phase = b->phase;
    return deliver_due(writes_, mbarrier, [&](size_t i) {
        land(i);
        return b->phase == phase;
    });
}

const RemoteWrite* RemoteWrites::reading(const Cta& block) const {
    for (const RemoteWrite& w : writes_)
        if (w.by == &block && w.from) return &w;
    return nullptr;
}

bool RemoteWrites::end() {
    if (!writes_.empty()) {
        report_write("async", writes_[0], "is in flight when the block ends: nobody has waited for its mbarrier");
        return false;
    }
    for (const Cta* peer : cta_.cluster->blocks) {
        const RemoteWrites& there = peer->async->remote;
        const RemoteWrite* const write = there.reading(cta_);
        if (!write) continue;
        there.report_write("async", *write, "may still read when the block of its source ends");
        return false;
    }
    return true;
}

void RemoteWrites::tick() {
    if (!writes_.empty() && next_random(cta_.rng) % 4 == 0) land(next_random(cta_.rng) % writes_.size());
}

} // namespace emu
