// SPDX-License-Identifier: Apache-2.0
// What FP32 allows of the turned pairs of a head. Shared by the cases of operators that rotate.
#pragma once

#include "ops/quant/coded.h"
#include "ref/rope.h"

namespace check {

// What c and s may err by where they are computed (ptx/lib/tile/rotary.ptxh derives it): 2^-22 for the last steps, the
// angle as a 64-bit fraction times the position, and the oracle's own.
inline double turn_error(int64_t position, int64_t pairs) {
    const double far = std::fabs(static_cast<double>(position));
    return 0x1p-22 + far * (static_cast<double>(pairs) + 16) * 0x1p-62 + far * 0x1p-60;
}

// One of a pair, a c -+ b s: a and b are those numbers to within a_off and b_off. Each factor errs, the product with s
// is rounded (a table's s may be larger than 1), then the fused sum.
struct Turned {
    double a, a_off, b, b_off;
    ref::Turn turn;
    double turn_off;

    double bound(double y) const {
        constexpr double u = 0x1p-24;
        const double c = std::fabs(turn.c) + turn_off, s = std::fabs(turn.s) + turn_off;
        const double before =
            (std::fabs(a) + std::fabs(b)) * turn_off + a_off * c + b_off * s + (std::fabs(b) + b_off) * s * u;
        return before + (std::fabs(y) + before) * u + 0x1p-149;
    }
    // Infinity times a factor whose sign is within its error may be anything, and what is no number to one end alone;
    // so may a product that is beyond FP32 be, whatever it would be added to.
    bool open() const {
        if (std::isfinite(a) && std::isfinite(b)) {
            return (std::fabs(b) + b_off) * (std::fabs(turn.s) + turn_off) > 0x1.fffffp127;
        }
        const bool sign_known = std::min(std::fabs(turn.c), std::fabs(turn.s)) > turn_off || turn.s == 0;
        return !sign_known || a_off != 0 || b_off != 0;
    }
};

// A head whose elements are between low and high, as a turn_off of c and s leaves it in FP32: appended to `out`.
inline void turned_between(std::span<const double> low, std::span<const double> high, std::span<const ref::Turn> turns,
                           bool interleaved, double turn_off, Numbers& out) {
    const auto pairs = static_cast<int64_t>(turns.size());
    std::vector<double> x(low.size()), off(low.size()), y(low.size()), y_off(low.size());
    for (size_t i = 0; i < low.size(); ++i) {
        const bool exact = low[i] == high[i] || std::isnan(low[i]);
        x[i] = exact ? low[i] : low[i] / 2 + high[i] / 2, off[i] = exact ? 0 : high[i] / 2 - low[i] / 2;
    }
    ref::rope_head(x, turns, interleaved, y);
    for (int64_t i = 0; i < pairs; ++i) {
        const ref::Pair at = ref::rope_pair(i, pairs, interleaved);
        const auto first = static_cast<size_t>(at.first), second = static_cast<size_t>(at.second);
        const ref::Turn turn = turns[static_cast<size_t>(i)];
        for (const auto& [a, b] : {std::pair(first, second), std::pair(second, first)}) {
            const Turned one{x[a], off[a], x[b], off[b], turn, turn_off};
            y_off[a] = one.open() ? INFINITY : one.bound(y[a]);
            y[a] = one.open() ? 0 : y[a];
        }
    }
    for (size_t i = 0; i < x.size(); ++i) {
        i < 2 * turns.size() ? out.add(y[i], y_off[i]) : out.add(low[i], high[i], 0);
    }
}

// Such numbers, rounded to `type`.
inline std::vector<Allowed> rounded_between(ref::Type type, const Numbers& numbers) {
    std::vector<Allowed> out;
    for (size_t i = 0; i < numbers.low.size(); ++i) {
        const double low = numbers.low[i], high = numbers.high[i];
        const bool any = low == -INFINITY && high == INFINITY;
        out.push_back(any ? Allowed{Allowed::any} : allow(type, low, 0));
        if (out.back().kind == Allowed::range) {
            out.back().high = static_cast<float>(ref::rounded(type, high));
        }
    }
    return out;
}

} // namespace check
