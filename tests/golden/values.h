// SPDX-License-Identifier: Apache-2.0
// What the golden tests share: a tensor of a file as numbers, and the tally of one file's comparison.
#pragma once

#include "golden/safetensors.h"
#include "ref/formats.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace golden {

inline ref::Type type_of(const Tensor& tensor) {
    return tensor.dtype == "BF16"  ? ref::Type::bf16
           : tensor.dtype == "F16" ? ref::Type::f16
           : tensor.dtype == "I32" ? ref::Type::i32
           : tensor.dtype == "I64" ? ref::Type::i64
                                   : ref::Type::f32;
}

// Empty if the file has no such tensor.
inline std::vector<double> values_of(const File& file, const std::string& name) {
    std::vector<double> out;
    if (!file.has(name)) {
        return out;
    }
    const Tensor& tensor = file.tensor(name);
    if (tensor.dtype == "F64") {
        out.resize(tensor.bytes.size() / 8);
        std::memcpy(out.data(), tensor.bytes.data(), tensor.bytes.size());
        return out;
    }
    const ref::Type type = type_of(tensor);
    for (size_t at = 0; at < tensor.bytes.size(); at += ref::size_of(type)) {
        out.push_back(ref::load(type, &tensor.bytes[at]));
    }
    return out;
}

inline std::vector<int64_t> integers_of(const File& file, const std::string& name) {
    std::vector<int64_t> out;
    const Tensor& tensor = file.tensor(name);
    const size_t size = ref::size_of(type_of(tensor));
    for (size_t at = 0; at < tensor.bytes.size(); at += size) {
        const uint64_t bits = ref::load_bits(type_of(tensor), &tensor.bytes[at]);
        out.push_back(size == 4 ? static_cast<int32_t>(bits) : static_cast<int64_t>(bits));
    }
    return out;
}

struct Tally {
    double worst = 0;
    int64_t elements = 0;

    // Bit for bit: ours rounded, and the golden's rounded value.
    void same(double ours, double want, const char* what, size_t i) {
        ++elements;
        if (std::bit_cast<uint64_t>(ours) != std::bit_cast<uint64_t>(want)) {
            throw std::runtime_error(std::string(what) + "[" + std::to_string(i) + "]: oracle " + std::to_string(ours) +
                                     ", golden " + std::to_string(want));
        }
    }
    void close(double ours, double want, double tolerance, const char* what, size_t i) {
        const double error = std::fabs(ours - want);
        worst = std::max(worst, error);
        if (!(error <= tolerance)) {
            throw std::runtime_error(std::string(what) + "[" + std::to_string(i) + "]: off by " +
                                     std::to_string(error));
        }
    }
};

} // namespace golden
