// SPDX-License-Identifier: Apache-2.0
// The oracles of tests/ref reproduce the golden vectors: the float64 results within the file's tolerance (double
// arithmetic in another order), and the rounded results bit for bit. One argument: the folder of the vectors.
#include "golden/safetensors.h"
#include "ref/oracles.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>

using golden::File;
using golden::Json;
using ref::Type;

namespace {

constexpr const ref::Oracle* ORACLES[] = {
#define OPERATOR(name) &ref::name,
#include "ops/operators.inc"
#undef OPERATOR
};

ref::Tensor tensor_of(const golden::Tensor& tensor) {
    constexpr std::pair<const char*, Type> TYPES[] = {{"F32", Type::f32},      {"F16", Type::f16}, {"BF16", Type::bf16},
                                                      {"F8_E4M3", Type::e4m3}, {"I32", Type::i32}, {"I64", Type::i64},
                                                      {"F8_E5M2", Type::e5m2}, {"I8", Type::i8},   {"U8", Type::u8}};
    const auto found = std::ranges::find(TYPES, tensor.dtype, [](const auto& type) { return type.first; });
    if (found == std::end(TYPES)) {
        throw std::runtime_error("a dtype that no tensor has: " + tensor.dtype);
    }
    ref::Tensor out{found->second, tensor.shape, {}, {}};
    for (size_t at = 0; at < tensor.bytes.size(); at += ref::size_of(out.type)) {
        out.bits.push_back(ref::load_bits(out.type, &tensor.bytes[at]));
        out.values.push_back(ref::decode(out.type, out.bits.back()));
    }
    return out;
}

ref::Call call_of(const File& file) {
    ref::Call call;
    for (const auto& [name, tensor] : file.tensors()) {
        if (tensor.dtype != "F64") { // what a result is before it is rounded
            call.tensors[name] = tensor_of(tensor);
        }
    }
    for (const auto& [name, value] : Json::parse(file.metadata("args")).members) {
        if (value.kind == Json::Kind::string) {
            call.words[name] = value.string;
        } else {
            call.numbers[name] = value.kind == Json::Kind::boolean ? value.boolean : value.number;
        }
    }
    return call;
}

struct Check {
    double worst = 0;
    int64_t elements = 0;

    [[noreturn]] static void fail(const std::string& name, size_t i, const std::string& what) {
        throw std::runtime_error(name + "[" + std::to_string(i) + "]: " + what);
    }
    static void same_size(const std::string& name, size_t ours, size_t theirs) {
        if (ours != theirs) {
            throw std::runtime_error(name + ": " + std::to_string(ours) + " elements, golden " +
                                     std::to_string(theirs));
        }
    }
    void same(const std::string& name, const ref::Result& ours, const ref::Tensor& golden) {
        same_size(name, ours.bits.empty() ? ours.values.size() : ours.bits.size(), golden.bits.size());
        for (size_t i = 0; i < golden.bits.size(); ++i, ++elements) {
            if (!ours.bits.empty() && ours.bits[i] != golden.bits[i]) {
                fail(name, i, "bits differ");
            }
            if (!ours.bits.empty()) {
                continue;
            }
            const double got = ours.rounded ? ours.values[i] : ref::rounded(golden.type, ours.values[i]);
            const double want = golden.values[i];
            const bool one_nan = std::isnan(got) && std::isnan(want), one_zero = got == 0 && want == 0;
            if (std::bit_cast<uint64_t>(got) != std::bit_cast<uint64_t>(want) && !one_nan &&
                !(one_zero && ours.any_zero)) {
                fail(name, i, "oracle " + std::to_string(got) + ", golden " + std::to_string(want));
            }
        }
    }
    void close(const std::string& name, const ref::Result& ours, const golden::Tensor& golden, double tolerance) {
        std::vector<double> want(golden.bytes.size() / sizeof(double));
        std::memcpy(want.data(), golden.bytes.data(), golden.bytes.size());
        same_size(name, ours.values.size(), want.size());
        for (size_t i = 0; i < want.size(); ++i, ++elements) {
            const double got = ours.values[i];
            if (std::isfinite(want[i])) {
                worst = std::max(worst, std::fabs(got - want[i]));
            }
            if (got != want[i] && !(std::isnan(got) && std::isnan(want[i])) &&
                !(std::fabs(got - want[i]) <= tolerance)) {
                fail(name, i, "off by " + std::to_string(got - want[i]));
            }
        }
    }
};

// Each result that the file has, rounded, in float64 (its name and 64), or both; none is passed over.
void check_file(const File& file, Check& check) {
    const auto found =
        std::ranges::find_if(ORACLES, [&](const ref::Oracle* oracle) { return file.metadata("op") == oracle->op; });
    if (found == std::end(ORACLES)) {
        throw std::runtime_error("no oracle for " + file.metadata("op"));
    }
    const ref::Call call = call_of(file);
    for (const auto& [name, result] : (*found)->compute(call)) {
        const bool before = file.has(name + "64") && !result.rounded;
        if (!before && !file.has(name)) {
            throw std::runtime_error("no " + name + " to compare with");
        }
        if (before) {
            check.close(name + "64", result, file.tensor(name + "64"), std::stod(file.metadata("tolerance")));
        }
        if (file.has(name)) {
            check.same(name, result, call[name]);
        }
    }
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
            const File file(entry.path().string());
            Check check;
            check_file(file, check);
            std::printf("pass  %-28s %6lld elements, worst float64 error %.1e\n", name.c_str(),
                        static_cast<long long>(check.elements), check.worst);
            ++passed;
        } catch (const std::exception& error) {
            std::printf("FAIL  %s: %s\n", name.c_str(), error.what());
            ++failed;
        }
    }
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed != 0 || passed == 0;
}
