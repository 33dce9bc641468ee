// SPDX-License-Identifier: Apache-2.0
// Chooses, once, the build of the handlers that suits this host: AVX2 or plain (in a prototype the
// loops gained nothing from AVX-512). Called when a module is built.
#include "../ir/optable.h"

#define EMU_DECLARE_LEVEL(level)   \
    namespace emu::level {         \
    EMU_FAMILIES(EMU_DECLARE_PICK) \
    }
#define EMU_DECLARE_PICK(family) Handler pick_##family(const Form& form, Inst& in);
#define EMU_LEVEL nothing
#include "handlers.h"

EMU_DECLARE_LEVEL(plain)
#ifdef EMU_exec_HAS_avx2
EMU_DECLARE_LEVEL(avx2)
#endif

namespace emu {
namespace {
struct Entry {
    std::string_view name;
    Pick pick;
};
#define EMU_PLAIN(family) {#family, &plain::pick_##family},
#define EMU_AVX2(family) {#family, &avx2::pick_##family},
constexpr Entry PLAIN[] = {EMU_FAMILIES(EMU_PLAIN)};
#ifdef EMU_exec_HAS_avx2
constexpr Entry AVX2[] = {EMU_FAMILIES(EMU_AVX2)};
#endif
constexpr size_t COUNT = sizeof PLAIN / sizeof PLAIN[0];

const Entry* best_level() {
#ifdef EMU_exec_HAS_avx2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) return AVX2;
#endif
    return PLAIN;
}
} // namespace

Pick family_named(std::string_view name) {
    static const Entry* const level = best_level();
    for (size_t i = 0; i < COUNT; i++)
        if (level[i].name == name) return level[i].pick;
    return nullptr;
}

} // namespace emu
