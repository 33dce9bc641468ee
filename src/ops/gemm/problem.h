// SPDX-License-Identifier: Apache-2.0
// The checked matrix product.
#pragma once

#include "ops/common/scale_places.h"
#include "ops/gemm/fields.h"
#include "ops/operator.h"
#include "ops/quant/written.h"

namespace spark {

// Of an operand that is made of codes: where its scales are, F32. No address: the codes are numbers by themselves.
struct GemmScales {
    spark_devptr data;
    int64_t step, batch; // scales from one row's to the next, from one batch's to the next; 0 = the same for all
};

// Where scales, and zeros, stand along k, of weights that have one for 2^shift of it; b_scales says the rest. shift 0:
// of other weights.
struct GemmGroups {
    int64_t step; // scales from one group's to the next
    uint32_t shift;
    uint32_t dtype;     // of the scales
    spark_devptr zeros; // in the places of the scales, or 0
};

// Two rows of b for each column of d, those of gate and up: halves of b, or neighbours. Not on: one.
struct GemmGate {
    bool on, interleaved, up_first, gpt_oss;
    float limit; // 0: none
};

// d as codes. direct: the scale of all is given, so that kernels make them of their results themselves; else F32 goes
// to the workspace and is quantised there.
struct GemmCodes {
    bool on, direct, e5m2;
    spark_devptr scale; // with direct
    Written written;    // else
    bool amax_wanted;   // of numbers too
    spark_devptr amax;
};

// Of b with two of each four numbers along k: where these stood. Strides are in bytes.
struct GemmKept {
    bool on;
    spark_devptr data;
    int64_t row, batch;
};

// What is first copied into the workspace for tensor cores, along k and with rows that begin on 16 bytes: of F32, and
// codes of less than a byte.
struct GemmMoved {
    bool a, b;

    bool any() const { return a || b; }
};

// Strides are in elements, of weights, and of a and b with scales of blocks, in bytes. lda and ldb are the strides of
// the dimension that is not contiguous.
struct Gemm {
    spark_devptr a, b, c, d, bias; // 0 = absent
    int64_t m, n, k, batch;        // n: of b, of which a gated d has half as many
    int64_t lda, ldb, ldc, ldd;
    int64_t stride_a, stride_b, stride_c, stride_d; // from one batch to the next; 0 = the same for all
    float alpha, beta;
    uint32_t activation;
    float cap;        // of SOFTCAP
    uint32_t d_dtype; // spark_dtype of c and d; I32: of the sums themselves; of codes F32
    uint32_t bias_dtype;
    bool a_along, b_along; // k is contiguous
    uint32_t elem_bits;    // of a, and of b where that is numbers
    bool integers;         // a, b and the sums are integers
    bool a_e5m2, b_e5m2;
    GemmScales a_scales, b_scales;
    ScalePlaces a_blocks, b_blocks; // scales of blocks, in bytes; no address: there are none
    bool weights;                   // b is quantised, and a is not
    bool b_blocked;                 // weights with such scales, of which b_scales is then the one of all
    int64_t b_span;                 // how many of k four of them are for
    GemmGroups b_groups;
    bool b_i8, b_i4, b_nf4; // weights are codes of I8, of I4, of NF4
    uint32_t dtype;         // spark_dtype of a, and of b where that is numbers
    uint32_t b_dtype;
    int64_t parts; // of k, of SPARK_FLAG_BATCH_INVARIANT; 0: as many as cost least
    GemmGate gate;
    GemmCodes codes;
    GemmKept kept;
    bool tf32, bf16x3; // how F32 is multiplied; neither: as it is
    GemmMoved moved;
    bool f16_sums; // of 16 products are allowed
};

// weights.cpp: whether b is quantised in a form that is multiplied with numbers; whether such a b goes with a, and lies
// as kernels take it; the contract for it.
bool has_weights(const ValidatedArgs& bound);
// ", or b.quant of MXFP4 or NVFP4": the forms in which b, of its dtype, would go with a; nothing where there are none.
const char* forms_of_weights(const ValidatedArgs& bound, char* text, size_t capacity);
spark_status check_gemm_weights(const ValidatedArgs& bound, Report& report);
spark_status check_gemm_places(const ValidatedArgs& bound, bool a_along, bool b_along, Report& report);
void put_gemm_weights(const ValidatedArgs& bound, Gemm& p);
Contract contract_of_weights(const ValidatedArgs& bound);
// Elements from a row of weights to the next where they are unpacked: rows begin on 16 bytes.
inline int64_t gemm_pitch(const Gemm& p) { return (p.k + 7) / 8 * 8; }
// How many matrices of them there are: where the scales differ, the same codes are other numbers.
inline int64_t gemm_unpacked(const Gemm& p) {
    return p.stride_b == 0 && p.b_scales.batch == 0 && p.b_blocks.outer == 0 ? 1 : p.batch;
}

// moved.cpp: what of F32, and of codes of OCP's formats, tensor cores do not take as it lies; adds the copies of it to
// the front of the workspace, of which p then is the product, and says their bytes; how many elements they have.
GemmMoved gemm_moved(const ValidatedArgs& bound, const Gemm& p);
GemmMoved gemm_widened(const Gemm& p);
uint64_t move_operands(Gemm& p, Plan& calls);
int64_t moved_elements(const Gemm& p);

// mirror.cpp: rows of half a product of X and its transpose, where it costs less to make the upper right quarter of d
// of the lower left one than to multiply; else 0. And the launch that does so.
int64_t mirrored_half(const CheckedOp& work, const Row& row);
void add_mirrored(const Gemm& p, int64_t half, Plan& calls);

// gate.cpp: whether flags and limit go with each other and with the rest; what they say.
spark_status check_gemm_gate(const ValidatedArgs& bound, Report& report);
GemmGate gemm_gate(const ValidatedArgs& bound);
// sparse.cpp: whether the flag has its tensor, and what a and b are goes with it; where kept lies, and its alignment.
spark_status check_gemm_sparse(const ValidatedArgs& bound, bool a_along, bool b_along, Report& report);
GemmKept gemm_kept(const ValidatedArgs& bound);
int64_t kept_alignment(const GemmKept& kept);
// Whether d is made of sums in the workspace, since a kernel with that tile does not make it of gate and up itself.
inline bool gates_by_sums(const Gemm& p, const Tile& tile) { return p.gate.on && !tile.gates; }

// codes.cpp: whether d may be codes, and what else is not done then; how they are made.
spark_status check_gemm_codes(const ValidatedArgs& bound, Gemm& p, Report& report);

// How a row's kernel cuts the product.
struct GemmCut {
    int64_t tiles; // of d
    int64_t part;  // elements of k that a block adds; all of them where there is one part
    int64_t parts; // of k
};
// Parts that all kernels of an order cut alike are multiples of what any of them takes at a step.
constexpr uint32_t GEMM_PART_STEP = 64;
GemmCut cut_gemm(const CheckedOp& work, const Row& row);
// Whether the parts are the blocks of clusters, and meet in shared memory.
inline bool joins(const Gemm& p, const Tile& tile, const GemmCut& cut) {
    return tile.joins && cut.parts == 2 && p.batch == 1;
}
// Rows of tiles walked together, so that they share columns of b in L2.
uint32_t gemm_group(const CheckedOp& work, const Row& row);
// Whether a or b is made of codes that have no meaning without scales of their blocks, and what follows from these: K,
// strides, places of the scales, the contract.
bool is_block_scaled(const ValidatedArgs& bound);
bool both_block_scaled(const ValidatedArgs& bound); // and what they are is block_scaled's to check
spark_status check_block_scaled(const ValidatedArgs& bound, Gemm& p, Contract& contract, Report& report);
// The same of b alone, where a is numbers.
spark_status check_block_weights(const ValidatedArgs& bound, Report& report);
void put_block_weights(const ValidatedArgs& bound, Gemm& p);
int64_t scales_alignment(const Gemm& p);
void load_gemm(const CheckedOp& work, const Row& row, Load& load);

} // namespace spark
