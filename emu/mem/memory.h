// SPDX-License-Identifier: Apache-2.0
// Device memory: one reserved address range, allocations with red zones, and one "defined" bit for each byte.
// The facade allocates and copies, the executor loads and stores; a device address is the host address inside the
// range,
// so a copy is a memcpy. Knows nothing of kernels, warps or CUDA.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace emu {

struct Allocation {
    uint64_t start = 0;
    uint64_t bytes = 0;                   // as asked for; the red zone begins at start + bytes
    uint32_t id = 0;                      // 1, 2, ... in order of allocation
    bool live = false;                    // false: freed, kept in quarantine so that a late access is named
    std::atomic<bool> all_defined{false}; // every byte is known to be defined: loads skip the bit test
    uint64_t end() const { return start + bytes; }
    Allocation() = default;
    Allocation(const Allocation& o) { *this = o; }
    Allocation& operator=(const Allocation& o) {
        start = o.start, bytes = o.bytes, id = o.id, live = o.live;
        all_defined.store(o.all_defined.load(std::memory_order_relaxed), std::memory_order_relaxed);
        return *this;
    }
};

class Memory {
public:
    explicit Memory(uint64_t capacity_bytes); // what the card has; more than that is refused, and than the host has
    ~Memory();
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    // --- the host's side (thread-safe) ---
    uint64_t alloc(uint64_t bytes, uint64_t align = 512);  // 0: does not fit
    bool free(uint64_t address);                           // false: not the start of a live allocation
    const Allocation* find(uint64_t address) const;        // the live allocation that holds this byte, or nullptr
    bool contains(uint64_t address, uint64_t bytes) const; // all of it inside one live allocation
    bool in_range(uint64_t address) const { return address - base_ < span_; } // could it be a device address at all
    // The three below need contains(); they move bytes and the defined bits with them.
    void write(uint64_t to, const void* from, uint64_t bytes); // host to device: marks defined
    void read(void* to, uint64_t from, uint64_t bytes) const;  // device to host
    void copy(uint64_t to, uint64_t from, uint64_t bytes);     // device to device (may overlap): copies defined bits
    void fill(uint64_t to, const void* pattern, size_t width, uint64_t count); // memset of 1, 2, 4-byte patterns
    void mark_defined(uint64_t address, uint64_t bytes);
    void mark_undefined(uint64_t address, uint64_t bytes);
    bool is_defined(uint64_t address, uint64_t bytes) const;
    uint8_t undefined_bits(uint64_t address) const; // of a byte
    uint64_t capacity() const { return capacity_; }
    uint64_t room() const { return std::min(capacity_, backing_) - used_; } // what may still be allocated
    uint64_t used() const { return used_; }
    uint64_t allocation_count() const; // live ones
    std::vector<Allocation> live() const;
    // "16 bytes past the end of allocation 3 (0x7f..0x7f.., 4096 bytes)" for any address.
    std::string describe(uint64_t address) const;

    // --- the heap of running kernels: a launch that uses it has one host thread ---
    uint64_t heap_alloc(uint64_t bytes); // 0: the heap is full
    bool heap_free(uint64_t address);    // false: not the start of what heap_alloc() gave and nobody freed

    // --- the executor's side: no locks; allocations do not change while a kernel runs ---
    // The allocation whose 256-byte granule holds the address (the caller compares with start and end), or nullptr.
    const Allocation* lookup(uint64_t address) const {
        uint64_t off = address - base_;
        if (off >= span_) return nullptr;
        uint32_t slot = granule_[off >> GRANULE_SHIFT];
        return slot ? table_[slot] : nullptr;
    }
    static constexpr unsigned GRANULE_SHIFT = 8;
    uint64_t base() const { return base_; }
    // Bit (address - base) & 7 of byte (address - base) >> 3: 1 = defined.
    uint8_t* defined_bits() const { return defined_; }
    // As mark_defined, for stores of running kernels: bits that share a byte with other threads' are set atomically.
    void define_small(uint64_t address, unsigned bytes) {
        uint64_t off = address - base_;
        uint32_t bits = ((bytes >= 32 ? 0u : (1u << bytes)) - 1u);
        if (bytes >= 8 && (off & 7) == 0) {
            for (unsigned i = 0; i < bytes / 8; i++)
                __atomic_store_n(defined_ + (off >> 3) + i, 0xff, __ATOMIC_RELAXED);
            return;
        }
        uint8_t* byte = defined_ + (off >> 3);
        uint8_t want = uint8_t(bits << (off & 7)); // naturally aligned accesses of 1, 2, 4 bytes stay inside one byte
        if ((__atomic_load_n(byte, __ATOMIC_RELAXED) & want) != want) __atomic_fetch_or(byte, want, __ATOMIC_RELAXED);
    }
    // A store left these bits of a byte undefined, and the others defined.
    void store_undefined(uint64_t address, uint8_t bits);
    // Naturally aligned, 1..16 bytes.
    bool defined_small(uint64_t address, unsigned bytes) const {
        uint64_t off = address - base_;
        const uint8_t* byte = defined_ + (off >> 3);
        if (bytes >= 8) {
            for (unsigned i = 0; i < bytes / 8; i++)
                if (__atomic_load_n(byte + i, __ATOMIC_RELAXED) != 0xff) return false;
            return true;
        }
        uint8_t want = uint8_t(((1u << bytes) - 1u) << (off & 7));
        return (__atomic_load_n(byte, __ATOMIC_RELAXED) & want) == want;
    }

private:
    const Allocation* find_locked(uint64_t address) const;
    void set_bits(uint64_t address, uint64_t bytes, bool value);
    void set_granules(const Allocation& a, uint32_t value);
    void release_oldest();
    std::map<uint64_t, uint64_t>::iterator find_hole(uint64_t bytes, uint64_t align, uint64_t& start);

    uint64_t capacity_ = 0, used_ = 0;
    uint64_t backing_ = 0;                       // most that the host can hold, with the defined bits
    uint64_t base_ = 0, span_ = 0;               // the reserved range
    uint8_t* defined_ = nullptr;                 // span / 8 bytes, touched lazily
    std::map<uint64_t, uint8_t> partly_;         // undefined bits of bytes that are not defined, where not all are
    uint32_t* granule_ = nullptr;                // span / 256 words: index into table_, 0 = nothing there
    std::vector<const Allocation*> table_;       // [0] = nullptr
    std::map<uint64_t, Allocation> allocations_; // by start; live ones and the quarantine
    std::map<uint64_t, uint64_t> holes_;         // free space, start -> bytes
    uint64_t first_hole_[64] = {};               // [n]: no hole of 2^n bytes or more begins below
    std::deque<uint64_t> quarantine_;            // starts, oldest first
    uint64_t quarantined_ = 0;
    uint32_t next_id_ = 1;
    std::vector<uint32_t> free_slots_;
    std::map<uint64_t, uint64_t> heap_; // start -> bytes of what kernels hold
    uint64_t heap_used_ = 0;
    mutable std::mutex mutex_, partly_mutex_;
};

} // namespace emu
