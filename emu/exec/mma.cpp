// SPDX-License-Identifier: Apache-2.0
// mma.sync of every kind. Called through the handlers that pick_mma chooses; always a whole warp. Which registers hold
// what, and the arithmetic, is emu/num's: here is only what an instruction's words mean to it. Knows nothing of
// scheduling.
#include "mma_words.h"

#include "run.h"

namespace emu::EMU_LEVEL {
namespace {

using num::MmaInput;
using num::MmaKind;
using num::MmaModel;
using num::MmaOutput;
using num::MmaScale;

template <int K, MmaInput IN, MmaOutput OUT> Flow mma_tile(Warp& w, const Inst& in) {
    constexpr int A = K / 4, B = K / 8, C = OUT == MmaOutput::f32 ? 4 : 2;
    const uint32_t *a[A], *b[B], *c[C];
    uint32_t* d[C];
    for (int i = 0; i < C; ++i) d[i] = w.reg<uint32_t>(in.r[i]);
    for (int i = 0; i < A; ++i) a[i] = w.reg<uint32_t>(in.r[C + i]);
    for (int i = 0; i < B; ++i) b[i] = w.reg<uint32_t>(in.r[C + A + i]);
    for (int i = 0; i < C; ++i) c[i] = w.reg<uint32_t>(in.r[C + A + B + i]);
    num::mma_m16n8(a, b, c, d, K, IN, OUT);
    return Flow::next;
}

// Extra::imm holds the kind, Inst::imm the model.
constexpr uint32_t THREADS_OF_A = 2, THREADS_OF_B = 4;
bool selects(const MmaKind& kind, uint32_t byte, uint32_t thread, uint32_t threads) {
    return byte % kind.blocks == 0 && byte < 4 && thread < threads;
}

// Registers of the scales and their selectors: the last operands, {scale of A, byte, thread}, {scale of B, ...}.
bool read_scales(Warp& w, const MmaKind& kind, const uint16_t* r, num::MmaScales& scales) {
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

Flow mma_any(Warp& w, const Inst& in) {
    const auto kind = kept<MmaKind>(w, in);
    const unsigned na = num::registers_of_a(kind), nb = num::registers_of_b(kind), nc = num::registers_of_c(kind);
    const uint16_t* r = operands_of(*w.kernel, in);
    const uint32_t *a[8], *b[4], *c[4];
    uint32_t* d[4];
    for (unsigned i = 0; i < nc; ++i) d[i] = w.reg<uint32_t>(*r++);
    for (unsigned i = 0; i < na; ++i) a[i] = w.reg<uint32_t>(*r++);
    for (unsigned i = 0; i < nb; ++i) b[i] = w.reg<uint32_t>(*r++);
    for (unsigned i = 0; i < nc; ++i) c[i] = w.reg<uint32_t>(*r++);
    num::MmaScales scales;
    const bool scaled = kind.scale != MmaScale::none;
    if (scaled && !read_scales(w, kind, r, scales)) return Flow::failed;
    num::mma_any(kind, reinterpret_cast<const MmaModel*>(in.imm), a, b, c, d, scaled ? &scales : nullptr);
    return Flow::next;
}

// m16n8k32
void read_shape(const Form& form, MmaKind& kind) {
    for (auto mod : form.mods) {
        const size_t k = mod.find("n8k");
        if (mod[0] != 'm' || k == std::string_view::npos) continue;
        kind.rows = mod.starts_with("m8") ? 8 : 16;
        kind.k = 0;
        for (char c : mod.substr(k + 3)) kind.k = uint16_t(10 * kind.k + (c - '0'));
    }
}

bool read_kind(const Form& form, MmaKind& kind) {
    const Type d = form.type(0);
    read_shape(form, kind);
    if (!input_of(form.type(1), kind.a) || !input_of(form.type(2), kind.b) || form.type(3) != d) return false;
    kind.output = output_of(d);
    kind.packed = form.has("kind::mxf4") || form.has("kind::mxf4nvf4");
    kind.saturate = form.has("satfinite");
    kind.both = form.has("and");
    kind.round = round_of(form);
    if (!form.has("block_scale")) return true;
    kind.scale = form.has("ue4m3") ? MmaScale::ue4m3 : MmaScale::ue8m0;
    kind.blocks = kind.scale == MmaScale::ue4m3 ? 4 : kind.packed ? 2 : 1;
    return true;
}

// Selectors that are constants: ptxas looks at them too.
bool selectors_fit(const Form& form, const MmaKind& kind) {
    for (size_t i : {size_t(5), size_t(7)}) {
        const auto& pair = form.operands[i].parts;
        const uint32_t threads = i == 5 ? THREADS_OF_A : THREADS_OF_B;
        const bool byte = pair[0].kind == Operand::imm, thread = pair[1].kind == Operand::imm;
        if (!selects(kind, byte ? uint32_t(pair[0].value) : 0, thread ? uint32_t(pair[1].value) : 0, threads))
            return false;
    }
    return true;
}

Handler tile_of(const MmaKind& kind) {
    const bool k16 = kind.k == 16, wide = kind.output == MmaOutput::f32;
    if (kind.a == MmaInput::bf16)
        return k16 ? mma_tile<16, MmaInput::bf16, MmaOutput::f32> : mma_tile<8, MmaInput::bf16, MmaOutput::f32>;
    if (wide) return k16 ? mma_tile<16, MmaInput::f16, MmaOutput::f32> : mma_tile<8, MmaInput::f16, MmaOutput::f32>;
    return k16 ? mma_tile<16, MmaInput::f16, MmaOutput::f16> : mma_tile<8, MmaInput::f16, MmaOutput::f16>;
}

} // namespace

Handler pick_mma(const Form& form, Inst& in) {
    MmaKind kind;
    if (!read_kind(form, kind)) return nullptr;
    const bool floats = kind.output == MmaOutput::f32 || kind.output == MmaOutput::f16;
    const MmaModel* model = floats ? num::mma_model(kind, form.chip) : nullptr;
    if (floats && !model) return nullptr;
    if (kind.scale != MmaScale::none && !selectors_fit(form, kind)) return nullptr;
    if (kind.a <= MmaInput::f16) return kind.a == kind.b && num::is_tile(*model) ? tile_of(kind) : nullptr;
    in.imm = reinterpret_cast<int64_t>(model);
    keep(form, kind);
    return mma_any;
}

} // namespace emu::EMU_LEVEL
