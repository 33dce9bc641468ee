// SPDX-License-Identifier: Apache-2.0
// Builds arguments from reflection: sizes by symbol, dtypes by mask, packed strides.
#include "example.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
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
        spark_stream_synchronize(ctx_, 0, nullptr); // other streams may use it
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
        word = word.substr(0, word.find('/')); // "N/2 if FLAG": the flag is not set
        if (word == "...") shape.ellipsis = true;
        else if (!word.empty()) shape.names.push_back(word);
    }
    return shape;
}

// Of what a scalar says how many neighbours belong together: rows are whole blocks, and what is no row is one.
constexpr uint32_t BLOCK = 16;

static bool is_size(const spark_field& field) {
    return field.kind == SPARK_KIND_U32 && (field.flags & SPARK_FIELD_REQUIRED) != 0;
}

static bool has_blocks(const spark_op_desc& desc) {
    for (uint32_t i = 0; i < desc.num_fields; ++i)
        if (is_size(field(desc, i))) return true;
    return false;
}

Example::Example(const spark_op_desc& desc, Arena& arena, const Options& options)
    : desc_(&desc), bytes_(desc.args_size) {
    head()->struct_size = desc.args_size;
    head()->op = desc.op;
    if (desc.op == SPARK_OP_COMPRESS) sizes_ = {{"K", 24}, {"H", 12}, {"J", 3}}; // two of these follow from the first
    if (desc.op == SPARK_OP_ATTENTION) sizes_ = {{"D", 48}, {"E", 48}};   // with all that is optional they are alike
    if (desc.op == SPARK_OP_ROPE_APPEND) sizes_ = {{"D", 48}, {"R", 48}}; // no more of a head is turned than there is
    for (uint32_t i = 0; i < desc.num_fields; ++i) fill(i, arena, options);
}

void Example::fill(uint32_t index, Arena& arena, const Options& options) {
    const spark_field& field = api::field(*desc_, index);
    if (field.kind !=
        SPARK_KIND_TENSOR) { // zero is every scalar's default, or right for what is required, but for sizes
        if (is_size(field)) std::memcpy(bytes_.data() + field.offset, &BLOCK, sizeof BLOCK);
        return;
    }
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
            place->second = &name != &shape.names.back() ? (optional ? 2 : 2 + count) // rows stay few
                            : !has_blocks(*desc_)        ? 16 + 8 * count
                            : shape.ellipsis             ? BLOCK * (1 + count)
                                                         : BLOCK;
        dims.push_back(place->second);
    }
    const spark_quant_form* form = spark_op_form(desc_->op, index, 0);
    if (form && form->scheme == SPARK_QUANT_RECORD) { // one a row, for the 32 elements that a second letter has
        tensor.quant.scheme = SPARK_QUANT_RECORD;
        tensor.quant.record = static_cast<uint16_t>(form->record);
        dims.back() = form->record_bytes;
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
    const uint64_t legal = form && form->scheme == SPARK_QUANT_RECORD ? form->dtype_mask : field.dtype_mask;
    for (uint32_t bit = 0; dtype == 0 && bit < 64; ++bit)
        if (legal >> bit & 1) dtype = bit;
    if (dtype == 0 && field.dtype_as != 0xffffffffu) { // the named field stands later: take its first dtype
        const uint64_t mask = api::field(*desc_, field.dtype_as).dtype_mask;
        for (uint32_t bit = 0; dtype == 0 && bit < 64; ++bit)
            if (mask >> bit & 1) dtype = bit;
    }
    tensor.dtype = static_cast<spark_dtype>(dtype);
    tensor.size_bytes = (static_cast<uint64_t>(elements) * spark_dtype_bits(static_cast<spark_dtype>(dtype)) + 7) / 8;
    allocated_[index] = tensor.size_bytes;
    tensor.data = arena.take(tensor.size_bytes);
    const bool has_form = form && (form->dtype_mask >> dtype & 1) != 0; // else these are numbers
    if (has_form && form->scheme != SPARK_QUANT_RECORD) add_scales(tensor, *form, arena);
}

// Packed, of the first dtype that the form allows.
void Example::add_scales(spark_tensor& tensor, const spark_quant_form& form, Arena& arena) {
    const uint32_t first = tensor.ndim - form.num_blocks;
    spark_quant& quant = tensor.quant;
    quant.scheme = static_cast<spark_quant_scheme>(form.scheme);
    quant.scale_dtype = static_cast<spark_dtype>(__builtin_ctzll(form.scale_dtype_mask));
    uint64_t count = 1;
    for (uint32_t d = 0; d < tensor.ndim; ++d) {
        uint16_t block = 0;
        if (form.scheme == SPARK_QUANT_PER_ROW) block = d + 1 < tensor.ndim;
        if (form.scheme == SPARK_QUANT_BLOCK) block = quant.block[d] = d < first ? 1 : form.block[d - first];
        if (block != 0) count *= static_cast<uint64_t>((tensor.shape[d] + block - 1) / block);
    }
    quant.scale_bytes = count * spark_dtype_bits(quant.scale_dtype) / 8;
    quant.scale = arena.take(quant.scale_bytes);
}

namespace {

void need(spark_status status, const char* what) {
    if (status == SPARK_OK) return;
    std::fprintf(stderr, "%s: %s\n", what, spark_status_name(status));
    std::exit(1);
}

// Small finite numbers of the tensor's dtype.
std::vector<unsigned char> numbers(const spark_tensor& t, uint32_t seed) {
    std::vector<unsigned char> host(t.size_bytes);
    const size_t size = std::max<size_t>(spark_dtype_bits(t.dtype) / 8, 1); // a byte holds several of the smallest
    for (size_t i = 0; i * size < host.size(); ++i) {
        uint64_t bits = (i * 7 + seed) % 13;
        const float value = 0.125f * static_cast<float>(bits) - 0.5f;
        uint32_t f32;
        std::memcpy(&f32, &value, 4);
        if (size >= 4) bits = i + seed % 3; // integers ascend: lists of row starts must, and no place is named twice
        if (t.dtype == SPARK_DTYPE_F32) bits = f32;
        if (t.dtype == SPARK_DTYPE_BF16) bits = f32 >> 16;
        if (t.dtype == SPARK_DTYPE_F16) bits = 0x3000 + bits * 16;
        std::memcpy(&host[i * size], &bits, size);
    }
    return host;
}

} // namespace

std::vector<unsigned char> fetch(spark_context* ctx, const spark_tensor& t) {
    std::vector<unsigned char> host(t.size_bytes);
    need(spark_mem_copy_to_host(ctx, host.data(), t.data, host.size(), 0, nullptr), "fetching a tensor");
    return host;
}

void store(spark_context* ctx, const spark_tensor& t, const std::vector<unsigned char>& bytes) {
    need(spark_mem_copy_to_device(ctx, t.data, bytes.data(), bytes.size(), 0, nullptr), "filling a tensor");
}

void fill_tensors(spark_context* ctx, Example& e, uint32_t seed) {
    for (uint32_t f = 0; f < e.desc().num_fields; ++f) {
        const spark_field& field = api::field(e.desc(), f);
        if (field.kind == SPARK_KIND_TENSOR && e.tensor(f).ndim != 0)
            store(ctx, e.tensor(f), numbers(e.tensor(f), field.flags & SPARK_FIELD_OUT ? 99 : seed + f));
    }
}

std::vector<std::vector<unsigned char>> outputs(spark_context* ctx, const Example& e) {
    std::vector<std::vector<unsigned char>> all;
    for (uint32_t f = 0; f < e.desc().num_fields; ++f)
        if ((api::field(e.desc(), f).flags & SPARK_FIELD_OUT) && e.tensor(f).ndim)
            all.push_back(fetch(ctx, e.tensor(f)));
    return all;
}

} // namespace api
