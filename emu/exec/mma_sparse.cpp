// SPDX-License-Identifier: Apache-2.0
// mma.sp of every kind; always a whole warp. What metadata means, and the arithmetic, is emu/num's.
//
// Inst: r = D, A, B, C, metadata, selector, then scales as of mma. Extra::imm holds the kind, imm the model.
#include "../num/mma_sparse.h"

#include "mma_words.h"
#include "run.h"

namespace emu::EMU_LEVEL {
namespace {

Flow report_chunk(Warp& w, const num::SparseKind& kind, const num::BadChunk& bad) {
    const unsigned width = 2 * kind.kept.k / num::chunks_of(kind.kept);
    std::string bits;
    for (int i = 3; i >= 0; --i) bits += bad.bits >> i & 1 ? '1' : '0';
    return report(w, "undefined", int(bad.lane),
                  "the metadata of row " + std::to_string(bad.row) + ", columns " + std::to_string(bad.chunk * width) +
                      " to " + std::to_string((bad.chunk + 1) * width - 1) + ", is " + bits + ": it names no elements" +
                      (kind.ordered ? " in order" : ""));
}

Flow multiply(Warp& w, const Inst& in) {
    const auto kind = kept<num::SparseKind>(w, in);
    const Operands o(w, operands_of(*w.kernel, in), num::registers_of_a(kind.kept), 2 * num::registers_of_b(kind.kept),
                     num::registers_of_c(kind.kept));
    const uint32_t* metadata = w.reg<uint32_t>(*o.next);
    num::MmaScales scales;
    const bool scaled = kind.kept.scale != num::MmaScale::none;
    if (scaled && !read_scales(w, kind.kept, o.next + 2, scales)) return Flow::failed;
    num::BadChunk bad;
    const num::MmaModel model = model_of(w, in);
    return num::mma_sparse(kind, &model, o.a, o.b, o.c, o.d, metadata, scaled ? &scales : nullptr, bad)
               ? Flow::next
               : report_chunk(w, kind, bad);
}
} // namespace

Handler pick_mma_sparse(const Form& form, Inst& in) {
    constexpr size_t SELECTOR = 5, SCALES = 6; // operands
    num::SparseKind kind{};
    if (!read_kind(form, kind.kept)) return nullptr;
    kind.kept.k /= 2;
    kind.ordered = form.has("sp::ordered_metadata");
    kind.selector = uint8_t(form.operands[SELECTOR].value);
    if (form.operands[SELECTOR].value >= num::selectors_of(kind.kept)) return nullptr;
    const bool floats = kind.kept.output == num::MmaOutput::f32 || kind.kept.output == num::MmaOutput::f16;
    const num::MmaModel* model = floats ? num::mma_model(kind.kept, form.chip) : nullptr;
    if (floats && (!model || model->halves)) return nullptr;
    if (kind.kept.a <= num::MmaInput::f16 && kind.kept.a != kind.kept.b) return nullptr;
    if (kind.kept.scale != num::MmaScale::none && !selectors_fit(form, kind.kept, SCALES)) return nullptr;
    in.imm = reinterpret_cast<int64_t>(model);
    keep(form, kind);
    return &multiply;
}

} // namespace emu::EMU_LEVEL
