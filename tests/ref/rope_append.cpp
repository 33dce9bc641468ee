// SPDX-License-Identifier: Apache-2.0
// Oracle of rope_append; see the header for the definition.
#include "ref/rope_append.h"

#include "ref/call.h"
#include "ref/kv_append.h"

#include <algorithm>
#include <cmath>

namespace ref {

std::vector<double> rope_append_head(const Rmsnorm& norm, std::span<const double> x, std::span<const double> weight,
                                     std::span<const Turn> turns, bool interleaved) {
    std::vector<double> normed(x.begin(), x.end()), y(x.size());
    const double r = weight.empty() ? 1 : 1 / std::sqrt(rmsnorm_mean_square(norm, x, {}) + norm.eps);
    for (size_t i = 0; i < x.size() && !weight.empty(); ++i) {
        normed[i] = x[i] * r * (norm.weight_plus_one ? 1 + weight[i] : weight[i]);
    }
    rope_head(normed, turns, interleaved, y);
    return y;
}

static std::vector<Turn> turns_of(const Call& call, int64_t position) {
    const Tensor& table = call["table"];
    const auto pairs = static_cast<int64_t>(call.number("rotary_dim")) / 2;
    std::vector<Turn> turns;
    for (int64_t i = 0; i < pairs; ++i) {
        const auto at = static_cast<size_t>(position * 2 * pairs + i);
        turns.push_back(table.values.empty() ? rope_turn(position, call.number("theta"), i, pairs)
                                             : Turn{table.values[at], table.values[at + static_cast<size_t>(pairs)]});
    }
    return turns;
}

// All heads of x, turned.
static std::vector<double> turned(const Call& call, const Tensor& x, const Tensor& weight) {
    Rmsnorm norm{.eps = call.number("eps")};
    norm.weight_plus_one = call.is("weight_plus_one");
    const std::vector<int64_t> positions = call["positions"].integers();
    std::vector<double> out;
    for (size_t at = 0, d = x.size(2); at < x.values.size(); at += d) {
        const std::vector<Turn> turns = turns_of(call, positions[at / d / x.size(1)]);
        std::ranges::copy(rope_append_head(norm, x.row(at, d), weight.values, turns, call.is("interleaved")),
                          std::back_inserter(out));
    }
    return out;
}

static Results compute_rope_append(const Call& call) {
    const Tensor &k = call["k"], &v = call["v"], &q = call["q"], &k_before = call["k_before"],
                 &v_before = call["v_before"];
    const std::vector<int64_t> batch = call["batch"].integers();
    const std::vector<int64_t> rows = call[call["slots"].values.empty() ? "positions" : "slots"].integers();
    const KvPlaces places = kv_places(rows, batch, k_before.shape[0], k_before.shape[1]);
    const std::vector<double> keys = turned(call, k, call["k_weight"]);
    Result k_after{.values = k_before.values}, v_after{.values = v_before.values};
    const size_t row = k.size(1) * k.size(2);
    for (size_t i = 0; i < keys.size(); ++i) {
        const int64_t slot = places.slot[i / row];
        if (slot >= 0) {
            k_after.values[static_cast<size_t>(slot) * row + i % row] = keys[i];
            v_after.values[static_cast<size_t>(slot) * row + i % row] = v.values[i];
        }
    }
    return {{"q_out", {.values = turned(call, q, call["q_weight"])}}, {"k_after", k_after}, {"v_after", v_after}};
}

extern const Oracle ROPE_APPEND{"rope_append", compute_rope_append};

} // namespace ref
