// SPDX-License-Identifier: Apache-2.0
// Codes and scales of an operand of gemm, bit by bit.
#include "ops/gemm/scaled_codes.h"

#include "ref/quantize.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace check {
namespace {

bool in_floats(const Form& form) { return form == B128 || form == B128X128; }

// A scale as it is stored: a positive number near 1, of nan_scales and zero_scales sometimes none, or 0.
double stored_scale(const ScaledValues& s, const Form& form, Random& random) {
    const bool strange = random.chance(0.02);
    if (in_floats(form)) {
        const double power = std::ldexp(1, static_cast<int>(random.between(-1, 1)));
        const double fraction = random.unit(), sign = random.chance(0.1) ? -1 : 1;
        return strange && s.nan_scales    ? std::nan("")
               : strange && s.zero_scales ? 0
               : s.exact                  ? power
                                          : sign * power * (1 + fraction);
    }
    if (strange && s.nan_scales) {
        return form == NVFP4 ? 0x7f : 0xff;
    }
    if (strange && s.zero_scales) {
        return 0;
    }
    if (s.exact || form != NVFP4) {
        const auto exponent = static_cast<int>(random.between(-1, 1));
        return form == NVFP4 ? ref::to_e4m3(std::ldexp(1, exponent)) : static_cast<uint8_t>(127 + exponent);
    }
    const uint8_t sign = random.chance(0.1) ? 0x80 : 0; // is not looked at
    return ref::to_e4m3(0.25 + std::fabs(random.normal())) | sign;
}

// Any bits; of FP8 a number, or none where scales are none too; and of `exact` 0.5 to 3 alone.
uint8_t code_of(const ScaledValues& s, const Form& form, Random& random) {
    if (s.exact) {
        const double number = random.pick<double>({0.5, 0.75, 1, 1.5, 2, 3}) * (random.chance(0.5) ? 1 : -1);
        return code_bits(form) < 8 ? ref::to_mx(element_of(form), number) : ref::to_code(form.codes, number);
    }
    const auto bits = static_cast<uint8_t>(random.next());
    const uint8_t beyond = form.codes == ref::Type::e5m2 ? 0x7c : 0x7f; // the first that is no finite number
    return (bits & 0x7f) >= beyond && (!s.nan_scales || random.chance(0.9)) ? 0 : bits;
}

// All codes of four bits are numbers that will do, and without `exact` all but those of E4M3.
void fill_codes(Case& c, const Operand& codes, const ScaledPlace& place, const ScaledValues& values, Random& random) {
    const int64_t n = place.scales.n, width = std::max<int64_t>(code_bytes(place.form, n), 1);
    const bool any = values.exact ? in_halves(place.form) : place.form != MXFP8 && place.form != B32X32;
    for (int64_t i = 0; i < c.to_fill(codes); ++i) {
        *c.element(codes, i) = any ? static_cast<uint8_t>(random.next()) : 0;
    }
    for (int64_t row = 0; row < c.to_fill(codes) / width && !any; ++row) {
        uint8_t* at = c.element(codes, row * width);
        std::fill_n(at, width, uint8_t{0});
        for (int64_t i = 0; i < n; ++i) {
            put_code(place.form, at, i, code_of(values, place.form, random));
        }
    }
}

// The scale of all, and its number.
double add_whole(Case& c, const ScaledPlace& place, const ScaledValues& values, Random& random) {
    const size_t at = place.offset + offsetof(spark_tensor, quant) + offsetof(spark_quant, global_scale);
    const Operand whole = c.add_array(std::string(place.name) + ".whole", at, packed(ref::Type::f32, {1}), 4, false);
    if (c.outline) {
        return 1;
    }
    const double power = std::ldexp(1, static_cast<int>(random.between(-3, 1)));
    const double number = ref::rounded(ref::Type::f32, values.exact ? power : power * (1 + random.unit()));
    ref::store(ref::Type::f32, number, c.element(whole, 0));
    return number;
}

} // namespace

ScaledMatrix add_scaled_codes(Case& c, const ScaledPlace& place, const ScaledValues& values, Random& random) {
    const Form& form = place.form;
    const Scales& of = place.scales;
    const int64_t width = code_bytes(form, of.n);
    View rows = rows_view(ref::Type::u8, of.rows1, of.rows0, width, pad_of(form, of.n, place.pad), 0);
    if (place.same && of.rows1 > 1) {
        rows.stride[0] = 0;
    }
    c.add(place.name, place.offset, rows, static_cast<size_t>(16 + place.misalign), false);
    const Operand codes = c.operands.back();
    describe(*reinterpret_cast<spark_tensor*>(&c.args[place.offset]), form, of);
    const size_t scale_at = place.offset + offsetof(spark_tensor, quant) + offsetof(spark_quant, scale);
    const Operand scales = c.add_array(std::string(place.name) + ".scale", scale_at, view_of(of, form), 4, false);
    fill_codes(c, codes, place, values, random);
    for (int64_t i = 0; i < c.to_fill(scales); ++i) {
        ref::store(scales.view.type, stored_scale(values, form, random), c.element(scales, i));
    }
    ScaledMatrix matrix;
    if (form == NVFP4 && !values.no_whole) {
        matrix.whole = add_whole(c, place, values, random);
    }
    const std::vector<double> factors = c.outline ? std::vector<double>{} : c.values(scales);
    for (int64_t i = 0; i < of.rows1 * of.rows0 * of.n && !c.outline; ++i) {
        const uint8_t code = code_at(form, c.element(codes, i / of.n * width), i % of.n);
        const double scale = factors[static_cast<size_t>(scale_number(of, form, i))];
        matrix.values.push_back(of_code(form, code) * number_of(form, scale));
    }
    return matrix;
}

} // namespace check
