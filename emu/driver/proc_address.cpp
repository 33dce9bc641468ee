// SPDX-License-Identifier: Apache-2.0
// cuGetProcAddress: base name and version to the newest form that is not newer. Facts of a 580 driver, all imitated:
//   version above the driver's   CUDA_ERROR_INVALID_VALUE, and pointer and status keep their old contents
//   unknown name                 CUDA_SUCCESS, null, status 1
//   name newer than the version  CUDA_SUCCESS, null, status 2
#include "emu/driver/call.h"

#include <cstring>

#define PER_THREAD(symbol, suffix, parameters, arguments) extern "C" CU_API CUresult symbol##suffix parameters;
#include "emu/driver/per_thread.inc"
#undef PER_THREAD

using namespace emu::driver;

namespace {

constexpr int DRIVER_VERSION = 13000;

struct Entry {
    const char* base;
    int version;
    void* address;
    int per_thread_version;
    void* per_thread; // null: there is no such form
};

#define ADDRESS_OF(symbol) reinterpret_cast<void*>(&::symbol)
#define FORM_none(symbol) nullptr
#define FORM__ptsz(symbol) ADDRESS_OF(symbol##_ptsz)
#define FORM__ptds(symbol) ADDRESS_OF(symbol##_ptds)
const Entry ENTRIES[] = {
#define FUNCTION(base, symbol, version, per_thread, per_thread_version) \
    {#base, version, ADDRESS_OF(symbol), per_thread_version, FORM_##per_thread(symbol)},
#include "emu/driver/functions.inc"
#undef FUNCTION
    {"cuGraphInstantiate", 12000, ADDRESS_OF(cuGraphInstantiateWithFlags), 0, nullptr}, // a second name since 12.0
};

struct Found {
    bool known = false;
    int version = -1;
    void* address = nullptr;
};

Found look_up(const char* name, int version, bool per_thread) {
    Found found;
    const auto offer = [&](const char* base, int introduced, void* address) {
        if (strcmp(base, name) != 0) return;
        found.known = true;
        if (introduced <= version && introduced > found.version) found = {true, introduced, address};
    };
    for (const Entry& e : ENTRIES) {
        const bool use = per_thread && e.per_thread && e.per_thread_version <= version;
        offer(e.base, e.version, use ? e.per_thread : e.address);
    }
    for (const Unimplemented& u : unimplemented()) offer(u.base, u.version, u.address);
    return found;
}

} // namespace

CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
    count_call(Fn::cuGetProcAddress_v2);
    constexpr cuuint64_t known = CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    if (!symbol || !*symbol || !function || (flags & ~known) || version > DRIVER_VERSION)
        return CUDA_ERROR_INVALID_VALUE;
    const Found found = look_up(symbol, version, flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
    *function = found.address;
    if (status)
        *status = found.address ? CU_GET_PROC_ADDRESS_SUCCESS
                  : found.known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t flags) {
    count_call(Fn::cuGetProcAddress);
    const CUresult result = cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
    return result == CUDA_SUCCESS && !*function ? CUDA_ERROR_NOT_FOUND : result;
}
