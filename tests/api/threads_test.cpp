// SPDX-License-Identifier: Apache-2.0
// Sixteen threads on one context, started together: every kernel is loaded once, every call succeeds, and under
// ThreadSanitizer nothing races. Contexts come and go at the same time.
#include "emulator.h"
#include "example.h"

#include <atomic>
#include <barrier>
#include <thread>

// Last: cmocka defines fail() as a macro, which the C++ headers must not see.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
extern "C" {
#include <cmocka.h>
}

namespace {

constexpr int THREADS = 16;

// One thread's work: each operator on its own memory and stream, through prepare, launch and explain.
int use_every_operator(spark_context* ctx, int rounds) {
    int failures = 0;
    spark_stream stream = 0;
    failures += spark_stream_create(ctx, nullptr, &stream, nullptr) != SPARK_OK;
    for (int round = 0; round < rounds; ++round)
        for (uint32_t i = 0; i < spark_op_count(); ++i) {
            api::Arena arena(ctx);
            api::Example e(*spark_op_at(i), arena);
            spark_exec exec{};
            exec.struct_size = sizeof exec;
            exec.stream = stream;
            size_t needed = 0;
            failures += spark_op_prepare(ctx, e.head(), nullptr, nullptr) != SPARK_OK;
            failures += spark_op_launch(ctx, e.head(), &exec, nullptr) != SPARK_OK;
            failures += spark_op_explain(ctx, e.head(), nullptr, 0, &needed, nullptr) != SPARK_ERR_BUFFER_TOO_SMALL;
            failures += spark_stream_synchronize(ctx, stream, nullptr) != SPARK_OK;
        }
    failures += spark_stream_destroy(ctx, stream, nullptr) != SPARK_OK;
    return failures;
}

// Runs work() on all threads, started together; returns the sum of what it returned.
template <class Work> int together(Work work) {
    std::barrier start(THREADS);
    std::atomic<int> failures = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < THREADS; ++t)
        threads.emplace_back([&] {
            start.arrive_and_wait();
            failures += work();
        });
    for (std::thread& thread : threads) thread.join();
    return failures;
}

void one_context(void**) {
    spark_context* ctx = api::make_context();
    assert_non_null(ctx);
    assert_int_equal(together([=] { return use_every_operator(ctx, 2); }), 0);
    const int64_t loads = api::driver_calls("cuLibraryGetKernel");
    // Each operator's example needs one kernel. A cubin that the device refuses is followed by the PTX text, so a
    // kernel may ask twice, but never once per thread.
    if (loads >= 0) assert_in_range(static_cast<uint64_t>(loads), 1, 4 * spark_op_count());
    assert_int_equal(use_every_operator(ctx, 1), 0);
    if (loads >= 0) assert_int_equal(api::driver_calls("cuLibraryGetKernel"), loads);
    spark_context_destroy(ctx);
}

void contexts_come_and_go(void**) {
    const auto work = [] {
        int failures = 0;
        for (int round = 0; round < 3; ++round) {
            spark_context* ctx = api::make_context();
            failures += ctx == nullptr || use_every_operator(ctx, 1);
            spark_context_destroy(ctx);
            spark_context_destroy(ctx); // once more: the context of another thread may have its place by now
        }
        return failures;
    };
    assert_int_equal(together(work), 0);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(one_context), cmocka_unit_test(contexts_come_and_go)};
    return cmocka_run_group_tests_name("api.threads", tests, nullptr, nullptr);
}
