// SPDX-License-Identifier: Apache-2.0
// Codes and scales of numbers that are known to an interval.
//
// Every step of quantize is monotone: amax in each magnitude, the scale in amax, a quotient in the number, and in the
// scale as long as that is not 0 (which stands for infinity) or infinite; and so is the rounding to a code. So the
// codes of both ends under the scales of both ends enclose what is right: more than one code only where an end lies
// within the interval's width of a border between two.
#include "ops/quant/coded.h"

#include "ref/quantize.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace check {
namespace {

// The number of a scale as it is stored, of an amax.
double stored_scale(const Form& form, double amax) {
    return form == MXFP8 ? ref::mx_scale_of(amax) : ref::scale_of(form.codes, amax, 0);
}

uint8_t code_of(const Form& form, double number, double scale) {
    uint8_t code = 0;
    ref::quantize_block(form.codes, {&number, 1}, scale, {&code, 1});
    return code;
}

Allowed allow_code(const Form& form, double low, double high, double scale_low, double scale_high) {
    if (std::isnan(low) || std::isnan(scale_low)) {
        return {Allowed::bits, 0, 0, form.codes == ref::Type::i8 ? 0u : 0x7fu};
    }
    const bool open = scale_low != scale_high && (scale_low == 0 || std::isinf(scale_high));
    if (open || (low != high && std::isinf(high - low))) {
        return {Allowed::any};
    }
    double least = INFINITY, most = -INFINITY;
    const uint8_t code = code_of(form, low, scale_low);
    for (double number : {low, high}) {
        for (double scale : {scale_low, scale_high}) {
            const double end = ref::of_code(form.codes, code_of(form, number, scale));
            least = std::min(least, end), most = std::max(most, end);
        }
    }
    const bool zero = most == 0 && form.codes != ref::Type::i8; // of either sign
    if (least < most || zero) {
        return {Allowed::range, static_cast<float>(least), static_cast<float>(most)};
    }
    return {Allowed::bits, 0, 0, code}; // also that of infinity over infinity, which is no number
}

Allowed allow_scale(const Form& form, double low, double high) {
    if (low == high) {
        return form == MXFP8 ? Allowed{Allowed::bits, 0, 0, static_cast<uint32_t>(low)} : exactly(ref::Type::f32, low);
    }
    if (std::isnan(low)) {
        return {Allowed::nan};
    }
    return {Allowed::range, static_cast<float>(low), static_cast<float>(high)};
}

} // namespace

Interval amax_of(std::span<const double> low, std::span<const double> high) {
    Interval most;
    for (size_t i = 0; i < low.size(); ++i) {
        if (std::isnan(low[i])) {
            return {low[i], low[i]};
        }
        const bool around = low[i] < 0 && high[i] > 0;
        most.low = std::max(most.low, around ? 0 : std::min(std::fabs(low[i]), std::fabs(high[i])));
        most.high = std::max({most.high, std::fabs(low[i]), std::fabs(high[i])});
    }
    return most;
}

CodedAt add_coded(Case& c, const char* field, size_t args_offset, const Coded& coded, int64_t pad, int64_t pad1,
                  size_t misalign) {
    const Scales& at = coded.place;
    const CodedAt number{c.operands.size(), c.operands.size() + 1};
    c.add(field, args_offset, rows_view(coded.form.codes, at.rows1, at.rows0, at.n, pad, pad1), 16 + misalign, true);
    describe(*reinterpret_cast<spark_tensor*>(&c.args[args_offset]), coded.form, at);
    const bool given = coded.form == TENSOR;
    c.add_array(std::string(field) + ".quant.scale", args_offset + offsetof(spark_tensor, quant.scale),
                view_of(at, coded.form), 4, !given);
    if (given) {
        ref::store(ref::Type::f32, static_cast<double>(coded.scale), c.element(c.operands.back(), 0));
    }
    return number;
}

CodedAllowed allow_coded(const Coded& coded, const Numbers& numbers) {
    const std::span<const double> low = numbers.low, high = numbers.high;
    const Form& form = coded.form;
    const auto scales = static_cast<size_t>(view_of(coded.place, form).count());
    CodedAllowed out{{},
                     std::vector<Allowed>(scales, low.empty() ? Allowed{Allowed::unchanged} : Allowed{Allowed::bits})};
    for (size_t first = 0, end; first < low.size(); first = end) {
        const int64_t number = scale_number(coded.place, form, static_cast<int64_t>(first));
        for (end = first; end < low.size() && scale_number(coded.place, form, static_cast<int64_t>(end)) == number;) {
            ++end;
        }
        Interval scale{coded.scale, coded.scale};
        if (form != TENSOR) {
            const Interval most = amax_of(low.subspan(first, end - first), high.subspan(first, end - first));
            scale = {stored_scale(form, most.low), stored_scale(form, most.high)};
            out.scales[static_cast<size_t>(number)] = allow_scale(form, scale.low, scale.high);
        }
        for (size_t i = first; i < end; ++i) {
            out.codes.push_back(
                allow_code(form, low[i], high[i], number_of(form, scale.low), number_of(form, scale.high)));
        }
    }
    return out;
}

} // namespace check
