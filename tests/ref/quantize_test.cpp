// SPDX-License-Identifier: Apache-2.0
// Stochastic rounding of the oracle of quantize against what is known without it: which random word an element has, the
// fraction at which a word changes its mind, what stays as it is, and the mean over many seeds.
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
extern "C" {
#include <cmocka.h>
}

#include "ref/quantize.h"

#include <cmath>
#include <limits>

using ref::Type;

namespace {

constexpr uint16_t LAST = 0xffff;
constexpr Type TYPES[] = {Type::e4m3, Type::e5m2, Type::i8};

uint8_t code(Type type, double x, uint16_t word) { return ref::to_code(type, x, {&word, 1}); }
double number(Type type, double x, uint16_t word) { return ref::of_code(type, code(type, x, word)); }
double half(double x, uint16_t word) { return ref::of_e2m1(ref::to_mx(ref::MX_E2M1, x, {&word, 1})); }

// tests/kat_vectors of Random123, "philox4x32 10", of counter 0 and key 0.
void elements_take_the_words_in_order(void**) {
    assert_true((ref::random_words(0, 0, 8) ==
                 std::vector<uint16_t>{0xe8d5, 0x6627, 0xc58d, 0xe169, 0xac4c, 0xbc57, 0xdbd8, 0x9b00}));
    const auto words = ref::random_words(7, 9, 100);
    for (size_t count : {1, 3, 5, 99}) {
        assert_true(std::equal(words.begin(), words.begin() + static_cast<ptrdiff_t>(count),
                               ref::random_words(7, 9, count).begin()));
    }
    for (const auto& [seed, offset] :
         {std::pair<uint64_t, uint64_t>{8, 9}, {7, 10}, {7 + (1ull << 32), 9}, {7, 9 + (1ull << 32)}, {9, 7}}) {
        size_t same = 0;
        const auto others = ref::random_words(seed, offset, words.size());
        for (size_t i = 0; i < words.size(); ++i) {
            same += words[i] == others[i];
        }
        assert_int_equal(same, 0);
    }
}

// A quarter, a half and the least fraction of the way between neighbours, of either sign, and where units are least.
void words_that_reach_the_end_with_the_fraction_give_the_greater(void**) {
    for (double sign : {1.0, -1.0}) {
        assert_true(number(Type::e4m3, sign * 1.0625, 0x8000) == sign * 1.125);
        assert_true(number(Type::e4m3, sign * 1.0625, 0x7fff) == sign);
        assert_true(number(Type::e4m3, sign * std::ldexp(0.25, -9), 0xc000) == sign * std::ldexp(1.0, -9));
        assert_true(code(Type::e4m3, sign * std::ldexp(0.25, -9), 0xbfff) == (sign < 0 ? 0x80 : 0));
        assert_true(number(Type::e5m2, sign * 50176, 0xe000) == sign * 57344);
        assert_true(number(Type::e5m2, sign * 50176, 0xdfff) == sign * 49152);
        assert_true(number(Type::i8, sign * 2.25, 0xc000) == sign * 3);
        assert_true(number(Type::i8, sign * 2.25, 0xbfff) == sign * 2);
        assert_true(half(sign * 4.5, 0xc000) == sign * 6 && half(sign * 4.5, 0xbfff) == sign * 4);
        assert_true(half(sign * std::ldexp(0.5, -16), LAST) == sign * 0.5);
        assert_true(half(sign * std::ldexp(0.5, -17), LAST) == 0); // less than a word tells
    }
}

void numbers_of_the_format_stay(void**) {
    constexpr double INFINITE = std::numeric_limits<double>::infinity();
    for (uint16_t word : {uint16_t{0}, LAST}) {
        for (Type type : TYPES) {
            for (uint32_t bits = 0; bits < 256; ++bits) {
                const double x = ref::of_code(type, static_cast<uint8_t>(bits));
                if (std::isfinite(x) && (type != Type::i8 || x > -128)) {
                    assert_int_equal(code(type, x, word), bits);
                }
            }
            for (double beyond : {60000.0, -60000.0, INFINITE, -INFINITE, std::nan("")}) {
                assert_int_equal(code(type, beyond, word), ref::to_code(type, beyond));
            }
        }
        for (uint32_t bits = 0; bits < 16; ++bits) {
            const uint8_t same = static_cast<uint8_t>(bits);
            assert_int_equal(ref::to_mx(ref::MX_E2M1, ref::of_e2m1(same), {&word, 1}), same);
        }
        assert_true(half(1e9, word) == 6 && half(-INFINITE, word) == -6 && half(std::nan(""), word) == 6);
    }
}

// Hoeffding: the mean of N draws of 0 or 1 is further than sqrt(ln(2 / p) / 2N) from its expectation with a probability
// below p, here 1e-9; seeds are fixed, so that what passes once passes always. The same of neighbours of one seed.
void means_are_the_numbers(void**) {
    constexpr int N = 4096;
    const double far = std::sqrt(std::log(2e9) / (2 * N));
    for (double share : {0.01, 0.25, 0.5, 0.7853981633974483, 0.99}) {
        const auto neighbours = ref::random_words(42, 1, N);
        double seeds = 0, offsets = 0, elements = 0, halves = 0;
        for (uint64_t i = 0; i < N; ++i) {
            seeds += number(Type::i8, 5 + share, ref::random_words(i, 3, 1)[0]) - 5;
            offsets += number(Type::e4m3, 1 + share / 8, ref::random_words(3, i, 2)[1]) - 1;
            elements += number(Type::i8, -5 - share, neighbours[i]) + 5;
            halves += half(4 + 2 * share, neighbours[i]) - 4;
        }
        assert_true(std::fabs(seeds / N - share) < far);
        assert_true(std::fabs(offsets * 8 / N - share) < far);
        assert_true(std::fabs(elements / N + share) < far);
        assert_true(std::fabs(halves / (2 * N) - share) < far);
    }
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(elements_take_the_words_in_order),
        cmocka_unit_test(words_that_reach_the_end_with_the_fraction_give_the_greater),
        cmocka_unit_test(numbers_of_the_format_stay),
        cmocka_unit_test(means_are_the_numbers),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
