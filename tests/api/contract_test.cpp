// SPDX-License-Identifier: Apache-2.0
// The promises of spark.h that belong to no operator: handles, struct sizes, exec, offline contexts, names, silence.
#include "example.h"

#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

// Last: cmocka defines fail() as a macro, which the C++ headers must not see.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
extern "C" {
#include <cmocka.h>
}

namespace {

spark_error fresh_error() {
    spark_error err{};
    err.struct_size = sizeof err;
    return err;
}

// Fails unless the call gave `wanted` and a sentence.
void refused(spark_status got, spark_status wanted, const spark_error& err, const char* what) {
    if (got != wanted) fail_msg("%s: %s, \"%s\"", what, spark_status_name(got), err.message);
    if (err.message[0] == 0 || err.status != wanted) fail_msg("%s: no message", what);
}

void dead_handles(void**) {
    spark_context* dead = api::make_context();
    assert_non_null(dead);
    spark_context_destroy(dead);
    char somewhere[64] = {};
    spark_context* const handles[] = {nullptr,
                                      dead,
                                      reinterpret_cast<spark_context*>(somewhere),
                                      reinterpret_cast<spark_context*>(reinterpret_cast<uintptr_t>(dead) + 1),
                                      reinterpret_cast<spark_context*>(uintptr_t{8}),
                                      reinterpret_cast<spark_context*>(~uintptr_t{0})};
    api::Arena arena(nullptr);
    api::Example e(*spark_op_at(0), arena);
    for (spark_context* ctx : handles) {
        const spark_status wanted = ctx ? SPARK_ERR_INVALID_HANDLE : SPARK_ERR_INVALID_NULL;
        const auto check = [&](spark_status got, const spark_error& err, const char* what) {
            // NULL is no handle either: both names are right for it.
            refused(got, !ctx && got == SPARK_ERR_INVALID_HANDLE ? got : wanted, err, what);
        };
        spark_error err = fresh_error();
        check(spark_op_query(ctx, e.head(), nullptr, &err), err, "query");
        check(spark_op_launch(ctx, e.head(), nullptr, &err), err, "launch");
        check(spark_op_prepare(ctx, e.head(), nullptr, &err), err, "prepare");
        uint64_t out = 77;
        check(spark_mem_alloc(ctx, 16, &out, &err), err, "alloc");
        check(spark_stream_create(ctx, &out, &err), err, "stream");
        check(spark_event_create(ctx, &out, &err), err, "event");
        check(spark_graph_begin(ctx, 0, &err), err, "graph");
        assert_int_equal(out, 77); // outputs of failed calls are untouched
    }
    spark_context_destroy(nullptr);
    spark_context_destroy(dead); // dead contexts are ignored
}

void null_pointers(void**) {
    spark_context* ctx = api::make_context();
    spark_error err = fresh_error();
    refused(spark_op_query(ctx, nullptr, nullptr, &err), SPARK_ERR_INVALID_NULL, err, "args");
    refused(spark_op_launch(ctx, nullptr, nullptr, &err), SPARK_ERR_INVALID_NULL, err, "args");
    refused(spark_mem_alloc(ctx, 16, nullptr, &err), SPARK_ERR_INVALID_NULL, err, "out");
    refused(spark_device_count(nullptr, &err), SPARK_ERR_INVALID_NULL, err, "count");
    refused(spark_device_query(0, nullptr, &err), SPARK_ERR_INVALID_NULL, err, "info");
    refused(spark_context_create(nullptr, nullptr, &err), SPARK_ERR_INVALID_NULL, err, "context");
    assert_int_equal(spark_op_query(ctx, nullptr, nullptr, nullptr), SPARK_ERR_INVALID_NULL); // err may be NULL
    spark_context_destroy(ctx);
}

void error_structs(void**) {
    spark_context* ctx = api::make_context();
    spark_error err;
    std::memset(&err, 0x5a, sizeof err);
    err.struct_size = 0; // left untouched
    spark_error before = err;
    spark_op_query(ctx, nullptr, nullptr, &err);
    assert_memory_equal(&err, &before, sizeof err);
    std::memset(&err, 0x5a, sizeof err);
    err.struct_size = 40; // an old caller with a short message: nothing beyond is written, and it ends with NUL
    spark_op_query(ctx, nullptr, nullptr, &err);
    const auto* raw = reinterpret_cast<const unsigned char*>(&err);
    for (size_t i = 40; i < sizeof err; ++i) assert_int_equal(raw[i], 0x5a);
    assert_non_null(std::memchr(err.message, 0, 40 - offsetof(spark_error, message)));
    spark_context_destroy(ctx);
}

void exec_rules(void**) {
    spark_context* ctx = api::make_context();
    api::Arena arena(ctx);
    for (uint32_t i = 0; i < spark_op_count(); ++i) {
        api::Example e(*spark_op_at(i), arena);
        const auto with = [&](const char* what, spark_status wanted, auto change) {
            spark_exec exec{};
            exec.struct_size = sizeof exec;
            change(exec);
            spark_error err = fresh_error();
            refused(spark_op_launch(ctx, e.head(), &exec, &err), wanted, err, what);
        };
        with("exec.struct_size 0", SPARK_ERR_INVALID_STRUCT_SIZE, [](auto& x) { x.struct_size = 0; });
        with("exec.struct_size 4", SPARK_ERR_INVALID_STRUCT_SIZE, [](auto& x) { x.struct_size = 4; });
        with("exec.flags", SPARK_ERR_INVALID_RESERVED, [](auto& x) { x.flags = 1; });
        with("exec.kernel_id", SPARK_ERR_INVALID_VALUE, [](auto& x) { x.kernel_id = 12345; });
        with("exec.workspace misaligned", SPARK_ERR_INVALID_ALIGNMENT,
             [](auto& x) { x.workspace = 8, x.workspace_size = 8; });
        spark_op_info info{};
        info.struct_size = sizeof info;
        assert_int_equal(spark_op_query(ctx, e.head(), &info, nullptr), SPARK_OK);
        if (info.workspace_size == 0) continue;
        with("workspace one byte short", SPARK_ERR_WORKSPACE_TOO_SMALL, [&](auto& x) {
            x.workspace = arena.take(info.workspace_size);
            x.workspace_size = info.workspace_size - 1;
        });
        with("no workspace", SPARK_ERR_WORKSPACE_TOO_SMALL, [](auto&) {});
    }
    assert_true(arena.untouched());
    spark_context_destroy(ctx);
}

// A kernel of another operator, or one whose limits the problem fails, is refused by its id.
void foreign_kernels(void**) {
    spark_context* ctx = api::make_context();
    api::Arena arena(ctx);
    if (spark_op_count() < 2) return;
    api::Example first(*spark_op_at(0), arena), second(*spark_op_at(1), arena);
    spark_op_info info{};
    info.struct_size = sizeof info;
    assert_int_equal(spark_op_query(ctx, second.head(), &info, nullptr), SPARK_OK);
    spark_exec exec{};
    exec.struct_size = sizeof exec;
    exec.kernel_id = info.kernel_id;
    spark_error err = fresh_error();
    refused(spark_op_launch(ctx, first.head(), &exec, &err), SPARK_ERR_INVALID_VALUE, err,
            "a kernel of another operator");
    spark_context_destroy(ctx);
}

// With SPARK_FLAG_BATCH_INVARIANT the number of rows chooses neither kernel nor workspace, which is what a row's bits
// could follow from.
void batch_invariance(void**) {
    spark_context* ctx = api::make_context();
    std::string kernel;
    for (int64_t rows : {1, 8, 9, 16, 17, 64, 65, 200, 5000}) {
        spark_gemm_args gemm{};
        gemm.hdr.struct_size = sizeof gemm, gemm.hdr.op = SPARK_OP_GEMM, gemm.hdr.flags = SPARK_FLAG_BATCH_INVARIANT;
        gemm.a.dtype = gemm.b.dtype = gemm.d.dtype = SPARK_DTYPE_BF16;
        gemm.a.ndim = gemm.b.ndim = gemm.d.ndim = 2;
        gemm.a.shape[0] = gemm.d.shape[0] = rows;
        gemm.b.shape[0] = gemm.d.shape[1] = 576;
        gemm.a.shape[1] = gemm.b.shape[1] = 4096;
        spark_op_info info{};
        info.struct_size = sizeof info;
        assert_int_equal(spark_op_query(ctx, &gemm.hdr, &info, nullptr), SPARK_OK);
        assert_int_equal(info.workspace_size, 0);
        if (kernel.empty()) kernel = info.kernel;
        assert_string_equal(info.kernel, kernel.c_str());
    }
    spark_context_destroy(ctx);
}

// Without any driver: every question is answered, every launch refused.
void offline(void**) {
    for (uint32_t arch : {120u, 121u}) {
        spark_context* ctx = api::make_context(arch);
        assert_non_null(ctx);
        for (uint32_t i = 0; i < spark_op_count(); ++i) {
            api::Arena arena(nullptr);
            api::Example e(*spark_op_at(i), arena);
            spark_op_info info{};
            info.struct_size = sizeof info;
            assert_int_equal(spark_op_query(ctx, e.head(), &info, nullptr), SPARK_OK);
            assert_true(info.kernel[0] != 0);
            char text[8192];
            size_t needed = 0;
            assert_int_equal(spark_op_explain(ctx, e.head(), text, sizeof text, &needed, nullptr), SPARK_OK);
            assert_int_equal(std::strlen(text) + 1, needed);
            assert_non_null(std::strstr(text, info.kernel));
            uint32_t count = 0;
            assert_int_equal(spark_op_kernels(ctx, e.head(), nullptr, 0, &count, nullptr), SPARK_OK);
            assert_true(count >= 1);
            spark_error err = fresh_error();
            assert_int_not_equal(spark_op_launch(ctx, e.head(), nullptr, &err), SPARK_OK);
            assert_true(err.message[0] != 0);
        }
        spark_context_destroy(ctx);
    }
    spark_context_desc desc{};
    desc.struct_size = sizeof desc;
    desc.offline_arch = 100;
    spark_context* ctx = nullptr;
    spark_error err = fresh_error();
    refused(spark_context_create(&desc, &ctx, &err), SPARK_ERR_UNSUPPORTED_ARCH, err, "arch 10.0");
    assert_null(ctx);
}

void at_most_64_contexts(void**) {
    std::vector<spark_context*> all;
    for (spark_context* ctx = api::make_context(120); ctx; ctx = api::make_context(120)) all.push_back(ctx);
    assert_int_equal(all.size(), 64);
    for (spark_context* ctx : all) spark_context_destroy(ctx);
    spark_context* again = api::make_context(120);
    assert_non_null(again);
    spark_context_destroy(again);
}

void names(void**) {
    for (int status : {0, 1000, 1001, 1014, 2000, 2007, 3000, 3003, 4000, 4001})
        assert_int_equal(std::strncmp(spark_status_name(static_cast<spark_status>(status)),
                                      status ? "SPARK_ERR_" : "SPARK_OK", status ? 10 : 8),
                         0);
    assert_string_equal(spark_status_name(static_cast<spark_status>(777)), "SPARK_STATUS_UNKNOWN");
    assert_string_equal(spark_dtype_name(SPARK_DTYPE_BF16), "BF16");
    assert_string_equal(spark_dtype_name(static_cast<spark_dtype>(77)), "UNKNOWN");
    assert_int_equal(spark_version(), SPARK_VERSION_MAJOR * 10000 + SPARK_VERSION_MINOR * 100 + SPARK_VERSION_PATCH);
    assert_int_equal(spark_build_info()[0], '{');
    for (uint32_t i = 0; i < spark_op_count(); ++i)
        assert_ptr_equal(spark_op_describe(spark_op_at(i)->op), spark_op_at(i));
    assert_null(spark_op_at(spark_op_count()));
    assert_null(spark_op_describe(0));
}

// A default run writes nothing: stdout and stderr go to a file, which stays empty through right and wrong calls.
void silence(void**) {
    char path[] = "/tmp/spark-silence-XXXXXX";
    const int file = mkstemp(path), out = dup(1), err = dup(2);
    dup2(file, 1), dup2(file, 2);
    spark_context* ctx = api::make_context();
    {
        api::Arena arena(ctx);
        api::Example e(*spark_op_at(0), arena);
        spark_op_launch(ctx, e.head(), nullptr, nullptr);
        spark_stream_synchronize(ctx, 0, nullptr);
        spark_op_launch(ctx, nullptr, nullptr, nullptr);
    }
    spark_context_destroy(ctx);
    dup2(out, 1), dup2(err, 2);
    struct stat written {};
    fstat(file, &written);
    close(file), close(out), close(err), unlink(path);
    assert_int_equal(written.st_size, 0);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(silence),          cmocka_unit_test(dead_handles),        cmocka_unit_test(null_pointers),
        cmocka_unit_test(error_structs),    cmocka_unit_test(exec_rules),          cmocka_unit_test(foreign_kernels),
        cmocka_unit_test(offline),          cmocka_unit_test(at_most_64_contexts), cmocka_unit_test(names),
        cmocka_unit_test(batch_invariance),
    };
    return cmocka_run_group_tests_name("api.contract", tests, nullptr, nullptr);
}
