// SPDX-License-Identifier: Apache-2.0
// The ratio that rope's kernels get, against exact rational arithmetic: each is the largest number of units of 2^-64
// whose power times theta does not exceed 1. A host's own floating point would be a unit off in about half of them.
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
extern "C" {
#include <cmocka.h>
}

#include "ops/rope/ratio.h"

static void ratios_are_exact(void**) {
    static const struct {
        float theta;
        int64_t pairs;
        uint64_t ratio;
    } KNOWN[] = {
        {10000, 8, 0x50f44d8921243b6c},       {10000, 9, 0x5c006acf65587a68},    {10000, 14, 0x8498348bc69bc2d2},
        {10000, 16, 0x8ff599e0e1c0f08b},      {10000, 32, 0xbff911208aeccc9a},   {10000, 64, 0xddafd68055916068},
        {500000, 64, 0xd08ac14a2bfdeed7},     {1000000, 64, 0xce4bac722c332c88}, {2, 1, 0x8000000000000000},
        {4, 2, 0x8000000000000000},           {16, 8, 0xb504f333f9de6484},       {3e38f, 3, 0x2a0bf9},
        {1.0000001f, 64, 0xfffffff80000081f}, {1.5f, 128, 0xff30baf65c07c9d8},
    };
    for (const auto& known : KNOWN) {
        assert_true(spark::rope_ratio(known.theta, known.pairs) == known.ratio);
    }
}

int main() {
    const struct CMUnitTest tests[] = {cmocka_unit_test(ratios_are_exact)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
