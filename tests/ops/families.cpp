// SPDX-License-Identifier: Apache-2.0
// The list of families, and what their case builders share.
#include "ops/families.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace check {

const std::vector<OpCases>& families() {
    static const std::vector<OpCases> all = {
#define OPERATOR(name) name,
#include "ops/operators.inc"
#undef OPERATOR
    };
    return all;
}

std::vector<ref::Type> types_of(unsigned mask) {
    using ref::Type;
    constexpr std::pair<Types, Type> TYPES[] = {{BF16, Type::bf16}, {F16, Type::f16},   {F32, Type::f32},
                                                {E4M3, Type::e4m3}, {E5M2, Type::e5m2}, {I8, Type::i8},
                                                {I32, Type::i32}};
    std::vector<Type> types;
    for (const auto& [bit, type] : TYPES) {
        if (mask & bit) {
            types.push_back(type);
        }
    }
    return types;
}

std::string dims_name(const std::vector<int64_t>& dims) {
    std::string name;
    for (int64_t dim : dims) {
        name.append(name.empty() ? "" : ",").append(std::to_string(dim));
    }
    return name;
}

View rows_view(ref::Type type, int64_t rows1, int64_t rows0, int64_t n, int64_t pad, int64_t pad1) {
    const int64_t pitch = std::max<int64_t>(n + pad, 1);
    if (rows1 == 1) {
        return {type, {rows0, n}, {pitch, 1}};
    }
    return {type, {rows1, rows0, n}, {rows0 * pitch + pad1, pitch, 1}};
}

void fill(Case& c, const Operand& operand, Random& random, double scale) {
    uint8_t* const base = c.storages[operand.storage].bytes.data();
    for (const auto [index, at] : c.places(operand)) {
        ref::store(operand.view.type, random.normal() * scale, base + at);
    }
}

void make_special(Case& c, const Operand& operand, Special special, int64_t row, int64_t length, Random& random) {
    const ref::Type type = operand.view.type;
    const ref::Format format = ref::format_of(type);
    const double smallest_normal = std::ldexp(1.0, format.min_exponent());
    const int64_t first = row * length;
    if (special == Special::none || length == 0 || first + length > c.to_fill(operand)) {
        return;
    }
    if (special == Special::nan_row || special == Special::inf_row || special == Special::largest) {
        // One element is enough to decide a row; the last one is what a tail may forget.
        const double strange = special == Special::nan_row   ? std::numeric_limits<double>::quiet_NaN()
                               : special == Special::inf_row ? std::numeric_limits<double>::infinity()
                                                             : std::numeric_limits<float>::max();
        const int64_t at = random.chance(0.5) ? length - 1 : random.below(length);
        ref::store(type, random.chance(0.5) ? strange : -strange, c.element(operand, first + at));
        return;
    }
    for (int64_t i = first; i < first + length; ++i) {
        double value = 0;
        if (special == Special::denormal_row) {
            value = smallest_normal * (2 * random.unit() - 1); // all below the smallest normal number
        } else if (special == Special::huge_row) {
            value = std::ldexp(random.unit() + 1, 100); // the square overflows FP32
        }
        ref::store(type, value, c.element(operand, i));
    }
}

} // namespace check
