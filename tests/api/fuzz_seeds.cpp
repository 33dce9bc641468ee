// SPDX-License-Identifier: Apache-2.0
// Writes right calls of every operator into a folder, for the fuzzer of fuzz_query.cpp to start from.
#include "example.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: api-fuzz-seeds FOLDER\n");
        return 2;
    }
    for (uint32_t i = 0; i < spark_op_count(); ++i)
        for (int choice = 0; choice < 4; ++choice) {
            const spark_op_desc& desc = *spark_op_at(i);
            api::Arena arena(nullptr);
            api::Options options;
            options.optional_fields = choice & 1, options.optional_dims = choice & 2;
            api::Example example(desc, arena, options);
            const std::string name = std::string(desc.name) + "." + std::to_string(choice);
            std::ofstream file(std::filesystem::path(argv[1]) / name, std::ios::binary);
            file.write(reinterpret_cast<const char*>(example.bytes().data()),
                       static_cast<std::streamsize>(example.bytes().size()));
            if (!file.flush()) return 1;
        }
    return 0;
}
