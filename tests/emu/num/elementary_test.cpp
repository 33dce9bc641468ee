// SPDX-License-Identifier: Apache-2.0
// The elementary functions of emu/exec against libm, on floats of every size, near multiples of pi/2 and at the edges.
#include <cmath>
#include <cstdio>
#include <cstring>

#include "exec/elementary.h"

namespace {

using namespace emu::plain;

int failures = 0;
double worst = 0;

void expect(const char* name, float x, double got, long double want) {
    const bool both_nan = got != got && want != want;
    const bool equal = both_nan || double(want) == got;
    const long double error = equal ? 0 : std::fabs((got - want) / want);
    if (error > worst) worst = double(error);
    if (equal || error < 1e-14L) return; // far below half a unit of a float, 6e-8
    if (++failures < 20) std::printf("%s(%a) is %a, not %La\n", name, double(x), got, want);
}

void all(float x) {
    expect("sin", x, sine_double(x, 0), std::sin((long double)x));
    expect("cos", x, sine_double(x, 1), std::cos((long double)x));
    expect("log2", x, log2_double(x), std::log2((long double)x));
    expect("tanh", x, tanh_double(x), std::tanh((long double)x));
    if (std::fabs(x) <= 1000) expect("exp2", x, exp2_double(x), std::exp2((long double)x));
}

} // namespace

int main() {
    uint64_t state = 1;
    for (int i = 0; i < 400000; i++) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        const uint32_t bits = uint32_t(state >> 32);
        float x;
        std::memcpy(&x, &bits, 4);
        all(x);
    }
    for (int i = -20000; i <= 20000; i++)
        for (int step = -1; step <= 1; step++) {
            float x = float(i * 1.57079632679489661923);
            for (int s = 0; s < step * step; s++) x = std::nextafter(x, step > 0 ? INFINITY : -INFINITY);
            all(x);
        }
    for (float x :
         {0.0f, -0.0f, 1.0f, -1.0f, INFINITY, -INFINITY, NAN, 0x1p-149f, 0x1.fffffep127f, 0x1p25f, 0x1.fffffep24f})
        all(x);
    std::printf("worst relative error %g\n", worst);
    return failures != 0;
}
