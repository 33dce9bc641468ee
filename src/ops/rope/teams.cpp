// SPDX-License-Identifier: Apache-2.0
// Teams of lanes for heads.
#include "ops/rope/teams.h"

#include <algorithm>
#include <bit>

#include "core/divide.h"

namespace spark {
namespace {

constexpr int64_t LANES = 32; // of a team at most

// As many tokens at once as have threads for their pairs, where there are many; else blocks share a token's heads.
constexpr int64_t MOST_AT_ONCE = 8, MANY_TOKENS = 2048, FEW_TOKENS = 256;

// Lanes that a head takes: eight pairs each, or sixteen elements that are copied.
int64_t units_of(int64_t pairs, int64_t width) {
    return ceil_div(pairs, HEAD_RUN) + ceil_div(width - 2 * pairs, HEAD_UNIT);
}

uint32_t shift_of(int64_t count) { return static_cast<uint32_t>(std::countr_zero(std::bit_ceil<uint64_t>(count))); }

} // namespace

spark_status check_teams(const ValidatedArgs& bound, uint32_t field, int64_t pairs, Report& report) {
    const View& v = bound.view[field];
    const char* name = bound.spec->fields[field].name;
    if (units_of(pairs, v.last(0)) > LANES) {
        return report.fail_field(SPARK_ERR_UNSUPPORTED_SHAPE, field,
                                 "%s.shape[%u] is %lld, of which %lld are rotated; at most 512 wanted, 496 where "
                                 "those are no multiple of 16",
                                 name, v.ndim - 1, static_cast<long long>(v.last(0)),
                                 static_cast<long long>(2 * pairs));
    }
    if (v.last(1) < int64_t{1} << 26) return SPARK_OK; // counted in 32 bits, those of eight tokens
    return report.fail_field(SPARK_ERR_UNSUPPORTED_SHAPE, field, "%s.shape[%u] is %lld; less than 2^26 wanted", name,
                             v.ndim - 2, static_cast<long long>(v.last(1)));
}

Teams teams_of(int64_t pairs, int64_t width, int64_t tokens, int64_t heads, uint32_t block) {
    const uint32_t pair_shift = shift_of(std::max(pairs, HEAD_RUN));
    const uint32_t team_shift = shift_of(std::max<int64_t>(units_of(pairs, width), 1));
    const int64_t at_once = std::min<int64_t>(MOST_AT_ONCE, block >> pair_shift);
    return {pair_shift, team_shift, tokens < MANY_TOKENS ? 1 : static_cast<uint32_t>(at_once),
            tokens < FEW_TOKENS ? ceil_div(heads, block >> team_shift) : 1};
}

} // namespace spark
