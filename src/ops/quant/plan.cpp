// SPDX-License-Identifier: Apache-2.0
// A problem of the family and a kernel -> Plan; and the operators' entries in the list. With OWN_AMAX `quantize` is
// two or three launches: `amax` of the rows or their parts, of these if there are several, and the kernel itself.
#include <algorithm>
#include <type_traits>

#include "core/dtype.h"
#include "ops/common/row_load.h"
#include "ops/quant/soon.h"
#include "ops/quant/written.h"
#include "spark_kernels.h"

namespace spark {
namespace {

consteval Tile tile_of(const Kernel&) { return {}; }

bool is_f32(uint32_t dtype) { return dtype == SPARK_DTYPE_F32; }
bool is_f16(uint32_t dtype) { return dtype == SPARK_DTYPE_F16; }

// Steps of a row over x, two to a block where there are many, rows over y. A thread takes STEP units of eight numbers a
// step. Blocks that stay were slower: all of them read at once, and then write.
void plan(const CheckedOp& work, const Row& row, const kernels::dequantize_kernel& kernel, Plan& calls) {
    const Records& p = work.as<Records>();
    const int64_t steps = ceil_div(p.n / 8, int64_t{kernel.block} * kernel.STEP);
    const int64_t held = held_blocks(*work.target, row);
    const bool many = steps * p.rows0 * p.rows1 > 4 * held;
    const int64_t across = many ? ceil_div(steps, int64_t{2}) : steps;
    const kernels::dequantize_params params = {
        .x = p.records.data,
        .y = p.numbers.data,
        .x_stride0 = p.records.inner,
        .x_stride1 = p.records.outer,
        .y_stride0 = p.numbers.inner,
        .y_stride1 = p.numbers.outer,
        .n = p.n,
        .rows0 = p.rows0,
        .rows1 = p.rows1,
        .flags = kernels::dequantize_flags{.f32 = is_f32(p.dtype), .f16 = is_f16(p.dtype)},
        .soon = work.facts[QUANT_X_ALIGN] < L2_UNIT ? 0 : static_cast<uint32_t>(held),
    };
    calls.add(kernel, params, across);
}

kernels::dequantize_scaled_flags read_formats(const Scaled& p) {
    auto flags = formats_of<kernels::dequantize_scaled_flags>(p);
    flags.i4 = p.codes == SPARK_DTYPE_I4, flags.nf4 = p.codes == SPARK_DTYPE_NF4;
    flags.scale_f32 = is_f32(p.scales), flags.scale_f16 = is_f16(p.scales);
    return flags;
}

// Elements of a row that a warp takes: several turns, `longer` elements, where there are enough of them for all warps
// of a device, and so many that parts can be counted in 31 bits.
template <class Of> int64_t part_of(int64_t n, int64_t rows, int64_t longer, const Of& kernel) {
    constexpr int64_t ENOUGH = int64_t{1} << 23;
    if (n * rows < ENOUGH) return turn_of(kernel);
    return cut_rows(n, rows, std::max(longer, turn_of(kernel))).part;
}
template <class Of> int64_t part_of(const Scaled& p, const Of& kernel) {
    const int64_t longer = p.code_bits < 8 ? 2048 : 1024; // short ones have more scales to find for a byte
    return part_of(p.n_scaled, p.rows_scaled * p.rows1, longer, kernel);
}

// Bytes of the scales of so many numbers, where those of all rows stand one behind the other; or 0.
int64_t scales_in_line(const Scaled& p, int64_t numbers) {
    const ScalePlaces& at = p.scale;
    const int64_t block = p.scales == SPARK_DTYPE_UE8M0   ? 32
                          : p.scales == SPARK_DTYPE_UE4M3 ? 16
                          : p.code_bits < 8               ? int64_t{1} << p.block_shift
                                                          : 128;
    const int64_t bytes = numbers / block * dtype_info(p.scales).bits / 8;
    const bool rows = p.rows0 == 1 || (at.row * block == p.n && at.quarter == at.row * 32 && at.tile == at.row * 128);
    const bool packed = at.step == 1 && at.four == 4 && rows && at.data % L2_UNIT == 0;
    return packed && bytes % L2_UNIT == 0 ? bytes : 0;
}

// Bytes of x that the second-level cache is told of for each SM: where more is written than read, and where less is.
constexpr int64_t TOLD_OF_CODES = 16 << 10, TOLD_OF_NUMBERS = 24 << 10;

// Whether rows are pieces of `part` elements, one behind the other.
bool in_pieces(int64_t rows1, int64_t rows0, int64_t inner, int64_t n, int64_t part) {
    return rows1 == 1 && (rows0 == 1 || inner == n) && n % part == 0;
}
bool in_pieces(const Scaled& p, int64_t part) { return in_pieces(p.rows1, p.rows0, p.x.inner, p.n, part); }

// Short pieces are told of sooner, but a warp has more to find where scales lie in tiles, or are of any type.
int64_t part_read(const Scaled& p, const kernels::dequantize_scaled_kernel& kernel) {
    constexpr int64_t SHORT = 1024;
    const bool bytes = p.scales == SPARK_DTYPE_UE8M0 || p.scales == SPARK_DTYPE_UE4M3;
    const bool tiled = p.scale.quarter < p.scale.row;
    if (!bytes || tiled || !in_pieces(p, SHORT)) return part_of(p, kernel);
    return part_of(p.n_scaled, p.rows_scaled * p.rows1, SHORT, kernel);
}

void plan(const CheckedOp& work, const Row&, const kernels::dequantize_scaled_kernel& kernel, Plan& calls) {
    const Scaled& p = work.as<Scaled>();
    const int64_t part = part_read(p, kernel);
    const Pieces cut = pieces_of(part, ceil_div(p.n, part));
    const int64_t bytes = in_pieces(p, part) ? bytes_of(p, part) : 0;
    const Soon soon = soon_of(p.x.data, bytes, cut.parts * p.rows0, TOLD_OF_CODES, work.target->sms);
    calls.add(kernel, {
                          .x = p.x.data,
                          .y = p.y.data,
                          .scale = p.scale.data,
                          .whole = p.whole,
                          .x_stride0 = bytes_of(p, p.x.inner),
                          .x_stride1 = bytes_of(p, p.x.outer),
                          .y_stride0 = p.y.inner,
                          .y_stride1 = p.y.outer,
                          .scale_stride1 = p.scale.outer,
                          .scale_tile = p.scale.tile,
                          .scale_quarter = p.scale.quarter,
                          .scale_row = p.scale.row,
                          .scale_four = p.scale.four,
                          .scale_step = p.scale.step,
                          .n = p.n,
                          .rows0 = p.rows0,
                          .rows1 = p.rows1,
                          .part = cut.part,
                          .parts = cut.parts,
                          .parts_by = cut.by,
                          .parts_shift = cut.shift,
                          .flags = read_formats(p),
                          .zero = p.zeros,
                          .block_shift = p.block_shift,
                          .soon = soon.pieces,
                          .soon_bytes = soon.bytes,
                          .soon_scales = static_cast<uint32_t>(scales_in_line(p, part)),
                      });
}

void plan(const CheckedOp& work, const Row&, const kernels::quantize_record_kernel& kernel, Plan& calls) {
    const Records& p = work.as<Records>();
    const int64_t part = part_of(p.n, p.rows0 * p.rows1, kernel.STAGED ? 1024 : 2048, kernel);
    const Pieces cut = pieces_of(part, ceil_div(p.n, part));
    const bool packed = in_pieces(p.rows1, p.rows0, p.numbers.inner, p.n, part);
    const int64_t bytes = packed ? part * (is_f32(p.dtype) ? 4 : 2) : 0;
    const Soon soon = soon_of(p.numbers.data, bytes, cut.parts * p.rows0, TOLD_OF_NUMBERS, work.target->sms);
    calls.add(kernel, {
                          .x = p.numbers.data,
                          .y = p.records.data,
                          .x_stride0 = p.numbers.inner,
                          .x_stride1 = p.numbers.outer,
                          .y_stride0 = p.records.inner,
                          .y_stride1 = p.records.outer,
                          .n = p.n,
                          .rows0 = p.rows0,
                          .rows1 = p.rows1,
                          .part = cut.part,
                          .parts = cut.parts,
                          .parts_by = cut.by,
                          .parts_shift = cut.shift,
                          .flags = kernels::quantize_record_flags{.f32 = is_f32(p.dtype), .f16 = is_f16(p.dtype)},
                          .soon = soon.pieces,
                          .soon_bytes = soon.bytes,
                      });
}

// The kernels of quantize to codes: to the nearest, and at random.
template <class Of>
using FlagsOf = std::conditional_t<std::is_same_v<Of, kernels::quantize_kernel>, kernels::quantize_flags,
                                   kernels::quantize_stochastic_flags>;

template <class Params> void put_random(const Scaled& p, Params& params) {
    if constexpr (requires { params.seed; }) {
        params.seeds = p.seeds, params.offsets = p.offsets;
        params.seed = p.seed, params.offset = p.offset;
    }
}

// Rows are cut into pieces, a warp's each.
template <class Of> void add(const Scaled& p, uint32_t sms, spark_devptr amax, const Of& kernel, Plan& calls) {
    const int64_t part = part_of(p, kernel);
    const Pieces cut = pieces_of(part, ceil_div(p.n_scaled, part));
    typename Of::Params params{};
    params.x = p.x.data;
    params.y = p.y.data;
    params.whole = p.whole;
    params.amax = amax;
    params.x_stride0 = p.x.inner;
    params.x_stride1 = p.x.outer;
    params.y_stride0 = bytes_of(p, p.y.inner);
    params.y_stride1 = bytes_of(p, p.y.outer);
    put_scales(p, params);
    put_pieces(p, cut, params);
    params.flags = formats_of<FlagsOf<Of>>(p);
    if constexpr (requires { params.block_shift; }) {
        auto flags = formats_of<kernels::quantize_flags>(p);
        flags.scale_f32 = is_f32(p.scales), flags.scale_f16 = is_f16(p.scales);
        flags.nf4 = p.codes == SPARK_DTYPE_NF4;
        params.flags = flags, params.block_shift = p.block_shift;
    }
    if constexpr (requires { params.soon; }) {
        const bool packed = in_pieces(p, part) && p.n_scaled == p.n && p.rows_scaled == p.rows0;
        const int64_t bytes = packed ? part * number_bytes(p) : 0;
        const Soon soon = soon_of(p.x.data, bytes, cut.parts * p.rows0, TOLD_OF_NUMBERS, sms);
        params.soon = soon.pieces, params.soon_bytes = soon.bytes;
    }
    put_random(p, params);
    calls.add(kernel, params);
}

template <class Of> void plan(const CheckedOp& work, const Row&, const Of& kernel, Plan& calls) {
    add(work.as<Scaled>(), work.target->sms, 0, kernel, calls);
}

template <class Of>
concept IsAhead =
    std::is_same_v<Of, kernels::quantize_ahead_kernel> || std::is_same_v<Of, kernels::quantize_stochastic_ahead_kernel>;
template <IsAhead Of>
using AheadFlags = std::conditional_t<std::is_same_v<Of, kernels::quantize_ahead_kernel>, kernels::quantize_ahead_flags,
                                      kernels::quantize_stochastic_ahead_flags>;

// What is asked for ahead; strides of x in bytes. Scales are of all, of rows or of blocks.
template <IsAhead Of>
void add(const Scaled& p, const Row& row, const Target& target, spark_devptr amax, const Of& kernel, Plan& calls) {
    typename Of::Params params{};
    params.x = p.x.data;
    params.x_stride0 = p.x.inner * number_bytes(p), params.x_stride1 = p.x.outer * number_bytes(p);
    params.y = p.y.data;
    params.y_stride0 = bytes_of(p, p.y.inner), params.y_stride1 = bytes_of(p, p.y.outer);
    const bool of_all = p.code_bits == 8 && p.whole != 0;
    const CodedKind kind{.whole = p.whole,
                         .blocks = !p.whole_rows && !of_all,
                         .powers = p.scales == SPARK_DTYPE_UE8M0,
                         .scale_bytes = dtype_info(p.scales).bits / 8};
    auto flags = put_team<AheadFlags<Of>>(p, kind, kernel, params);
    if constexpr (requires { params.block_shift; }) {
        flags.scale_f32 = is_f32(p.scales), flags.scale_f16 = is_f16(p.scales);
        params.block_shift = p.block_shift;
    }
    put_random(p, params);
    params.flags = flags, params.amax = amax;
    const int64_t blocks = put_blocks(kernel, held_blocks(target, row), params);
    calls.add(kernel, params, blocks);
}

template <IsAhead Of> void plan(const CheckedOp& work, const Row& row, const Of& kernel, Plan& calls) {
    add(work.as<Scaled>(), row, *work.target, 0, kernel, calls);
}

// In how many parts a row of n numbers is cut where there are `rows` of them: from shapes alone, as the workspace is.
int64_t parts_of(int64_t n, int64_t rows) {
    constexpr int64_t A_PART = 8192, ENOUGH = 1024;
    return std::clamp<int64_t>(std::min(n / A_PART, ENOUGH / std::max<int64_t>(rows, 1)), 1, ENOUGH);
}

void add(const Amax& p, spark_devptr to, int64_t parts, const kernels::amax_kernel& kernel, Plan& calls) {
    constexpr int64_t UNIT = 8, UNITS = 4 * 32;
    const int64_t part = parts == 1 ? p.n : ceil_div(ceil_div(p.n, parts), UNIT) * UNIT;
    const Pieces cut = pieces_of(part, parts);
    calls.add(kernel, {
                          .x = p.x.data,
                          .y = to,
                          .x_stride0 = p.x.inner,
                          .x_stride1 = p.x.outer,
                          .n = p.n,
                          .rows0 = p.rows0,
                          .rows1 = p.rows1,
                          .part = cut.part,
                          .parts = cut.parts,
                          .parts_by = cut.by,
                          .parts_shift = cut.shift,
                          .team = team_of(ceil_div(part, UNITS * kernel.STEP), kernel),
                          .flags = kernels::amax_flags{.f32 = is_f32(p.dtype), .f16 = is_f16(p.dtype)},
                      });
}

// rows x n numbers without gaps.
Amax packed_rows(spark_devptr x, int64_t rows, int64_t n) {
    return {.x = {.data = x, .outer = 0, .inner = n},
            .y = 0,
            .all = 0,
            .n = n,
            .rows1 = 1,
            .rows0 = rows,
            .dtype = SPARK_DTYPE_F32};
}

// The kernels of amax: of what begins on 16 bytes, and of everything.
struct Kernels {
    const kernels::amax_kernel &wide, &any;

    const kernels::amax_kernel& of(int64_t n, int64_t align) const {
        return n % wide.STEP == 0 && align >= wide.ALIGN ? wide : any;
    }
};
constexpr int64_t WORKSPACE_ALIGN = 16;

// Rows that are long and few are cut into parts, whose numbers go to the workspace and from there to `to`; the largest
// is the same however a row is cut.
void reduce(const Amax& p, spark_devptr to, int64_t align, const Kernels& kernels, Plan& calls) {
    const int64_t rows = p.rows0 * p.rows1, parts = parts_of(p.n, rows);
    add(p, parts == 1 ? to : calls.workspace, parts, kernels.of(p.n, align), calls);
    if (parts == 1) return;
    calls.workspace_size = static_cast<uint64_t>(rows * parts) * sizeof(float);
    add(packed_rows(calls.workspace, rows, parts), to, 1, kernels.of(parts, WORKSPACE_ALIGN), calls);
}

// All of them from the rows' own. Either the rows are cut or what they give is, never both: three launches at most.
void plan(const CheckedOp& work, const Row&, const kernels::amax_kernel& kernel, const kernels::amax_kernel& wide,
          const kernels::amax_kernel& any, Plan& calls) {
    const Amax& p = work.as<Amax>();
    reduce(p, p.y, work.facts[QUANT_X_ALIGN], {kernel, any}, calls);
    const int64_t rows = p.rows0 * p.rows1;
    if (p.all != 0) reduce(packed_rows(p.y, 1, rows), p.all, work.facts[QUANT_Y_ALIGN], {wide, any}, calls);
}

// The amax of all of x: where it is, at the address `to` or, if none is told, in the workspace.
spark_devptr find_amax(const CheckedOp& work, const spark_devptr* to, const kernels::amax_kernel& wide,
                       const kernels::amax_kernel& any, Plan& calls) {
    const Scaled& p = work.as<Scaled>();
    RowSet rows{.rows1 = p.rows1, .rows0 = p.rows0, .tensor = {p.x}};
    int64_t n = p.n;
    join_rows(rows, {&n, 1});
    const Amax x = {
        .x = rows.tensor[0], .y = 0, .all = 0, .n = n, .rows1 = rows.rows1, .rows0 = rows.rows0, .dtype = p.dtype};
    const int64_t count = rows.rows1 * rows.rows0, parts = parts_of(n, count), found = count * parts;
    const Kernels kernels{wide, any};
    const spark_devptr only = to != nullptr ? *to : calls.workspace;
    add(x, found == 1 ? only : calls.workspace, parts, kernels.of(n, work.facts[QUANT_X_ALIGN]), calls);
    if (found == 1 && to != nullptr) return only;
    calls.workspace_size = static_cast<uint64_t>(found) * sizeof(float);
    if (found == 1) return only;
    const spark_devptr at = to != nullptr ? *to : calls.workspace + calls.workspace_size;
    add(packed_rows(calls.workspace, 1, found), at, 1, kernels.of(found, WORKSPACE_ALIGN), calls);
    if (to == nullptr) calls.workspace_size += sizeof(float);
    return at;
}

template <IsAhead Of>
void plan(const CheckedOp& work, const Row& row, const Of& kernel, const kernels::amax_kernel& wide,
          const kernels::amax_kernel& any, Plan& calls) {
    const Scaled& p = work.as<Scaled>();
    add(p, row, *work.target, p.own_amax ? find_amax(work, nullptr, wide, any, calls) : p.amax, kernel, calls);
}

template <class Of>
void plan(const CheckedOp& work, const Row&, const Of& kernel, const kernels::amax_kernel& wide,
          const kernels::amax_kernel& any, Plan& calls) {
    const Scaled& p = work.as<Scaled>();
    const spark_devptr amax = p.own_amax ? find_amax(work, nullptr, wide, any, calls) : p.amax;
    add(p, work.target->sms, amax, kernel, calls);
}

// Across, eight neighbours take eight times eight rows of one word.
void plan(const CheckedOp& work, const Row&, const kernels::repack_kernel& kernel, Plan& calls) {
    const Repack& p = work.as<Repack>();
    const int64_t eights = ceil_div(p.rows, 8), pieces = p.across ? ceil_div(eights, 8) * 8 : eights;
    const auto places = static_cast<uint64_t>(p.across ? p.y_word | p.y_column : p.y_word | p.y_row);
    calls.add(kernel, {
                          .x = p.x,
                          .y = p.y,
                          .x_row = p.x_row,
                          .x_word = p.x_word,
                          .y_row = p.y_row,
                          .y_word = p.y_word,
                          .y_column = p.y_column,
                          .rows = p.rows,
                          .words = p.words,
                          .pieces = pieces * p.words,
                          .plus = p.plus,
                          .flags = kernels::repack_flags{.interleaved = p.interleaved,
                                                         .across = p.across,
                                                         .whole = (p.y | places) % 4 == 0},
                      });
}

PLAN_OF_ROWS
constexpr Draft DRAFTS[] = {
#include "ops/quant/table.inc"
};
constexpr auto TABLE = make_table<DRAFTS, QUANT_FACT_NAMES>();

} // namespace

spark_devptr plan_amax(const CheckedOp& rows, spark_devptr to, Plan& calls) {
    return find_amax(rows, &to, kernels::amax__x16, kernels::amax__generic, calls);
}
spark_devptr plan_own_amax(const CheckedOp& rows, Plan& calls) {
    return find_amax(rows, nullptr, kernels::amax__x16, kernels::amax__generic, calls);
}
void plan_amax_of_nothing(spark_devptr to, Plan& calls) {
    add(packed_rows(0, 1, 0), to, 1, kernels::amax__generic, calls);
}

extern const Operator DEQUANTIZE = {SPARK_OP_DEQUANTIZE, TABLE, QUANT_FACT_NAMES, check_dequantize, nullptr};
extern const Operator QUANTIZE = {SPARK_OP_QUANTIZE, TABLE, QUANT_FACT_NAMES, check_quantize, nullptr};
extern const Operator REPACK = {SPARK_OP_REPACK, TABLE, QUANT_FACT_NAMES, check_repack, nullptr};
extern const Operator AMAX = {SPARK_OP_AMAX, TABLE, QUANT_FACT_NAMES, check_amax, nullptr};

} // namespace spark
