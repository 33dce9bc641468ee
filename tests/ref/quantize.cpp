// SPDX-License-Identifier: Apache-2.0
// Oracle of quantize; see the header for the definition.
#include "ref/quantize.h"

#include "ref/formats.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ref {
namespace {

constexpr int LARGEST = 0x7e; // 448
constexpr int NOT_A_NUMBER = 0x7f;

} // namespace

double of_e4m3(uint8_t bits) {
    const int magnitude = bits & 0x7f, field = magnitude >> 3, fraction = magnitude & 7;
    const double value = magnitude == NOT_A_NUMBER ? std::numeric_limits<double>::quiet_NaN()
                         : field == 0              ? std::ldexp(fraction, -9)
                                                   : std::ldexp(8 + fraction, field - 10);
    return bits & 0x80 ? -value : value;
}

// The slow and obvious way: of all numbers the nearest one. Neighbours are an odd and an even pattern.
uint8_t to_e4m3(double x) {
    if (std::isnan(x)) {
        return NOT_A_NUMBER;
    }
    const double magnitude = std::fabs(x);
    int best = LARGEST;
    if (magnitude < of_e4m3(LARGEST)) {
        best = 0;
        while (of_e4m3(static_cast<uint8_t>(best + 1)) <= magnitude) {
            ++best;
        }
        const double below = magnitude - of_e4m3(static_cast<uint8_t>(best));
        const double above = of_e4m3(static_cast<uint8_t>(best + 1)) - magnitude;
        best += above < below || (above == below && best % 2 != 0);
    }
    return static_cast<uint8_t>(best | (std::signbit(x) ? 0x80 : 0));
}

double scale_of(double amax, double amax_floor) {
    const double most = std::isnan(amax) ? amax : std::max(amax, amax_floor);
    return rounded(Type::f32, most / of_e4m3(LARGEST));
}

uint8_t mx_scale_of(double amax) {
    if (std::isnan(amax)) {
        return 0xff;
    }
    const int exponent = amax == 0 ? -127 : std::isinf(amax) ? 128 : std::ilogb(amax);
    return static_cast<uint8_t>(std::max(exponent - 8, -127) + 127);
}

double of_ue8m0(uint8_t bits) { return bits == 0xff ? std::nan("") : std::ldexp(1.0, bits - 127); }

void quantize_block(std::span<const double> x, double scale, std::span<uint8_t> y) {
    const double by = scale == 0 ? std::numeric_limits<double>::infinity() : scale;
    for (size_t i = 0; i < x.size(); ++i) {
        y[i] = to_e4m3(rounded(Type::f32, x[i] / by));
    }
}

} // namespace ref
