// SPDX-License-Identifier: Apache-2.0
// Contexts, streams, events and graphs as calls are given them, and the way from and to handles.
#pragma once

#include "runtime/context.h"
#include "runtime/handles.h"

namespace spark {

// The slot of what a call was given, in use until the end of the call: another thread's destroy waits for it.
class UsedSlot {
public:
    UsedSlot() = default;
    ~UsedSlot() {
        if (slot_ != nullptr) slot_leave(*slot_);
    }
    UsedSlot(const UsedSlot&) = delete;
    UsedSlot& operator=(const UsedSlot&) = delete;

protected:
    Slot* slot_ = nullptr;
};

class UsedContext : UsedSlot {
public:
    // INVALID_HANDLE unless it is live; NO_DEVICE if it is offline and `online` is wanted.
    spark_status find(spark_context* handle, bool online, Report& report);
    Context& operator*() const { return *static_cast<Context*>(slot_->object); }
};

// A stream, event or graph.
class Used : UsedSlot {
public:
    // The number that the caller gave, and for messages; and the driver's handle.
    unsigned long long handle() const { return handle_; }
    void* native() const { return native_; }
    // Of what the library made; else nullptr.
    Slot* slot() const { return slot_; }
    // Made by other software; the default streams are nobody's.
    bool is_foreign() const { return slot_ == nullptr && handle_ > PER_THREAD_STREAM; }

protected:
    spark_status find(const Context* owner, const Context* or_owner, Kind kind, uint64_t handle, const char* name,
                      Report& report);

private:
    uint64_t handle_ = 0;
    void* native_ = nullptr;
};

template <Kind KIND> struct UsedAs : Used {
    // It belongs to ctx, or to `peer` if there is one; default streams and the driver's own handles pass as they are.
    spark_status find(const Context& ctx, uint64_t handle, const char* name, Report& report,
                      const Context* peer = nullptr) {
        return Used::find(&ctx, peer != nullptr ? peer : &ctx, KIND, handle, name, report);
    }
};

using Stream = UsedAs<Kind::STREAM>;
using Event = UsedAs<Kind::EVENT>;
using Graph = UsedAs<Kind::GRAPH>;

// Gives what make(void*&) makes a handle. Without a free slot it is not called.
template <class Make>
spark_status object_make(const Context& ctx, Kind kind, uint64_t& out, Report& report, Make&& make) {
    Slot* slot = nullptr;
    void* made = nullptr;
    if (spark_status s = slot_take(slot, report)) return s;
    if (spark_status s = make(made)) {
        slot_give_back(*slot);
        return s;
    }
    out = slot_fill(*slot, kind, made, &ctx);
    return SPARK_OK;
}

// Ends a handle and destroys its object. The handle is dead afterwards, whatever the driver says.
spark_status object_destroy(const Context& ctx, Kind kind, uint64_t handle, const char* name, Report& report);
// The same for everything that belongs to a context that ends.
void objects_destroy(const Context& ctx);

} // namespace spark
