// SPDX-License-Identifier: Apache-2.0
// Heads and the teams of lanes that turn them, as ptx/kv/rope_append.ptx is told of both. Used by the operators that
// launch it.
#pragma once

#include "ops/rope/angles.h"

namespace spark {

// Elements of a lane, and of one access.
constexpr int64_t HEAD_UNIT = 16, HEAD_RUN = 8;

// That a team takes the heads of a present tensor [.., H, D], of which `pairs` are turned.
spark_status check_teams(const ValidatedArgs& bound, uint32_t field, int64_t pairs, Report& report);

// Teams of 2^team_shift lanes; a block's tokens at a time, whose pairs have 2^pair_shift threads each, and the parts
// that share the heads of such.
struct Teams {
    uint32_t pair_shift, team_shift, at_once;
    int64_t parts;
};
Teams teams_of(int64_t pairs, int64_t width, int64_t tokens, int64_t heads, uint32_t block);

// What is told of angles, and of `heads` of each of `tokens`. Gives the parts.
template <class Params>
int64_t set_teams(const Angles& angles, int64_t width, int64_t tokens, int64_t heads, uint32_t block, Params& params) {
    const Teams teams = teams_of(angles.pairs, width, tokens, heads, block);
    params.angles = angles.table, params.ratio = angles.ratio;
    params.angle_rows = angles.table_rows, params.angle_stride = angles.table_stride;
    params.width = static_cast<uint32_t>(width), params.pairs = static_cast<uint32_t>(angles.pairs);
    params.tokens = tokens, params.heads_of_all = static_cast<uint32_t>(heads);
    params.pair_shift = teams.pair_shift, params.team_shift = teams.team_shift, params.at_once = teams.at_once;
    params.group_mask = (1u << teams.team_shift) - 1;
    return teams.parts;
}

} // namespace spark
