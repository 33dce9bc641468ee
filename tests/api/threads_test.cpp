// SPDX-License-Identifier: Apache-2.0
// Sixteen threads on one context, started together: every kernel is loaded once, every call succeeds, and under
// ThreadSanitizer nothing races. Contexts, streams and events come and go at the same time.
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

// One thread's work: the first operators, each on its own memory and stream, through prepare, launch and explain.
int use_operators(spark_context* ctx, int rounds, uint32_t count = spark_op_count()) {
    int failures = 0;
    spark_stream stream = 0;
    failures += spark_stream_create(ctx, nullptr, &stream, nullptr) != SPARK_OK;
    for (int round = 0; round < rounds; ++round)
        for (uint32_t i = 0; i < count; ++i) {
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
    assert_int_equal(together([=] { return use_operators(ctx, 2); }), 0);
    const int64_t loads = api::driver_calls("cuLibraryGetKernel");
    // Each operator's example needs one kernel. A cubin that the device refuses is followed by the PTX text, so a
    // kernel may ask twice, but never once per thread.
    if (loads >= 0) assert_in_range(static_cast<uint64_t>(loads), 1, 4 * spark_op_count());
    assert_int_equal(use_operators(ctx, 1), 0);
    if (loads >= 0) assert_int_equal(api::driver_calls("cuLibraryGetKernel"), loads);
    spark_context_destroy(ctx);
}

void contexts_come_and_go(void**) {
    const auto work = [] {
        int failures = 0;
        for (int round = 0; round < 3; ++round) {
            spark_context* ctx = api::make_context();
            failures += ctx == nullptr || use_operators(ctx, 1, round == 0 ? spark_op_count() : 2);
            spark_context_destroy(ctx);
            spark_context_destroy(ctx); // once more: the context of another thread may have its place by now
        }
        return failures;
    };
    assert_int_equal(together(work), 0);
}

// One thread destroys the context that all of them use: every call succeeds or finds it dead, and what was made in it
// ends with it.
void a_context_ends_under_its_calls(void**) {
    constexpr int ROUNDS = 20, CALLS = 5;
    for (int round = 0; round < ROUNDS; ++round) {
        spark_context* ctx = api::make_context();
        assert_non_null(ctx);
        const int64_t made = api::driver_calls("cuStreamCreateWithPriority");
        const int64_t ended = api::driver_calls("cuStreamDestroy_v2");
        std::atomic<int> arrived{0};
        const auto work = [&] {
            const bool destroys = arrived.fetch_add(1) == 0;
            int failures = 0;
            for (int call = 0;; ++call) {
                if (destroys && call == CALLS) spark_context_destroy(ctx);
                spark_stream stream = 0;
                const spark_status got = call % 2 == 0 ? spark_stream_create(ctx, nullptr, &stream, nullptr)
                                                       : spark_context_preload(ctx, SPARK_OP_ADD, nullptr);
                if (got == SPARK_ERR_INVALID_HANDLE) return failures;
                failures += got != SPARK_OK || (destroys && call >= CALLS);
                if (call > 1'000'000) return failures + 1;
            }
        };
        assert_int_equal(together(work), 0);
        assert_int_equal(api::driver_calls("cuStreamDestroy_v2") - ended,
                         api::driver_calls("cuStreamCreateWithPriority") - made);
    }
}

// Each thread makes, uses and destroys what it finds in places that all of them share: every call succeeds, or finds
// the handle dead. Nothing reaches the driver that another thread has destroyed.
void handles_come_and_go(void**) {
    constexpr uint32_t PLACES = 4, ROUNDS = 300;
    spark_context* ctx = api::make_context();
    assert_non_null(ctx);
    std::atomic<spark_stream> streams[PLACES]{};
    std::atomic<spark_event> events[PLACES]{};
    std::atomic<uint32_t> seeds{1};
    const auto wrong = [](spark_status got) { return got != SPARK_OK && got != SPARK_ERR_INVALID_HANDLE; };
    const auto work = [&] {
        uint32_t random = seeds.fetch_add(7919);
        int failures = 0;
        for (uint32_t round = 0; round < ROUNDS; ++round) {
            random = random * 1664525 + 1013904223;
            std::atomic<spark_stream>& stream = streams[random >> 16 & (PLACES - 1)];
            std::atomic<spark_event>& event = events[random >> 20 & (PLACES - 1)];
            uint32_t done = 0;
            spark_stream made = 0, old = stream.load();
            spark_event point = 0, passed = event.load();
            switch (random >> 28) {
            case 0:
            case 1:
                failures += spark_stream_create(ctx, nullptr, &made, nullptr) != SPARK_OK;
                failures += wrong(spark_stream_destroy(ctx, stream.exchange(made), nullptr));
                break;
            case 2:
            case 3:
                failures += spark_event_create(ctx, nullptr, &point, nullptr) != SPARK_OK;
                failures += wrong(spark_event_destroy(ctx, event.exchange(point), nullptr));
                break;
            case 4: failures += wrong(spark_stream_destroy(ctx, old, nullptr)); break;
            case 5: failures += wrong(spark_event_destroy(ctx, passed, nullptr)); break;
            case 6: failures += wrong(spark_stream_synchronize(ctx, old, nullptr)); break;
            case 7: failures += wrong(spark_stream_query(ctx, old, &done, nullptr)); break;
            default:
                if (passed == 0) break;
                failures += wrong(spark_event_record(ctx, passed, old, nullptr));
                failures += wrong(spark_stream_wait_event(ctx, old, passed, nullptr));
                failures += wrong(spark_event_query(ctx, passed, &done, nullptr));
            }
        }
        return failures;
    };
    assert_int_equal(together(work), 0);
    spark_context_destroy(ctx);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(one_context), cmocka_unit_test(contexts_come_and_go),
                                cmocka_unit_test(a_context_ends_under_its_calls),
                                cmocka_unit_test(handles_come_and_go)};
    return cmocka_run_group_tests_name("api.threads", tests, nullptr, nullptr);
}
