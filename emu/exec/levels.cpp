// SPDX-License-Identifier: Apache-2.0
// Chooses, once, the build of the handlers that suits this host: AVX2 or plain (in a prototype the
// loops gained nothing from AVX-512). Called when a module is built.
#include <cstddef>

#include "../ir/optable.h"

// Each row of the opcode table names its family; a level has one chooser for each.
#define OP(mnemonic, family, ...) Handler pick_##family(const Form& form, Inst& in);
namespace emu::plain {
#include "../ir/opcodes.inc"
} // namespace emu::plain
#ifdef EMU_exec_HAS_avx2
namespace emu::avx2 {
#include "../ir/opcodes.inc"
} // namespace emu::avx2
#endif
#undef OP

namespace emu {
namespace {
#define OP(mnemonic, family, ...) &plain::pick_##family,
constexpr Pick PLAIN[] = {
#include "../ir/opcodes.inc"
};
#undef OP
#ifdef EMU_exec_HAS_avx2
#define OP(mnemonic, family, ...) &avx2::pick_##family,
constexpr Pick AVX2[] = {
#include "../ir/opcodes.inc"
};
#undef OP
#endif

const Pick* best_level() {
#ifdef EMU_exec_HAS_avx2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) return AVX2;
#endif
    return PLAIN;
}
} // namespace

Pick pick_of(const OpRow& row) {
    static const Pick* const level = best_level();
    return level[size_t(&row - op_rows().data())];
}

} // namespace emu
