// SPDX-License-Identifier: Apache-2.0
// What a call of a test gave. Includes cmocka, which defines fail() as a macro: to be included last.
#pragma once

#include "example.h"

#include <cstring>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
extern "C" {
#include <cmocka.h>
}

inline spark_context* g_ctx;
inline spark_error g_err;

inline void ok(spark_status got) {
    if (got != SPARK_OK) fail_msg("%s: %s", spark_status_name(got), g_err.message);
}

inline spark_error fresh_error() {
    spark_error err{};
    err.struct_size = sizeof err;
    return err;
}

// The call, which is `what`, gave `wanted` and a sentence.
inline void refused(spark_status got, spark_status wanted, const spark_error& err, const char* what) {
    if (got != wanted) fail_msg("%s: %s, \"%s\"", what, spark_status_name(got), err.message);
    if (err.message[0] == 0 || err.status != wanted) fail_msg("%s: no message", what);
}

// The call gave `wanted` and a sentence with `part` in it.
inline void refused(spark_status got, spark_status wanted, const char* part) {
    if (got != wanted) fail_msg("%s where \"%s\" was expected: %s", spark_status_name(got), part, g_err.message);
    if (std::strstr(g_err.message, part) == nullptr) fail_msg("\"%s\" lacks \"%s\"", g_err.message, part);
}

inline int set_up(void**) {
    g_err.struct_size = sizeof g_err;
    g_ctx = api::make_context();
    return g_ctx == nullptr;
}

inline int tear_down(void**) {
    spark_context_destroy(g_ctx);
    return 0;
}
