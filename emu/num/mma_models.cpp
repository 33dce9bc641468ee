// SPDX-License-Identifier: Apache-2.0
// Which chip sums which products how: data for mma.cpp and mma_any.cpp. A new chip or kind is a row.
// 9.0 was witnessed on an H200; how it does without FP8 is what ptxas 13.0 puts into code for sm_90. 12.x is what
// published models of it say (Microsoft's MMA-Sim), unwitnessed here; that groups of k64 keep 35 bits is theirs alone,
// a probe of an RTX 5090 by others reports 25 and cannot tell them apart: Options::fp4_sum chooses.
#include "mma.h"

namespace emu::num {
namespace {

constexpr unsigned of(MmaInput input) { return 1u << unsigned(input); }
using enum MmaInput;
constexpr unsigned HALVES = of(f16) | of(bf16) | of(tf32);
constexpr unsigned SMALL = of(e4m3) | of(e5m2) | of(e2m3) | of(e3m2) | of(e2m1);

struct Row {
    unsigned chip;
    unsigned inputs; // of A and B
    bool packed;
    MmaModel model;
};
constexpr Row ROWS[] = {
    {9, HALVES, false, {25, 1}},
    {9, of(e4m3) | of(e5m2), false, {25, 1, true}},
    {12, HALVES | SMALL, false, {25, 1}},
    {12, of(e2m1), true, {35, 16, false, 25}},
};

} // namespace

const MmaModel* mma_model(const MmaKind& kind, unsigned chip) {
    for (const Row& row : ROWS)
        if (row.chip == chip && row.packed == kind.packed && (row.inputs & of(kind.a)) && (row.inputs & of(kind.b)))
            return &row.model;
    return nullptr;
}

} // namespace emu::num
