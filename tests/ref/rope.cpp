// SPDX-License-Identifier: Apache-2.0
// Oracle of rope; see the header for the definition.
#include "ref/rope.h"

#include "ref/call.h"
#include "ref/quantize.h"

#include <cmath>

namespace ref {

Turn rope_turn(int64_t position, double theta, int64_t i, int64_t pairs) {
    const long double rate =
        std::pow(static_cast<long double>(theta), -static_cast<long double>(i) / static_cast<long double>(pairs));
    const long double angle = static_cast<long double>(position) * rate;
    return {static_cast<double>(std::cos(angle)), static_cast<double>(std::sin(angle))};
}

Pair rope_pair(int64_t i, int64_t pairs, bool interleaved) {
    return interleaved ? Pair{2 * i, 2 * i + 1} : Pair{i, i + pairs};
}

void rope_head(std::span<const double> x, std::span<const Turn> turns, bool interleaved, std::span<double> y) {
    const auto pairs = static_cast<int64_t>(turns.size());
    for (size_t i = 2 * turns.size(); i < x.size(); ++i) {
        y[i] = x[i];
    }
    for (int64_t i = 0; i < pairs; ++i) {
        const Pair at = rope_pair(i, pairs, interleaved);
        const auto first = static_cast<size_t>(at.first), second = static_cast<size_t>(at.second);
        const Turn turn = turns[static_cast<size_t>(i)];
        y[first] = x[first] * turn.c - x[second] * turn.s;
        y[second] = x[second] * turn.c + x[first] * turn.s;
    }
}

static Results compute_rope(const Call& call) {
    const Tensor &x = call["x"], &table = call["table"];
    const std::vector<int64_t> positions = call["positions"].integers();
    const size_t heads = x.size(1), d = x.size(2);
    const auto pairs = static_cast<int64_t>(call.number("rotary_dim")) / 2;
    Result y{.values = x.values};
    for (size_t at = 0; at < x.values.size(); at += d) {
        const int64_t p = positions[at / d / heads];
        std::vector<Turn> turns;
        for (int64_t i = 0; i < pairs; ++i) {
            const auto entry = static_cast<size_t>(p * 2 * pairs + i);
            turns.push_back(table.values.empty()
                                ? rope_turn(p, call.number("theta"), i, pairs)
                                : Turn{table.values[entry], table.values[entry + static_cast<size_t>(pairs)]});
        }
        rope_head(x.row(at, d), turns, call.is("interleaved"), std::span(y.values).subspan(at, d));
    }
    if (!wants_codes(call)) {
        return {{"y", y}};
    }
    for (double& value : y.values) {
        value = rounded(Type::f32, value);
    }
    return codes_of(call, "x", y.values);
}

extern const Oracle ROPE{"rope", compute_rope};

} // namespace ref
