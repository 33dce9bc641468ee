// SPDX-License-Identifier: Apache-2.0
// What a handle stands for, and its end.
#include "runtime/objects.h"

#include "runtime/capture.h"
#include "runtime/scope.h"

namespace spark {
namespace {

int destroy(const Driver& d, Kind kind, void* object) {
    switch (kind) {
    case Kind::STREAM: return d.stream_destroy(object);
    case Kind::EVENT: return d.event_destroy(object);
    case Kind::GRAPH: return d.graph_exec_destroy(object);
    case Kind::CONTEXT: break; // context_destroy
    }
    return DRIVER_OK;
}

const char* destroying(Kind kind) {
    return kind == Kind::STREAM  ? "destroying a stream"
           : kind == Kind::EVENT ? "destroying an event"
                                 : "destroying a graph";
}

} // namespace

spark_status UsedContext::find(spark_context* handle, bool online, Report& report) {
    const auto number = reinterpret_cast<uintptr_t>(handle);
    if (handle == nullptr)
        return report.fail(SPARK_ERR_INVALID_HANDLE, "ctx is NULL; a context from spark_context_create wanted");
    slot_ = slot_use(number, Kind::CONTEXT);
    if (slot_ == nullptr) return refuse_handle(number, Kind::CONTEXT, "ctx", report);
    if (online && (**this).driver == nullptr) {
        return report.fail(SPARK_ERR_NO_DEVICE, "ctx is offline (arch %u): it answers query, explain and kernels only",
                           arch_of((**this).info));
    }
    const Driver* d = nullptr;
    return online ? driver(d, report) : SPARK_OK;
}

spark_status Used::find(const Context* owner, const Context* or_owner, Kind kind, uint64_t handle, const char* name,
                        Report& report) {
    handle_ = handle;
    if (!is_handle(handle)) {
        native_ = reinterpret_cast<void*>(handle);
        const bool is_default = kind == Kind::STREAM && handle <= PER_THREAD_STREAM;
        if (is_default || (may_be_foreign(kind) && is_address(handle))) return SPARK_OK;
        return refuse_handle(handle, kind, name, report);
    }
    slot_ = slot_use(handle, kind);
    if (slot_ == nullptr) return refuse_handle(handle, kind, name, report);
    if (slot_->owner != owner && slot_->owner != or_owner) return refuse_owner(handle, kind, name, report);
    native_ = slot_->object;
    return SPARK_OK;
}

spark_status object_destroy(const Context& ctx, Kind kind, uint64_t handle, const char* name, Report& report) {
    if (may_be_foreign(kind) && is_address(handle)) {
        return report.fail(SPARK_ERR_INVALID_HANDLE, "%s is 0x%llx, which this library did not make: its maker ends it",
                           name, static_cast<unsigned long long>(handle));
    }
    Slot* slot = slot_use(handle, kind);
    if (slot == nullptr) return refuse_handle(handle, kind, name, report);
    const bool owned = slot->owner == &ctx;
    slot_leave(*slot);
    if (!owned) return refuse_owner(handle, kind, name, report);
    slot = slot_end(handle, kind);
    if (slot == nullptr) return refuse_handle(handle, kind, name, report); // another thread was faster
    if (kind == Kind::STREAM) capture_forget(ctx, slot->object);
    spark_status s =
        within(ctx, destroying(kind), report, [&](const Driver& d) { return destroy(d, kind, slot->object); });
    slot_give_back(*slot);
    return s;
}

void objects_destroy(const Context& ctx) {
    Report ignored;
    Kind kind{};
    uint32_t index = 0;
    while (const uint64_t handle = slot_next_of(&ctx, index, kind)) {
        (void)object_destroy(ctx, kind, handle, "", ignored);
    }
}

} // namespace spark
