// SPDX-License-Identifier: Apache-2.0
// The state, the rules of entry, and how a stream handle becomes a stream: see state.h and call.h.
#include "emu/driver/call.h"

namespace emu::driver {

uint64_t next_handle() {
    static std::atomic<uint64_t> next{0x5e0000000010};
    return next.fetch_add(16);
}

State& state() {
    static State* instance = new State;
    return *instance;
}

ThreadState& this_thread() {
    static std::atomic<uint64_t> threads{0};
    thread_local ThreadState own;
    if (own.number == 0) own.number = ++threads;
    return own;
}

CUresult admit(unsigned needs) {
    const State& s = state();
    if (needs == NEED_NOTHING) return CUDA_SUCCESS;
    if (!s.initialised) return CUDA_ERROR_NOT_INITIALIZED;
    if (this_thread().in_callback && !(needs & FROM_CALLBACK)) return CUDA_ERROR_NOT_PERMITTED;
    if (needs & NEED_CONTEXT) {
        const std::vector<CUcontext>& stack = this_thread().contexts;
        if (stack.empty() || !stack.back()) return CUDA_ERROR_INVALID_CONTEXT;
        const std::shared_ptr<Context> context = current_context();
        if (!context) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        if (context->sticky != CUDA_SUCCESS) return context->sticky;
    }
    if (needs & NEED_HEALTH)
        if (CUresult sticky = current_sticky()) return sticky;
    return needs & UNSAFE ? check_unsafe_call() : CUDA_SUCCESS;
}

std::shared_ptr<Context> current_context() {
    const std::vector<CUcontext>& stack = this_thread().contexts;
    return stack.empty() ? nullptr : state().contexts.find(stack.back());
}

CUresult current_sticky() {
    const std::shared_ptr<Context> context = current_context();
    return context ? context->sticky : CUDA_SUCCESS;
}

std::shared_ptr<Context> make_context(State& s, unsigned flags, bool primary) {
    static uint64_t ids = 0;
    auto context = std::make_shared<Context>();
    context->primary = primary;
    context->flags = flags;
    context->id = ++ids;
    context->legacy = std::make_shared<Stream>();
    context->legacy->context = context;
    context->legacy->handle = CU_STREAM_LEGACY;
    context->legacy->legacy = true;
    context->legacy->id = next_handle();
    context->handle = s.contexts.add(context);
    return context;
}

void discard_context(Lock& lock, const std::shared_ptr<Context>& context, bool keep_handle) {
    State& s = state();
    wait_for_context(lock, context);
    wait_for_memory(lock);
    const auto here = [&](const auto& object) { return object.context.lock() == context; };
    for (auto it = s.blocks.begin(); it != s.blocks.end();) {
        const bool mine = it->second.context.lock() == context;
        if (mine) s.memory.release(it->first);
        it = mine ? s.blocks.erase(it) : std::next(it);
    }
    s.events.remove_if(here); // streams stay known, to be told from handles that never were
    s.modules.remove_if(here);
    s.functions.remove_if([&](const Function& f) { return !f.is_kernel && f.context.lock() == context; });
    context->sticky = CUDA_SUCCESS;
    context->per_thread.clear();
    context->streams.clear();
    if (keep_handle) return;
    context->destroyed = true;
    s.contexts.remove(context->handle);
}

namespace {

std::shared_ptr<Stream> per_thread_stream(const std::shared_ptr<Context>& context) {
    std::shared_ptr<Stream>& stream = context->per_thread[this_thread().number];
    if (!stream) {
        stream = std::make_shared<Stream>();
        stream->context = context;
        stream->handle = CU_STREAM_PER_THREAD;
        stream->id = next_handle();
        context->streams.push_back(stream);
    }
    return stream;
}

} // namespace

CUresult resolve_stream(CUstream handle, std::shared_ptr<Stream>& out) {
    const bool per_thread = handle == CU_STREAM_PER_THREAD || (!handle && this_thread().per_thread_default);
    if (per_thread || !handle || handle == CU_STREAM_LEGACY) {
        const std::shared_ptr<Context> context = current_context();
        if (!context) return CUDA_ERROR_INVALID_CONTEXT;
        if (context->sticky != CUDA_SUCCESS) return context->sticky;
        out = per_thread ? per_thread_stream(context) : context->legacy;
        return CUDA_SUCCESS;
    }
    out = state().streams.find(handle);
    if (!out) return CUDA_ERROR_INVALID_HANDLE;
    const std::shared_ptr<Context> context = out->context.lock();
    if (!context || context->destroyed) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return context->sticky;
}

const Block* find_block(uint64_t address, uint64_t* start) {
    const auto& blocks = state().blocks;
    auto it = blocks.upper_bound(address);
    if (it == blocks.begin()) return nullptr;
    --it;
    if (address - it->first >= it->second.bytes) return nullptr;
    if (start) *start = it->first;
    return &it->second;
}

} // namespace emu::driver
