// SPDX-License-Identifier: Apache-2.0
// Tensors by name.
#include "ref/call.h"

namespace ref {

std::vector<int64_t> Tensor::integers() const {
    std::vector<int64_t> out;
    for (uint64_t word : bits) {
        out.push_back(type == Type::i32 ? static_cast<int32_t>(word) : static_cast<int64_t>(word));
    }
    return out;
}

std::span<const double> Tensor::row(size_t first, size_t count) const {
    return values.empty() ? std::span<const double>() : std::span(values).subspan(first, count);
}

const Tensor& Call::operator[](const std::string& name) const {
    static const Tensor none;
    const auto found = tensors.find(name);
    return found == tensors.end() ? none : found->second;
}

} // namespace ref
