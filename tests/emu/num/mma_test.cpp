// SPDX-License-Identifier: Apache-2.0
// Compares emu/num's mma with a model written separately: every term is an exact fixed-point number of arbitrary width,
// cut and summed with plain big-integer arithmetic, and converted by trial. Shares no code with what it tests.
// Run by CTest; `--bench` prints nanoseconds per mma instead.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include "num/mma_tile.h"

namespace {

// A value as the hardware sees it: the double is exact (all inputs are at most 24 bits wide), the exponent is the
// model's.
constexpr int NOTHING = -100000; // the exponent of a zero: it never counts

struct Seen {
    double value;
    int exponent;
};

Seen see(uint32_t bits, int exponent_bits, int mantissa_bits) {
    const int field = int(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
    const uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const double sign = (bits >> (exponent_bits + mantissa_bits)) & 1 ? -1.0 : 1.0;
    if (field == (1 << exponent_bits) - 1) return {mantissa ? std::nan("") : sign * INFINITY, 0};
    const double significand = std::ldexp(double(mantissa), -mantissa_bits) + (field ? 1.0 : 0.0);
    const int exponent = (field ? field : 1) - bias;
    if (significand == 0) return {sign * 0.0, NOTHING};
    return {sign * std::ldexp(significand, exponent), exponent};
}

uint32_t cut_f32(__int128 units, int unit_exponent) {
    // Largest f32 not above |units| * 2^unit_exponent, found bit by bit over the bit pattern (patterns are ordered).
    const bool negative = units < 0;
    unsigned __int128 magnitude = negative ? -units : units;
    auto at_most = [&](uint32_t pattern) {
        const int field = int(pattern >> 23);
        unsigned __int128 significand = (pattern & 0x7fffff) | (field ? 0x800000u : 0u);
        int exponent = (field ? field : 1) - 150;
        unsigned __int128 other = magnitude;
        int gap = exponent - unit_exponent;
        if (gap > 0) {
            if (gap > 90) return significand == 0;
            significand <<= gap;
        } else {
            if (-gap > 60) return magnitude != 0; // the pattern is far below one unit
            other <<= -gap;
        }
        return significand <= other;
    };
    uint32_t pattern = 0;
    for (int bit = 30; bit >= 0; --bit)
        if ((pattern | 1u << bit) <= 0x7f800000u && at_most(pattern | 1u << bit)) pattern |= 1u << bit;
    return pattern == 0 ? 0 : pattern | (negative ? 0x80000000u : 0);
}

uint32_t nearest_f16(__int128 units, int unit_exponent) {
    // Units fit a double exactly; compare with the two neighbours by distance.
    const double value = std::ldexp(double(int64_t(units)), unit_exponent), magnitude = std::fabs(value);
    uint32_t low = 0;
    for (int bit = 14; bit >= 0; --bit) {
        const uint32_t pattern = low | 1u << bit;
        if (pattern <= 0x7c00 && (pattern == 0x7c00 ? 65536.0 : see(pattern, 5, 10).value) <= magnitude) low = pattern;
    }
    uint32_t best = low;
    if (low < 0x7c00) {
        const double below = see(low, 5, 10).value, above = low + 1 == 0x7c00 ? 65536.0 : see(low + 1, 5, 10).value;
        if (magnitude - below > above - magnitude || (magnitude - below == above - magnitude && (low & 1)))
            best = low + 1;
    }
    return best == 0 ? 0 : best | (value < 0 ? 0x8000u : 0);
}

uint32_t model(const uint32_t* a, const uint32_t* b, int k, uint32_t c, bool bf16, bool f32_out) {
    const int eb = bf16 ? 8 : 5, mb = bf16 ? 7 : 10;
    const Seen seen_c = f32_out ? see(c, 8, 23) : see(c, 5, 10);
    double plain = seen_c.value;
    int top = seen_c.exponent;
    bool special = !std::isfinite(seen_c.value);
    for (int i = 0; i < k; ++i) {
        const Seen x = see(a[i], eb, mb), y = see(b[i], eb, mb);
        special |= !std::isfinite(x.value) || !std::isfinite(y.value);
        plain += x.value * y.value;
        if (x.value != 0 && y.value != 0) top = std::max(top, x.exponent + y.exponent);
    }
    if (special) {
        if (std::isnan(plain)) return f32_out ? 0x7fffffffu : 0x7fffu;
        return (f32_out ? 0x7f800000u : 0x7c00u) | (plain < 0 ? (f32_out ? 0x80000000u : 0x8000u) : 0u);
    }
    if (top == NOTHING) return 0;
    __int128 sum = __int128(std::trunc(std::ldexp(seen_c.value, 25 - top)));
    for (int i = 0; i < k; ++i) {
        const double product = see(a[i], eb, mb).value * see(b[i], eb, mb).value; // at most 22 bits: exact
        sum += __int128(std::trunc(std::ldexp(product, 25 - top)));
    }
    return f32_out ? cut_f32(sum, top - 25) : nearest_f16(sum, top - 25);
}

std::mt19937_64 rng(12345);

uint32_t random_half(int style, bool bf16) {
    const uint32_t r = uint32_t(rng());
    const int mb = bf16 ? 7 : 10, bias = bf16 ? 127 : 15, top = bf16 ? 255 : 31;
    const uint32_t sign = r & 0x8000, mantissa = (r >> 16) & ((1u << mb) - 1);
    auto with = [&](int field) { return sign | uint32_t(field) << mb | mantissa; };
    switch (style) {
    case 0: return with(bias - 2 + int(rng() % 4));                                // everyday
    case 1: return r & 0xffff;                                                     // any pattern
    case 2: return rng() % 4 ? with(bias - 6 + int(rng() % 12)) : sign;            // with zeros
    case 3: return with(int(rng() % 3));                                           // subnormal and small
    case 4: return with(top - 1 - int(rng() % 3));                                 // huge
    case 5: return rng() % 3 ? sign : with(int(rng() % uint32_t(top)));            // sparse, wide range
    case 6: return sign | uint32_t(bias) << mb | (rng() % 2 ? (1u << mb) - 1 : 0); // edges of a binade
    case 7: return rng() % 64 ? with(bias - 1) : uint32_t(top) << mb | sign | (rng() % 2 ? 1 : 0);
    case 8: return rng() % 9 ? with(bias - 1) : sign;                    // one binade: sums without cuts
    case 9: return with(bias - 1 - int(rng() % 3));                      // about as much as such sums hold
    case 10: return with(bias - int(rng() % uint32_t(bias)));            // from 1 down to subnormals
    case 11: return with(bf16 ? bias + 60 + int(rng() % 3) : bias + 10); // sums beyond an f32
    case 12: return with(bias + (bf16 ? 20 : 8) + int(rng() % 3));       // beside which a small C vanishes
    default: return sign;                                                // zero
    }
}

// near: an exponent that a whole tile has.
uint32_t random_c(int style, bool f32, uint32_t near) {
    const uint32_t r = uint32_t(rng());
    if (!f32) return random_half(style, false);
    switch (style) {
    case 0: return (r & 0x807fffff) | (120 + rng() % 14) << 23;
    case 1: return r;
    case 2: return rng() % 2 ? 0 : (r & 0x807fffff) | (90 + rng() % 60) << 23;
    case 3: return r & 0x80ffffff;
    case 4: return (r & 0x807fffff) | (252 + rng() % 3) << 23;
    case 5: return (r & 0x80000000) | (((r & 0x7fffff) | (near - rng() % 24) << 23) & ~0u << rng() % 24); // few bits
    case 7: return rng() % 64 ? r & 0xbfffffff : (r & 0x80000001) | 0x7f800000;
    case 8: return rng() % 9 ? (r & 0x807fffff) | near << 23 : r & 0x80000000;
    default: return rng() % 4 ? (r & 0x80000000) : r & 0x807fffff;
    }
}

struct Planes {
    alignas(64) uint32_t a[4][32], b[2][32], c[4][32], d[4][32];
    void mma(const emu::num::TileLevel& level, int k, bool bf16, bool f32_out) {
        const uint32_t *as[] = {a[0], a[1], a[2], a[3]}, *bs[] = {b[0], b[1]}, *cs[] = {c[0], c[1], c[2], c[3]};
        uint32_t* ds[] = {d[0], d[1], d[2], d[3]};
        const auto input = bf16 ? emu::num::MmaInput::bf16 : emu::num::MmaInput::f16;
        const auto output = f32_out ? emu::num::MmaOutput::f32 : emu::num::MmaOutput::f16;
        emu::num::tile_function(*level.functions, k, input, output)(as, bs, cs, ds);
    }
};

struct Matrices {
    uint32_t a[16][16], b[8][16], c[16][8];
};

Planes planes_of(const Matrices& m, int k, bool f32_out) {
    Planes p;
    for (int lane = 0; lane < 32; ++lane) {
        const int g = lane / 4, t = lane % 4;
        for (int j = 0; j < k / 4; ++j) {
            const int row = g + 8 * (j & 1), col = 2 * t + 8 * (j >> 1);
            p.a[j][lane] = m.a[row][col] | m.a[row][col + 1] << 16;
        }
        for (int j = 0; j < k / 8; ++j) p.b[j][lane] = m.b[g][2 * t + 8 * j] | m.b[g][2 * t + 8 * j + 1] << 16;
        for (int i = 0; i < 4; ++i) {
            const uint32_t value = m.c[g + 8 * (i >> 1)][2 * t + (i & 1)];
            if (f32_out) p.c[i][lane] = value;
            else if (i & 1) p.c[i / 2][lane] |= value << 16;
            else p.c[i / 2][lane] = value;
        }
    }
    return p;
}

// One column in the place of all, of B and of C, or of all but one.
void repeat_column(Matrices& m, bool but_one) {
    const uint32_t other = but_one ? 1 + uint32_t(rng() % 7) : 8;
    for (uint32_t n = 1; n < 8; ++n) {
        if (n == other) continue;
        std::memcpy(m.b[n], m.b[0], sizeof m.b[0]);
        for (auto& row : m.c) row[n] = row[0];
    }
}

int check_tile(const emu::num::TileLevel& level, int k, bool bf16, bool f32_out, int style, int c_style) {
    Matrices m;
    for (auto& row : m.a)
        for (auto& x : row) x = random_half(style, bf16);
    for (auto& column : m.b)
        for (auto& x : column) x = random_half(style, bf16);
    if (style == 8)
        for (auto& row : m.a)
            if (rng() % 8 == 0) std::fill(row, row + 16, 0);
    if (style <= 7 && rng() % 4 == 0) { // zeros alone, beside all that there may be
        if (rng() % 2) std::memset(m.a, 0, sizeof m.a);
        else std::memset(m.b, 0, sizeof m.b);
    }
    if (style == 6) // cancellation: the second half of K undoes the first but for one element
        for (int n = 0; n < 8; ++n)
            for (int i = k / 2; i < k; ++i) {
                m.b[n][i] = m.b[n][i - k / 2] ^ 0x8000;
                for (int r = 0; r < 16; ++r) m.a[r][i] = m.a[r][i - k / 2] ^ (rng() % 8 == 0 ? 1 : 0);
            }
    const bool alike = rng() % 3 == 0;
    static Planes p; // in one place: what an mma keeps of its registers must not outlive their values
    int wrong = 0;
    for (int turn = 0; turn < 3; ++turn) { // new fragments; the same A and another B; the same of both
        if (turn == 1) m.b[rng() % 8][rng() % uint32_t(k)] = random_half(style, bf16);
        const uint32_t near = 118 + uint32_t(rng() % 24); // about those at which C, or a product, begins to be cut
        for (auto& row : m.c)
            for (auto& x : row) x = random_c(c_style, f32_out, near);
        if (alike) repeat_column(m, rng() % 4 == 0);
        p = planes_of(m, k, f32_out);
        p.mma(level, k, bf16, f32_out);
        for (int lane = 0; lane < 32; ++lane)
            for (int i = 0; i < 4; ++i) {
                const int row = lane / 4 + 8 * (i >> 1), col = 2 * (lane % 4) + (i & 1);
                const uint32_t got = f32_out ? p.d[i][lane] : p.d[i / 2][lane] >> (i & 1 ? 16 : 0) & 0xffff;
                const uint32_t want = model(m.a[row], m.b[col], k, m.c[row][col], bf16, f32_out);
                if (got == want) continue;
                if (!wrong)
                    std::printf("%s k%d %s->%s style %d,%d row %d col %d: got %08x want %08x\n", level.name, k,
                                bf16 ? "bf16" : "f16", f32_out ? "f32" : "f16", style, c_style, row, col, got, want);
                ++wrong;
            }
    }
    return wrong;
}

void bench(const emu::num::TileLevel& level) {
    Planes p;
    for (bool bf16 : {true, false})
        for (bool f32 : {true, false}) {
            if (bf16 && !f32) continue;
            for (int zero : {0, 1}) {
                for (auto& plane : p.a)
                    for (auto& x : plane) x = zero ? 0 : random_half(0, bf16) | random_half(0, bf16) << 16;
                for (auto& plane : p.b)
                    for (auto& x : plane) x = random_half(0, bf16) | random_half(0, bf16) << 16;
                std::memset(p.c, 0, sizeof p.c);
                double best = 1e9; // the least of many short batches: other programs share the machine
                for (int batch = 0; batch < 200; ++batch) {
                    const auto start = std::chrono::steady_clock::now();
                    for (int i = 0; i < 1000; ++i) p.mma(level, 16, bf16, f32);
                    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
                    best = std::min(best, took.count() / 1000);
                }
                std::printf("%s m16n8k16 %s.%s %s: %.0f ns\n", level.name, f32 ? "f32" : "f16", bf16 ? "bf16" : "f16",
                            zero ? "zeros" : "random", best);
            }
        }
}

} // namespace

int main(int argc, char** argv) {
    const std::vector<emu::num::TileLevel> levels = emu::num::tile_levels();
    if (argc > 1 && std::string(argv[1]) == "--bench") {
        for (const auto& level : levels) bench(level);
        return 0;
    }
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 4;
    long outputs = 0, wrong = 0;
    for (int round = 0; round < rounds; ++round)
        for (int style = 0; style <= 13; ++style)
            for (int c_style = 0; c_style <= 9; ++c_style)
                for (int form = 0; form < 6; ++form) {
                    const bool bf16 = form % 3 == 0, f32 = form % 3 != 2;
                    for (const auto& level : levels) {
                        wrong += check_tile(level, form < 3 ? 16 : 8, bf16, f32, style, c_style);
                        outputs += 3 * 128;
                    }
                }
    std::printf("%ld outputs compared, %ld wrong\n", outputs, wrong);
    return wrong != 0;
}
