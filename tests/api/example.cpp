// SPDX-License-Identifier: Apache-2.0
// Builds arguments from reflection: sizes by symbol, dtypes by mask, packed strides.
#include "example.h"

#include <cstdio>
#include <cstring>
#include <sstream>

namespace api {

Arena::~Arena() {
    if (ctx_)
        for (const Block& block : blocks_) spark_mem_free(ctx_, block.address, nullptr);
}

uint64_t Arena::take(uint64_t bytes) {
    uint64_t address = next_;
    next_ += ((bytes + 4095) / 4096 + 16) * 4096;
    if (ctx_) {
        if (spark_mem_alloc(ctx_, bytes, &address, nullptr) != SPARK_OK) return 0;
        spark_mem_set(ctx_, address, poison, bytes, 0, nullptr);
    }
    blocks_.push_back({address, bytes});
    return address;
}

bool Arena::untouched() const {
    if (!ctx_) return true;
    for (const Block& block : blocks_) {
        std::vector<unsigned char> host(block.bytes);
        if (spark_mem_copy_to_host(ctx_, host.data(), block.address, block.bytes, 0, nullptr) != SPARK_OK) return false;
        for (unsigned char byte : host)
            if (byte != poison) return false;
    }
    return true;
}

spark_context* make_context(uint32_t offline_arch) {
    spark_context_desc desc{};
    desc.struct_size = sizeof desc;
    desc.offline_arch = offline_arch;
    spark_context* ctx = nullptr;
    spark_error err{};
    err.struct_size = sizeof err;
    if (spark_context_create(&desc, &ctx, &err) != SPARK_OK) std::fprintf(stderr, "%s\n", err.message);
    return ctx;
}

Shape parse_shape(const char* text) {
    Shape shape;
    std::string inner(text + 1, std::strlen(text) - 2); // between the brackets
    std::istringstream words(inner);
    for (std::string word; std::getline(words, word, ',');) {
        while (!word.empty() && word.front() == ' ') word.erase(0, 1);
        if (word == "...") shape.ellipsis = true;
        else if (!word.empty()) shape.names.push_back(word);
    }
    return shape;
}

uint64_t element_bits(uint32_t dtype) {
    switch (dtype) {
    case SPARK_DTYPE_F64:
    case SPARK_DTYPE_I64:
    case SPARK_DTYPE_U64:
    case SPARK_DTYPE_DEVPTR: return 64;
    case SPARK_DTYPE_F32:
    case SPARK_DTYPE_TF32:
    case SPARK_DTYPE_I32:
    case SPARK_DTYPE_U32: return 32;
    case SPARK_DTYPE_F16:
    case SPARK_DTYPE_BF16: return 16;
    case SPARK_DTYPE_I4:
    case SPARK_DTYPE_U4:
    case SPARK_DTYPE_E2M1: return 4;
    case SPARK_DTYPE_E2M3:
    case SPARK_DTYPE_E3M2: return 6;
    default: return 8;
    }
}

Example::Example(const spark_op_desc& desc, Arena& arena, const Options& options)
    : desc_(&desc), bytes_(desc.args_size) {
    head()->struct_size = desc.args_size;
    head()->op = desc.op;
    for (uint32_t i = 0; i < desc.num_fields; ++i) fill(i, arena, options);
}

void Example::fill(uint32_t index, Arena& arena, const Options& options) {
    const spark_field& field = desc_->fields[index];
    if (field.kind != SPARK_KIND_TENSOR) return; // zero is every scalar's default
    if ((field.flags & SPARK_FIELD_OPTIONAL) && !options.optional_fields) return;
    const Shape shape = parse_shape(field.shape);
    spark_tensor& tensor = this->tensor(index);
    std::vector<int64_t> dims;
    if (shape.ellipsis && (shape.names.empty() || field.max_ndim > 2)) dims = {3, 2};
    for (const std::string& name : shape.names) {
        const bool optional = name.back() == '?';
        if (optional && !options.optional_dims) continue;
        if (name.find_first_not_of("0123456789") == std::string::npos) {
            dims.push_back(std::stoll(name));
            continue;
        }
        const auto [place, fresh] = sizes_.try_emplace(name, 0);
        const auto count = static_cast<int64_t>(sizes_.size());
        if (fresh)
            place->second = &name == &shape.names.back() ? 16 + 8 * count : optional ? 2 : 2 + count; // rows stay few
        dims.push_back(place->second);
    }
    if (field.flags & SPARK_FIELD_QUANT) { // one record a row: 34 bytes for the 32 elements that a second letter has
        tensor.quant.scheme = SPARK_QUANT_RECORD;
        tensor.quant.block[0] = SPARK_RECORD_Q8_0;
        dims.back() = 34;
    }
    tensor.ndim = static_cast<uint32_t>(dims.size());
    int64_t elements = 1;
    for (size_t d = dims.size(); d-- > 0;) {
        tensor.shape[d] = dims[d];
        tensor.stride[d] = elements;
        elements *= dims[d];
    }
    uint32_t dtype = 0;
    if (field.dtype_as != 0xffffffffu && field.dtype_as < index) dtype = this->tensor(field.dtype_as).dtype;
    for (uint32_t bit = 0; dtype == 0 && bit < 64; ++bit)
        if (field.dtype_mask >> bit & 1) dtype = bit;
    if (dtype == 0 && field.dtype_as != 0xffffffffu) { // the named field stands later: take its first dtype
        const uint64_t mask = desc_->fields[field.dtype_as].dtype_mask;
        for (uint32_t bit = 0; dtype == 0 && bit < 64; ++bit)
            if (mask >> bit & 1) dtype = bit;
    }
    tensor.dtype = static_cast<spark_dtype>(dtype);
    tensor.size_bytes = (static_cast<uint64_t>(elements) * element_bits(dtype) + 7) / 8;
    allocated_[index] = tensor.size_bytes;
    tensor.data = arena.take(tensor.size_bytes);
}

} // namespace api
