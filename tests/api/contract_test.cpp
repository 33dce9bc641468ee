// SPDX-License-Identifier: Apache-2.0
// The promises of spark.h that belong to no operator: handles, struct sizes, offline contexts, names, silence.
#include <algorithm>
#include <dlfcn.h>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include "outcome.h"

namespace {

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
        check(spark_stream_create(ctx, nullptr, &out, &err), err, "stream");
        check(spark_event_create(ctx, nullptr, &out, &err), err, "event");
        check(spark_graph_begin(ctx, 0, nullptr, &err), err, "graph");
        assert_int_equal(out, 77); // outputs of failed calls are untouched
    }
    spark_context_destroy(nullptr);
    spark_context_destroy(dead); // dead contexts are ignored
}

// A handle dies with its context, also when a younger one has taken its place in the library.
void handles_do_not_come_back(void**) {
    std::vector<spark_context*> dead;
    for (int i = 0; i < 200; ++i) { // more than there are places
        spark_context* ctx = api::make_context(120);
        assert_non_null(ctx);
        for (spark_context* old : dead) {
            assert_ptr_not_equal(old, ctx);
            spark_context_destroy(old); // a second time
        }
        spark_device_info info{};
        info.struct_size = sizeof info;
        assert_int_equal(spark_context_device(ctx, &info, nullptr), SPARK_OK);
        for (spark_context* old : dead) {
            spark_error err = fresh_error();
            refused(spark_context_device(old, &info, &err), SPARK_ERR_INVALID_HANDLE, err, "a dead handle");
        }
        spark_context_destroy(ctx);
        dead.push_back(ctx);
    }
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

// Every operator's own call, found by its name.
using OwnCall = spark_status (*)(spark_context*, const void*, const spark_exec*, spark_error*);
OwnCall own_call(const spark_op_desc& d) {
    return reinterpret_cast<OwnCall>(dlsym(RTLD_DEFAULT, (std::string("spark_") + d.name).c_str()));
}

// An operator's own call runs that operator: told by its number, by 0, and never by another's.
void own_calls(void**) {
    spark_context* ctx = api::make_context();
    for (uint32_t i = 0; i < spark_op_count(); ++i) {
        const spark_op_desc& d = *spark_op_at(i);
        const OwnCall launch = own_call(d);
        if (launch == nullptr) fail_msg("there is no spark_%s", d.name);
        api::Arena arena(ctx);
        api::Example e(d, arena);
        spark_error err = fresh_error();
        const auto run = [&](uint32_t op) {
            api::fill_tensors(ctx, e, 1);
            e.head()->op = op;
            const std::vector<std::byte> before = e.bytes();
            if (launch(ctx, e.head(), nullptr, &err) != SPARK_OK) fail_msg("%s: %s", d.name, err.message);
            assert_true(e.bytes() == before); // the caller's struct is const
            assert_int_equal(spark_stream_synchronize(ctx, 0, nullptr), SPARK_OK);
            return api::outputs(ctx, e);
        };
        assert_true(run(d.op) == run(SPARK_OP_NONE));
        const auto filled = api::outputs(ctx, e);
        for (uint32_t k = 0; k < spark_op_count(); ++k) {
            const spark_op_desc& other = *spark_op_at(k);
            if (other.op == d.op) continue;
            e.bytes().resize(std::max<size_t>(e.bytes().size(), other.args_size)); // what it would read is there
            e.head()->op = other.op;
            refused(launch(ctx, e.head(), nullptr, &err), SPARK_ERR_INVALID_VALUE, err, d.name);
            if (!std::strstr(err.message, other.name) || !std::strstr(err.message, d.name))
                fail_msg("spark_%s with %s: \"%s\"", d.name, other.name, err.message);
        }
        e.head()->op = 3000;
        refused(launch(ctx, e.head(), nullptr, &err), SPARK_ERR_UNSUPPORTED_OP, err, d.name);
        e.head()->op = SPARK_OP_NONE;
        refused(spark_op_launch(ctx, e.head(), nullptr, &err), SPARK_ERR_UNSUPPORTED_OP, err, d.name);
        assert_non_null(std::strstr(err.message, "op is 0"));
        assert_true(api::outputs(ctx, e) == filled);
        refused(launch(ctx, nullptr, nullptr, &err), SPARK_ERR_INVALID_NULL, err, "args");
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
            assert_int_equal(spark_op_kernels(ctx, e.head(), UINT64_MAX, nullptr, 0, &count, nullptr), SPARK_OK);
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

// The kernel of a batch-invariant attention of `queries` by heads of 192, whose queries have ranges, bits or slopes.
std::string wide_kernel(spark_context* ctx, int64_t queries, bool paged, int mask) {
    const auto tensor = [](spark_dtype dtype, std::initializer_list<int64_t> shape) {
        spark_tensor t{};
        t.data = 4096 + 65536 * static_cast<uint64_t>(dtype), t.dtype = dtype,
        t.ndim = static_cast<uint32_t>(shape.size());
        std::copy(shape.begin(), shape.end(), t.shape);
        return t;
    };
    spark_attention_args args{};
    args.hdr.struct_size = sizeof args, args.hdr.op = SPARK_OP_ATTENTION, args.hdr.flags = SPARK_FLAG_BATCH_INVARIANT;
    args.q = args.o = tensor(SPARK_DTYPE_BF16, {1, queries, 2, 192});
    args.o.data += uint64_t{1} << 30;
    args.k = args.v = tensor(SPARK_DTYPE_BF16, paged ? std::initializer_list<int64_t>{16, 16, 2, 192}
                                                     : std::initializer_list<int64_t>{1, 256, 2, 192});
    args.k.data += uint64_t{2} << 30, args.v.data += uint64_t{3} << 30;
    if (paged) args.block_table = tensor(SPARK_DTYPE_I32, {1, 16}), args.seq_lens = tensor(SPARK_DTYPE_I32, {1});
    if (mask == 0) args.key_starts = tensor(SPARK_DTYPE_I32, {1, queries});
    if (mask == 1) args.key_mask = tensor(SPARK_DTYPE_I64, {1, queries, 4});
    if (mask == 2) args.alibi_slopes = tensor(SPARK_DTYPE_F32, {2});
    spark_op_info info{};
    info.struct_size = sizeof info;
    spark_error err = fresh_error();
    if (spark_op_query(ctx, &args.hdr, &info, &err) != SPARK_OK) fail_msg("%s", err.message);
    return info.kernel;
}

// Neither how many queries there are nor whether keys lie in pages changes the order of sums, which these share.
void wide_heads_add_alike(void**) {
    spark_context* ctx = api::make_context(120);
    for (int mask : {0, 1, 2}) {
        for (int64_t queries : {1, 64, 65, 200}) {
            for (bool paged : {false, true}) {
                const std::string kernel = wide_kernel(ctx, queries, paged, mask);
                assert_true(kernel.ends_with("__parts_d256") || kernel.ends_with("__d256_64x32_paged"));
            }
        }
    }
    spark_context_destroy(ctx);
}

// An offline context whose description names a file.
spark_status tuned_by(const void* path, uint64_t bytes, spark_error& err) {
    spark_context_desc desc{};
    desc.struct_size = sizeof desc;
    desc.offline_arch = 120;
    desc.tuning_path = reinterpret_cast<uintptr_t>(path);
    desc.tuning_path_bytes = bytes;
    spark_context* ctx = nullptr;
    err = fresh_error();
    const spark_status status = spark_context_create(&desc, &ctx, &err);
    assert_int_equal(status == SPARK_OK, ctx != nullptr);
    spark_context_destroy(ctx);
    return status;
}

void tuning_paths(void**) {
    spark_error err;
    assert_int_equal(tuned_by(nullptr, 0, err), SPARK_OK);
    assert_int_equal(tuned_by("/no/such/file", 0, err), SPARK_OK);
    refused(tuned_by(nullptr, 1, err), SPARK_ERR_INVALID_NULL, err, "no address");
    refused(tuned_by("/dev/null", UINT64_MAX, err), SPARK_ERR_INVALID_VALUE, err, "no path has so many bytes");
    refused(tuned_by("/dev/null\0", 10, err), SPARK_ERR_INVALID_VALUE, err, "a 0 within the path");
    refused(tuned_by("/dev/nullX", 9, err), SPARK_ERR_INVALID_VALUE, err, "an empty file");
    assert_non_null(std::strstr(err.message, "desc.tuning_path: line 1 is not the first of a tuning file"));
    assert_non_null(std::strstr(err.message, ": /dev/null"));
    const std::string longest(4095, 'x'); // no file's name, and as long as a path may be
    refused(tuned_by(longest.data(), longest.size(), err), SPARK_ERR_INVALID_VALUE, err, "the longest path");
    assert_non_null(std::strstr(err.message, "desc.tuning_path: File name too long: xxx"));
}

// The description as it was before it named files: 24 bytes, behind which nothing is read.
void first_descriptions(void**) {
    spark_context_desc desc;
    std::memset(&desc, 0xff, sizeof desc);
    std::memset(&desc, 0, 24);
    desc.offline_arch = 120;
    spark_context* ctx = nullptr;
    desc.struct_size = 23;
    spark_error err = fresh_error();
    refused(spark_context_create(&desc, &ctx, &err), SPARK_ERR_INVALID_STRUCT_SIZE, err, "23 bytes");
    desc.struct_size = 24;
    assert_int_equal(spark_context_create(&desc, &ctx, nullptr), SPARK_OK);
    spark_context_destroy(ctx);
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
        cmocka_unit_test(silence),
        cmocka_unit_test(dead_handles),
        cmocka_unit_test(null_pointers),
        cmocka_unit_test(error_structs),
        cmocka_unit_test(offline),
        cmocka_unit_test(wide_heads_add_alike),
        cmocka_unit_test(tuning_paths),
        cmocka_unit_test(first_descriptions),
        cmocka_unit_test(at_most_64_contexts),
        cmocka_unit_test(names),
        cmocka_unit_test(handles_do_not_come_back),
        cmocka_unit_test(own_calls),
    };
    return cmocka_run_group_tests_name("api.contract", tests, nullptr, nullptr);
}
