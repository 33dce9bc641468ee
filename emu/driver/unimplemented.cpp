// SPDX-License-Identifier: Apache-2.0
// The functions of unimplemented.inc: exported, counted, and refused. Called by programs and by the look-up of names.
#include "emu/driver/cuda_api.h"
#include "emu/driver/report.h"

// Each function takes whatever it is given: the C calling convention lets a callee ignore its arguments.
namespace emu::driver {
namespace {
enum Row : size_t {
#define V1(name, version) ROW_##name,
#define V2(name, version) ROW_##name##_v2,
#define V3(name, version) ROW_##name##_v3,
#define V4(name, version) ROW_##name##_v4,
#define PT(symbol) ROW_##symbol,
#include "emu/driver/unimplemented.inc"
};
} // namespace
} // namespace emu::driver

#define STUB(symbol)                                                 \
    extern "C" CU_API CUresult symbol();                             \
    extern "C" CUresult symbol() {                                   \
        emu::driver::count_unimplemented(emu::driver::ROW_##symbol); \
        return CUDA_ERROR_NOT_SUPPORTED;                             \
    }
#define V1(name, version) STUB(name)
#define V2(name, version) STUB(name##_v2)
#define V3(name, version) STUB(name##_v3)
#define V4(name, version) STUB(name##_v4)
#define PT(symbol) STUB(symbol)
#include "emu/driver/unimplemented.inc"

namespace emu::driver {

std::span<const Unimplemented> unimplemented() {
    static const Unimplemented rows[] = {
#define V1(name, version) {#name, #name, version, reinterpret_cast<void*>(&::name)},
#define V2(name, version) {#name, #name "_v2", version, reinterpret_cast<void*>(&::name##_v2)},
#define V3(name, version) {#name, #name "_v3", version, reinterpret_cast<void*>(&::name##_v3)},
#define V4(name, version) {#name, #name "_v4", version, reinterpret_cast<void*>(&::name##_v4)},
#define PT(symbol) {"", #symbol, 0, reinterpret_cast<void*>(&::symbol)},
#include "emu/driver/unimplemented.inc"
    };
    return rows;
}

} // namespace emu::driver
