// SPDX-License-Identifier: Apache-2.0
// What the tests of spark.hpp share: calls that must throw, and cmocka.
#pragma once

#include <spark.hpp>

#include <cstring>
#include <optional>

// Last: cmocka defines fail() as a macro, which the C++ headers must not see.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
extern "C" {
#include <cmocka.h>
}

// What a call throws; nothing if it does not.
template <class Call> std::optional<spark::error> thrown(Call&& call) {
    try {
        call();
    } catch (const spark::error& found) {
        return found;
    }
    return std::nullopt;
}

template <class Call> void expect(spark_status wanted, Call&& call) {
    const auto found = thrown(call);
    assert_int_equal(found ? found->status() : SPARK_OK, wanted);
    if (found) assert_true(std::strstr(found->what(), ": ") != nullptr);
}
