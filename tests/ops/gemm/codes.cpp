// SPDX-License-Identifier: Apache-2.0
// See codes.h.
#include "ops/gemm/codes.h"

#include "ref/amax.h"

#include <cmath>
#include <cstddef>

namespace check {
namespace {

using Args = spark_gemm_args;

// d, its scales, and the scale of all where it is none of the first.
void add_exactly(Case& c, const Codes& codes, AddedCodes& out, int64_t pad, int64_t pad1, size_t misalign) {
    const Quantising& how = out.how;
    const Scales& at = how.place;
    const View one = packed(ref::Type::f32, {1});
    out.at = {c.operands.size(), c.operands.size() + 1};
    c.add("d", offsetof(Args, d), rows_view(ref::Type::u8, at.rows1, at.rows0, code_bytes(how.form, at.n), pad, pad1),
          16 + misalign, true);
    describe(c.as<Args>().d, how.form, at);
    c.add_array("d.quant.scale", offsetof(Args, d.quant.scale), view_of(at, how.form), 4, true);
    if (how.form == NVFP4 && !how.no_whole) {
        out.whole = c.operands.size();
        c.add_array("d.quant.global_scale", offsetof(Args, d.quant.global_scale), one, 4, codes.own_amax);
        if (how.given) {
            ref::store(ref::Type::f32, static_cast<double>(how.scale), c.element(c.operands.back(), 0));
        }
    }
}

} // namespace

AddedCodes add_codes(Case& c, const Codes& codes, const Scales& place, int64_t pad, int64_t pad1, size_t misalign) {
    AddedCodes out{.how = {.form = *codes.quant.form,
                           .place = place,
                           .given = !codes.own_amax && !codes.no_whole,
                           .no_whole = codes.no_whole,
                           .scale = codes.quant.scale},
                   .exactly = codes.exactly,
                   .at = {},
                   .whole = 0,
                   .amax = 0};
    if (codes.exactly) {
        add_exactly(c, codes, out, pad, pad1, misalign);
    } else {
        const Coded coded{*codes.quant.form, place, codes.quant.scale};
        out.at = add_coded(c, "d", offsetof(Args, d), coded, pad, pad1, misalign);
    }
    if (codes.amax) {
        out.amax = c.operands.size();
        c.add("amax", offsetof(Args, amax), packed(ref::Type::f32, {1}), 4, true);
    }
    c.as<Args>().hdr.flags |= codes.own_amax ? SPARK_GEMM_OWN_AMAX : 0;
    return out;
}

std::vector<Allowed> AddedCodes::allowed(size_t index, const std::vector<double>& results) const {
    const QuantizedNumbers right = quantized(how, results);
    if (index == amax) {
        return allowed_scales(std::vector<double>{ref::amax(results)}, ref::Type::f32, results.empty());
    }
    return index == at.codes    ? allowed_bytes(right.y)
           : index == at.scales ? allowed_scales(right.scales, view_of(how.place, how.form).type, results.empty())
                                : allowed_scales(std::vector<double>{right.whole}, ref::Type::f32, results.empty());
}

// Where the scale of all is given the quotient may err by 2^-21 of itself.
std::vector<Allowed> AddedCodes::allowed(size_t index, const std::vector<Allowed>& results) const {
    Numbers numbers;
    for (const Allowed& result : results) {
        numbers.add(result);
    }
    if (index == amax) {
        return allowed_amax(results);
    }
    for (size_t i = 0; i < results.size() && how.form == TENSOR; ++i) {
        const double low = numbers.low[i], high = numbers.high[i];
        numbers.low[i] = std::isfinite(low) ? low - 0x1p-21 * std::fabs(low) : low;
        numbers.high[i] = std::isfinite(high) ? high + 0x1p-21 * std::fabs(high) : high;
    }
    const CodedAllowed right = allow_coded({how.form, how.place, how.scale}, numbers);
    return index == at.codes ? right.codes : right.scales;
}

std::vector<Allowed> allowed_amax(const std::vector<Allowed>& results) {
    Numbers numbers;
    for (const Allowed& result : results) {
        numbers.add(result);
    }
    const Interval most = amax_of(numbers.low, numbers.high);
    if (results.empty()) {
        return {{Allowed::unchanged}};
    }
    if (std::isnan(most.low)) {
        return {{Allowed::nan}};
    }
    return {{Allowed::range, static_cast<float>(most.low), static_cast<float>(most.high)}};
}

Codes random_codes(Random& r) {
    Codes codes;
    draw_codes(r, codes.quant);
    codes.quant.form = r.chance(0.5) ? Form{TENSOR, r.pick(types_of(E4M3 | E5M2))} : *codes.quant.form;
    codes.quant.scale *= r.pick<float>({1, 0.05f, 1e-30f, 1e30f});
    codes.amax = r.chance(0.2);
    return codes;
}

} // namespace check
