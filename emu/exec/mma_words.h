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

constexpr uint32_t THREADS_OF_A = 2, THREADS_OF_B = 4;
inline bool selects(const num::MmaKind& kind, uint32_t byte, uint32_t thread, uint32_t threads) {
    return byte % kind.blocks == 0 && byte < 4 && thread < threads;
}

// Inst::imm holds the model, nullptr where no floats are summed; of two published ones the run's options say which.
inline num::MmaModel model_of(const Warp& w, const Inst& in) {
    if (!in.imm) return {};
    num::MmaModel model = *reinterpret_cast<const num::MmaModel*>(in.imm);
    if (model.other_fraction && w.launch->options.fp4_sum == Fp4Sum::bits25) model.fraction = model.other_fraction;
    return model;
}

// Registers of the scales and their selectors: the last operands, {scale of A, byte, thread}, {scale of B, ...}.
inline bool read_scales(Warp& w, const num::MmaKind& kind, const uint16_t* r, num::MmaScales& scales) {
    scales = {w.reg<uint32_t>(r[0]),    w.reg<uint32_t>(r[3]),    w.reg<uint32_t>(r[1])[0],
              w.reg<uint32_t>(r[2])[0], w.reg<uint32_t>(r[4])[0], w.reg<uint32_t>(r[5])[0]};
    if (selects(kind, scales.a_byte, scales.a_thread, THREADS_OF_A) &&
        selects(kind, scales.b_byte, scales.b_thread, THREADS_OF_B))
        return true;
    report(w, "undefined", -1,
           "a selector of the scales is out of range: bytes " + std::to_string(scales.a_byte) + " and " +
               std::to_string(scales.b_byte) + ", threads " + std::to_string(scales.a_thread) + " and " +
               std::to_string(scales.b_thread));
    return false;
}

// m16n8k32
inline void read_shape(const Form& form, num::MmaKind& kind) {
    for (auto mod : form.mods) {
        const size_t k = mod.find("n8k");
        if (mod[0] != 'm' || k == std::string_view::npos) continue;
        kind.rows = mod.starts_with("m8") ? 8 : 16;
        kind.k = 0;
        for (char c : mod.substr(k + 3)) kind.k = uint16_t(10 * kind.k + (c - '0'));
    }
}

inline bool read_kind(const Form& form, num::MmaKind& kind) {
    const Type d = form.type(0);
    read_shape(form, kind);
    if (!input_of(form.type(1), kind.a) || !input_of(form.type(2), kind.b) || form.type(3) != d) return false;
    kind.output = output_of(d);
    kind.packed = form.has("kind::mxf4") || form.has("kind::mxf4nvf4");
    kind.saturate = form.has("satfinite");
    kind.both = form.has("and");
    kind.round = round_of(form);
    if (!form.has("block_scale")) return true;
    kind.scale = form.has("ue4m3") ? num::MmaScale::ue4m3 : num::MmaScale::ue8m0;
    kind.blocks = kind.scale == num::MmaScale::ue4m3 ? 4 : kind.packed ? 2 : 1;
    return true;
}

// Selectors that are constants, behind the scales from operand `first` on: ptxas looks at them too.
inline bool selectors_fit(const Form& form, const num::MmaKind& kind, size_t first) {
    for (size_t i : {first + 1, first + 3}) {
        const auto& pair = form.operands[i].parts;
        const uint32_t threads = i == first + 1 ? THREADS_OF_A : THREADS_OF_B;
        const bool byte = pair[0].kind == Operand::imm, thread = pair[1].kind == Operand::imm;
        if (!selects(kind, byte ? uint32_t(pair[0].value) : 0, thread ? uint32_t(pair[1].value) : 0, threads))
            return false;
    }
    return true;
}

// The registers of a product. In the text they stand as D, A, B, C; next: behind them.
struct Operands {
    const uint32_t *a[8], *b[8], *c[4];
    uint32_t* d[4];
    const uint16_t* next;
    Operands(Warp& w, const uint16_t* from, unsigned num_a, unsigned num_b, unsigned num_c) : next(from) {
        for (unsigned i = 0; i < num_c; ++i) d[i] = w.reg<uint32_t>(*next++);
        for (unsigned i = 0; i < num_a; ++i) a[i] = w.reg<uint32_t>(*next++);
        for (unsigned i = 0; i < num_b; ++i) b[i] = w.reg<uint32_t>(*next++);
        for (unsigned i = 0; i < num_c; ++i) c[i] = w.reg<uint32_t>(*next++);
    }
};

} // namespace emu::EMU_LEVEL
