// SPDX-License-Identifier: Apache-2.0
// Words that mma and wmma share, as emu/num understands them. For handler files only.
#pragma once

#include "handlers.h"

#include "../num/mma.h"

namespace emu::EMU_LEVEL {

inline bool input_of(Type type, num::MmaInput& input) {
    using num::MmaInput;
    switch (type) {
    case Type::bf16: input = MmaInput::bf16; return true;
    case Type::f16: input = MmaInput::f16; return true;
    case Type::tf32: input = MmaInput::tf32; return true;
    case Type::e4m3: input = MmaInput::e4m3; return true;
    case Type::e5m2: input = MmaInput::e5m2; return true;
    case Type::e2m3: input = MmaInput::e2m3; return true;
    case Type::e3m2: input = MmaInput::e3m2; return true;
    case Type::e2m1: input = MmaInput::e2m1; return true;
    case Type::f64: input = MmaInput::f64; return true;
    case Type::s8: input = MmaInput::s8; return true;
    case Type::u8: input = MmaInput::u8; return true;
    case Type::s4: input = MmaInput::s4; return true;
    case Type::u4: input = MmaInput::u4; return true;
    case Type::b1: input = MmaInput::b1; return true;
    default: return false;
    }
}

inline num::MmaOutput output_of(Type type) {
    using num::MmaOutput;
    return type == Type::f32   ? MmaOutput::f32
           : type == Type::f16 ? MmaOutput::f16
           : type == Type::s32 ? MmaOutput::s32
                               : MmaOutput::f64;
}

inline num::Round round_of(const Form& form) {
    return form.has("rz")   ? num::Round::zero
           : form.has("rm") ? num::Round::down
           : form.has("rp") ? num::Round::up
                            : num::Round::nearest_even;
}

// A struct that pick() leaves to its handler, in Extra::imm.
template <class T> void keep(const Form& form, const T& what) {
    form.more->imm.resize((sizeof(T) + 7) / 8);
    std::memcpy(form.more->imm.data(), static_cast<const void*>(&what), sizeof what);
}
template <class T> T kept(const Warp& w, const Inst& in) {
    T what;
    std::memcpy(static_cast<void*>(&what), w.kernel->extras[in.extra].imm.data(), sizeof what);
    return what;
}

} // namespace emu::EMU_LEVEL
