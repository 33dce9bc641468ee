// SPDX-License-Identifier: Apache-2.0
// What is remembered of shared memory: the last write of each byte and all its reads since. One record stands for 16
// bytes, for 4, or for one, whatever the accesses have told apart; or for a line of 128, where each lane of a warp has
// a word of its own; what only everyday accesses touched is in histories until somebody asks for its record. Used by
// the checker. Knows no rules: it only stores.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "histories.h"

namespace emu {

// Accesses by lanes of warps, all at one moment of their clocks: reads, and writes that the last write does not come
// after: strong ones, and those of the same instruction that stored what was there (alike). Warps
// share one only if the same lanes made it.
struct Reads {
    Moment moment = 0;
    uint32_t warps = 0, lanes = 0; // warps 0: nobody
    uint32_t pc = 0;
    uint32_t next = 0; // more of them, in Shadow::more(); 0: none
    bool strong = false, wrote = false;
    uint8_t block = 0; // of the warps
    bool alike = false;
    bool like(const Reads& o) const {
        return moment == o.moment && block == o.block && strong == o.strong && wrote == o.wrote && alike == o.alike;
    }
    Event event(unsigned warp) const { return {moment, lanes, uint16_t(block * WARPS + warp)}; }
};

struct Record {
    Moment write_moment = 0; // 0: never written
    uint32_t write_lanes = 0;
    uint32_t write_pc = 0;
    uint8_t write_warp = 0, write_block = 0;
    enum Flag : uint8_t {
        split = 1,       // smaller records tell more
        in_flight = 2,   // a copy that nobody waited for
        copied = 4,      // by a copy
        strong = 8,      // by an atomic, or a volatile, relaxed or release store
        atomic = 16,     // by an atomic
        foreign = 32,    // the last write, or a read since, is another block's of the cluster
        collective = 64, // by all lanes of a warp together: none of them has made all of it
        bulk = 128       // by a bulk copy
    };
    uint8_t flags = 0;
    bool object = false; // something was released here
    Reads reads;

    Event write() const { return {write_moment, write_lanes, uint16_t(write_block * WARPS + write_warp)}; }
};

class Shadow {
public:
    // Of the block of this rank: who writes without being told apart from it is of that block.
    void reset(uint32_t end, uint32_t rank, bool with_histories) {
        const size_t lines = (end + LINE - 1) / LINE;
        Record unwritten;
        unwritten.write_block = uint8_t(rank);
        is_line_.assign(lines, false);
        lines_.resize(lines);
        if (with_histories) coarse_.resize(lines * (LINE / 16)); // set when they take over from a history
        else coarse_.assign(lines * (LINE / 16), unwritten);
        if (words_.size() < coarse_.size() * 4) words_.resize(coarse_.size() * 4);
        more_.assign(1, Reads{});
        free_ = 0;
        recent.reset(end, with_histories);
        told_.clear();
    }
    Histories recent;
    // Everybody knows all that has been done, but for copies in flight.
    void forget_known();
    // For the next instruction.
    void make_room() {
        if (!recent.has_room() && !recent.make_room()) tell_all();
    }
    // The record of a line, if it has one: its lanes and those of its reads are all 32, and it has no flags but strong
    // and atomic.
    Record* line(uint32_t address) { return is_line_[address / LINE] ? &lines_[address / LINE] : nullptr; }
    // From now on the line has one, in the place of all others there, which have no `more`.
    Record& make_line(uint32_t address) {
        is_line_[address / LINE] = true;
        return lines_[address / LINE];
    }
    // Where records are, for loops over lanes: what they store might be taken to move them.
    struct Places {
        const uint8_t* is_line;
        Record* coarse;
        const Histories::Id* recent;
        Record* words;
        Record* operator()(uint32_t address) const {
            const bool told = recent[address / 16 * 4] == Histories::TOLD && !is_line[address / LINE];
            return told ? coarse + address / 16 : nullptr;
        }
        Record* word(uint32_t address) const { // where words have been told apart already
            const Record* whole = (*this)(address);
            return whole && whole->flags & Record::split ? words + address / 4 : nullptr;
        }
    };
    Places places() { return {is_line_.data(), coarse_.data(), recent.words().data(), words_.data()}; }
    Record& coarse(uint32_t address) {
        if (recent.has(address)) tell(address / 16);
        if (is_line_[address / LINE]) tell_lanes_apart(address / LINE);
        return coarse_[address / 16];
    }
    // The record of a word, after telling it apart from its neighbours.
    Record& word(uint32_t address) {
        Record& whole = coarse(address);
        if (!(whole.flags & Record::split)) tell_apart(whole, &words_[address / 16 * 4]);
        return words_[address / 4];
    }
    Record& byte(uint32_t address) {
        Record& whole = word(address);
        make_bytes();
        if (!(whole.flags & Record::split)) tell_apart(whole, &bytes_[address / 4 * 4]);
        return bytes_[address];
    }
    // All of it was written: the parts say the same again.
    void merge_word(uint32_t address) { merge(words_[address / 4], &bytes_[address / 4 * 4]); }
    void merge_coarse(uint32_t address) { merge(coarse_[address / 16], &words_[address / 16 * 4]); }

    Reads& more(uint32_t index) { return more_[index]; }
    uint32_t new_more() {
        if (const uint32_t index = free_) {
            free_ = more_[index].next;
            return index;
        }
        more_.push_back({});
        return uint32_t(more_.size() - 1);
    }
    void drop_more(uint32_t index) {
        more_[index].next = free_;
        free_ = index;
    }
    void forget_reads(Record& r) {
        for (uint32_t i = r.reads.next; i;) {
            const uint32_t next = more_[i].next;
            drop_more(i);
            i = next;
        }
        r.reads.warps = r.reads.next = 0;
    }

    static constexpr uint32_t LINE = 128;

private:
    __attribute__((noinline)) void tell_lanes_apart(uint32_t line) {
        is_line_[line] = false;
        for (unsigned i = 0; i < LINE / 16; ++i) coarse_[line * (LINE / 16) + i].flags = Record::split;
        Record* const words = &words_[line * (LINE / 4)];
        for (unsigned l = 0; l < LINE / 4; ++l) {
            words[l] = lines_[line];
            words[l].write_lanes = words[l].reads.lanes = 1u << l;
        }
    }
    void tell(uint32_t chunk);
    void tell_all();
    void tell_word(Histories::Id id, uint32_t word);
    void tell_history(Histories::Id id, uint32_t address, Record& r);
    void add_reads(Record& r, Reads now);
    void make_bytes() {
        if (bytes_.size() < words_.size() * 4) bytes_.resize(words_.size() * 4);
    }
    template <class F> void each_part(uint32_t chunk, F f); // calls it with all its records
    // Kept out of the loops over lanes, which seldom need it: loads are an eighth faster.
    __attribute__((noinline)) void tell_apart(Record& whole, Record* parts) {
        for (unsigned i = 0; i < 4; ++i) parts[i] = whole;
        for (uint32_t from = whole.reads.next; from; from = more_[from].next) // the first keeps the list
            for (unsigned i = 1; i < 4; ++i) {
                const uint32_t copy = new_more();
                more_[copy] = more_[from];
                more_[copy].next = parts[i].reads.next == whole.reads.next ? 0 : parts[i].reads.next;
                parts[i].reads.next = copy;
            }
        whole.flags |= Record::split;
        whole.reads.next = 0;
    }
    void merge(Record& whole, Record* parts) {
        bool object = whole.object;
        for (unsigned i = 0; i < 4; ++i) object |= parts[i].object;
        for (unsigned i = 1; i < 4; ++i) forget_reads(parts[i]);
        whole = parts[0];
        whole.flags &= uint8_t(~Record::split);
        whole.object = object;
    }

    std::vector<uint8_t> is_line_;
    std::vector<Record> lines_, coarse_, words_, bytes_;
    std::vector<Reads> more_;
    std::vector<uint32_t> told_; // 16 bytes each, that records have and histories had
    uint32_t free_ = 0;
};

} // namespace emu
