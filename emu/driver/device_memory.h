// SPDX-License-Identifier: Apache-2.0
// The only place where the façade meets emu/mem: allocate, free and move bytes with their shadow.
// Device addresses are host addresses inside one reserved range, so "is this a device address" is a range test.
// Callers hold the state lock or are the scheduler's executor; see scheduler.h for why both cannot happen at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace emu {
class Memory;
struct DeviceProfile;
} // namespace emu

namespace emu::driver {

class DeviceMemory {
public:
    DeviceMemory();
    ~DeviceMemory();
    void open(const DeviceProfile& profile); // once, at cuInit
    Memory& memory() { return *memory_; }

    uint64_t allocate(size_t bytes); // 512-byte aligned; 0: out of memory
    void release(uint64_t address);
    bool owns(uint64_t address) const;                // inside the reserved range, allocated or not
    bool holds(uint64_t address, size_t bytes) const; // all of it inside one live allocation
    uint64_t used() const;
    uint64_t capacity() const;
    uint64_t room() const;                        // of the capacity, what may still be allocated
    std::string describe(uint64_t address) const; // for a remark: which allocation it is in or near

    // Each side may be a device or a host address. False: a device side is not (or no longer) allocated.
    bool copy(uint64_t to, uint64_t from, size_t bytes);
    bool fill(uint64_t to, uint32_t value, uint32_t element_bytes, size_t elements);
    void mark_defined(uint64_t address, size_t bytes); // host-writable memory: the host may write it unseen

private:
    std::unique_ptr<Memory> memory_;
};

} // namespace emu::driver
