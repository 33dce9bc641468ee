// SPDX-License-Identifier: Apache-2.0
// What everyday accesses of shared memory leave behind: each word has the number of a history, which words share that
// the same instructions touched. A history is one access of a warp and the one before it, back to the last write;
// nothing is written for each lane but that number. What is not everyday is told to records (shadow.h), one by one.
// Of a block alone in its cluster. Knows no rules beyond: all is ordered, or each lane comes back to its own word.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "past.h"

namespace emu {

class Histories {
public:
    using Id = int32_t;
    static constexpr Id NOTHING = 0;      // not touched, or all that touched it is known to everybody
    static constexpr Id TOLD = INT32_MAX; // records say it; of all words of 16 bytes, or of none

    // One instruction of a warp. Lane l of `rows` names bytes [addr[l], addr[l] + bytes).
    struct Access {
        Moment moment;
        uint32_t lanes, rows; // who made it: `collective`, all `lanes` each of its bytes; else each row its own
        uint32_t pc;
        uint32_t in_flight; // lanes of a copy
        uint8_t warp, bytes;
        bool write, collective, copied;
        bool told;        // records have some of a copy that was in flight
        uint8_t strength; // of a write: Record::strong and Record::atomic
        alignas(16) uint32_t addr[32];
    };
    // Who does what, and what it knows.
    struct Doing {
        const Past::Warps& known;
        Moment now;
        uint32_t lanes, rows, pc;
        const uint32_t* addr;
        uint8_t warp, bytes;
        bool collective;
        uint8_t strength;
        bool knows(const Access& a) const { return !a.in_flight && a.moment <= known[a.warp]; }
    };

    void reset(uint32_t end, bool on);
    bool is_on() const { return on_; }
    bool has(uint32_t address) const { return words_[address / 16 * 4] != TOLD; } // else records have it
    const std::vector<Id>& words() const { return words_; }

    // Can words tell of it? Elements of less than a word must fill those that they touch, one behind the other.
    static bool fills_words(const Doing& d);
    // Everyday? False: nothing has changed, and the records decide. They take what fills words.
    bool read(const Doing& d);
    template <class F> bool write(const Doing& d, F frees);      // frees(lane): may what records have be written
    template <class F> Id issue_copy(const Doing& d, F frees);   // NOTHING: not everyday
    bool land(Id copy, uint32_t lanes, Moment now, bool waited); // false: records must be told
    void note(unsigned warp, Moment now) { last_[warp] = now; }  // an access that only records have
    void give_back(uint32_t chunk) {                             // 16 bytes: records need not have them any more
        for (unsigned i = 0; i < 4; ++i) words_[chunk * 4 + i] = NOTHING;
    }
    // Does this warp know all that has been done, but for copies in flight? If all do, it can be forgotten.
    bool is_known_by(const Past::Warps& known) const;
    void forget_known();

    // Is there room for an instruction? make_room() tries; where it says false, records must take all words first.
    bool has_room() const { return accesses_.has_room() && copies_.has_room(); }
    bool make_room();
    void forget_all(); // no word has a history now
    Id take(uint32_t word) {
        const Id id = words_[word];
        words_[word] = TOLD;
        return is_live(id) ? id : NOTHING;
    }
    bool is_in_sixteens(Id id) const;
    bool is_in_words(Id id) const; // or larger ones
    // Calls f(access, its lanes at the address), the oldest first.
    template <class F> void each(Id id, uint32_t address, F f);

private:
    static constexpr unsigned DEEPEST = WARPS + 8;
    static constexpr Id FIRST_COPY = 1 << 30; // copies have numbers of their own: they outlast barriers
    struct History {
        uint32_t access;
        Id before, write; // write: the last one
        uint32_t depth;
    };
    // Accesses and what begins with them. Those before `over` everybody knows; they may still be in words.
    struct Pool {
        static constexpr uint32_t ACCESSES = 2048, HISTORIES = 4096;
        Id first = 1, over = 1, next = 1;
        uint32_t first_access = 0, next_access = 0;
        std::unique_ptr<Access[]> accesses; // pages that nothing is written to are never there
        std::unique_ptr<History[]> histories;
        void start(Id at) { first = over = next = at; }
        bool has_room() const {
            return next_access - first_access < ACCESSES && uint32_t(next - first) < HISTORIES - 32;
        }
        bool has_much_room() const {
            return next_access - first_access < ACCESSES / 2 && uint32_t(next - first) < HISTORIES / 2;
        }
        History& history(Id id) { return histories[uint32_t(id) % HISTORIES]; }
        const History& history(Id id) const { return histories[uint32_t(id) % HISTORIES]; }
        Access& newest() { return accesses[next_access % ACCESSES]; } // the one that comes next
        void forget() {
            first = over;
            first_access = over < next ? history(over).access : next_access;
        }
    };
    bool are_numbers_left() const { return accesses_.next < FIRST_COPY / 2 && copies_.next < TOLD - FIRST_COPY / 2; }
    bool is_live(Id id) const { return (id >= accesses_.over && id < FIRST_COPY) || id >= copies_.over; }
    const History& history(Id id) const { return id < FIRST_COPY ? accesses_.history(id) : copies_.history(id); }
    const Access& access_of(Id id) const {
        return (id < FIRST_COPY ? accesses_ : copies_).accesses[history(id).access % Pool::ACCESSES];
    }
    Access& access_of(Id id) { return const_cast<Access&>(static_cast<const Histories*>(this)->access_of(id)); }

    static bool is_own(const Access& a, const Doing& d); // of the same lanes, each its own bytes
    template <unsigned N> bool same(const Doing& d, Id& id) const;
    bool same(const Doing& d, Id& id) const;
    Id id_at(const Doing& d, unsigned lane) const;
    template <unsigned N> void put(const Doing& d, Id id);
    void put(const Doing& d, Id id);
    Id after_read(Id id, const Doing& d);
    bool may_write(Id id, const Doing& d) const;
    bool read_apart(const Doing& d);
    bool repeats(Id id, const Doing& d, bool write);
    Access& make_access(Pool& pool, const Doing& d, bool write);
    Id make_history(Pool& pool, Id write, Id before, uint32_t depth) {
        pool.history(pool.next) = {pool.next_access, before, write, depth};
        return pool.next++;
    }
    template <class F> bool may_write_apart(const Doing& d, F frees) const;
    void make_write(const Doing& d);
    Id make_copy(const Doing& d);

    bool on_ = false;
    std::vector<Id> words_;
    Pool accesses_, copies_;
    Past::Warps last_{}; // the last moment of each warp with an access
};

template <class F> bool Histories::may_write_apart(const Doing& d, F frees) const {
    Id good = NOTHING; // the last that was looked at
    for (uint32_t m = d.rows; m; m &= m - 1) {
        const unsigned lane = unsigned(__builtin_ctz(m));
        const Id id = id_at(d, lane);
        if (id == good) continue;
        if (id == TOLD ? !frees(lane) : !may_write(id, d)) return false;
        if (id != TOLD) good = id;
    }
    return true;
}
template <class F> bool Histories::write(const Doing& d, F frees) {
    Id id = NOTHING;
    const bool alike = same(d, id) && id != TOLD;
    if (alike && repeats(id, d, true)) return true;
    if (alike ? !may_write(id, d) : !may_write_apart(d, frees)) return false;
    make_write(d);
    return true;
}
template <class F> Histories::Id Histories::issue_copy(const Doing& d, F frees) {
    Id id = NOTHING;
    const bool alike = same(d, id) && id != TOLD;
    return (alike ? may_write(id, d) : may_write_apart(d, frees)) ? make_copy(d) : NOTHING;
}

template <class F> void Histories::each(Id id, uint32_t address, F f) {
    Access* chain[DEEPEST + 2];
    unsigned count = 0;
    for (; is_live(id); id = history(id).before) chain[count++] = &access_of(id);
    while (count) {
        Access& a = *chain[--count];
        uint32_t lanes = a.collective ? a.lanes : 0;
        for (uint32_t m = a.collective ? 0 : a.rows; m; m &= m - 1)
            if (address - a.addr[__builtin_ctz(m)] < a.bytes) lanes |= m & -m;
        f(a, lanes);
    }
}

} // namespace emu
