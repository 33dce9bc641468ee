// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: raw bytes as operator arguments, in an exact-size heap block, so that a read past struct_size is a
// report. Holds for every input: no crash, a failing status has a sentence, the same bytes give the same answer.
// Linked with tests/fuzz/replay.cpp it is a plain program that replays folders.
#include "spark.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace {

spark_context* offline_context() {
    spark_context_desc desc{};
    desc.struct_size = sizeof desc;
    desc.offline_arch = 121;
    spark_context* ctx = nullptr;
    if (spark_context_create(&desc, &ctx, nullptr) != SPARK_OK) std::abort();
    return ctx;
}

struct Answer {
    spark_status status;
    spark_error err;
    spark_op_info info;
};

Answer ask(spark_context* ctx, const spark_args* args) {
    Answer a{};
    a.err.struct_size = sizeof a.err;
    a.info.struct_size = sizeof a.info;
    a.status = spark_op_query(ctx, args, &a.info, &a.err);
    return a;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static spark_context* const ctx = offline_context();
    if (size < sizeof(uint32_t)) return 0;
    // The first word says the size. Bytes are added or cut so that the block is exactly as long as it claims.
    uint32_t claimed;
    std::memcpy(&claimed, data, sizeof claimed);
    const size_t length = claimed < sizeof(uint32_t) || claimed > 8192 ? sizeof(spark_args) : claimed;
    const std::unique_ptr<char, decltype(&std::free)> exact(static_cast<char*>(std::malloc(length)), std::free);
    std::memset(exact.get(), 0, length);
    std::memcpy(exact.get(), data, size < length ? size : length);
    const auto* args = reinterpret_cast<const spark_args*>(exact.get());
    const Answer first = ask(ctx, args), second = ask(ctx, args);
    if (std::memcmp(&first, &second, sizeof first) != 0) std::abort();
    if (first.status != SPARK_OK && first.err.message[0] == 0) std::abort();
    if (first.status == SPARK_OK && first.info.kernel[0] == 0 && !(first.info.flags & SPARK_OP_INFO_EMPTY))
        std::abort();
    char text[512];
    size_t needed = 0;
    spark_op_explain(ctx, args, text, sizeof text, &needed, nullptr);
    return 0;
}
