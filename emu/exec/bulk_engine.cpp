// SPDX-License-Identifier: Apache-2.0
// When bulk copies move their bytes: late (a load at the first test of its mbarrier that fails without it, a store at
// its wait), early (at issue) or at a moment that the seed picks.
#include "bulk.h"

#include <cstring>

#include "../report/report.h"
#include "run.h"

namespace emu {
namespace {
uint32_t thread_of(uint32_t warp, uint32_t lane) { return warp * 32 + lane; }
} // namespace

void BulkCopies::report_copy(const char* kind, const BulkCopy& c, const std::string& what) const {
    const std::string who = " bytes, warp " + std::to_string(c.warp) + " lane " + std::to_string(c.lane);
    report_raw(cta_, kind, c.pc,
               "  at  " + where(*cta_.kernel, c.pc) + "   copy of " + std::to_string(c.bytes) + who + "   shared 0x" +
                   hex(c.shared) + "\n  " + what + "\n" + replay(*cta_.launch));
}

void BulkCopies::reset() {
    loads_.clear();
    stores_.clear();
    commits_.clear();
}

void BulkCopies::load(BulkCopy&& copy) {
    std::memset(cta_.shared + copy.shared, POISON, copy.bytes);
    for (uint32_t i = 0; i < copy.bytes; i += 16) cta_.set_shared_defined(copy.shared + i, 16, false);
    const AsyncTiming timing = cta_.launch->options.async;
    if (timing == AsyncTiming::random) copy.tests = next_random(cta_.rng) % 8;
    loads_.push_back(std::move(copy));
    if (timing == AsyncTiming::early) land(loads_.size() - 1);
}

// The bytes are there, defined where the source is, and the mbarrier is told.
void BulkCopies::land(size_t index) {
    const BulkCopy c = std::move(loads_[index]);
    loads_.erase(loads_.begin() + long(index));
    const Memory& memory = *cta_.launch->memory;
    std::memcpy(cta_.shared + c.shared, reinterpret_cast<const void*>(c.global), c.bytes);
    for (uint32_t i = 0; i < c.bytes; i += 16) {
        if (memory.defined_small(c.global + i, 16)) {
            cta_.set_shared_defined(c.shared + i, 16, true);
            continue;
        }
        for (uint32_t b = i; b < i + 16; ++b)
            cta_.set_shared_defined(c.shared + b, 1, memory.defined_small(c.global + b, 1));
    }
    if (cta_.observer) cta_.observer->bulk_land(cta_, c.shared, c.bytes);
    std::string problem;
    Mbarrier* b = mbarrier_at(cta_, c.mbarrier, problem);
    if (b) problem = b->complete(c.bytes);
    if (problem.empty()) mbarrier_changed(cta_, *b);
    else report_copy("barrier", c, "has landed: " + problem);
}

void BulkCopies::store(BulkCopy&& copy) {
    const uint8_t* from = cta_.shared + copy.shared;
    copy.data.assign(from, from + copy.bytes);
    if (cta_.launch->options.async == AsyncTiming::early) finish(copy);
    stores_.push_back(std::move(copy));
}

void BulkCopies::read(BulkCopy& c) {
    if (c.read) return;
    c.read = true;
    if (std::memcmp(c.data.data(), cta_.shared + c.shared, c.bytes))
        report_copy("async", c, "its source was written over before wait_group or wait_group.read");
}

void BulkCopies::finish(BulkCopy& c) {
    read(c);
    std::memcpy(reinterpret_cast<void*>(c.global), c.data.data(), c.bytes);
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
        if (reads) read(c);
        else finish(c);
    }
    std::erase_if(stores_, [](const BulkCopy& c) { return !c.bytes; });
}

bool BulkCopies::deliver(uint32_t mbarrier) {
    bool any = false;
    for (size_t i = 0; i < loads_.size();) {
        if (loads_[i].mbarrier != mbarrier || loads_[i].tests-- > 0) {
            ++i;
            continue;
        }
        land(i);
        any = true;
    }
    return any;
}

bool BulkCopies::end() {
    if (!loads_.empty())
        report_copy("async", loads_[0], "is in flight when the block ends: nobody has waited for its mbarrier");
    for (BulkCopy& c : stores_) {
        if (!c.read) report_copy("async", c, "may still read when the block ends: no wait_group or wait_group.read");
        if (!c.read) return false;
        if (c.bytes) finish(c);
    }
    return loads_.empty();
}

void BulkCopies::tick() {
    if (!loads_.empty() && next_random(cta_.rng) % 4 == 0) land(next_random(cta_.rng) % loads_.size());
    if (stores_.empty() || next_random(cta_.rng) % 4) return;
    BulkCopy& c = stores_[next_random(cta_.rng) % stores_.size()];
    if (c.bytes) finish(c);
}

} // namespace emu
