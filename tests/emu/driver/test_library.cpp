// SPDX-License-Identifier: Apache-2.0
// What the emulator says as the library passes it on: a wrong LIBSPARK_EMU, a stream that outlived its context, a
// finding; and a healthy run, of which nothing is said.
#include <spark.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

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

spark_error err{};

void has(const char* words) {
    if (!strstr(err.message, words)) fail_msg("'%s' is not in: %s", words, err.message);
}
void has_not(const char* words) {
    if (strstr(err.message, words)) fail_msg("'%s' is in: %s", words, err.message);
}
spark_status create(spark_context** ctx) {
    err.struct_size = sizeof err;
    spark_context_desc desc{};
    desc.struct_size = sizeof desc;
    return spark_context_create(&desc, ctx, &err);
}
#define OK(call) \
    if ((call) != SPARK_OK) fail_msg("%s: %s", #call, err.message)

// Everything that is written to standard error while it lives.
class Caught {
public:
    Caught() : file_(tmpfile()), before_(dup(2)) { dup2(fileno(file_), 2); }
    std::string end() {
        fflush(stderr);
        dup2(before_, 2);
        close(before_);
        rewind(file_);
        std::string text(4096, '\0');
        text.resize(fread(text.data(), 1, text.size(), file_));
        fclose(file_);
        return text;
    }

private:
    FILE* file_;
    int before_;
};

void names_a_wrong_word(void**) {
    const char* const wrong[][3] = {
        {"sched=randm", "LIBSPARK_EMU: sched=randm is wrong", "starve_low or starve_high"},
        {"colour=blue", "LIBSPARK_EMU: 'colour' is not known", "profile, multiprocessors, report and clock"},
        {"profile=gb11", "LIBSPARK_EMU: profile=gb11 is wrong", "gb10"},
        {"report=stdrr", "LIBSPARK_EMU: report=stdrr is wrong", "none, stderr"},
        {"limit=1e9", "LIBSPARK_EMU: limit=1e9 is wrong", "18446744073709551615"},
        {"seed=1,seed=2", "LIBSPARK_EMU: seed=2 is wrong", "given twice"},
    };
    for (const auto& w : wrong) {
        setenv("LIBSPARK_EMU", w[0], 1);
        spark_context* ctx = nullptr;
        assert_int_equal(create(&ctx), SPARK_ERR_DRIVER);
        assert_null(ctx);
        has(w[1]);
        has(w[2]);
    }
}

spark_softmax_args softmax(spark_context* ctx, int64_t bytes) {
    spark_softmax_args args{};
    args.hdr.struct_size = sizeof args;
    args.hdr.op = SPARK_OP_SOFTMAX;
    args.x.dtype = SPARK_DTYPE_F32;
    args.x.ndim = 1;
    args.x.shape[0] = 100;
    OK(spark_mem_alloc(ctx, uint64_t(bytes), &args.x.data, &err));
    OK(spark_mem_set(ctx, args.x.data, 0, uint64_t(bytes), 0, &err));
    args.y = args.x;
    return args;
}

// The library offers machine code first; that the emulator takes PTX only is nobody's concern.
void says_nothing_of_a_healthy_run(void**) {
    Caught caught;
    setenv("LIBSPARK_EMU", "report=stderr", 1);
    spark_context* ctx = nullptr;
    OK(create(&ctx));
    spark_softmax_args args = softmax(ctx, 400);
    OK(spark_softmax(ctx, &args, nullptr, &err));
    OK(spark_stream_synchronize(ctx, 0, &err));
    spark_context_destroy(ctx);
    assert_string_equal(caught.end().c_str(), "");
}

void keeps_remarks_with_their_call(void**) {
    spark_context *first = nullptr, *second = nullptr;
    spark_stream stream = 0;
    OK(create(&first));
    spark_softmax_args args = softmax(first, 400);
    OK(spark_softmax(first, &args, nullptr, &err)); // loads a kernel
    OK(spark_stream_create(first, nullptr, &stream, &err));
    spark_context_destroy(first);
    OK(create(&second));
    assert_int_not_equal(spark_stream_synchronize(second, stream, &err), SPARK_OK);
    has_not("ELF");
    has_not("refused");
    spark_context_destroy(second);
}

void carries_a_finding(void**) {
    Caught caught;
    spark_context* ctx = nullptr;
    OK(create(&ctx));
    spark_softmax_args args = softmax(ctx, 396);
    OK(spark_softmax(ctx, &args, nullptr, &err));
    assert_int_equal(spark_stream_synchronize(ctx, 0, &err), SPARK_ERR_LAUNCH);
    has("bounds in softmax");
    spark_context_destroy(ctx);
    assert_non_null(strstr(caught.end().c_str(), "bounds in softmax"));
}

} // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(names_a_wrong_word), cmocka_unit_test(says_nothing_of_a_healthy_run),
                                cmocka_unit_test(keeps_remarks_with_their_call), cmocka_unit_test(carries_a_finding)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
