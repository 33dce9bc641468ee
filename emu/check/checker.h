// SPDX-License-Identifier: Apache-2.0
// The listener of one block. Made by make_checker for each host thread, told of every event by the executor,
// reports through report_raw. Changes nothing of what it watches.
#pragma once

#include <string>
#include <unordered_map>

#include "../exec/warp.h"
#include "clocks.h"
#include "words.h"

namespace emu {

class Checker final : public Observer {
public:
    explicit Checker(Launch& launch) : launch_(launch) {}
    void cta_begin(Cta& cta) override;
    bool shared_read(Warp& w, uint32_t mask, const uint32_t* addr, unsigned bytes) override;
    bool shared_write(Warp& w, uint32_t mask, const uint32_t* addr, unsigned bytes) override;
    bool shared_atomic(Warp& w, uint32_t mask, const uint32_t* addr, unsigned bytes) override;
    bool barrier_arrive(Warp& w, unsigned id, bool sync, uint32_t threads) override;
    bool barrier_release(Cta& cta, unsigned id, uint32_t sync_warps, uint32_t arrive_warps) override;
    void warp_sync(Warp& w, uint32_t lanes) override;
    bool async_issue(Warp& w, const AsyncCopy& copy) override;
    void async_land(Cta& cta, unsigned warp, uint32_t mask, const uint32_t* dst, unsigned bytes) override;
    void fence(Warp& w, uint32_t mask) override;

private:
    struct Access {
        Warp& warp;
        unsigned lane;
        uint32_t address; // of the record
        unsigned span;    // bytes of the record: 4 or 16
        uint8_t bytes;    // of a word that are touched
        bool matrix;      // ldmatrix: the bytes go to other lanes than the one that names the row
    };
    bool read_record(const Access& a, Record& r);
    bool write_record(const Access& a, Record& r, bool atomic);
    template <class F> bool each_record(Warp& w, uint32_t mask, const uint32_t* addr, unsigned bytes, F f);
    uint32_t quick_reads(Warp& w, uint32_t mask, const uint32_t* addr);
    uint32_t quick_writes(Warp& w, uint32_t mask, const uint32_t* addr);
    bool write_records(Warp& w, uint32_t mask, const uint32_t* addr, unsigned bytes);
    template <class F>
    bool same_instruction(Warp& w, uint32_t mask, const uint32_t* addr, unsigned bytes, F writes_the_same);

    bool race(const Access& a, const char* now, const char* then, unsigned warp, unsigned lane, uint32_t pc,
              bool lane_known);
    bool in_flight(const Access& a, const Record& r, const char* now);
    bool unpublished(const Access& a, const Record& r);
    std::string line(const char* what, unsigned warp, int lane, uint32_t pc, uint32_t address, unsigned span) const;
    std::string replay() const;

    struct BarrierUse {
        uint32_t threads = 0, warps = 0, pc = 0;
        uint8_t first_warp = 0;
    };
    Launch& launch_;
    Cta* cta_ = nullptr;
    Clocks clocks_;
    Words words_;
    std::unordered_map<uint32_t, VectorClock> atomics_; // by word address
    uint16_t warp_syncs_[32] = {};
    BarrierUse barriers_[16];
};

} // namespace emu
