// SPDX-License-Identifier: Apache-2.0
// Oracle of sample; see the header for the definition.
#include "ref/sample.h"

#include "ref/call.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string>

namespace ref {
namespace {

struct Token {
    int64_t index;
    double weight, error;
};

// The row's tokens in order, each with its weight and how far an implementation may be off.
std::vector<Token> ordered(const Sample& op, std::span<const double> logits, const WeightError& error) {
    std::vector<int64_t> order(logits.size());
    std::iota(order.begin(), order.end(), int64_t{0});
    const auto logit = [&](int64_t j) { return logits[static_cast<size_t>(j)]; };
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return logit(a) > logit(b); });
    std::vector<Token> tokens;
    for (int64_t j : order) {
        const double a = logit(j) == logit(order[0]) ? 0 : (logit(order[0]) - logit(j)) / op.temperature;
        const double weight = std::exp(-a);
        const double relative = error.relative_0 + (std::isfinite(a) ? a * error.relative_per_a : 0);
        tokens.push_back({j, weight, a == 0 ? 0 : weight * relative + error.absolute});
    }
    return tokens;
}

// Tokens where the sum by index of the kept passes x / 2^64 of the whole, if every sum may be off by `slack`.
void passed(std::vector<Token> kept, uint64_t x, double slack, std::set<int64_t>& ids) {
    std::sort(kept.begin(), kept.end(), [](const Token& a, const Token& b) { return a.index < b.index; });
    double total = 0, sum = 0;
    for (const Token& t : kept) {
        total += t.weight;
        slack += t.error;
    }
    const double goal = std::ldexp(static_cast<double>(x), -64) * total;
    for (const Token& t : kept) {
        const double before = sum;
        sum += t.weight;
        const bool has_weight = t.weight + t.error > std::ldexp(1, -41);
        if (has_weight && before <= goal + 2 * slack && goal < sum + 2 * slack) {
            ids.insert(t.index);
        }
    }
}

} // namespace

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> c, std::array<uint32_t, 2> key) {
    for (int round = 0; round < 10; ++round) {
        const uint64_t a = uint64_t{0xD2511F53} * c[0], b = uint64_t{0xCD9E8D57} * c[2];
        c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ key[0], static_cast<uint32_t>(b),
             static_cast<uint32_t>(a >> 32) ^ c[3] ^ key[1], static_cast<uint32_t>(a)};
        key = {key[0] + 0x9E3779B9u, key[1] + 0xBB67AE85u};
    }
    return c;
}

uint64_t drawn_number(uint64_t seed, uint64_t offset, uint32_t row) {
    const auto words = philox({static_cast<uint32_t>(offset), static_cast<uint32_t>(offset >> 32), row, 0},
                              {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
    return words[0] | uint64_t{words[1]} << 32;
}

std::vector<int64_t> sample_row(const Sample& op, std::span<const double> logits, uint64_t x,
                                const WeightError& error) {
    double most = -INFINITY;
    for (double l : logits) {
        if (std::isnan(l)) {
            return {-1};
        }
        most = std::max(most, l);
    }
    if (most == -INFINITY || !(op.temperature >= 0) || std::isinf(op.temperature) || std::isnan(op.top_p) ||
        std::isnan(op.min_p)) {
        return {-1};
    }
    if (op.temperature == 0) {
        return {std::max_element(logits.begin(), logits.end()) - logits.begin()};
    }
    std::vector<Token> tokens = ordered(op, logits, error);
    if (op.top_k > 0 && op.top_k < static_cast<int64_t>(tokens.size())) {
        tokens.resize(static_cast<size_t>(op.top_k));
    }

    // How many top-p keeps: surely `sure`, perhaps up to `most_kept`.
    size_t sure = tokens.size(), most_kept = tokens.size();
    if (op.top_p > 0 && op.top_p < 1) {
        double mass = 0, slack = 0, before = 0;
        for (const Token& t : tokens) {
            mass += t.weight, slack += t.error;
        }
        sure = most_kept = 0;
        for (const Token& t : tokens) {
            sure += before + 2 * slack < op.top_p * mass ? 1 : 0;
            most_kept += before - 2 * slack < op.top_p * mass ? 1 : 0;
            before += t.weight;
        }
        sure = std::max<size_t>(sure, 1); // the first token always stays
        most_kept = std::max(most_kept, sure);
    }

    // min-p, with what it may keep or not as a further doubt. Where the doubt about top-p is about many tokens, they
    // are light ones: taken together.
    const double least = std::clamp(op.min_p, 0.0, 1.0);
    std::set<int64_t> ids;
    const size_t step = std::max<size_t>((most_kept - sure + 7) / 8, 1);
    for (size_t count = sure; count <= most_kept; count += step) {
        std::vector<Token> kept;
        double slack = 0;
        for (size_t i = 0; i < std::min(count + step - 1, tokens.size()); ++i) {
            const Token& t = tokens[i];
            const bool doubtful = i >= count || std::fabs(t.weight - least) <= t.error;
            if (t.weight + t.error >= least || i == 0) {
                kept.push_back(t);
                slack += doubtful && i > 0 && least < 1 ? t.weight : 0;
            }
        }
        passed(kept, x, slack, ids);
    }
    return {ids.begin(), ids.end()};
}

static Results compute_sample(const Call& call) {
    const Sample op{call.number("temperature"), call.number("top_p"), call.number("min_p"),
                    static_cast<int64_t>(call.number("top_k"))};
    const uint64_t seed = std::stoull(call.words.at("seed")), offset = std::stoull(call.words.at("offset"));
    const Tensor& logits = call["logits"];
    Result ids{.rounded = true};
    for (size_t row = 0; row < logits.size(0); ++row) {
        const uint64_t x = drawn_number(seed, offset, static_cast<uint32_t>(row));
        const auto right = sample_row(op, logits.row(row * logits.size(1), logits.size(1)), x, {});
        ids.values.push_back(static_cast<double>(right[0]));
    }
    return {{"ids", ids}};
}

extern const Oracle SAMPLE{"sample", compute_sample};

} // namespace ref
