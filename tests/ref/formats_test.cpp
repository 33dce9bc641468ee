// SPDX-License-Identifier: Apache-2.0
// The number formats against facts known without them: all 65,536 patterns of the 16-bit types survive the way to
// double and back, midpoints go to even, overflow and subnormals behave, and f32 agrees with the compiler's float.
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
extern "C" {
#include <cmocka.h>
}

#include "ref/formats.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

using ref::Type;

static void every_16_bit_pattern_survives(void**) {
    for (Type type : {Type::f16, Type::bf16}) {
        for (uint32_t bits = 0; bits < 65536; ++bits) {
            const double x = ref::decode(type, bits);
            if (!std::isnan(x)) {
                assert_int_equal(ref::encode(type, x), bits);
            }
        }
        assert_true(std::isnan(ref::decode(type, 0x7fff)));
        assert_int_equal(ref::encode(type, NAN), 0x7fff);
    }
}

static void every_e4m3_pattern_survives(void**) {
    for (uint32_t bits = 0; bits < 256; ++bits) {
        const double x = ref::decode(Type::e4m3, bits);
        assert_int_equal(std::isnan(x), bits % 128 == 127);
        assert_int_equal(ref::encode(Type::e4m3, x), std::isnan(x) ? 0x7f : bits);
    }
}

static void every_e5m2_pattern_survives(void**) {
    for (uint32_t bits = 0; bits < 256; ++bits) {
        const double x = ref::decode(Type::e5m2, bits), half = ref::decode(Type::f16, bits << 8);
        assert_int_equal(std::isnan(x), bits % 128 > 0x7c);
        assert_int_equal(ref::encode(Type::e5m2, x), std::isnan(x) ? 0x7f : bits);
        assert_true(x == half || std::isnan(half)); // the upper half of one
    }
}

static void integers_have_a_sign(void**) {
    for (int value = -128; value < 128; ++value) {
        assert_int_equal(ref::encode(Type::i8, value), value & 0xff);
        assert_true(ref::decode(Type::i8, static_cast<uint64_t>(value & 0xff)) == value);
    }
}

static void midpoints_go_to_even(void**) {
    for (Type type : {Type::f16, Type::bf16}) {
        const uint64_t infinity = type == Type::f16 ? 0x7c00 : 0x7f80;
        for (uint64_t bits = 0; bits + 2 < infinity; ++bits) {
            const double low = ref::decode(type, bits), high = ref::decode(type, bits + 1);
            const double middle = (low + high) / 2;
            assert_int_equal(ref::encode(type, middle), bits % 2 == 0 ? bits : bits + 1);
            assert_int_equal(ref::encode(type, std::nextafter(middle, low)), bits);
            assert_int_equal(ref::encode(type, std::nextafter(middle, INFINITY)), bits + 1);
        }
        // Half a unit above the largest finite value is the first to overflow.
        const double largest = ref::decode(type, infinity - 1);
        const double limit = largest + ref::ulp(type, largest) / 2;
        assert_int_equal(ref::encode(type, limit), infinity);
        assert_int_equal(ref::encode(type, std::nextafter(limit, 0)), infinity - 1);
    }
}

static void f32_agrees_with_the_compiler(void**) {
    std::mt19937_64 random(1);
    for (int i = 0; i < 300000; ++i) {
        const double x = std::bit_cast<double>(random()); // every exponent, so also overflow and underflow
        const double scaled = std::ldexp(std::bit_cast<double>((random() >> 12) | 0x3ff0000000000000u), i % 300 - 160);
        for (double value : {x, scaled, -scaled}) {
            if (std::isnan(value)) {
                continue;
            }
            const auto expected = std::bit_cast<uint32_t>(static_cast<float>(value));
            assert_int_equal(ref::encode(Type::f32, value), expected);
            assert_true(ref::decode(Type::f32, expected) == static_cast<double>(static_cast<float>(value)));
        }
    }
}

static void known_values(void**) {
    assert_int_equal(ref::encode(Type::bf16, 1.0), 0x3f80);
    assert_int_equal(ref::encode(Type::f16, 1.0), 0x3c00);
    assert_int_equal(ref::encode(Type::f16, -2.0), 0xc000);
    assert_int_equal(ref::encode(Type::f16, 65504.0), 0x7bff);
    assert_int_equal(ref::encode(Type::f16, 65520.0), 0x7c00);
    assert_int_equal(ref::encode(Type::f16, std::ldexp(1.0, -24)), 1);
    assert_int_equal(ref::encode(Type::f16, std::ldexp(1.0, -25)), 0);
    assert_int_equal(ref::encode(Type::bf16, 3.14159265), 0x4049);
    assert_int_equal(ref::encode(Type::bf16, -0.0), 0x8000);
    assert_int_equal(ref::encode(Type::e4m3, 448.0), 0x7e);
    assert_int_equal(ref::encode(Type::e4m3, -464.0), 0xfe); // half a unit more, to even
    assert_int_equal(ref::encode(Type::e4m3, 465.0), 0x7f);
    assert_int_equal(ref::encode(Type::e4m3, INFINITY), 0x7f);
    assert_int_equal(ref::encode(Type::e4m3, std::ldexp(1.0, -9)), 1);
    assert_int_equal(ref::encode(Type::e4m3, std::ldexp(1.0, -10)), 0);
    assert_true(ref::decode(Type::e4m3, 0x78) == 256.0);
    assert_true(ref::decode(Type::e5m2, 0x7b) == 57344.0);
    assert_int_equal(ref::encode(Type::i32, -1.0), 0xffffffffu);
    assert_true(ref::decode(Type::i64, static_cast<uint64_t>(-5)) == -5.0);
}

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(every_16_bit_pattern_survives),
        cmocka_unit_test(every_e4m3_pattern_survives),
        cmocka_unit_test(every_e5m2_pattern_survives),
        cmocka_unit_test(integers_have_a_sign),
        cmocka_unit_test(midpoints_go_to_even),
        cmocka_unit_test(f32_agrees_with_the_compiler),
        cmocka_unit_test(known_values),
    };
    return cmocka_run_group_tests_name("formats", tests, nullptr, nullptr);
}
