// SPDX-License-Identifier: Apache-2.0
// Checks emu/num's conversions: the quick ones against the exact ones, the exact ones against a search for the nearest
// number among all numbers of the format. Run by CTest.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "num/format.h"

using namespace emu::num;

namespace {

int failures = 0;
void check(bool good, const char* what, unsigned long long input, unsigned long long got, unsigned long long want) {
    if (good || ++failures > 20) return;
    std::printf("%s of %llx: got %llx, want %llx\n", what, input, got, want);
}

// The number that a pattern stands for, written from the definition.
double value(uint64_t bits, const Format& f) {
    const int field = int(bits >> f.mantissa_bits) & ((1 << f.exponent_bits) - 1);
    const double mantissa = double(bits & ((1ull << f.mantissa_bits) - 1)) * std::ldexp(1.0, -f.mantissa_bits);
    const double sign = bits & f.sign_bit() ? -1 : 1;
    if (f.specials == Specials::ieee && field == (1 << f.exponent_bits) - 1)
        return mantissa != 0 ? NAN : sign * INFINITY;
    if (f.specials == Specials::nan && (bits & (f.sign_bit() - 1)) == f.sign_bit() - 1) return NAN;
    return sign * (field ? std::ldexp(1 + mantissa, field - f.bias()) : std::ldexp(mantissa, 1 - f.bias()));
}

// What stands beyond the largest number.
uint64_t beyond_largest(const Format& f) {
    return f.specials == Specials::ieee ? f.infinity() : f.specials == Specials::nan ? f.nan : f.largest();
}

// Numbers of the format, in order, non-negative and finite.
std::vector<double> numbers(const Format& f) {
    std::vector<double> all;
    for (uint64_t b = 0; b <= f.largest(); ++b) all.push_back(value(b, f));
    return all;
}

// Where |v| belongs by plain comparison with its two neighbours.
uint64_t search(double v, const Format& f, const std::vector<double>& all, Round round) {
    if (std::isnan(v)) return f.nan;
    const bool negative = std::signbit(v);
    const double m = std::fabs(v);
    const uint64_t sign = negative ? f.sign_bit() : 0;
    size_t low = 0;
    for (size_t step = size_t(1) << 15; step; step /= 2)
        if (low + step < all.size() && all[low + step] <= m) low += step;
    const double next =
        low + 1 < all.size()
            ? all[low + 1]
            : std::ldexp(std::ldexp(all.back(), -1) + all[all.size() - 1] - all[all.size() - 2] == 0 ? 0 : 1, 0);
    double above = low + 1 < all.size() ? next : all.back() + (all.back() - all[all.size() - 2]);
    const uint64_t beyond = beyond_largest(f);
    const uint64_t up = low + 1 < all.size() ? low + 1 : beyond;
    if (std::isinf(m)) return sign | beyond;
    if (m == all[low]) return sign | low;
    bool raise = false;
    switch (round) {
    case Round::nearest_even: raise = m - all[low] > above - m || (m - all[low] == above - m && (low & 1)); break;
    case Round::nearest_away: raise = m - all[low] >= above - m; break;
    case Round::zero: break;
    case Round::down: raise = negative; break;
    case Round::up: raise = !negative; break;
    }
    return sign | (raise ? up : low);
}

void quick_against_exact() {
    for (uint32_t h = 0; h < 65536; ++h) {
        const uint32_t wide = std::bit_cast<uint32_t>(f32_from_f16(h));
        check(wide == convert(h, F16, F32), "f32_from_f16", h, wide, convert(h, F16, F32));
    }
    std::mt19937 rng(1);
    for (int i = 0; i < 2000000; ++i) {
        uint32_t u = rng();
        if (i % 4 == 0) u = (u & 0x80ffffff) | (100 + i % 50) << 23; // the range of f16
        const float f = std::bit_cast<float>(u);
        check(f16_from_f32(f) == convert(u, F32, F16), "f16_from_f32", u, f16_from_f32(f), convert(u, F32, F16));
        check(bf16_from_f32(f) == convert(u, F32, BF16), "bf16_from_f32", u, bf16_from_f32(f), convert(u, F32, BF16));
    }
}

void exact_against_search() {
    std::mt19937_64 rng(2);
    for (const Format* f : {&E2M1, &E2M3, &E3M2, &E4M3, &E5M2, &F16, &BF16}) {
        const std::vector<double> all = numbers(*f);
        for (int i = 0; i < 100000; ++i) {
            double v;
            if (i % 3 == 0) v = value(rng() % (f->largest() + 1), *f); // a number itself
            else if (i % 3 == 1) {                                     // a tie, nearly or exactly
                const size_t k = rng() % (all.size() - 1);
                v = (all[k] + all[k + 1]) / 2 * (1 + (int(rng() % 3) - 1) * 0x1p-40);
            } else v = std::ldexp(double(int64_t(rng()) >> 11) * 0x1p-53, int(rng() % 60) - 30);
            if (rng() & 1) v = -v;
            const uint64_t bits = std::bit_cast<uint64_t>(v);
            for (Round round : {Round::nearest_even, Round::nearest_away, Round::zero, Round::down, Round::up}) {
                const uint64_t got = convert(bits, F64, *f, {round});
                uint64_t want = search(v, *f, all, round);
                const double most = all.back(), step = most - all[all.size() - 2];
                // Beyond the largest number: toward zero stays there, to nearest turns half a step above it.
                if (std::fabs(v) > most) {
                    const bool away =
                        round == Round::up ? v > 0
                        : round == Round::down
                            ? v < 0
                            : round != Round::zero && (std::fabs(v) > most + step / 2 ||
                                                       (std::fabs(v) == most + step / 2 &&
                                                        (round == Round::nearest_away || (f->largest() & 1))));
                    want = (v < 0 ? f->sign_bit() : 0) | (away ? beyond_largest(*f) : f->largest());
                }
                check(got == want, "convert", bits, got, want);
            }
        }
    }
}

void against_the_host() {
    std::mt19937_64 rng(3);
    for (int i = 0; i < 1000000; ++i) {
        const uint64_t bits = i % 2 ? rng() : (rng() & 0x800fffffffffffffull) | (rng() % 300 + 860) << 52;
        const double d = std::bit_cast<double>(bits);
        if (std::isnan(d)) continue;
        const uint32_t want = std::bit_cast<uint32_t>(float(d));
        check(convert(bits, F64, F32) == want, "f32 of double", bits, convert(bits, F64, F32), want);
        if (std::fabs(d) < 9e18) {
            const Parts parts = decode(bits, F64);
            const Integer z = to_integer(parts, Round::zero), n = to_integer(parts, Round::nearest_even);
            check(z.magnitude == uint64_t(std::fabs(std::trunc(d))), "truncation", bits, z.magnitude,
                  uint64_t(std::fabs(d)));
            check(n.magnitude == uint64_t(std::fabs(std::nearbyint(d))), "rounding", bits, n.magnitude, 0);
        }
        const int64_t s = int64_t(rng());
        const uint32_t f = std::bit_cast<uint32_t>(float(s));
        check(encode(parts_of_signed(s), F32) == f, "f32 of s64", uint64_t(s), encode(parts_of_signed(s), F32), f);
    }
}

} // namespace

int main() {
    quick_against_exact();
    exact_against_search();
    against_the_host();
    std::printf("%d failures\n", failures);
    return failures != 0;
}
