// SPDX-License-Identifier: Apache-2.0
// The meeting point of façade and emu/mem: see device_memory.h.
#include "emu/driver/device_memory.h"

#include "emu/engine.h"
#include "emu/mem/memory.h"

#include <cstring>

namespace emu::driver {
namespace {

constexpr uint64_t ALIGNMENT = 512; // what a card gives

void* host(uint64_t address) { return reinterpret_cast<void*>(uintptr_t{address}); }

} // namespace

DeviceMemory::DeviceMemory() = default;
DeviceMemory::~DeviceMemory() = default;

void DeviceMemory::open(const DeviceProfile& profile) { memory_ = std::make_unique<Memory>(profile.memory_bytes); }
uint64_t DeviceMemory::allocate(size_t bytes) { return memory_->alloc(bytes, ALIGNMENT); }
void DeviceMemory::release(uint64_t address) { memory_->free(address); }
bool DeviceMemory::owns(uint64_t address) const { return memory_->in_range(address); }
bool DeviceMemory::holds(uint64_t address, size_t bytes) const { return memory_->contains(address, bytes); }
uint64_t DeviceMemory::used() const { return memory_->used(); }
uint64_t DeviceMemory::room() const { return memory_->room(); }
uint64_t DeviceMemory::capacity() const { return memory_->capacity(); }
std::string DeviceMemory::describe(uint64_t address) const { return memory_->describe(address); }

bool DeviceMemory::copy(uint64_t to, uint64_t from, size_t bytes) {
    if (bytes == 0) return true;
    const bool to_device = owns(to), from_device = owns(from);
    if ((to_device && !holds(to, bytes)) || (from_device && !holds(from, bytes))) return false;
    if (to_device && from_device) memory_->copy(to, from, bytes);
    else if (to_device) memory_->write(to, host(from), bytes);
    else if (from_device) memory_->read(host(to), from, bytes);
    else std::memmove(host(to), host(from), bytes);
    return true;
}

bool DeviceMemory::fill(uint64_t to, uint32_t value, uint32_t element_bytes, size_t elements) {
    if (elements == 0) return true;
    if (elements > UINT64_MAX / element_bytes || !holds(to, elements * element_bytes)) return false;
    memory_->fill(to, &value, element_bytes, elements);
    return true;
}

void DeviceMemory::mark_defined(uint64_t address, size_t bytes) { memory_->mark_defined(address, bytes); }

} // namespace emu::driver
