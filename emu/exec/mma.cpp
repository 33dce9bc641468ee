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

// Inst::imm holds the function.
template <int K, bool WIDE> Flow mma_tile(Warp& w, const Inst& in) {
    constexpr int A = K / 4, B = K / 8, C = WIDE ? 4 : 2;
    const uint32_t *a[A], *b[B], *c[C];
    uint32_t* d[C];
    for (int i = 0; i < C; ++i) d[i] = w.reg<uint32_t>(in.r[i]);
    for (int i = 0; i < A; ++i) a[i] = w.reg<uint32_t>(in.r[C + i]);
    for (int i = 0; i < B; ++i) b[i] = w.reg<uint32_t>(in.r[C + A + i]);
    for (int i = 0; i < C; ++i) c[i] = w.reg<uint32_t>(in.r[C + A + B + i]);
    reinterpret_cast<num::TileFunction>(in.imm)(a, b, c, d);
    return Flow::next;
}

// Extra::imm holds the kind, Inst::imm the model.
Flow mma_any(Warp& w, const Inst& in) {
    const auto kind = kept<MmaKind>(w, in);
    const Operands o(w, operands_of(*w.kernel, in), num::registers_of_a(kind), num::registers_of_b(kind),
                     num::registers_of_c(kind));
    num::MmaScales scales;
    const bool scaled = kind.scale != MmaScale::none;
    if (scaled && !read_scales(w, kind, o.next, scales)) return Flow::failed;
    const MmaModel model = model_of(w, in);
    num::mma_any(kind, &model, o.a, o.b, o.c, o.d, scaled ? &scales : nullptr);
    return Flow::next;
}

Handler tile_of(const MmaKind& kind, Inst& in) {
    in.imm = reinterpret_cast<int64_t>(num::best_tile(kind.k, kind.a, kind.output));
    const bool wide = kind.output == MmaOutput::f32;
    if (kind.k == 16) return wide ? mma_tile<16, true> : mma_tile<16, false>;
    return wide ? mma_tile<8, true> : mma_tile<8, false>;
}

} // namespace

Handler pick_mma(const Form& form, Inst& in) {
    MmaKind kind;
    if (!read_kind(form, kind)) return nullptr;
    const bool floats = kind.output == MmaOutput::f32 || kind.output == MmaOutput::f16;
    const MmaModel* model = floats ? num::mma_model(kind, form.chip) : nullptr;
    if (floats && !model) return nullptr;
    if (kind.scale != MmaScale::none && !selectors_fit(form, kind, 4)) return nullptr;
    if (kind.a <= MmaInput::f16) return kind.a == kind.b && num::is_tile(*model) ? tile_of(kind, in) : nullptr;
    in.imm = reinterpret_cast<int64_t>(model);
    keep(form, kind);
    return mma_any;
}

} // namespace emu::EMU_LEVEL
