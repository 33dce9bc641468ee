// SPDX-License-Identifier: Apache-2.0
// The listener of one block; those of a cluster share what orders its threads. Made by make_checker for each host
// thread, told of every event by the executor, reports through report_raw. Changes nothing of what it watches.
#pragma once

#include <string>
#include <unordered_map>

#include "../exec/warp.h"
#include "global_races.h"
#include "happens_before.h"
#include "shadow.h"
#include "spare.h"

namespace emu {

// Do two lanes of an ordinary store write the same bytes?
bool stores_equal(const Warp& w, const Inst& in, unsigned x, unsigned y);

class Checker final : public Observer {
public:
    Checker(Launch& launch, const Checker* first);
    void cta_begin(Cta& cta) override;
    bool cta_end(Cta& cta) override;
    bool shared_read(Warp& w, uint32_t mask, const uint32_t* addr, unsigned bytes) override;
    bool shared_write(Warp& w, uint32_t mask, const uint32_t* addr, unsigned bytes) override;
    bool shared_atomic(Warp& w, uint32_t mask, const uint32_t* addr, unsigned bytes) override;
    bool barrier_arrive(Warp& w, unsigned id, bool sync) override;
    bool barrier_release(Cta& cta, unsigned id, uint32_t sync_warps, uint32_t arrive_warps) override;
    void warp_sync(Warp& w, uint32_t lanes) override;
    bool async_issue(Warp& w, AsyncCopy& copy) override;
    void async_land(Cta& cta, const AsyncCopy& copy, uint32_t lanes, bool waited) override;
    void mbarrier_made(Warp& w, uint32_t mask, const uint32_t* addr) override;
    bool mbarrier_change(Warp& w, uint32_t mask, const uint32_t* addr) override;
    bool mbarrier_test(Warp& w, uint32_t mask, const uint32_t* addr, uint32_t passed) override;
    void mbarrier_complete(Cta& cta, uint32_t address) override;
    bool bulk_write(Warp& w, unsigned lane, uint32_t address, uint32_t bytes) override;
    bool bulk_read(Warp& w, unsigned lane, uint32_t address, uint32_t bytes) override;
    void bulk_land(Cta& cta, uint32_t address, uint32_t bytes) override;
    void bulk_move(const BulkMove& move) override;
    void proxy_fence(Warp& w, uint32_t mask) override;
    void fence(Warp& w, uint32_t mask) override;
    bool global_access(Warp& w, uint32_t mask, const uint64_t* addr, unsigned bytes, bool write) override;
    void lanes_exit(Warp& w, uint32_t mask) override;
    void cluster_arrive(Warp& w, uint32_t lanes, bool release) override;
    void cluster_complete() override { order_.cluster_complete(); }
    void cluster_pass(Warp& w, uint32_t lanes) override;

private:
    // The synchronisation object at an address.
    uint32_t name_of(uint32_t address) const { return cta_->rank * PEER_BYTES + address; }
    static bool is_bulk(const InstInfo& info) {
        return row_of(info).is(trait::copies) && row_of(info).is(trait::orders);
    }
    static bool is_wide(Order order) { return order.scope != Scope::cta; }
    bool is_foreign(const Warp& w) const { return w.own != cta_; }
    // One access of an instruction to one record: by a lane, or by several that do the same.
    struct Access {
        Warp& warp;
        uint32_t lanes;
        uint32_t address; // of the record
        unsigned span;    // bytes of the record
        bool strong, atomic;
        bool collective; // ldmatrix, stmatrix: the bytes are other lanes' than the one that names the row
        unsigned lane() const { return unsigned(__builtin_ctz(lanes)); }
        unsigned agent() const { return warp.agent; }
    };
    struct Quick; // what the everyday case of one instruction is compared with
    Quick quick(const Warp& w) const;
    // An ordinary access of words, everyday enough for histories?
    Histories::Doing doing(const Warp& w, uint32_t mask, const uint32_t* addr, unsigned bytes, bool collective) const;
    bool read_quickly(const Warp& w, uint32_t mask, const uint32_t* addr, unsigned bytes, bool collective);
    bool write_quickly(const Warp& w, uint32_t mask, const uint32_t* addr, unsigned bytes, uint8_t strength);
    bool issue_quickly(const Warp& w, AsyncCopy& copy);
    bool frees(const Warp& w, uint32_t address, unsigned bytes, unsigned lane);
    void forget_known(uint32_t synchronised);
    bool write_line(const Quick& q, uint32_t address, uint8_t flags);
    bool read_record(const Access& a, Record& r);
    bool write_record(const Access& a, Record& r);
    bool is_before(const Access& a, const Event& e, bool collective, bool reads) const;
    bool joins_entry(Record& r, const Reads& reads);
    void note(const Access& a, Record& r, Reads reads); // beside the others that are not over
    struct Stored {
        uint16_t slot;
        unsigned lane;
        size_t at; // in the slot
    };
    Stored stored_at(const Access& a, uint32_t address) const;
    bool repeats(const Access& a, const Record& r) const;
    bool follows_alike(const Access& a, const Record& r);
    bool check_entries(const Access& a, const Record& r, bool reads);
    template <class F> bool each_record(Access a, uint32_t address, unsigned bytes, F f);
    template <class F> void each_landed(uint32_t address, unsigned bytes, F f);
    bool write_all(Warp& w, uint32_t mask, const uint32_t* addr, unsigned bytes, bool meet, bool atomic);
    void merge(uint32_t address, unsigned bytes);
    static uint32_t same_address(uint32_t mask, const uint32_t* addr, unsigned lane) {
        uint32_t lanes = 0;
        for (uint32_t m = mask; m; m &= m - 1)
            if (addr[__builtin_ctz(m)] == addr[lane]) lanes |= m & -m;
        return lanes;
    }
    static bool meets(uint32_t mask, const uint32_t* addr, unsigned bytes);
    bool meets(const Warp& w, uint32_t mask, const uint32_t* addr, unsigned bytes);
    template <class F>
    bool write_alike(Warp& w, uint32_t mask, const uint32_t* addr, unsigned bytes, F writes_the_same);
    // Of a strong access: what it acquires and releases.
    void synchronise(Warp& w, uint32_t mask, const uint32_t* addr, bool reads, bool writes);

    bool race(const Access& a, const char* now, const char* then, const Event& e, uint32_t pc);
    bool in_flight(const Access& a, const Record& r, const char* now);
    bool unpublished(const Access& a, const Record& r);
    bool in_proxy(const Record& r) const; // may a bulk copy read what was written last
    bool no_proxy_fence(const Access& a, const Record& r);
    // global.cpp
    void global_fence();
    bool is_ordered(const GlobalAccess& then, const GlobalAccess& now) const;
    bool conflicts(const GlobalAccess& then, const GlobalAccess& now) const;
    // alike: a write, as other lanes of the instruction write there; same: a write of what is there already.
    enum class Effect { read, write, alike, same };
    bool stored_before(Warp& w, uint32_t mask, const uint64_t* addr, unsigned bytes, bool write, bool copies);
    GlobalAccess global_now(uint32_t pc, unsigned agent);
    bool global_word(const GlobalAccess& now, Effect effect, GlobalWord& word, uint64_t address);
    bool report_global_race(const GlobalAccess& now, bool write, const GlobalAccess& then, bool wrote, uint64_t address,
                            const char* why);
    bool global_race(const GlobalAccess& now, bool write, const GlobalAccess& then, bool wrote, uint64_t address);
    std::string line(const char* what, unsigned agent, uint32_t lanes, uint32_t pc, uint32_t address,
                     unsigned span) const;
    std::string who(unsigned agent) const;

    // cluster.cpp
    bool enter(Warp& w, uint32_t mask, const uint32_t* addr); // an access by another block
    bool enter_at(Warp& w, unsigned lane, uint32_t address);  // the same by one lane
    bool foreign_read(Warp& w, uint32_t mask, const uint32_t* addr, unsigned bytes);
    bool foreign_write(Warp& w, uint32_t mask, const uint32_t* addr, unsigned bytes, bool atomic);
    bool has_foreign(const Record& r);
    bool not_there(Cta& block, uint32_t pc, const std::string& line, const char* what);
    struct Visit { // the last accesses of a warp of another block
        Event event;
        uint32_t pc = 0, address = 0;
        uint64_t announced = 0; // Checker::announced_ of that block then
    };

    Launch& launch_;
    Cta* cta_ = nullptr;
    std::shared_ptr<Spare<HappensBefore>> shared_order_;
    HappensBefore& order_;                         // **shared_order_
    const HappensBefore::Agent* agents_ = nullptr; // its agents
    const Spare<Shadow> own_shadow_;
    Shadow& shadow_;            // *own_shadow_
    std::vector<Visit> visits_; // by agent
    Past exits_;                // what this block's threads knew when they exited
    uint64_t announced_ = 0;    // strong accesses of this block to global memory: others may know by them that it runs
    bool comes_after_made(Warp& w, uint32_t mask, const uint32_t* addr, bool test);
    struct Made {
        Event event;
        uint32_t pc;
    };
    std::unordered_map<uint32_t, Made> made_; // mbarriers, by address
    const uint32_t* storing_ = nullptr;       // the addresses of a store, while it is looked at
    uint32_t storing_mask_ = 0;               // lanes that have one
    bool ended_ = false;
    bool alone_ = true;     // no bulk copies
    bool objects_ = false;  // this instruction touched a word where something was released
    bool touched_ = false;  // global memory, since the last fence
    uint64_t acquired_ = 0; // the moment of the launch at which this block acquired last
};

template <class F> bool Checker::each_record(Access a, uint32_t address, unsigned bytes, F f) {
    a.address = address;
    a.span = 16;
    if (bytes == 16 && !(shadow_.coarse(address).flags & Record::split)) return f(a, shadow_.coarse(address));
    for (unsigned i = 0; i < bytes; i += 4) {
        Record& word = shadow_.word(address + i);
        a.address = address + i;
        a.span = 4;
        if (bytes >= 4 && !(word.flags & Record::split)) {
            if (!f(a, word)) return false;
            continue;
        }
        a.span = 1;
        for (unsigned b = i; b < std::min(i + 4, bytes); ++b) {
            a.address = address + b;
            if (!f(a, shadow_.byte(address + b))) return false;
        }
    }
    return true;
}

} // namespace emu
