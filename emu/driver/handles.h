// SPDX-License-Identifier: Apache-2.0
// Opaque handles. A handle is a number that is never given twice, so a destroyed or foreign one is always recognised;
// it is not an address and must not be dereferenced. Used by state.h; not thread-safe by itself (the state lock
// covers it).
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

namespace emu::driver {

uint64_t next_handle(); // rises by 16, starts far above any small constant that means something else

template <class Handle, class Object> class HandleTable {
public:
    Handle add(std::shared_ptr<Object> object) {
        const uint64_t value = next_handle();
        objects_.emplace(value, std::move(object));
        return reinterpret_cast<Handle>(uintptr_t{value});
    }
    // Null when the handle is unknown or was removed.
    std::shared_ptr<Object> find(Handle handle) const {
        auto it = objects_.find(reinterpret_cast<uintptr_t>(handle));
        return it == objects_.end() ? nullptr : it->second;
    }
    bool remove(Handle handle) { return objects_.erase(reinterpret_cast<uintptr_t>(handle)) != 0; }
    template <class Visit> void each(Visit visit) const {
        for (const auto& [value, object] : objects_) visit(reinterpret_cast<Handle>(uintptr_t{value}), *object);
    }
    template <class Condition> void remove_if(Condition condition) {
        std::erase_if(objects_, [&](const auto& entry) { return condition(*entry.second); });
    }

private:
    std::unordered_map<uint64_t, std::shared_ptr<Object>> objects_;
};

} // namespace emu::driver
