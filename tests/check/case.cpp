// SPDX-License-Identifier: Apache-2.0
// Building blocks of cases: views, storages, allowed intervals.
#include "check/case.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace check {

Allowed allow(ref::Type type, double value, double error) {
    Allowed allowed;
    if (std::isnan(value)) {
        allowed.kind = Allowed::nan;
    } else if (std::isinf(value)) {
        allowed.low = allowed.high = static_cast<float>(value);
    } else if (std::isnan(error) || std::isinf(error)) {
        allowed.kind = Allowed::any; // the caller's derivation gives no bound here
    } else {
        allowed.low = static_cast<float>(ref::rounded(type, value - error));
        allowed.high = static_cast<float>(ref::rounded(type, value + error));
    }
    return allowed;
}

Allowed exactly(ref::Type type, double value) {
    const bool zero = ref::rounded(type, value) == 0;
    return zero ? Allowed{Allowed::bits, 0, 0, static_cast<uint32_t>(ref::encode(type, value))} : allow(type, value, 0);
}

int64_t View::count() const {
    int64_t n = 1;
    for (int64_t dim : shape) {
        n *= dim;
    }
    return n;
}

int64_t View::span() const {
    if (count() == 0) {
        return 0;
    }
    int64_t last = 0;
    for (size_t i = 0; i < shape.size(); ++i) {
        last += (shape[i] - 1) * stride[i];
    }
    return last + 1;
}

int64_t View::offset(int64_t index) const {
    int64_t at = 0;
    for (size_t i = shape.size(); i-- > 0 && index != 0;) {
        at += index % shape[i] * stride[i];
        index /= shape[i];
    }
    return at;
}

size_t Operand::at(int64_t index) const {
    return offset + static_cast<size_t>(view.offset(index)) * ref::size_of(view.type);
}

View packed(ref::Type type, std::vector<int64_t> shape) {
    View view{type, std::move(shape), {}};
    view.stride.resize(view.shape.size());
    int64_t step = 1;
    for (size_t i = view.shape.size(); i-- > 0;) {
        view.stride[i] = step;
        step *= view.shape[i];
    }
    return view;
}

spark_dtype dtype_of(ref::Type type) {
    switch (type) {
    case ref::Type::f32: return SPARK_DTYPE_F32;
    case ref::Type::f16: return SPARK_DTYPE_F16;
    case ref::Type::bf16: return SPARK_DTYPE_BF16;
    case ref::Type::e4m3: return SPARK_DTYPE_E4M3;
    case ref::Type::e5m2: return SPARK_DTYPE_E5M2;
    case ref::Type::i8: return SPARK_DTYPE_I8;
    case ref::Type::i32: return SPARK_DTYPE_I32;
    case ref::Type::i64: return SPARK_DTYPE_I64;
    case ref::Type::u8: return SPARK_DTYPE_U8;
    }
    return SPARK_DTYPE_NONE;
}

// The descriptor with everything but the address, which the runner knows.
static void describe(Case& c, const Operand& operand) {
    auto& tensor = *reinterpret_cast<spark_tensor*>(&c.args[operand.args_offset]);
    tensor = {};
    tensor.dtype = dtype_of(operand.view.type);
    tensor.ndim = static_cast<uint32_t>(operand.view.shape.size());
    for (size_t i = 0; i < operand.view.shape.size(); ++i) {
        tensor.shape[i] = operand.view.shape[i];
        tensor.stride[i] = operand.view.stride[i];
    }
    tensor.size_bytes = static_cast<uint64_t>(operand.view.span()) * ref::size_of(operand.view.type);
}

const std::vector<Allowed>& Case::expected(size_t index, const std::string& kernel) const {
    const auto [found, is_new] = expected_.try_emplace({index, kind ? kind(kernel) : kernel});
    if (is_new) {
        found->second = expect(index, kernel);
    }
    return found->second;
}

Operand& Case::add_array(std::string field, size_t address_offset, View view, size_t misalign, bool output) {
    // Padding between rows is a NaN in every format, so that a kernel that lets it into a result shows.
    const size_t size = outline ? 0 : static_cast<size_t>(view.span()) * ref::size_of(view.type);
    storages.push_back({field, std::vector<uint8_t>(size, 0xff), misalign});
    operands.push_back({std::move(field), address_offset, storages.size() - 1, std::move(view), output, !output});
    return operands.back();
}

Operand& Case::add(std::string field, size_t args_offset, View view, size_t misalign, bool output) {
    add_array(std::move(field), args_offset, std::move(view), misalign, output);
    describe(*this, operands.back());
    return operands.back();
}

Operand& Case::add_slice(std::string field, size_t args_offset, View view, size_t of_operand, size_t offset) {
    Operand operand = operands[of_operand];
    operand.field = std::move(field);
    operand.args_offset = args_offset;
    operand.view = std::move(view);
    operand.offset = offset;
    std::vector<uint8_t>& bytes = storages[operand.storage].bytes;
    operands.push_back(std::move(operand));
    if (!outline) {
        bytes.resize(size_of(operands.back().storage), 0xff);
    }
    describe(*this, operands.back());
    return operands.back();
}

Operand& Case::add_in_place(std::string field, size_t args_offset, size_t of_operand) {
    Operand operand = operands[of_operand];
    operand.field = std::move(field);
    operand.args_offset = args_offset;
    operand.output = true;
    operands.push_back(operand);
    describe(*this, operands.back());
    return operands.back();
}

uint8_t* Case::element(const Operand& operand, int64_t index) {
    std::vector<uint8_t>& bytes = storages[operand.storage].bytes;
    if (bytes.empty()) {
        bytes.resize(size_of(operand.storage), 0xff); // the first element of an outline
    }
    return bytes.data() + operand.at(index);
}

int64_t Case::to_fill(const Operand& operand) const { return outline ? 0 : operand.view.count(); }

size_t Case::size_of(size_t storage) const {
    size_t size = 0;
    for (const Operand& operand : operands) {
        if (operand.storage == storage) {
            const size_t bytes = static_cast<size_t>(operand.view.span()) * ref::size_of(operand.view.type);
            size = std::max(size, operand.offset + bytes);
        }
    }
    return size;
}

std::vector<double> Case::values(const Operand& operand) const {
    std::vector<double> out(static_cast<size_t>(to_fill(operand)));
    const uint8_t* base = storages[operand.storage].bytes.data();
    for (const auto [i, at] : places(operand)) {
        out[static_cast<size_t>(i)] = ref::load(operand.view.type, base + at);
    }
    return out;
}

} // namespace check
