// SPDX-License-Identifier: Apache-2.0
// Device memory: the allocator, the granule table and the defined bits behind emu/mem/memory.h.
// Address space is plentiful, so red zones are as large as the allocation (64 KiB to 16 MiB): a kernel that runs past
// the end of one tensor meets nobody else's. Freed ranges stay in quarantine until new ones need the room.
#include "memory.h"

#include <sys/mman.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace emu {
namespace {

constexpr uint64_t GRANULE = 1ull << Memory::GRANULE_SHIFT;
// Freed ranges that are remembered: enough to name a late access, few enough that a long run stays small.
constexpr size_t MOST_FREED = 1024;
constexpr uint64_t MIN_RED = 64ull << 10, MAX_RED = 16ull << 20;

uint64_t round_up(uint64_t v, uint64_t to) { return (v + to - 1) / to * to; }

// The whole pages of a range go back to the system; when they are read again they are zero.
void give_back(uint64_t from, uint64_t to) {
    constexpr uint64_t page = 4096;
    from = round_up(from, page), to = to / page * page;
    if (to > from) madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
}

void* reserve(uint64_t bytes) {
    void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? nullptr : p;
}

uint64_t red_zone(uint64_t bytes) { return std::clamp(round_up(bytes, GRANULE), MIN_RED, MAX_RED); }

// A number in a file of the system; UINT64_MAX if there is none ("max").
uint64_t number_in(const char* path) {
    uint64_t value = UINT64_MAX;
    if (FILE* file = fopen(path, "re")) {
        unsigned long long read;
        if (fscanf(file, "%llu", &read) == 1) value = read;
        fclose(file);
    }
    return value;
}

// What the host can give at all: its memory and swap, or less where a control group says so. Memory is reserved without
// being there, so a device that promised more would be ended by the system when it is written.
uint64_t host_memory() {
    struct sysinfo info;
    uint64_t bytes = sysinfo(&info) == 0 ? (uint64_t(info.totalram) + info.totalswap) * info.mem_unit : UINT64_MAX;
    for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"})
        bytes = std::min(bytes, number_in(path));
    return bytes;
}

// What an allocation occupies: its bytes, then its red zone.
uint64_t footprint(const Allocation& a) { return round_up(a.bytes, GRANULE) + red_zone(a.bytes); }

} // namespace

Memory::Memory(uint64_t capacity_bytes) : capacity_(capacity_bytes), backing_(host_memory() / 9 * 8) {
    // Twice the card's memory leaves room for the red zones; halved until the system agrees (limits on address space).
    for (uint64_t want = std::max<uint64_t>(capacity_bytes * 2, 1ull << 30); want >= (256ull << 20); want /= 2) {
        void* range = reserve(want);
        if (!range) continue;
        void* bits = reserve(want / 8);
        void* granules = reserve((want >> GRANULE_SHIFT) * sizeof(uint32_t));
        if (bits && granules) {
            base_ = reinterpret_cast<uint64_t>(range);
            span_ = want;
            defined_ = static_cast<uint8_t*>(bits);
            granule_ = static_cast<uint32_t*>(granules);
            break;
        }
        munmap(range, want);
        if (bits) munmap(bits, want / 8);
    }
    table_.push_back(nullptr);
    if (span_) holes_[base_ + MIN_RED] = span_ - MIN_RED; // a red zone before the first allocation
}

Memory::~Memory() {
    if (!span_) return;
    munmap(reinterpret_cast<void*>(base_), span_);
    munmap(defined_, span_ / 8);
    munmap(granule_, (span_ >> GRANULE_SHIFT) * sizeof(uint32_t));
}

void Memory::set_granules(const Allocation& a, uint32_t value) {
    uint64_t first = (a.start - base_) >> GRANULE_SHIFT;
    uint64_t count = round_up(a.bytes, GRANULE) >> GRANULE_SHIFT;
    std::fill_n(granule_ + first, count, value);
}

// The first that has room. Freed allocations leave many small ones at the front: the search begins behind those.
std::map<uint64_t, uint64_t>::iterator Memory::find_hole(uint64_t bytes, uint64_t align, uint64_t& start) {
    const int size = 63 - __builtin_clzll(bytes);
    auto hole = holes_.lower_bound(first_hole_[size]);
    while (hole != holes_.end() && hole->second >> size == 0) ++hole;
    first_hole_[size] = hole != holes_.end() ? hole->first : UINT64_MAX;
    for (; hole != holes_.end(); ++hole) {
        start = round_up(hole->first, align);
        if (start + bytes <= hole->first + hole->second) break;
    }
    return hole;
}

uint64_t Memory::alloc(uint64_t bytes, uint64_t align) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (bytes == 0 || bytes > room()) return 0;
    align = std::max(align, GRANULE);
    Allocation a;
    a.bytes = bytes;
    uint64_t need = footprint(a);
    for (;;) {
        const auto hole = find_hole(need, align, a.start);
        if (hole == holes_.end()) {
            if (quarantine_.empty()) return 0;
            release_oldest();
            continue;
        }
        uint64_t from = hole->first, end = from + hole->second;
        holes_.erase(hole);
        if (a.start > from) holes_[from] = a.start - from;
        if (a.start + need < end) holes_[a.start + need] = end - a.start - need;
        break;
    }
    a.id = next_id_++;
    a.live = true;
    used_ += bytes;
    auto& kept = allocations_[a.start] = a;
    uint32_t slot;
    if (free_slots_.empty()) {
        slot = uint32_t(table_.size());
        table_.push_back(&kept);
    } else {
        slot = free_slots_.back();
        free_slots_.pop_back();
        table_[slot] = &kept;
    }
    set_granules(kept, slot);
    set_bits(a.start, bytes, false);
    return a.start;
}

bool Memory::free(uint64_t address) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto it = allocations_.find(address);
    if (it == allocations_.end() || !it->second.live) return false;
    Allocation& a = it->second;
    uint32_t slot = granule_[(address - base_) >> GRANULE_SHIFT];
    set_granules(a, 0);
    table_[slot] = nullptr;
    free_slots_.push_back(slot);
    a.live = false;
    used_ -= a.bytes;
    quarantine_.push_back(address);
    quarantined_ += a.bytes;
    give_back(a.start, a.end()); // the addresses stay taken
    const uint64_t bits = reinterpret_cast<uint64_t>(defined_);
    give_back(bits + (a.start - base_) / 8, bits + (a.end() - base_) / 8);
    while (quarantine_.size() > MOST_FREED || (quarantined_ > span_ / 4 && quarantine_.size() > 1)) release_oldest();
    return true;
}

uint64_t Memory::heap_alloc(uint64_t bytes) {
    constexpr uint64_t HEAP = 8u << 20, ALIGN = 16; // CU_LIMIT_MALLOC_HEAP_SIZE unless somebody changes it
    if (bytes > HEAP - heap_used_) return 0;
    const uint64_t at = alloc(bytes, ALIGN);
    if (!at) return 0;
    heap_used_ += bytes;
    heap_[at] = bytes;
    return at;
}

bool Memory::heap_free(uint64_t address) {
    const auto it = heap_.find(address);
    if (it == heap_.end()) return false;
    heap_used_ -= it->second;
    heap_.erase(it);
    return free(address);
}

void Memory::release_oldest() {
    uint64_t start = quarantine_.front();
    quarantine_.pop_front();
    auto it = allocations_.find(start);
    uint64_t bytes = footprint(it->second);
    quarantined_ -= it->second.bytes;
    allocations_.erase(it);
    auto hole = holes_.emplace(start, bytes).first;
    auto next = std::next(hole);
    if (next != holes_.end() && hole->first + hole->second == next->first) {
        hole->second += next->second;
        holes_.erase(next);
    }
    if (hole != holes_.begin()) {
        auto before = std::prev(hole);
        if (before->first + before->second == hole->first) {
            before->second += hole->second;
            holes_.erase(hole);
            hole = before;
        }
    }
    for (int size = 0; size < 64 && hole->second >> size; size++)
        first_hole_[size] = std::min(first_hole_[size], hole->first);
}

const Allocation* Memory::find_locked(uint64_t address) const {
    auto it = allocations_.upper_bound(address);
    if (it == allocations_.begin()) return nullptr;
    const Allocation& a = std::prev(it)->second;
    return a.live && address < a.end() ? &a : nullptr;
}

const Allocation* Memory::find(uint64_t address) const {
    std::lock_guard<std::mutex> lock(mutex_);
    return find_locked(address);
}

bool Memory::contains(uint64_t address, uint64_t bytes) const {
    const Allocation* a = find(address);
    return a && bytes <= a->end() - address;
}

void Memory::set_bits(uint64_t address, uint64_t bytes, bool value) {
    if (!value) {
        const std::lock_guard lock(partly_mutex_);
        partly_.erase(partly_.lower_bound(address), partly_.lower_bound(address + bytes));
    }
    uint64_t from = address - base_, to = from + bytes;
    auto one = [&](uint64_t bit) {
        uint8_t m = uint8_t(1u << (bit & 7));
        if (value) __atomic_fetch_or(defined_ + (bit >> 3), m, __ATOMIC_RELAXED);
        else __atomic_fetch_and(defined_ + (bit >> 3), uint8_t(~m), __ATOMIC_RELAXED);
    };
    while (from < to && (from & 7)) one(from++);
    while (from < to && (to & 7)) one(--to);
    if (from >= to) return;
    uint8_t* first = defined_ + (from >> 3);
    uint64_t count = (to - from) >> 3;
    uint64_t head = -reinterpret_cast<uint64_t>(first) & 4095;
    if (!value && count > (1u << 20)) { // large clears give the pages back instead of touching them
        uint64_t pages = (count - head) / 4096 * 4096;
        memset(first, 0, head);
        madvise(first + head, pages, MADV_DONTNEED);
        first += head + pages;
        count -= head + pages;
    }
    memset(first, value ? 0xff : 0, count);
}

void Memory::mark_defined(uint64_t address, uint64_t bytes) {
    if (!bytes) return;
    set_bits(address, bytes, true);
    const Allocation* a = find(address);
    if (a && a->start == address && a->bytes == bytes)
        const_cast<Allocation*>(a)->all_defined.store(true, std::memory_order_relaxed);
}

void Memory::mark_undefined(uint64_t address, uint64_t bytes) {
    if (!bytes) return;
    const Allocation* a = find(address);
    if (a) const_cast<Allocation*>(a)->all_defined.store(false, std::memory_order_relaxed);
    set_bits(address, bytes, false);
}

bool Memory::is_defined(uint64_t address, uint64_t bytes) const {
    uint64_t from = address - base_, to = from + bytes;
    const auto bits = [this](uint64_t at) { return __atomic_load_n(defined_ + (at >> 3), __ATOMIC_RELAXED); };
    for (; from < to && (from & 7); from++)
        if (!((bits(from) >> (from & 7)) & 1)) return false;
    for (; from + 8 <= to; from += 8)
        if (bits(from) != 0xff) return false;
    for (; from < to; from++)
        if (!((bits(from) >> (from & 7)) & 1)) return false;
    return true;
}

void Memory::write(uint64_t to, const void* from, uint64_t bytes) {
    if (!bytes) return;
    memcpy(reinterpret_cast<void*>(to), from, bytes);
    mark_defined(to, bytes);
}

void Memory::read(void* to, uint64_t from, uint64_t bytes) const {
    if (bytes) memcpy(to, reinterpret_cast<const void*>(from), bytes);
}

void Memory::copy(uint64_t to, uint64_t from, uint64_t bytes) {
    if (!bytes) return;
    memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    if (is_defined(from, bytes)) {
        mark_defined(to, bytes);
        return;
    }
    const Allocation* a = find(to);
    if (a) const_cast<Allocation*>(a)->all_defined.store(false, std::memory_order_relaxed);
    std::vector<std::pair<uint64_t, uint8_t>> partly;
    {
        const std::lock_guard lock(partly_mutex_);
        for (auto it = partly_.lower_bound(from); it != partly_.end() && it->first < from + bytes; ++it)
            partly.emplace_back(it->first - from, it->second);
    }
    for (uint64_t i = 0; i < bytes; i++) { // away from the bits that are still to be read
        const uint64_t at = to < from ? i : bytes - 1 - i;
        set_bits(to + at, 1, is_defined(from + at, 1));
    }
    const std::lock_guard lock(partly_mutex_);
    for (const auto& [offset, bits] : partly) partly_[to + offset] = bits;
}

uint8_t Memory::undefined_bits(uint64_t address) const {
    if (is_defined(address, 1)) return 0;
    const std::lock_guard lock(partly_mutex_);
    const auto it = partly_.find(address);
    return it == partly_.end() ? 0xff : it->second;
}

void Memory::store_undefined(uint64_t address, uint8_t bits) {
    const_cast<Allocation*>(lookup(address))->all_defined.store(false, std::memory_order_relaxed);
    set_bits(address, 1, false);
    if (bits == 0xff) return;
    const std::lock_guard lock(partly_mutex_);
    partly_[address] = bits;
}

void Memory::fill(uint64_t to, const void* pattern, size_t width, uint64_t count) {
    auto* out = reinterpret_cast<uint8_t*>(to);
    if (width == 1) memset(out, *static_cast<const uint8_t*>(pattern), count);
    else
        for (uint64_t i = 0; i < count; i++) memcpy(out + i * width, pattern, width);
    mark_defined(to, width * count);
}

uint64_t Memory::allocation_count() const { return live().size(); }

std::vector<Allocation> Memory::live() const {
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<Allocation> all;
    for (auto& [start, a] : allocations_)
        if (a.live) all.push_back(a);
    return all;
}

std::string Memory::describe(uint64_t address) const {
    std::lock_guard<std::mutex> lock(mutex_);
    char text[256];
    auto print = [&](const char* how, uint64_t distance, const Allocation& a) {
        int n = distance || *how != 'i' ? snprintf(text, sizeof text, "%llu bytes ", (unsigned long long)distance) : 0;
        snprintf(text + n, sizeof text - size_t(n), "%s %sallocation %u (0x%llx..0x%llx, %llu bytes)", how,
                 a.live ? "" : "freed ", a.id, (unsigned long long)a.start, (unsigned long long)(a.end() - 1),
                 (unsigned long long)a.bytes);
        return std::string(text);
    };
    auto after = allocations_.upper_bound(address);
    const Allocation* before = after == allocations_.begin() ? nullptr : &std::prev(after)->second;
    if (before && address < before->end()) return print("into", address - before->start, *before);
    uint64_t past = before ? address - before->end() : UINT64_MAX;
    uint64_t ahead = after == allocations_.end() ? UINT64_MAX : after->first - address;
    if (!before && after == allocations_.end()) return "there are no allocations";
    if (past <= ahead) return print("past the end of", past, *before);
    return print("before the start of", ahead, after->second);
}

} // namespace emu
