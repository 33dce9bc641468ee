// SPDX-License-Identifier: Apache-2.0
// Oracle of attention; see the header for the definition.
#include "ref/attention.h"

#include "ref/call.h"
#include "ref/quantize.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ref {

AttentionRow attention_row(const double* q, size_t d, size_t dv, const Rows& key, const Rows& value, int64_t visible,
                           double scale, double sink, double cap, double slope, int64_t own,
                           const std::function<bool(int64_t j)>& hidden,
                           const std::function<double(int64_t j)>& added) {
    constexpr double NOTHING = -std::numeric_limits<double>::infinity();
    AttentionRow row{std::vector<double>(dv), std::vector<double>(dv), std::vector<double>(dv), NOTHING, 0, 0};
    std::vector<double> scores(static_cast<size_t>(visible));
    double most = sink;
    row.largest_score = std::isfinite(sink) ? std::fabs(sink) : 0;
    bool undefined = false;
    for (int64_t j = 0; j < visible; ++j) {
        if (hidden && hidden(j)) {
            scores[static_cast<size_t>(j)] = NOTHING;
            continue;
        }
        const double* k = key(j);
        double sum = 0, terms = 0;
        for (size_t i = 0; i < d; ++i) {
            sum += q[i] * k[i];
            terms += std::fabs(q[i] * k[i]);
        }
        const double bias = added ? added(j) : 0, sloped = slope * static_cast<double>(j - own);
        const double s = (cap == 0 ? scale * sum : cap * std::tanh(scale * sum / cap)) + sloped + bias;
        scores[static_cast<size_t>(j)] = s;
        undefined |= std::isnan(s);
        if (bias == NOTHING) { // it hides the key, whatever its score errs by
            continue;
        }
        most = std::max(most, std::isnan(s) ? most : s);
        row.largest_score = std::max({row.largest_score, std::fabs(s), std::fabs(sloped), std::fabs(bias)});
        row.score_terms = std::max(row.score_terms, std::fabs(scale) * terms);
    }
    if (undefined || most == std::numeric_limits<double>::infinity()) { // infinity over infinity, as in any softmax
        std::fill(row.o.begin(), row.o.end(), std::numeric_limits<double>::quiet_NaN());
        row.lse = std::numeric_limits<double>::quiet_NaN();
        return row;
    }
    if (most == NOTHING) {
        return row;
    }
    double total = std::exp(sink - most);
    for (double s : scores) {
        total += std::exp(s - most);
    }
    for (int64_t j = 0; j < visible; ++j) {
        if (hidden && hidden(j)) {
            continue;
        }
        const double* v = value(j);
        const double weight = std::exp(scores[static_cast<size_t>(j)] - most) / total;
        for (size_t i = 0; i < dv; ++i) {
            row.o[i] += weight * v[i];
            row.magnitude[i] += weight * std::fabs(v[i]);
            row.flat[i] += std::fabs(v[i]) / total;
        }
    }
    row.lse = most + std::log(total);
    return row;
}

// Where element `index` of a tensor of that shape has its part of another one, whose dimensions are as large or 1.
static size_t shared_index(const std::vector<int64_t>& shape, size_t index, const std::vector<int64_t>& by) {
    size_t at = 0, step = 1;
    for (size_t d = shape.size(); d-- > 0;) {
        const size_t size = static_cast<size_t>(shape[d]), place = index % size;
        const size_t parts = by.size() == shape.size() ? static_cast<size_t>(by[d]) : 1;
        const size_t each = (size + parts - 1) / parts; // neighbours that share one
        at += place / each * step;
        step *= parts;
        index /= size;
    }
    return at;
}

// Codes times their scales, if there are any, as numbers; two codes of E2M1 in a byte where there are blocks of scales.
static Tensor numbers_of(const Call& call, const std::string& name) {
    Tensor tensor = call[name];
    const Tensor &scale = call[name + "_scale"], &blocks = call[name + "_blocks"];
    if (!blocks.values.empty()) {
        tensor.values.clear();
        for (uint64_t pair : tensor.bits) {
            tensor.values.push_back(of_e2m1(static_cast<uint8_t>(pair & 15)));
            tensor.values.push_back(of_e2m1(static_cast<uint8_t>(pair >> 4 & 15)));
        }
        tensor.shape.back() *= 2;
    }
    for (size_t i = 0; i < tensor.values.size(); ++i) {
        tensor.values[i] *= scale.values.empty() ? 1 : scale.values[shared_index(tensor.shape, i, scale.shape)];
        if (!blocks.values.empty()) {
            const size_t of = shared_index(tensor.shape, i, blocks.shape);
            tensor.values[i] *= of_ue4m3(static_cast<uint8_t>(blocks.bits[of]));
        }
    }
    return tensor;
}

static Results compute_attention(const Call& call) {
    const Tensor q = numbers_of(call, "q"), k = numbers_of(call, "k"), v = numbers_of(call, "v");
    const Tensor& bias = call["bias"];
    const std::vector<int64_t> lens = call["seq_lens"].integers();
    const std::vector<int64_t> pages = call["block_table"].integers();
    const std::vector<double>& sinks = call["sinks"].values; // none: no sinks
    const std::vector<double>& slopes = call["alibi_slopes"].values;
    const std::vector<int64_t> starts = call["key_starts"].integers(), ends = call["key_ends"].integers();
    const Tensor& mask = call["key_mask"];
    const auto mask_first = call.numbers.find("mask_first"), cap = call.numbers.find("softcap");
    const auto window = call.numbers.find("window_left");
    const int64_t left = window == call.numbers.end() ? -1 : static_cast<int64_t>(window->second);
    const int64_t queries = q.shape[1], heads = q.shape[2], most = k.shape[1], kv_heads = k.shape[2];
    const size_t d = q.size(3), dv = v.size(3);
    Result o, lse;
    for (size_t place = 0; place < q.values.size() / d; ++place) { // [sequence, query, head]
        const auto head = static_cast<int64_t>(place) % heads, i = static_cast<int64_t>(place) / heads % queries;
        const int64_t b = static_cast<int64_t>(place) / heads / queries, keys = lens[static_cast<size_t>(b)];
        const auto token = [&](int64_t j) { // pages of `most` tokens, or a row of the tensor
            return pages.empty()
                       ? b * most + j
                       : pages[static_cast<size_t>(b * call["block_table"].shape[1] + j / most)] * most + j % most;
        };
        const size_t query = place / static_cast<size_t>(heads);
        const KeyRange seen =
            within({first_visible_key(i, queries, keys, left), visible_keys(i, queries, keys, call.is("causal"))},
                   {starts.empty() ? 0 : starts[query], ends.empty() ? keys : ends[query]});
        const auto row_of = [&](const Tensor& x) {
            return [&, width = x.size(3), g = kv_head(head, heads, kv_heads), first = seen.first](int64_t j) {
                return &x.values[static_cast<size_t>(token(first + j) * kv_heads + g) * width];
            };
        };
        const auto hidden = [&](int64_t j) {
            const int64_t words = mask.shape[2], first = mask_first == call.numbers.end()
                                                             ? keys - queries
                                                             : static_cast<int64_t>(mask_first->second);
            return hidden_by(&mask.bits[query * static_cast<size_t>(words)], words, first, seen.first + j);
        };
        const auto added = [&](int64_t j) {
            const std::vector<int64_t> all = {q.shape[0], heads, queries, most};
            return bias.values[shared_index(
                all, static_cast<size_t>(((b * heads + head) * queries + i) * most + seen.first + j), bias.shape)];
        };
        const auto row = attention_row(
            &q.values[place * d], d, dv, row_of(k), row_of(v), seen.end - seen.first, call.number("scale"),
            sinks.empty() ? NO_SINK : sinks[static_cast<size_t>(head)], cap == call.numbers.end() ? 0 : cap->second,
            slopes.empty() ? 0 : slopes[static_cast<size_t>(head)], i + keys - queries - seen.first,
            mask.bits.empty() ? std::function<bool(int64_t)>() : hidden,
            bias.values.empty() ? std::function<double(int64_t)>() : added);
        o.values.insert(o.values.end(), row.o.begin(), row.o.end());
        lse.values.push_back(row.lse);
    }
    return {{"o", o}, {"lse", lse}};
}

extern const Oracle ATTENTION{"attention", compute_attention};

} // namespace ref
