// SPDX-License-Identifier: Apache-2.0
// See quantized.h.
#include "ops/quant/quantized.h"

#include "ref/amax.h"

namespace check {
namespace {

double whole_of(const Quantising& how, std::span<const double> x) {
    if (how.given) {
        return static_cast<double>(how.scale);
    }
    return how.form == TENSOR
               ? ref::scale_of(how.form.codes, ref::amax(x), static_cast<double>(how.amax_floor), how.rule)
           : how.form == NVFP4 && !how.no_whole ? ref::nv_whole_of(ref::amax(x))
                                                : 1;
}

// One block of x; gives its scale as it is stored.
double quantize_one(const Quantising& how, double whole, std::span<const double> block, std::span<uint8_t> codes,
                    ref::Words words) {
    const Form& form = how.form;
    const double amax = ref::amax(block), floor = static_cast<double>(how.amax_floor);
    if (form == NVFP4) {
        const uint8_t scale = how.rule == ref::Rule::four_over_six ? ref::nv_better_scale_of(block, whole)
                                                                   : ref::nv_scale_of(amax, whole);
        ref::quantize_nv_block(block, scale, whole, codes, words);
        return scale;
    }
    if ((form & MX) != 0 && form != MXFP8) {
        const uint8_t scale = ref::mx_scale_of(amax, element_of(form), how.rule);
        ref::quantize_mx_block(element_of(form), block, ref::of_ue8m0(scale), codes, words);
        return scale;
    }
    if (form == NF4) {
        const double scale = ref::nf4_scale_of(how.place.type, amax, floor);
        ref::quantize_nf4_block(block, scale, codes);
        return scale;
    }
    if (form & INT4) {
        const double scale = ref::int4_scale_of(how.place.type, amax, floor);
        ref::quantize_int4_block(block, scale, codes);
        return scale;
    }
    const double scale = form == TENSOR  ? whole
                         : form == MXFP8 ? ref::mx_scale_of(amax, ref::MX_E4M3, how.rule)
                                         : ref::scale_of(form.codes, amax, floor, how.rule);
    ref::quantize_block(form.codes, block, number_of(form, scale), codes, words);
    return scale;
}

} // namespace

QuantizedNumbers quantized(const Quantising& how, std::span<const double> x, ref::Words words) {
    const Scales& place = how.place;
    const int64_t width = code_bytes(how.form, place.n), rows = place.rows1 * place.rows0;
    QuantizedNumbers out{std::vector<uint8_t>(static_cast<size_t>(rows * width)),
                         std::vector<double>(static_cast<size_t>(view_of(place, how.form).count())), whole_of(how, x)};
    std::vector<uint8_t> codes(x.size());
    for (size_t first = 0, end; first < x.size(); first = end) {
        const int64_t number = scale_number(place, how.form, static_cast<int64_t>(first));
        for (end = first; end < x.size() && scale_number(place, how.form, static_cast<int64_t>(end)) == number;) {
            ++end;
        }
        const size_t count = end - first;
        out.scales[static_cast<size_t>(number)] =
            quantize_one(how, out.whole, x.subspan(first, count), std::span(codes).subspan(first, count),
                         words.empty() ? words : words.subspan(first, count));
    }
    for (int64_t i = 0; i < static_cast<int64_t>(codes.size()); ++i) {
        put_code(how.form, &out.y[static_cast<size_t>(i / place.n * width)], i % place.n,
                 codes[static_cast<size_t>(i)]);
    }
    return out;
}

std::vector<Allowed> allowed_bytes(std::span<const uint8_t> bytes) {
    std::vector<Allowed> out;
    for (uint8_t bits : bytes) {
        out.push_back({Allowed::bits, 0, 0, bits});
    }
    return out;
}

std::vector<Allowed> allowed_scales(std::span<const double> scales, ref::Type type, bool empty) {
    std::vector<Allowed> out;
    for (double scale : scales) {
        out.push_back(empty                   ? Allowed{Allowed::unchanged}
                      : type == ref::Type::u8 ? Allowed{Allowed::bits, 0, 0, static_cast<uint32_t>(scale)}
                                              : exactly(type, scale));
    }
    return out;
}

} // namespace check
