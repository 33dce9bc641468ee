// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: raw bytes as operator arguments, in an exact-size heap block, so that a read past struct_size is a
// report. Holds for every input: no crash, a failing status has a sentence, the same bytes give the same answer.
// With -DSPARK_FUZZ_REPLAY it is a plain program that replays the folders it is given, or with --seeds FOLDER writes
// the right calls of every operator there, for the fuzzer to start from.
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

#ifdef SPARK_FUZZ_REPLAY
#include "example.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

namespace {

int write_seeds(const std::filesystem::path& folder) {
    for (uint32_t i = 0; i < spark_op_count(); ++i)
        for (int choice = 0; choice < 4; ++choice) {
            const spark_op_desc& desc = *spark_op_at(i);
            api::Arena arena(nullptr);
            api::Options options;
            options.optional_fields = choice & 1, options.optional_dims = choice & 2;
            api::Example example(desc, arena, options);
            std::ofstream file(folder / (std::string(desc.name) + "." + std::to_string(choice)), std::ios::binary);
            file.write(reinterpret_cast<const char*>(example.bytes().data()),
                       static_cast<std::streamsize>(example.bytes().size()));
        }
    return 0;
}

size_t replay(const std::filesystem::path& folder) {
    size_t count = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        if (!entry.is_regular_file()) continue;
        std::ifstream file(entry.path(), std::ios::binary);
        const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
        LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
        ++count;
    }
    return count;
}

} // namespace

int main(int argc, char** argv) {
    if (argc == 3 && !std::strcmp(argv[1], "--seeds")) return write_seeds(argv[2]);
    size_t count = 0;
    for (int i = 1; i < argc; ++i) count += replay(argv[i]);
    std::printf("%zu inputs replayed\n", count);
    return count ? 0 : 1;
}
#endif
