// SPDX-License-Identifier: Apache-2.0
// What arrivals and bytes do to an mbarrier, and when its phase is complete.
#include "mbarrier.h"

#include <algorithm>
#include <cstring>

#include "../report/report.h"

namespace emu {
namespace {
std::string beyond(const char* what, int64_t value) {
    return std::string(what) + " of an mbarrier would be " + std::to_string(value) + "; " +
           std::to_string(Mbarrier::MOST) + " is the most";
}
} // namespace

std::string Mbarrier::arrive(uint32_t count, bool drop, bool may_complete) {
    if (!count || count > pending)
        return std::to_string(count) + " arrivals at an mbarrier whose phase lacks " + std::to_string(pending);
    if (!may_complete && count == pending && !tx) return ".noComplete on the arrival that completes the phase";
    if (drop && count > expected)
        return std::to_string(count) + " arrivals are dropped of " + std::to_string(expected) + " that are expected";
    pending -= count;
    if (drop) expected -= count;
    return {};
}

std::string Mbarrier::expect(uint32_t bytes) {
    const int64_t now = int64_t(tx) + bytes;
    if (now > MOST) return beyond("the bytes to come", now);
    tx = int32_t(now);
    return {};
}

std::string Mbarrier::complete(uint32_t bytes) {
    const int64_t now = int64_t(tx) - bytes;
    if (now < -int64_t(MOST)) return beyond("the bytes that came unannounced", -now);
    tx = int32_t(now);
    return {};
}

std::string Mbarrier::more_arrivals(uint32_t count) {
    if (pending + count > MOST) return beyond("the pending arrivals", int64_t(pending) + count);
    pending += count;
    return {};
}

Mbarrier* Mbarriers::find(uint32_t address) {
    for (Mbarrier& b : all_)
        if (b.address == address) return &b;
    return nullptr;
}

void Mbarriers::remove(uint32_t address) {
    std::erase_if(all_, [&](const Mbarrier& b) { return b.address == address; });
}

Mbarrier* mbarrier_at(Cta& cta, uint32_t address, std::string& problem) {
    Mbarrier* b = cta.mbarriers.find(address);
    uint64_t word = 0;
    if (b) std::memcpy(&word, cta.shared + address, 8);
    if (b && word == b->word()) return b;
    problem = b ? "the mbarrier at shared 0x" + hex(address) + " was written over by something else"
                : "there is no mbarrier at shared 0x" + hex(address) + ": none was initialised, or it was invalidated";
    return nullptr;
}

void mbarrier_changed(Cta& cta, Mbarrier& b) {
    if (!b.pending && !b.tx) {
        b.phase = (b.phase + 1) % Mbarrier::PHASES;
        b.pending = b.expected;
        if (cta.observer) cta.observer->mbarrier_complete(cta, b.address);
    }
    const uint64_t word = b.word();
    std::memcpy(cta.shared + b.address, &word, 8);
    cta.changes++;
}

std::string describe(const Mbarrier& b) {
    return "mbarrier at shared 0x" + hex(b.address) + ", in phase " + std::to_string(b.phase) + " (modulo " +
           std::to_string(Mbarrier::PHASES) + "), lacks " + std::to_string(b.pending) + " of " +
           std::to_string(b.expected) + " arrivals and " + std::to_string(b.tx) + " bytes";
}

} // namespace emu
