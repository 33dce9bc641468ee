// SPDX-License-Identifier: Apache-2.0
// Rows of numbers that become codes with scales beside them, or the reverse: their rows and the places of their scales,
// and what kernels are told of them (ptx/lib/tile/piece.ptxh, scale_place.ptxh, scale_made.ptxh). Used by every family
// whose kernels read or write such.
#pragma once

#include <algorithm>

#include "core/divide.h"
#include "dispatch/kernel.h"
#include "ops/common/pieces.h"
#include "ops/common/rows.h"
#include "ops/common/scale_places.h"

namespace spark {

// rows1 x rows0 rows of n elements, and their scales.
struct Coded {
    ScalePlaces scale;
    int64_t n, rows1, rows0;
    int64_t n_scaled, rows_scaled; // with what fills up tiles of scales
    float amax_floor;
    uint32_t bump;  // added to the bits of an amax, or of a scale, before its exponent is taken: the scale rule
    uint32_t dtype; // of the numbers
    uint32_t codes; // of the codes: dtype
    uint32_t code_bits;
};

// Bytes of so many codes, which are whole ones.
inline int64_t bytes_of(const Coded& p, int64_t codes) { return codes * p.code_bits / 8; }

inline bool is_mx(const QuantView& quant) { return quant.scale_dtype == SPARK_DTYPE_UE8M0; }
inline bool is_nv(const QuantView& quant) { return quant.scale_dtype == SPARK_DTYPE_UE4M3; }

// A tensor of codes has a form of scales, and one of numbers none: `field`, whose dtype may be that of `like` instead.
spark_status check_form(const ValidatedArgs& bound, uint32_t like, uint32_t field, Report& report);

// Where the scale of a block stands, as a tensor of rows of scales. One scale for many rows has the stride 0.
View scale_rows(const View& v);

// Rows of the given fields, which are present and not empty, and of the scales of `quantised`, one of them, or what
// prevents it. x, the first of the fields, is the one that others are compared with. tensors: of the fields, in order.
spark_status fold_coded(const ValidatedArgs& bound, std::span<const uint32_t> fields, uint32_t quantised, Coded& p,
                        std::span<RowTensor> tensors, Report& report);

// The number that the amax of a block becomes; of NVFP4 the largest scale of a block times the largest number.
float largest_code(uint32_t codes);

// Bytes of a number beside the codes.
inline int64_t number_bytes(const Coded& p) { return p.dtype == SPARK_DTYPE_F32 ? 4 : 2; }

// The flags of a kernel that reads or writes codes: their format, and that of the numbers.
template <class Flags> Flags formats_of(const Coded& p) {
    Flags flags{};
    flags.f32 = p.dtype == SPARK_DTYPE_F32;
    flags.f16 = p.dtype == SPARK_DTYPE_F16;
    flags.i8 = p.codes == SPARK_DTYPE_I8;
    flags.e5m2 = p.codes == SPARK_DTYPE_E5M2;
    return flags;
}

// The scale of codes that a kernel makes of its own results: one for all, given; or else of a row, or of blocks of F32
// or of powers of two (ptx/lib/tile/scale_kinds.ptxh).
struct CodedKind {
    spark_devptr whole; // 0: not given
    bool blocks, powers;
    int64_t scale_bytes; // of one
};
CodedKind coded_kind(const QuantView& quant);

// Elements that a warp takes in one turn.
template <class Of> constexpr int64_t turn_of(const Of& kernel) { return 32 * int64_t{kernel.RUN} * kernel.CHUNKS; }

// Warps of a block of `warps` that share `turns` of one: as many as have something to do, a power of two.
inline uint32_t team_of(int64_t turns, uint32_t warps) {
    uint32_t team = 1;
    while (team < warps && team < turns) team *= 2;
    return team;
}
inline uint32_t team_of(int64_t turns, const Kernel& kernel) { return team_of(turns, kernel.block / 32u); }

template <class Params> void put_rows(const Coded& p, Params& params) {
    params.n = p.n;
    params.n_scaled = p.n_scaled;
    params.rows0 = p.rows_scaled;
    params.rows1 = p.rows1;
    params.rows_there = p.rows0;
}

// Rows cut into pieces of `part`.
template <class Params> void put_pieces(const Coded& p, const Pieces& cut, Params& params) {
    put_rows(p, params);
    params.part = cut.part;
    params.parts = cut.parts;
    params.parts_by = cut.by;
    params.parts_shift = cut.shift;
}

// Where scales go and how they are made.
template <class Params> void put_scales(const Coded& p, Params& params) {
    params.scale = p.scale.data;
    params.scale_stride1 = p.scale.outer;
    params.scale_tile = p.scale.tile;
    params.scale_quarter = p.scale.quarter;
    params.scale_row = p.scale.row;
    params.scale_four = p.scale.four;
    params.scale_step = p.scale.step;
    params.amax_floor = p.amax_floor;
    params.largest = largest_code(p.codes);
    params.bump = p.bump;
}

// Turns are half of one where rows have no more, or are too few for all warps of a device. Results do not depend on it.
inline bool are_halved(const Coded& p, const CodedKind& kind, int64_t half, int64_t warps) {
    constexpr int64_t FEW = 1024;
    const int64_t rows = p.rows_scaled * p.rows1, halves = ceil_div(p.n_scaled, half);
    return halves == 1 || (!kind.blocks && halves <= warps && rows * halves <= FEW);
}

// Elements that a warp of such a kernel takes at once.
template <class Of> int64_t turn_taken(const Coded& p, const CodedKind& kind, const Of& kernel) {
    const int64_t whole = turn_of(kernel), half = kernel.CHUNKS > 1 ? whole / 2 : whole;
    return are_halved(p, kind, half, kernel.block / 32) ? half : whole;
}

// What a kernel of ptx/lib/pipe/coded_start.ptxh is told, teams of warps to rows; or, where a scale is not that of a
// row and rows are few, or no team takes them whole, to turns of one warp. Gives its flags.
template <class Flags, class Of, class Params>
Flags put_team(const Coded& p, const CodedKind& kind, const Of& kernel, Params& params) {
    const int64_t turn = turn_taken(p, kind, kernel), turns = ceil_div(p.n_scaled, turn);
    put_scales(p, params);
    put_rows(p, params);
    params.team = team_of(turns, kernel);
    params.turn = static_cast<uint32_t>(turn);
    params.whole = kind.whole;
    auto flags = formats_of<Flags>(p);
    if constexpr (requires { flags.blocks; }) flags.blocks = kind.blocks, flags.powers = kind.powers;
    int64_t parts = 1;
    if constexpr (requires { params.parts; }) {
        constexpr int64_t MOST = int64_t{1} << 31, MANY = 4096;
        const int64_t rows = p.rows_scaled * p.rows1;
        const bool of_rows = !kind.blocks && kind.whole == 0;
        const bool worth = rows < MANY || (kernel.STEP > 1 && turns != params.team);
        const bool cut = !of_rows && worth && rows < MOST / turns;
        const Pieces pieces = pieces_of(turn, cut ? turns : 1);
        if (cut) params.team = 1;
        params.parts = parts = pieces.parts, params.parts_by = pieces.by, params.parts_shift = pieces.shift;
    }
    params.numbers = p.rows_scaled * p.rows1 * parts;
    flags.flat = p.rows1 == 1 && parts == 1;
    flags.even = flags.flat && turns <= params.team;
    params.scale_line = p.scale.row * kind.scale_bytes;
    flags.in_line = p.rows1 == 1 && p.scale.quarter == p.scale.row * 32 && p.scale.tile == p.scale.row * 128;
    return flags;
}

// Blocks of such a kernel: as many as have a row, or as the device holds, whose teams step from one to the next and ask
// for that ahead.
template <class Of, class Params> int64_t put_blocks(const Of& kernel, int64_t held, Params& params) {
    const int64_t teams = kernel.block / 32 / params.team;
    const int64_t blocks = std::min(ceil_div(params.numbers, teams), held);
    params.number_step = blocks * teams;
    return blocks;
}

} // namespace spark
