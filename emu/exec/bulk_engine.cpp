// SPDX-License-Identifier: Apache-2.0
// When bulk copies move their bytes: late (a load at the first test of its mbarrier that fails without it, a store at
// its wait), early (at issue) or at a moment that the seed picks.
#include "bulk.h"

#include <algorithm>
#include <cstring>

#include "../report/report.h"
#include "due.h"
#include "run.h"

namespace emu {
namespace {
uint32_t thread_of(uint32_t warp, uint32_t lane) { return warp * 32 + lane; }
} // namespace

void BulkCopies::report_copy(const char* kind, const BulkCopy& c, const std::string& what) const {
    const std::string who = " bytes, warp " + std::to_string(c.warp) + " lane " + std::to_string(c.lane);
    const std::string peer = c.by == &cta_ ? "" : " of block " + std::to_string(cta_.rank) + " of the cluster";
    report_raw(*c.by, kind, c.pc,
               "  at  " + where(*cta_.kernel, c.pc) + "   copy of " + std::to_string(c.bytes) + who + "   shared 0x" +
                   hex(c.shared) + peer + "\n  " + what + "\n" + replay(*cta_.launch));
}

void BulkCopies::reset() {
    loads_.clear();
    stores_.clear();
    commits_.clear();
}

void BulkCopies::load(BulkCopy&& copy) {
    for (const BulkPiece& p : copy.pieces) {
        std::memset(cta_.shared + p.shared, POISON, p.bytes);
        for (uint32_t i = 0; i < p.bytes; i += 16) cta_.set_shared_defined(p.shared + i, 16, false);
    }
    const AsyncTiming timing = cta_.launch->options.async;
    if (timing == AsyncTiming::random) copy.tests = next_random(cta_.rng) % 8;
    loads_.push_back(std::move(copy));
    if (timing == AsyncTiming::early) land(loads_.size() - 1);
}

void BulkCopies::tell_move(const BulkCopy& c, const BulkPiece& p, const uint8_t* stored) const {
    if (!cta_.launch->races || p.first == p.last) return;
    c.by->observer->bulk_move(
        {c.warp, c.lane, c.pc, p.global + p.first, p.last - p.first, c.reduce ? nullptr : stored, c.reduce != nullptr});
}

// The bytes of a piece are there, defined where the source is.
void BulkCopies::land_piece(const BulkPiece& p, uint16_t fill) {
    const Memory& memory = *cta_.launch->memory;
    uint8_t* const to = cta_.shared + p.shared;
    for (uint32_t i = 0; !p.whole() && i < p.bytes; i += 2) std::memcpy(to + i, &fill, 2);
    if (p.first < p.last)
        std::memcpy(to + p.first, reinterpret_cast<const void*>(p.global + p.first), p.last - p.first);
    for (uint32_t i = 0; i < p.bytes; i += 16) {
        const uint32_t from = std::max(i, p.first), end = std::min(i + 16, p.last);
        cta_.set_shared_defined(p.shared + i, 16, true);
        if (from >= end || memory.is_defined(p.global + from, end - from)) continue;
        for (uint32_t b = from; b < end; ++b)
            cta_.set_shared_defined(p.shared + b, 1, memory.defined_small(p.global + b, 1));
    }
    if (cta_.observer) cta_.observer->bulk_land(cta_, p.shared, p.bytes);
}

// All bytes are there, and the mbarrier is told.
void BulkCopies::land(size_t index) {
    const BulkCopy c = std::move(loads_[index]);
    loads_.erase(loads_.begin() + long(index));
    for (const BulkPiece& p : c.pieces) {
        tell_move(c, p, nullptr);
        land_piece(p, c.fill);
    }
    std::string problem;
    Mbarrier* b = mbarrier_at(cta_, c.mbarrier, problem);
    if (b) problem = b->complete(c.bytes);
    if (problem.empty()) mbarrier_changed(cta_, *b);
    else report_copy("barrier", c, "has landed: " + problem);
}

void BulkCopies::store(BulkCopy&& copy) {
    copy.lowest = UINT64_MAX;
    for (const BulkPiece& p : copy.pieces) {
        copy.data.insert(copy.data.end(), cta_.shared + p.shared, cta_.shared + p.shared + p.bytes);
        if (p.first == p.last) continue;
        copy.lowest = std::min(copy.lowest, p.global + p.first);
        copy.highest = std::max(copy.highest, p.global + p.last);
    }
    if (cta_.launch->options.async == AsyncTiming::early) finish(copy);
    stores_.push_back(std::move(copy));
}

void BulkCopies::read(BulkCopy& c) {
    if (c.read) return;
    c.read = true;
    const uint8_t* had = c.data.data();
    bool same = true;
    for (const BulkPiece& p : c.pieces) {
        same &= !std::memcmp(had + p.first, cta_.shared + p.shared + p.first, p.last - p.first);
        had += p.bytes;
    }
    if (!same) report_copy("async", c, "its source was written over before wait_group or wait_group.read");
}

void BulkCopies::finish(BulkCopy& c) {
    if (!c.bytes) return;
    read(c);
    const uint8_t* from = c.data.data();
    for (const BulkPiece& p : c.pieces) {
        const uint32_t bytes = p.last - p.first;
        void* const to = reinterpret_cast<void*>(p.global + p.first);
        tell_move(c, p, from + p.first);
        if (c.reduce) c.reduce(to, from + p.first, bytes);
        else if (bytes) std::memcpy(to, from + p.first, bytes);
        from += p.bytes;
    }
    c.bytes = 0; // it is done; the group is still counted
    c.data.clear();
    cta_.changes++;
}

void BulkCopies::commit(uint32_t warp, uint32_t lane) {
    const uint64_t group = ++commits_[thread_of(warp, lane)];
    for (BulkCopy& c : stores_)
        if (!c.group && c.warp == warp && c.lane == lane) c.group = group;
}

void BulkCopies::wait(uint32_t warp, uint32_t lane, uint64_t pending, bool reads) {
    const uint64_t groups = commits_[thread_of(warp, lane)];
    for (BulkCopy& c : stores_) {
        if (c.warp != warp || c.lane != lane || !c.group || c.group + pending > groups) continue;
        if (reads) {
            read(c);
        } else {
            finish(c);
            c.waited = true;
        }
    }
    std::erase_if(stores_, [](const BulkCopy& c) { return c.waited; });
}

bool BulkCopies::deliver(uint32_t mbarrier) {
    return deliver_due(loads_, mbarrier, [&](size_t i) {
        land(i);
        return true;
    });
}

bool BulkCopies::end() {
    if (!loads_.empty())
        report_copy("async", loads_[0], "is in flight when the block ends: nobody has waited for its mbarrier");
    for (BulkCopy& c : stores_) {
        if (!c.read) report_copy("async", c, "may still read when the block ends: no wait_group or wait_group.read");
        if (!c.read) return false;
        finish(c);
    }
    return loads_.empty();
}

void BulkCopies::tick() {
    if (!loads_.empty() && next_random(cta_.rng) % 4 == 0) land(next_random(cta_.rng) % loads_.size());
    if (stores_.empty() || next_random(cta_.rng) % 4) return;
    BulkCopy& c = stores_[next_random(cta_.rng) % stores_.size()];
    finish(c);
}

} // namespace emu
