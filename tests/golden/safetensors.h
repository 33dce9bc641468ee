// SPDX-License-Identifier: Apache-2.0
// Reads a safetensors file: 8 bytes of header length, a JSON header, then the tensors' bytes.
// Called by the golden tests (and by whoever wants vectors in a test). Knows nothing of operators.
// Malformed files throw std::runtime_error with what is wrong: test inputs, not user inputs.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace golden {

// As much of JSON as the header and the "args" metadata need: objects, arrays, strings, numbers, booleans, null.
struct Json {
    enum class Kind { null, boolean, number, string, array, object } kind = Kind::null;
    bool boolean = false;
    double number = 0;
    std::string string;
    std::vector<Json> items;
    std::vector<std::pair<std::string, Json>> members;

    const Json& at(std::string_view key) const; // throws if there is none
    static Json parse(std::string_view text);
};

struct Tensor {
    std::string dtype; // "BF16", "F16", "F32", "F64", "I32", "I64", "U8"
    std::vector<int64_t> shape;
    std::span<const uint8_t> bytes;
};

class File {
public:
    explicit File(const std::string& path);
    const Tensor& tensor(const std::string& name) const; // throws if there is none
    const std::map<std::string, Tensor>& tensors() const { return tensors_; }
    bool has(const std::string& name) const { return tensors_.contains(name); }
    const std::string& metadata(const std::string& key) const;

private:
    std::vector<uint8_t> content_;
    std::map<std::string, Tensor> tensors_;
    std::map<std::string, std::string> metadata_;
};

} // namespace golden
