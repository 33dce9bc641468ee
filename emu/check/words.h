// SPDX-License-Identifier: Apache-2.0
// What is remembered of shared memory: one record for each 16 bytes, or four when it is used in smaller pieces.
// Used by the checker. Knows no rules: it only stores.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

namespace emu {

struct Record {
    uint32_t write_clock = 0; // 0: never written
    uint32_t write_pc = 0;
    uint8_t write_warp = 0, write_lane = 0;
    uint8_t write_bytes = 0; // bit b: byte b of the word (records of 16 bytes: always 15)
    enum Flag : uint8_t { split = 1, in_flight = 2, copied = 4, atomic = 8 };
    uint8_t flags = 0;
    uint16_t copy_sync = 0; // copied: the warp's count of bar.warp.sync when the copy was waited for
    uint16_t read_bytes = 0;
    // Readers since the last write: two sets, each of warps that read at one clock.
    uint32_t readers[2] = {0, 0};
    uint32_t read_clock[2] = {0, 0};
    uint32_t read_pc = 0;
    uint8_t read_lane = 0, read_warp = 0;

    // A read of `bytes` of it by a warp whose clock stands at `clock`; of two sets of readers the newer is in front.
    void note_read(unsigned warp, unsigned lane, uint32_t pc, uint32_t clock, uint8_t bytes) {
        const uint32_t bit = 1u << warp;
        readers[0] &= ~bit;
        readers[1] &= ~bit;
        if (readers[0] && read_clock[0] != clock) {
            readers[1] = readers[0];
            read_clock[1] = read_clock[0];
            readers[0] = 0;
        }
        readers[0] |= bit;
        read_clock[0] = clock;
        read_pc = pc;
        read_lane = uint8_t(lane);
        read_warp = uint8_t(warp);
        read_bytes |= bytes;
    }
    // A write of `bytes` of it; a whole word's makes the readers past.
    void note_write(unsigned warp, unsigned lane, uint32_t pc, uint32_t clock, uint8_t bytes, uint8_t also) {
        const bool same = write_warp == warp && write_clock == clock;
        write_bytes = uint8_t((same ? write_bytes : 0) | bytes);
        write_clock = clock;
        write_pc = pc;
        write_warp = uint8_t(warp);
        write_lane = uint8_t(lane);
        flags = uint8_t((flags & split) | also);
        if (bytes == 15) readers[0] = readers[1] = 0, read_bytes = 0;
    }
};

class Words {
public:
    void reset(uint32_t end) {
        coarse_.assign((end + 15) / 16, Record{});
        if (fine_.size() < coarse_.size() * 4) fine_.resize(coarse_.size() * 4);
    }
    bool is_split(uint32_t address) const { return coarse_[address / 16].flags & Record::split; }
    Record& coarse(uint32_t address) { return coarse_[address / 16]; }
    Record& fine(uint32_t address) {
        Record& whole = coarse_[address / 16];
        if (!(whole.flags & Record::split)) {
            for (unsigned i = 0; i < 4; ++i) fine_[address / 16 * 4 + i] = whole;
            whole.flags |= Record::split;
        }
        return fine_[address / 4];
    }
    // After a write of all 16 bytes the four records say the same.
    void merge(uint32_t address) {
        coarse_[address / 16] = fine_[address / 16 * 4];
        coarse_[address / 16].flags &= uint8_t(~Record::split);
    }

private:
    std::vector<Record> coarse_, fine_;
};

} // namespace emu
