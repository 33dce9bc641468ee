// SPDX-License-Identifier: Apache-2.0
// The oracle of sample against what is known without it: the vectors that Philox was published with, small rows worked
// by hand, and the chi-square test of many draws. Kernels are held to the oracle draw by draw, so that what is random
// here is random there.
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
extern "C" {
#include <cmocka.h>
}

#include "ref/sample.h"

#include <cmath>

namespace {

constexpr ref::WeightError EXACT = {};

int64_t only(const std::vector<int64_t>& ids) {
    assert_int_equal(ids.size(), 1);
    return ids[0];
}

// tests/kat_vectors of Random123 (Salmon and others, D. E. Shaw Research), lines "philox4x32 10".
void philox_gives_the_published_words(void**) {
    struct Vector {
        std::array<uint32_t, 4> counter;
        std::array<uint32_t, 2> key;
        std::array<uint32_t, 4> words;
    };
    const Vector vectors[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (const Vector& v : vectors) {
        assert_true(ref::philox(v.counter, v.key) == v.words);
    }
    assert_true(ref::drawn_number(0, 0, 0) == 0xe169c58d6627e8d5u);
    assert_true(ref::drawn_number(0x299f31d0a4093822u, 0x85a308d3243f6a88u, 0x13198a2e) !=
                ref::drawn_number(0x299f31d0a4093822u, 0x85a308d3243f6a88u, 0x13198a2f));
}

// Weights 1/2, 1/8, 1/4, 1/8 at indices 0 to 3. A drawn number of q quarters of 2^64.
void filters_keep_what_they_should(void**) {
    const double l[] = {std::log(4.0), 0, std::log(2.0), 0};
    const auto id = [&](ref::Sample op, double q) {
        op.temperature = op.temperature == 0 ? 1 : op.temperature;
        return only(ref::sample_row(op, l, static_cast<uint64_t>(std::ldexp(q, 62)), EXACT));
    };
    assert_int_equal(id({}, 1.9), 0);
    assert_int_equal(id({}, 2.1), 1);
    assert_int_equal(id({}, 2.6), 2);
    assert_int_equal(id({}, 3.9), 3);
    assert_int_equal(id({.top_k = 3}, 3.9), 2);   // of the equal tokens 1 and 3 the lower index is kept: 0, 1, 2
    assert_int_equal(id({.top_k = 3}, 2.5), 1);   // 4/7 of 4 quarters is 2.29
    assert_int_equal(id({.top_p = 0.6}, 3.9), 2); // 1/2 is not yet 0.6: the token that passes it is kept
    assert_int_equal(id({.top_p = 0.4}, 3.9), 0);
    assert_int_equal(id({.top_p = 0.6, .top_k = 2}, 3.9), 0); // 2/3 of what top-k leaves is more than 0.6
    assert_int_equal(id({.min_p = 0.3}, 3.9), 2);             // 1/4 is half of the largest
    assert_int_equal(id({.min_p = 0.6}, 3.9), 0);
    assert_int_equal(id({.temperature = 4, .min_p = 0.6}, 3.9), 3); // (1/4)^(1/4) is above 0.6
    assert_int_equal(id({.temperature = 0, .top_k = 0}, 0), 0);
}

void rows_without_an_answer(void**) {
    const double inf = INFINITY;
    assert_int_equal(only(ref::sample_row({}, std::vector<double>{1, NAN}, 0, EXACT)), -1);
    assert_int_equal(only(ref::sample_row({}, std::vector<double>{-inf, -inf}, 0, EXACT)), -1);
    assert_int_equal(only(ref::sample_row({}, std::vector<double>{}, 0, EXACT)), -1);
    assert_int_equal(only(ref::sample_row({.temperature = -1}, std::vector<double>{1}, 0, EXACT)), -1);
    assert_int_equal(only(ref::sample_row({.temperature = 1}, std::vector<double>{1, inf, 3, inf}, 1ull << 63, EXACT)),
                     3);
    assert_int_equal(only(ref::sample_row({}, std::vector<double>{-0.0, 0.0}, 0, EXACT)), 0);
}

// 20,000 rows of one call, 12 tokens. For 11 degrees of freedom chi-square is above 31.3 once in a thousand times; the
// seed is fixed.
void draws_have_the_wanted_distribution(void**) {
    const std::vector<double> logits = {0.3, -1, 2, 0.5, 0, 1.5, -0.7, 0.1, 1, -2, 0.9, 0.6};
    const int64_t rows = 20000;
    for (const ref::Sample& op :
         {ref::Sample{.temperature = 1}, ref::Sample{.temperature = 0.7}, ref::Sample{.temperature = 1.3, .top_k = 9},
          ref::Sample{.temperature = 1, .top_p = 0.9}}) {
        std::vector<int64_t> seen(logits.size());
        for (uint32_t row = 0; row < rows; ++row) {
            ++seen[static_cast<size_t>(only(ref::sample_row(op, logits, ref::drawn_number(2026, 7, row), EXACT)))];
        }
        double total = 0, chi_square = 0;
        for (size_t j = 0; j < logits.size(); ++j) {
            total += seen[j] == 0 ? 0 : std::exp(logits[j] / op.temperature);
        }
        for (size_t j = 0; j < logits.size(); ++j) {
            const double wanted = static_cast<double>(rows) * std::exp(logits[j] / op.temperature) / total;
            chi_square += seen[j] == 0 ? 0 : std::pow(static_cast<double>(seen[j]) - wanted, 2) / wanted;
        }
        assert_true(chi_square < 31.3);
    }
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_the_published_words),
        cmocka_unit_test(filters_keep_what_they_should),
        cmocka_unit_test(rows_without_an_answer),
        cmocka_unit_test(draws_have_the_wanted_distribution),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
