// SPDX-License-Identifier: Apache-2.0
// What a call costs the host: a prepared launch, and the query before it, allocate no memory. This program's own malloc
// counts the calls that come from libspark.so; those of the driver are its own affair.
#include "example.h"

#include <cstring>
#include <link.h>

// Last: cmocka defines fail() as a macro, which the C++ headers must not see.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
extern "C" {
#include <cmocka.h>
}

namespace {

struct Range {
    uintptr_t begin = 0, end = 0;
};
Range library;
int64_t allocations = 0; // by the library

void count(const void* caller) {
    const auto at = reinterpret_cast<uintptr_t>(caller);
    allocations += at >= library.begin && at < library.end;
}

} // namespace

// glibc's own, under the names by which it keeps them for programs that replace malloc.
extern "C" {
void* __libc_malloc(size_t bytes);                // NOLINT(bugprone-reserved-identifier)
void* __libc_calloc(size_t count, size_t bytes);  // NOLINT(bugprone-reserved-identifier)
void* __libc_realloc(void* memory, size_t bytes); // NOLINT(bugprone-reserved-identifier)

void* malloc(size_t bytes) {
    count(__builtin_return_address(0));
    return __libc_malloc(bytes);
}
void* calloc(size_t number, size_t bytes) {
    count(__builtin_return_address(0));
    return __libc_calloc(number, bytes);
}
void* realloc(void* memory, size_t bytes) {
    count(__builtin_return_address(0));
    return __libc_realloc(memory, bytes);
}
}

namespace {

int find_library(dl_phdr_info* info, size_t, void*) {
    if (std::strstr(info->dlpi_name, "/libspark.so") == nullptr) return 0;
    library.begin = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; ++i)
        library.end =
            std::max<uintptr_t>(library.end, info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz);
    return 1;
}

// How many times the library allocates in a call that must succeed.
template <class Call> int64_t allocated(const Call& call) {
    spark_error err{};
    err.struct_size = sizeof err;
    const int64_t before = allocations;
    if (call(&err) != SPARK_OK) fail_msg("%s", err.message);
    return allocations - before;
}

void making_a_context_is_seen_to_allocate(void**) {
    spark_context_desc desc{};
    desc.struct_size = sizeof desc;
    desc.offline_arch = 120;
    spark_context* ctx = nullptr;
    assert_true(allocated([&](spark_error* err) { return spark_context_create(&desc, &ctx, err); }) > 0);
    spark_context_destroy(ctx);
}

void a_launch_allocates_nothing(void**) {
    spark_context* ctx = api::make_context();
    assert_non_null(ctx);
    for (uint32_t i = 0; i < spark_op_count(); ++i) {
        api::Arena arena(ctx);
        api::Example e(*spark_op_at(i), arena);
        spark_op_info info{};
        info.struct_size = sizeof info;
        allocated([&](spark_error* err) { return spark_op_prepare(ctx, e.head(), &info, err); });
        const int64_t query = allocated([&](spark_error* err) { return spark_op_query(ctx, e.head(), &info, err); });
        const int64_t launch =
            allocated([&](spark_error* err) { return spark_op_launch(ctx, e.head(), nullptr, err); });
        if (query + launch != 0)
            fail_msg("%s: %lld allocations in a query, %lld in a launch", spark_op_at(i)->name,
                     static_cast<long long>(query), static_cast<long long>(launch));
        allocated([&](spark_error* err) { return spark_stream_synchronize(ctx, 0, err); });
    }
    spark_context_destroy(ctx);
}

} // namespace

int main() {
    dl_iterate_phdr(find_library, nullptr);
    const CMUnitTest tests[] = {
        cmocka_unit_test(making_a_context_is_seen_to_allocate),
        cmocka_unit_test(a_launch_allocates_nothing),
    };
    return cmocka_run_group_tests_name("api.host", tests, nullptr, nullptr);
}
