// SPDX-License-Identifier: Apache-2.0
// Oracle of attention: one query row of one head, in double precision, from the definition.
//   s[j] = scale * sum_d q[d] k[j,d], with a cap: cap * tanh(s[j] / cap); plus slope * (j - own), plus a bias
//   lse = ln (exp(sink) + sum_j exp(s[j]));  o[d] = sum_j exp(s[j] - lse) v[j,d]
// over the keys that the query sees, not rounded. A row that sees none, or none above -infinity: o = 0, lse = sink;
// that is -infinity where there is no sink.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace ref {

// End of the keys that query i of a sequence sees: bottom-right aligned where causal, or where `right` keys behind its
// own are visible; -1 is all.
inline int64_t visible_keys(int64_t i, int64_t queries, int64_t keys, bool causal, int64_t right = -1) {
    const int64_t behind = causal ? 0 : right < 0 || right > queries ? queries : right;
    const int64_t last = i + keys - queries + behind;
    return last < 0 ? 0 : last + 1 < keys ? last + 1 : keys;
}

// The first of them, if it sees one: `left` keys before its own are visible; -1 is all.
inline int64_t first_visible_key(int64_t i, int64_t queries, int64_t keys, int64_t left) {
    const int64_t own = i + keys - queries;
    return left < 0 || own <= left ? 0 : own - left;
}

// Of a range of keys those that are in another one too: a query's own, of which causal and window leave some.
struct KeyRange {
    int64_t first, end; // first <= end
};
inline KeyRange within(KeyRange a, KeyRange b) {
    const int64_t first = a.first < b.first ? b.first : a.first, end = a.end < b.end ? a.end : b.end;
    return {first, end < first ? first : end};
}

// The key/value head of a query head.
inline int64_t kv_head(int64_t head, int64_t heads, int64_t kv_heads) { return head * kv_heads / heads; }

// What a mask of `words` words says of key j; bit 0 is for key `first`, and a key without a bit is not hidden.
inline bool hidden_by(const uint64_t* mask, int64_t words, int64_t first, int64_t j) {
    const int64_t n = j - first;
    return n >= 0 && n < words * 64 && (mask[n / 64] >> (n % 64) & 1) == 0;
}

struct AttentionRow {
    std::vector<double> o;         // before rounding
    std::vector<double> magnitude; // sum_j weight_j |v[j,d]|: what errors of the weighted sum are relative to
    std::vector<double> flat;      // sum_j |v[j,d]| / sum_j exp(s[j] - max s): what an absolute error of a weight does
    double lse = 0;
    double largest_score = 0; // of |s[j]|, |slope * (j - own)|, a finite |bias| and a finite |sink|
    double score_terms = 0;   // largest scale * sum_d |q[d] k[j,d]|: what errors of a score are relative to
};

constexpr double NO_SINK = -std::numeric_limits<double>::infinity();

// `key(j)` gives d numbers, `value(j)` dv, j < visible, but for those that are `hidden`; `added(j)` is the bias.
using Rows = std::function<const double*(int64_t j)>;
AttentionRow attention_row(const double* q, size_t d, size_t dv, const Rows& key, const Rows& value, int64_t visible,
                           double scale, double sink, double cap = 0, double slope = 0, int64_t own = 0,
                           const std::function<bool(int64_t j)>& hidden = {},
                           const std::function<double(int64_t j)>& added = {});

} // namespace ref
