// SPDX-License-Identifier: Apache-2.0
// The table of slots. Looking a handle up takes no lock; giving and ending one does.
#include "runtime/handles.h"

#include <time.h>

#include <cstdlib>
#include <cstring>

#include "core/locked.h"

namespace spark {
namespace {

constexpr uint64_t MARK = 0x5ca;
constexpr uint32_t MARK_SHIFT = 52, KIND_SHIFT = 48, COUNT_SHIFT = 20;
constexpr uint32_t MOST_SLOTS = 1 << COUNT_SHIFT, CHUNK = 1024, NONE = ~0u;
constexpr uint32_t MOST_COUNT = (1u << (KIND_SHIFT - COUNT_SHIFT)) - 1;
constexpr const char* NAMES[] = {"nothing", "a context", "a stream", "an event", "a graph"};

constinit std::atomic<Slot*> chunks[MOST_SLOTS / CHUNK]{};
constinit uint32_t slots_made = 0, first_free = NONE; // under the mutex
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

uint32_t count_of(uint64_t handle) { return static_cast<uint32_t>(handle >> COUNT_SHIFT) & MOST_COUNT; }

uint32_t kind_of(uint64_t handle) { return static_cast<uint32_t>(handle >> KIND_SHIFT) & 0xf; }

// The slot that a handle of this kind names, whatever lives there; nullptr = there is none.
Slot* slot_of(uint64_t handle, Kind kind) {
    const auto index = static_cast<uint32_t>(handle % MOST_SLOTS);
    if (handle >> KIND_SHIFT != (MARK << (MARK_SHIFT - KIND_SHIFT) | static_cast<uint64_t>(kind))) return nullptr;
    Slot* chunk = chunks[index / CHUNK].load(std::memory_order_acquire);
    return chunk != nullptr ? &chunk[index % CHUNK] : nullptr;
}

Slot* new_slot() {
    if (slots_made % CHUNK == 0) {
        void* chunk = aligned_alloc(alignof(Slot), CHUNK * sizeof(Slot));
        if (chunk == nullptr) return nullptr;
        memset(chunk, 0, CHUNK * sizeof(Slot));
        chunks[slots_made / CHUNK].store(static_cast<Slot*>(chunk), std::memory_order_release);
    }
    Slot* slot = &chunks[slots_made / CHUNK].load(std::memory_order_relaxed)[slots_made % CHUNK];
    slot->index = slots_made++;
    return slot;
}

Slot* slot_at(uint32_t index) { return &chunks[index / CHUNK].load(std::memory_order_relaxed)[index % CHUNK]; }

// Calls that found the handle before it ended are let finish: one of them may wait for the device.
void wait_for_users(const Slot& slot) {
    constexpr timespec A_WHILE{0, 20'000};
    while (slot.users.load() != 0) nanosleep(&A_WHILE, nullptr);
}

} // namespace

bool may_be_foreign(Kind kind) { return kind == Kind::STREAM || kind == Kind::EVENT; }

bool is_handle(uint64_t number) { return number >> MARK_SHIFT == MARK; }

bool is_address(uint64_t number) {
    constexpr uint64_t FIRST_PAGE = 4096, ALIGNMENT = 8;
#ifdef __aarch64__
    constexpr uint64_t ADDRESS = (uint64_t{1} << 56) - 1, LIMIT = uint64_t{1} << 48; // the byte above may be a tag
#else
    constexpr uint64_t ADDRESS = ~uint64_t{0}, LIMIT = uint64_t{1} << 47;
#endif
    return (number & ADDRESS) >= FIRST_PAGE && (number & ADDRESS) < LIMIT && number % ALIGNMENT == 0;
}

spark_status slot_take(Slot*& out, Report& report) {
    const Locked lock(mutex);
    if (first_free != NONE) {
        out = slot_at(first_free);
        first_free = out->next_free;
        return SPARK_OK;
    }
    if (slots_made == MOST_SLOTS) {
        return report.fail(SPARK_ERR_UNSUPPORTED, "%u contexts, streams, events and graphs are alive; no more may be",
                           MOST_SLOTS);
    }
    out = new_slot();
    return out != nullptr ? SPARK_OK : report.fail(SPARK_ERR_HOST_MEMORY, "no host memory for a table of handles");
}

uint64_t slot_fill(Slot& slot, Kind kind, void* object, const void* owner) {
    const uint32_t count = slot.count.load(std::memory_order_relaxed);
    const uint64_t handle = MARK << MARK_SHIFT | static_cast<uint64_t>(kind) << KIND_SHIFT |
                            static_cast<uint64_t>(count) << COUNT_SHIFT | slot.index;
    slot.object = object;
    slot.owner = owner;
    slot.recorded_in.store(0, std::memory_order_relaxed);
    slot.count.store(count + 1, std::memory_order_relaxed);
    slot.handle.store(handle);
    return handle;
}

void slot_give_back(Slot& slot) {
    if (slot.count.load(std::memory_order_relaxed) > MOST_COUNT) return; // every handle of it was given
    const Locked lock(mutex);
    slot.next_free = first_free;
    first_free = slot.index;
}

Slot* slot_use(uint64_t handle, Kind kind) {
    Slot* slot = slot_of(handle, kind);
    if (slot == nullptr) return nullptr;
    slot->users.fetch_add(1); // before the look, so that slot_end sees it, or the look sees the end
    if (slot->handle.load() == handle) return slot;
    slot_leave(*slot);
    return nullptr;
}

Slot* slot_end(uint64_t handle, Kind kind) {
    Slot* slot = slot_of(handle, kind);
    if (slot == nullptr || !slot->handle.compare_exchange_strong(handle, 0)) return nullptr;
    wait_for_users(*slot);
    return slot;
}

uint64_t slot_next_of(const void* owner, uint32_t& index, Kind& kind) {
    const Locked lock(mutex);
    while (index < slots_made) {
        const uint64_t handle = slot_at(index++)->handle.load();
        kind = static_cast<Kind>(kind_of(handle));
        Slot* slot = slot_use(handle, kind);
        if (slot == nullptr) continue;
        const bool found = slot->owner == owner;
        slot_leave(*slot);
        if (found) return handle;
    }
    return 0;
}

spark_status refuse_handle(uint64_t number, Kind kind, const char* name, Report& report) {
    const auto shown = static_cast<unsigned long long>(number);
    const char* wanted = NAMES[static_cast<uint32_t>(kind)];
    if (number == 0) return report.fail(SPARK_ERR_INVALID_NULL, "%s is 0; %s wanted", name, wanted);
    const uint32_t found = kind_of(number);
    const bool known = found != 0 && found < sizeof NAMES / sizeof *NAMES;
    const Slot* slot = slot_of(number, static_cast<Kind>(found));
    if (!known || slot == nullptr || count_of(number) >= slot->count.load(std::memory_order_relaxed)) {
        return report.fail(SPARK_ERR_INVALID_HANDLE, "%s is 0x%llx, which is no handle of this library%s; %s wanted",
                           name, shown, may_be_foreign(kind) ? " and no address of the driver's" : "", wanted);
    }
    if (found != static_cast<uint32_t>(kind)) {
        return report.fail(SPARK_ERR_INVALID_HANDLE, "%s is 0x%llx, %s, not %s", name, shown, NAMES[found], wanted);
    }
    return report.fail(SPARK_ERR_INVALID_HANDLE, "%s is 0x%llx, %s that was destroyed", name, shown, wanted);
}

spark_status refuse_owner(uint64_t number, Kind kind, const char* name, Report& report) {
    return report.fail(SPARK_ERR_INVALID_HANDLE, "%s is 0x%llx, %s of another context than ctx", name,
                       static_cast<unsigned long long>(number), NAMES[static_cast<uint32_t>(kind)]);
}

} // namespace spark
