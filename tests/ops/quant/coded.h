// SPDX-License-Identifier: Apache-2.0
// Codes and scales that operators make of their FP32 results without storing these: what is right where only an
// interval of each result is known. Shared by the cases of operators with such an output.
#pragma once

#include "ops/quant/scaled.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

namespace check {

constexpr unsigned CODED = TENSOR | ROW | B128 | MXFP8; // the forms of such outputs

// y as codes: in each of these forms, if there are any; the one that an entry has.
struct Quantised {
    unsigned forms = 0, codes = E4M3;
    bool tiled = false, columns = false; // where scales stand
    int64_t pad = 0;
    float scale = 0.05f; // of all, given
    std::optional<Form> form = {};
};

// A quantised output: its form, where its scales stand, and the scale of all, where that is given.
struct Coded {
    Form form = {TENSOR, ref::Type::e4m3};
    Scales place;
    float scale = 1;
};

// What the codes of such a shape are, which has rows1, rows0 and n.
template <class Shape> Coded coded_of(const Shape& s) {
    const Quantised& q = s.quant;
    return {*q.form, {s.rows1, s.rows0, s.n, q.columns, q.pad, q.tiled}, q.scale};
}

// The output `field` and its scales, which stand at the end of the operands. The output's rows are `pad` and `pad1`
// bytes apart, as rows_view has them, and begin `misalign` bytes behind a boundary of 16.
struct CodedAt {
    size_t codes, scales;
};
CodedAt add_coded(Case& c, const char* field, size_t args_offset, const Coded& coded, int64_t pad, int64_t pad1,
                  size_t misalign);

// The ends of FP32 numbers, row-major, from which codes are made.
struct Numbers {
    std::vector<double> low, high;

    void add(double one, double other, double slack) {
        slack = std::isfinite(one) && std::isfinite(other) ? slack : 0;
        low.push_back(ref::rounded(ref::Type::f32, std::min(one, other) - slack));
        high.push_back(ref::rounded(ref::Type::f32, std::max(one, other) + slack));
    }
    // As an F32 output with those allowed results would be.
    void add(const Allowed& allowed) {
        const double none = std::nan("");
        const bool open = allowed.kind == Allowed::any, range = allowed.kind == Allowed::range;
        add(open ? -INFINITY : range ? allowed.low : none, open ? INFINITY : range ? allowed.high : none, 0);
    }
    // Anything, if the error is no number.
    void add(double value, double error) {
        const bool open = std::isfinite(value) && !std::isfinite(error);
        error = std::isfinite(value) ? error : 0;
        add(open ? -INFINITY : value - error, open ? INFINITY : value + error, 0);
    }
};

// Allowed codes and scales of such numbers. One of which nothing is known is -infinity to infinity.
struct CodedAllowed {
    std::vector<Allowed> codes, scales;
};
CodedAllowed allow_coded(const Coded& coded, const Numbers& numbers);

// The largest magnitude of such numbers; NaN if one is.
struct Interval {
    double low = 0, high = 0;
};
Interval amax_of(std::span<const double> low, std::span<const double> high);

// A random form of codes.
inline void draw_codes(Random& r, Quantised& q) {
    q.form = r.pick(forms_of(CODED, E4M3 | E5M2 | I8));
    q.tiled = r.chance(0.3);
    q.columns = r.chance(0.3);
    q.pad = r.chance(0.2) ? r.between(1, 4) : 0;
    q.scale = static_cast<float>(r.normal());
}

} // namespace check
