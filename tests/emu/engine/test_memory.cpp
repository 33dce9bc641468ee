// SPDX-License-Identifier: Apache-2.0
// The allocator and the defined bits.
#include "engine_test.h"

#include <algorithm>

namespace {

void allocations(void**) {
    emu::Memory m(1 << 20);
    uint64_t a = m.alloc(1000), b = m.alloc(10);
    assert_true(a && b && a % 512 == 0 && b - a > 64 * 1024);
    assert_int_equal(m.alloc(1 << 20), 0); // more than is left
    assert_true(m.contains(a, 1000));
    assert_false(m.contains(a, 1001));
    assert_non_null(m.lookup(a + 999));
    assert_null(m.lookup(a + 4096));
    assert_false(m.free(a + 8));
    assert_true(m.free(a));
    assert_false(m.free(a));
    assert_null(m.find(a));
    assert_int_equal(m.used(), 10);
    assert_non_null(strstr(m.describe(a + 5).c_str(), "5 bytes into freed allocation 1"));
    assert_non_null(strstr(m.describe(b + 12).c_str(), "2 bytes past the end of allocation 2"));
    assert_non_null(strstr(m.describe(b - 3).c_str(), "3 bytes before the start of allocation 2"));
}
void reuse(void**) {
    emu::Memory m(1 << 20);
    for (int i = 0; i < 20000; i++) { // far more than the address range holds at once
        uint64_t a = m.alloc(100000);
        assert_true(a != 0);
        assert_false(m.is_defined(a, 1));
        m.mark_defined(a, 100000);
        assert_true(m.free(a));
    }
    assert_int_equal(m.used(), 0);
}
void a_long_run_stays_small(void**) {
    emu::Memory m(1 << 30);
    const uint64_t first = m.alloc(100000);
    uint64_t last = first;
    m.free(first);
    for (int i = 0; i < 1000; i++) m.free(m.alloc(100000));
    assert_non_null(strstr(m.describe(first).c_str(), "freed allocation 1"));
    for (int i = 0; i < 20000; i++) {
        const uint64_t a = m.alloc(100000);
        last = std::max(last, a);
        m.free(a);
    }
    assert_in_range(last - first, 1, 1100 * 210000); // a range and its red zone, for each freed one that is remembered
}
void takes_the_first_hole_with_room(void**) {
    emu::Memory m(64 << 20);
    const uint64_t large = m.alloc(1 << 20);
    static uint64_t small[3000];
    for (uint64_t& s : small) s = m.alloc(256);
    const auto release = [&](int first) { // more than are kept from reuse: what was freed before can be taken again
        for (int i = first; i < 3000; i += 2) assert_true(m.free(small[i]));
    };
    assert_true(m.free(large));
    release(0);
    assert_int_equal(m.alloc(1 << 19), large);
    assert_in_range(m.alloc(1 << 15), large, small[0]); // what the last one left
    assert_true(m.alloc(1 << 20) > small[2999]);        // it leaves no more
    assert_in_range(m.alloc(1 << 15), large, small[0]); // a larger one has looked further on
    assert_true(m.free(large));
    release(1);
    assert_int_equal(m.alloc(1 << 19), large);
}
void overlapping_copies_keep_what_is_defined(void**) {
    for (int shift : {-5, 5}) {
        emu::Memory m(1 << 20);
        const uint64_t a = m.alloc(256), from = a + 64, to = from + uint64_t(shift);
        m.write(from, "123", 3);
        m.write(from + 8, "456", 3);
        m.copy(to, from, 16);
        for (uint64_t i = 0; i < 16; i++) assert_int_equal(m.is_defined(to + i, 1), i < 3 || (i >= 8 && i < 11));
    }
}
void no_more_than_the_host_has(void**) {
    emu::Memory m(1ull << 46);
    assert_true(m.room() < 1ull << 45); // of a host with less than 32 TiB
    assert_int_equal(m.alloc(m.room() + 1), 0);
    assert_int_equal(m.alloc(UINT64_MAX), 0);
}
void defined(void**) {
    emu::Memory m(1 << 20);
    uint64_t a = m.alloc(256), b = m.alloc(256);
    m.write(a + 3, "12345678901", 11);
    assert_true(m.is_defined(a + 3, 11));
    assert_false(m.is_defined(a + 2, 2));
    assert_false(m.is_defined(a + 13, 2));
    m.copy(b, a, 20);
    assert_true(m.is_defined(b + 3, 11));
    assert_false(m.is_defined(b + 14, 1));
    uint32_t word = 0x01020304;
    m.fill(a, &word, 4, 64);
    assert_true(m.is_defined(a, 256));
    assert_true(m.find(a)->all_defined.load());
}
void defined_in_part(void**) {
    emu::Memory m(1 << 20);
    const uint64_t a = m.alloc(256);
    m.mark_defined(a, 256);
    m.store_undefined(a + 5, 0x0f);
    m.store_undefined(a + 6, 0xff);
    assert_false(m.find(a)->all_defined.load());
    assert_int_equal(m.undefined_bits(a + 4), 0);
    assert_int_equal(m.undefined_bits(a + 5), 0x0f);
    assert_int_equal(m.undefined_bits(a + 6), 0xff);
    m.copy(a + 6, a + 5, 2); // over itself
    assert_int_equal(m.undefined_bits(a + 6), 0x0f);
    assert_int_equal(m.undefined_bits(a + 7), 0xff);
    m.mark_defined(a + 5, 1);
    assert_int_equal(m.undefined_bits(a + 5), 0);
    m.mark_undefined(a + 5, 1);
    assert_int_equal(m.undefined_bits(a + 5), 0xff);
}
} // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(allocations),
                                cmocka_unit_test(reuse),
                                cmocka_unit_test(a_long_run_stays_small),
                                cmocka_unit_test(takes_the_first_hole_with_room),
                                cmocka_unit_test(overlapping_copies_keep_what_is_defined),
                                cmocka_unit_test(no_more_than_the_host_has),
                                cmocka_unit_test(defined),
                                cmocka_unit_test(defined_in_part)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
