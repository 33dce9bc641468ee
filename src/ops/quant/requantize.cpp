// SPDX-License-Identifier: Apache-2.0
// All of requantize: spark_requantize_args -> Requantize, that and its kernel -> Plan, its rows, and the operator's
// entry in the list. What it asks of scales it shares with quantize (written.h); an amax of its own is found by the
// launches of the operator amax.
#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>
#include <type_traits>

#include "core/dtype.h"
#include "ops/common/row_load.h"
#include "ops/quant/written.h"
#include "spark_kernels.h"

namespace spark {
namespace {

using namespace requantize_field;

constexpr int64_t TILE = 128; // rows and columns that a block takes

// A matrix of codes: from one to the next and from row to row in bytes, and its scales, in units of a scale. scaled,
// n_scaled: rows and elements of rows whose scales are written.
struct Matrix {
    RowTensor codes;
    ScalePlaces scale;
    spark_devptr whole; // the scale of all, or 0
    int64_t scaled, n_scaled;
};

struct Requantize {
    RowTensor x; // strides in elements
    Matrix from; // its scales, where x is codes
    Matrix y, t;
    spark_devptr amax, zeros;
    int64_t batch, rows, columns;
    uint32_t dtype, bits, from_scales, from_shift; // of x; log2 of the elements that share a scale
    uint32_t codes, scales, scheme, block_shift;   // of y and t
    float amax_floor;
    uint32_t bump;
    bool coded, own_amax;
};

long long ll(int64_t value) { return static_cast<long long>(value); }
bool is_number(uint32_t dtype) {
    return dtype == SPARK_DTYPE_F32 || dtype == SPARK_DTYPE_F16 || dtype == SPARK_DTYPE_BF16;
}

RowTensor matrices_of(const View& v) {
    return {v.data, v.ndim > 2 ? v.stride[0] : 0, v.shape[v.ndim - 2] > 1 ? v.last_stride(1) : 0};
}

// log2 of the elements of a row that share a scale; of all of them more than any row has.
uint32_t shift_of(const View& v) {
    constexpr uint32_t WHOLE = 62;
    const bool blocks = v.quant.form->scheme == SPARK_QUANT_BLOCK;
    return blocks ? static_cast<uint32_t>(std::countr_zero(static_cast<uint64_t>(v.quant.block[v.ndim - 1]))) : WHOLE;
}

Matrix coded_matrix(const View& v) {
    constexpr int64_t SCALES = 4; // of a row of a tile of scales
    const QuantView& quant = v.quant;
    const auto stride = [&](uint32_t d) { return quant.blocks[d] > 1 ? quant.stride[d] : 0; };
    Matrix m{};
    m.codes = matrices_of(v);
    m.codes.outer = m.codes.outer * v.elem_bits / 8, m.codes.inner = m.codes.inner * v.elem_bits / 8;
    m.scale = scale_places(quant, v.ndim > 2 ? stride(0) : 0, stride(v.ndim - 2), stride(v.ndim - 1));
    m.whole = quant.form->scheme == SPARK_QUANT_PER_TENSOR ? quant.scale : quant.global_scale;
    m.scaled = v.last(1), m.n_scaled = v.last(0);
    if (quant.layout == SPARK_SCALE_TILED_128X4) {
        const int64_t columns = SCALES * quant.block[v.ndim - 1];
        m.scaled = ceil_div(m.scaled, TILE) * TILE, m.n_scaled = ceil_div(m.n_scaled, columns) * columns;
    }
    return m;
}

// What the kernel asks of scales and of whole bytes, whichever field it is.
spark_status check_codes_of(const ValidatedArgs& bound, uint32_t field, Report& report) {
    const View& v = bound.view[field];
    if (v.quant.form == nullptr) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, field,
                                 "%s.quant.scheme is 0; that of a form that spark_op_form lists wanted",
                                 bound.spec->fields[field].name);
    }
    if (v.count == 0) return SPARK_OK;
    if (spark_status s = check_tiles(bound, field, report)) return s;
    if (spark_status s = check_codes(bound, field, report)) return s;
    return check_global(bound, field, report);
}

// Both orientations are the same form.
spark_status check_alike(const ValidatedArgs& bound, Report& report) {
    const View &y = bound.view[Y], &t = bound.view[Y_T];
    if (!y.present || !t.present) return SPARK_OK;
    const auto kind = [](const View& v) { return std::tuple(v.quant.form->name, v.dtype, v.quant.scale_dtype); };
    if (kind(y) == kind(t)) return SPARK_OK;
    return report.fail_field(SPARK_ERR_INVALID_VALUE, Y_T, "y_t is %s of %s, but y is %s of %s; the same wanted",
                             t.quant.form->name, dtype_info(t.dtype).name, y.quant.form->name,
                             dtype_info(y.dtype).name);
}

// What x is, and that an amax of its own can be found.
spark_status check_x(const ValidatedArgs& bound, Report& report) {
    const View& x = bound.view[X];
    if (is_number(x.dtype)) return SPARK_OK;
    if (spark_status s = check_codes_of(bound, X, report)) return s;
    if ((bound.flags & SPARK_REQUANTIZE_OWN_AMAX) == 0) return SPARK_OK;
    return report.fail_field(SPARK_ERR_UNSUPPORTED, X,
                             "x is %s, whose amax is not found here; amax, or a scale, without OWN_AMAX wanted",
                             x.quant.form->name);
}

spark_status check_outputs(const ValidatedArgs& bound, uint32_t like, Report& report) {
    const auto& args = bound.arguments<spark_requantize_args>();
    for (uint32_t field : {Y, Y_T}) {
        if (!bound.view[field].present) continue;
        if (spark_status s = check_codes_of(bound, field, report)) return s;
        if (spark_status s = check_no_zeros(bound, field, report)) return s;
        if (spark_status s = check_scale_of_all(bound, field, AMAX, report)) return s;
    }
    if (spark_status s = check_alike(bound, report)) return s;
    if (spark_status s = check_scale_rule(bound.view[like], {args.rule, args.amax_floor, RULE, AMAX_FLOOR}, report))
        return s;
    if (args.rule != SPARK_SCALE_RULE_FOUR_OVER_SIX) return SPARK_OK;
    return report.fail_field(SPARK_ERR_UNSUPPORTED, RULE,
                             "rule is FOUR_OVER_SIX, which quantize alone does; USUAL "
                             "wanted");
}

spark_status check_count(const Requantize& p, Report& report) {
    const int64_t across = ceil_div(p.columns, TILE), down = ceil_div(p.rows, TILE);
    int64_t tiles;
    if (!__builtin_mul_overflow(across, down, &tiles) && !__builtin_mul_overflow(tiles, p.batch, &tiles) &&
        tiles <= INT32_MAX)
        return SPARK_OK;
    return report.fail_field(SPARK_ERR_UNSUPPORTED_SHAPE, X,
                             "x has %lld x %lld x %lld tiles of 128 x 128 elements; at most 2^31 - 1 wanted",
                             ll(p.batch), ll(down), ll(across));
}

void put_problem(const ValidatedArgs& bound, const View& like, Requantize& p) {
    const auto& args = bound.arguments<spark_requantize_args>();
    const View &x = bound.view[X], &amax = bound.view[AMAX];
    p.x = matrices_of(x);
    p.batch = x.ndim > 2 ? x.shape[0] : 1, p.rows = x.last(1), p.columns = x.last(0);
    p.dtype = x.dtype, p.bits = x.elem_bits;
    p.coded = !is_number(x.dtype);
    if (p.coded) {
        p.from = coded_matrix(x);
        if (x.quant.form->scheme == SPARK_QUANT_PER_TENSOR) p.from.whole = 0;
        p.zeros = x.quant.zero_point;
        p.from_scales = x.quant.scale_dtype, p.from_shift = shift_of(x);
    }
    if (bound.view[Y].present) p.y = coded_matrix(bound.view[Y]);
    if (bound.view[Y_T].present) p.t = coded_matrix(bound.view[Y_T]);
    p.codes = like.dtype, p.scales = like.quant.scale_dtype, p.scheme = like.quant.form->scheme;
    p.block_shift = shift_of(like);
    p.amax = amax.present ? amax.data : 0;
    p.own_amax = (bound.flags & SPARK_REQUANTIZE_OWN_AMAX) != 0;
    p.amax_floor = args.amax_floor, p.bump = bump_of(args.rule, like);
}

// What requantize.usual.ptx takes.
bool usual_form(const Requantize& p) {
    const bool of_all = p.scheme == SPARK_QUANT_PER_TENSOR;
    const bool numbers = p.scales == SPARK_DTYPE_F32 && p.block_shift == 7;
    const bool powers = p.scales == SPARK_DTYPE_UE8M0 && p.block_shift == 5;
    return p.dtype == SPARK_DTYPE_BF16 && p.codes == SPARK_DTYPE_E4M3 && (of_all || numbers || powers);
}

bool is_usual(const Requantize& p, int64_t x_align) {
    constexpr int64_t RUN = 16; // codes that a thread stores at once
    const auto aligned = [](const RowTensor& codes) {
        return (static_cast<int64_t>(codes.data) | codes.outer | codes.inner) % RUN == 0;
    };
    return usual_form(p) && x_align >= RUN && p.rows % RUN == 0 && p.columns % RUN == 0 && aligned(p.y.codes) &&
           aligned(p.t.codes);
}

void put_facts(const ValidatedArgs& bound, const Requantize& p, CheckedOp& work) {
    const View& x = bound.view[X];
    work.facts[QUANT_N] = p.columns;
    work.facts[QUANT_ROWS] = p.rows * p.batch;
    work.facts[QUANT_X_ALIGN] = row_alignment(x, p.x);
    work.facts[QUANT_X_BITS] = x.elem_bits;
    work.facts[QUANT_USUAL] = is_usual(p, work.facts[QUANT_X_ALIGN]);
    work.flops = static_cast<uint64_t>(x.count);
    work.bytes = static_cast<uint64_t>(x.count) * x.elem_bits / 8 * (p.own_amax ? 2 : 1);
    for (uint32_t field : {X, Y, Y_T}) {
        const View& v = bound.view[field];
        if (v.quant.form == nullptr) continue;
        work.bytes += v.quant.scale_bytes + (field == X ? v.quant.zero_bytes : 0);
        if (field != X) work.bytes += static_cast<uint64_t>(v.count) * v.elem_bits / 8;
    }
}

} // namespace

spark_status check_requantize(const ValidatedArgs& bound, CheckedOp& work, Report& report) {
    const uint32_t like = bound.view[Y].present ? Y : Y_T;
    if (!bound.view[like].present) {
        return report.fail_field(SPARK_ERR_INVALID_NULL, Y, "y and y_t are absent; one of them wanted");
    }
    if (spark_status s = check_x(bound, report)) return s;
    if (spark_status s = check_outputs(bound, like, report)) return s;
    Requantize& p = work.as<Requantize>();
    p = {};
    work.empty = bound.view[X].count == 0;
    work.contract = {"requantize"};
    if (work.empty) return SPARK_OK;
    put_problem(bound, bound.view[like], p);
    if (spark_status s = check_count(p, report)) return s;
    put_facts(bound, p, work);
    return SPARK_OK;
}

namespace {

consteval Tile tile_of(const Kernel&) { return {}; }

// The numbers of codes in ptx/lib/tile/form_made.ptxh and numbers_of.ptxh, which alone has the last.
uint32_t number_of(uint32_t dtype) {
    constexpr uint32_t CODES[] = {SPARK_DTYPE_E4M3, SPARK_DTYPE_E5M2, SPARK_DTYPE_I8,   SPARK_DTYPE_I2F6,
                                  SPARK_DTYPE_E2M1, SPARK_DTYPE_E2M3, SPARK_DTYPE_E3M2, SPARK_DTYPE_I4,
                                  SPARK_DTYPE_NF4,  SPARK_DTYPE_U4};
    return static_cast<uint32_t>(std::ranges::find(CODES, dtype) - CODES);
}

void put_from(const Requantize& p, kernels::requantize_params& params) {
    params.from_scale = p.from.scale.data, params.from_whole = p.from.whole, params.from_zero = p.zeros;
    params.from_outer = p.from.scale.outer, params.from_tile = p.from.scale.tile;
    params.from_quarter = p.from.scale.quarter, params.from_row = p.from.scale.row;
    params.from_four = p.from.scale.four, params.from_step = p.from.scale.step;
    params.from_bits = p.bits, params.from_shift = p.from_shift;
    params.codes_read = number_of(p.dtype);
}

kernels::requantize_flags flags_of(const Requantize& p) {
    return {.f32 = p.dtype == SPARK_DTYPE_F32,
            .f16 = p.dtype == SPARK_DTYPE_F16,
            .scale_f32 = p.scales == SPARK_DTYPE_F32,
            .scale_f16 = p.scales == SPARK_DTYPE_F16,
            .nf4 = p.codes == SPARK_DTYPE_NF4,
            .of_all = p.scheme == SPARK_QUANT_PER_TENSOR,
            .powers = p.scales == SPARK_DTYPE_UE8M0,
            .nvfp4 = p.scales == SPARK_DTYPE_UE4M3,
            .from_coded = p.coded,
            .from_f32 = p.from_scales == SPARK_DTYPE_F32,
            .from_f16 = p.from_scales == SPARK_DTYPE_F16,
            .from_powers = p.from_scales == SPARK_DTYPE_UE8M0,
            .from_bytes = p.from_scales == SPARK_DTYPE_UE8M0 || p.from_scales == SPARK_DTYPE_UE4M3};
}

#define PUT_SIDE(NAME, m)                                                                       \
    params.NAME = (m).codes.data, params.NAME##_outer = (m).codes.outer;                        \
    params.NAME##_row = (m).codes.inner, params.NAME##_whole = (m).whole;                       \
    params.NAME##_scale = (m).scale.data, params.NAME##_scale_outer = (m).scale.outer;          \
    params.NAME##_scale_tile = (m).scale.tile, params.NAME##_scale_quarter = (m).scale.quarter; \
    params.NAME##_scale_row = (m).scale.row, params.NAME##_scale_four = (m).scale.four;         \
    params.NAME##_scale_step = (m).scale.step, params.NAME##_scaled = (m).scaled;               \
    params.NAME##_n_scaled = (m).n_scaled

void put_made(const Requantize& p, kernels::requantize_params& params) {
    const float largest = code_info(p.codes).largest;
    PUT_SIDE(y, p.y);
    PUT_SIDE(t, p.t);
    params.amax_floor = p.amax_floor, params.largest = largest_code(p.codes);
    params.bump = p.bump, params.emax = static_cast<uint32_t>(std::ilogb(largest));
    params.block_shift = p.block_shift;
    params.codes_made = number_of(p.codes), params.bits_made = dtype_info(p.codes).bits;
}
#undef PUT_SIDE

// The amax of x, made in the workspace.
spark_devptr find_amax(const CheckedOp& work, const Requantize& p, Plan& calls) {
    CheckedOp rows{};
    rows.target = work.target;
    rows.facts[QUANT_X_ALIGN] = work.facts[QUANT_X_ALIGN];
    Scaled& x = rows.as<Scaled>();
    x = {};
    x.x = p.x, x.n = p.columns, x.rows1 = p.batch, x.rows0 = p.rows, x.dtype = p.dtype;
    return plan_own_amax(rows, calls);
}

// The usual kernel's blocks stay, and step over tiles.
template <class Of>
void plan(const CheckedOp& work, const Row& row, const Of& kernel, const kernels::amax_kernel&,
          const kernels::amax_kernel&, Plan& calls) {
    constexpr bool STAYS = std::is_same_v<Of, kernels::requantize_usual_kernel>;
    const Requantize& p = work.as<Requantize>();
    const int64_t across = ceil_div(p.columns, TILE), down = ceil_div(p.rows, TILE), tiles = across * down * p.batch;
    kernels::requantize_params params{};
    params.x = p.x.data;
    params.x_outer = p.x.outer * p.bits / 8, params.x_row = p.x.inner * p.bits / 8;
    put_from(p, params);
    put_made(p, params);
    params.rows = p.rows, params.columns = p.columns;
    params.across = static_cast<uint32_t>(across), params.down = static_cast<uint32_t>(down);
    params.tiles = static_cast<uint32_t>(tiles);
    params.amax = p.own_amax ? find_amax(work, p, calls) : p.amax;
    params.flags = flags_of(p);
    calls.add(kernel, params, STAYS ? std::min(tiles, held_blocks(*work.target, row)) : tiles);
}

PLAN_OF_ROWS
constexpr Draft DRAFTS[] = {
    // kernel, then, because
    ROW_THEN_TWO(requantize__e4m3, amax__x16, amax__generic, "BF16 as E4M3, by sixteens: tiles asked for ahead")
    // other forms
    ROW_THEN_TWO(requantize__x8, amax__x16, amax__generic, "numbers of 16 bits, eight at a time")
    // F32 and codes
    ROW_THEN_TWO(requantize__copied, amax__x16, amax__generic, "numbers and codes of any type, eight at a time")
    // what is left
    ROW_THEN_TWO(requantize__generic, amax__x16, amax__generic, "one element at a time; legal for every shape")};
constexpr auto TABLE = make_table<DRAFTS, QUANT_FACT_NAMES>();

} // namespace

extern const Operator REQUANTIZE = {SPARK_OP_REQUANTIZE, TABLE, QUANT_FACT_NAMES, check_requantize, nullptr};

} // namespace spark
