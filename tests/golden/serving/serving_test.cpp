// SPDX-License-Identifier: Apache-2.0
// The oracles of the operators around attention reproduce this folder's golden vectors: float64 results within the
// file's tolerance, rounded ones bit for bit. One argument: the folder.
#include "golden/values.h"
#include "ref/kv_append.h"
#include "ref/rope.h"

#include <cstdio>
#include <filesystem>

using golden::File;
using golden::Json;
using golden::Tally;
using golden::values_of;

namespace {

void check_rope(const File& file, Tally& tally) {
    const Json args = Json::parse(file.metadata("args"));
    const auto& shape = file.tensor("x").shape; // [T, H, D]
    const auto heads = static_cast<size_t>(shape[1]), d = static_cast<size_t>(shape[2]);
    const auto x = values_of(file, "x"), y = values_of(file, "y"), y64 = values_of(file, "y64"),
               table = values_of(file, "table");
    const auto positions = golden::integers_of(file, "positions");
    const auto pairs = static_cast<int64_t>(args.at("rotary_dim").number) / 2;
    const ref::Type type = golden::type_of(file.tensor("x"));
    const double tolerance = std::stod(file.metadata("tolerance"));
    std::vector<double> got(d);
    for (size_t at = 0; at < x.size(); at += d) {
        const int64_t p = positions[at / d / heads];
        std::vector<ref::Turn> turns;
        for (int64_t i = 0; i < pairs; ++i) {
            const auto entry = static_cast<size_t>(p * 2 * pairs + i);
            turns.push_back(table.empty() ? ref::rope_turn(p, args.at("theta").number, i, pairs)
                                          : ref::Turn{table[entry], table[entry + static_cast<size_t>(pairs)]});
        }
        ref::rope_head(std::span(x).subspan(at, d), turns, args.at("interleaved").boolean, got);
        for (size_t i = 0; i < d; ++i) {
            tally.close(got[i], y64[at + i], tolerance, "y64", at + i);
            tally.same(ref::rounded(type, got[i]), y[at + i], "y", at + i);
        }
    }
}

void check_kv_append(const File& file, Tally& tally) {
    const auto& shape = file.tensor("before").shape;
    const auto positions = golden::integers_of(file, "positions");
    const auto batch = file.has("batch") ? golden::integers_of(file, "batch") : std::vector<int64_t>();
    const ref::KvPlaces places = ref::kv_places(positions, batch, shape[0], shape[1]);
    const auto k = values_of(file, "k"), after = values_of(file, "after");
    auto cache = values_of(file, "before");
    const auto row = static_cast<size_t>(shape[2] * shape[3]);
    for (size_t t = 0; t < places.slot.size(); ++t) {
        for (size_t i = 0; i < row && places.slot[t] >= 0; ++i) {
            cache[static_cast<size_t>(places.slot[t]) * row + i] = k[t * row + i];
        }
    }
    for (size_t i = 0; i < cache.size(); ++i) {
        tally.same(cache[i], after[i], "after", i);
    }
}

struct Operator {
    const char* name;
    void (*check)(const File&, Tally&);
};
constexpr Operator OPERATORS[] = {{"rope", check_rope}, {"kv_append", check_kv_append}};

void check(const File& file, Tally& tally) {
    for (const Operator& op : OPERATORS) {
        if (file.metadata("op") == op.name) {
            return op.check(file, tally);
        }
    }
    throw std::runtime_error("no check for " + file.metadata("op"));
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    int passed = 0, failed = 0;
    for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
        if (entry.path().extension() != ".safetensors") {
            continue;
        }
        const std::string name = entry.path().stem().string();
        try {
            Tally tally;
            check(File(entry.path().string()), tally);
            std::printf("pass  %-28s %6lld elements, worst float64 error %.1e\n", name.c_str(),
                        static_cast<long long>(tally.elements), tally.worst);
            ++passed;
        } catch (const std::exception& error) {
            std::printf("FAIL  %s: %s\n", name.c_str(), error.what());
            ++failed;
        }
    }
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed != 0 || passed == 0;
}
