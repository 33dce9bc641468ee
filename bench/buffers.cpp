// SPDX-License-Identifier: Apache-2.0
// Random tensors on the device, cut from memory that rows share, or from a pool.
#include "buffers.h"

#include <algorithm>
#include <random>
#include <stdexcept>
#include <string>

namespace bench {
namespace {

constexpr uint64_t ALIGNED = 256, LEAST_PIECE = uint64_t{64} << 20;
constexpr uint32_t BF16_PATTERN = 0x3f003f00u, BF16_KEPT = 0x807f807fu;

// Bytes may be codes of eight bits, of which all ones, but for the sign, are no number: one less then.
uint32_t numbers(uint32_t word) {
    const uint32_t carried = (word & 0x7f7f7f7fu) + 0x01010101u; // into a byte's sign where all else is ones
    return word - (carried >> 7 & 0x01010101u);
}

// One prime-sized block of random words for all buffers: sign and fraction random, magnitude 0.5 to 1. Scales of a byte
// are powers of two from 1/128 to 1/16, and as UE4M3 256 to 352.
std::vector<uint32_t> noise(spark_dtype dtype) {
    static const std::vector<uint32_t> random = [] {
        std::vector<uint32_t> words(4'000'037);
        std::mt19937 generator(1);
        for (uint32_t& word : words) word = generator();
        return words;
    }();
    std::vector<uint32_t> words = random;
    for (uint32_t& w : words) {
        if (dtype == SPARK_DTYPE_F32) w = (w & 0x807fffffu) | 0x3f000000u;
        if (dtype == SPARK_DTYPE_BF16) w = (w & BF16_KEPT) | BF16_PATTERN;
        if (dtype == SPARK_DTYPE_F16) w = (w & 0x83ff83ffu) | 0x38003800u;
        if (dtype == SPARK_DTYPE_U8) w = numbers(w);
        if (dtype == SPARK_DTYPE_UE8M0) w = (w & 0x03030303u) + 0x78787878u;
        if (dtype == SPARK_DTYPE_E4M3) w = (w & 0x87878787u) | 0x30303030u;
        if (dtype == SPARK_DTYPE_E5M2) w = (w & 0x83838383u) | 0x38383838u;
    }
    return words;
}

} // namespace

// A pool holds the pattern of BF16, which makes ordinary numbers of the other formats too.
Buffers::Buffers(spark_context* ctx, Source source, uint64_t pool_bytes) : ctx_(ctx), source_(source) {
    if (source != Source::pool) return;
    for (Pool* pool : {&inputs_, &results_}) *pool = {allocate(pool_bytes), pool_bytes, 0};
    const std::vector<uint32_t> words = noise(SPARK_DTYPE_BF16);
    fill(inputs_.data, pool_bytes, words.data(), words.size() * 4);
}

Buffers::~Buffers() {
    for (uint64_t data : all_) spark_mem_free(ctx_, data, nullptr);
}

uint64_t Buffers::allocate(uint64_t bytes) {
    spark_error err{};
    err.struct_size = sizeof err;
    spark_devptr device = 0;
    const spark_status status = spark_mem_alloc(ctx_, bytes, &device, &err);
    if (status == SPARK_ERR_DEVICE_MEMORY) throw NoMemory(err.message);
    if (status != SPARK_OK) throw std::runtime_error(err.message);
    all_.push_back(device);
    return device;
}

// Fills `total` bytes on the device with repetitions of the host block.
void Buffers::fill(uint64_t device, uint64_t total, const void* data, uint64_t bytes) {
    spark_error err{};
    err.struct_size = sizeof err;
    for (uint64_t at = 0; at < total; at += bytes)
        if (spark_mem_copy_to_device(ctx_, device + at, data, std::min(bytes, total - at), 0, &err) != SPARK_OK)
            throw std::runtime_error(err.message);
}

uint64_t Buffers::filled(spark_dtype dtype, uint64_t bytes) {
    const std::vector<uint32_t> words = noise(dtype);
    const uint64_t data = allocate(bytes);
    fill(data, bytes, words.data(), words.size() * 4);
    return data;
}

uint64_t Buffers::cut(Pool& pool, uint64_t bytes) {
    if (bytes > pool.bytes)
        throw std::runtime_error("a tensor of " + std::to_string(bytes) + " bytes is larger than the pool");
    if (bytes > pool.bytes - pool.used) pool.used = 0;
    const uint64_t data = pool.data + pool.used;
    pool.used += std::min((bytes + ALIGNED - 1) / ALIGNED * ALIGNED, pool.bytes - pool.used);
    return data;
}

// From the first piece that has room behind those of this row, else from a new one.
uint64_t Buffers::cut(Shared& shared, uint64_t bytes, const std::function<uint64_t(uint64_t)>& more) {
    for (; shared.at < shared.pieces.size(); ++shared.at) {
        Pool& piece = shared.pieces[shared.at];
        if (bytes <= piece.bytes - piece.used) return cut(piece, bytes);
    }
    const uint64_t size = std::max(bytes, LEAST_PIECE);
    shared.pieces.push_back({more(size), size, 0});
    return cut(shared.pieces.back(), bytes);
}

void Buffers::next_row() {
    const auto begin = [](Shared& shared) {
        shared.at = 0;
        for (Pool& piece : shared.pieces) piece.used = 0;
    };
    for (auto& [dtype, shared] : read_) begin(shared);
    begin(written_);
}

// Where nothing runs: without an address an optional tensor would be absent, and two of one address overlap.
uint64_t Buffers::nowhere(uint64_t bytes) {
    const uint64_t data = nowhere_;
    nowhere_ += (bytes + ALIGNED) / ALIGNED * ALIGNED;
    return data;
}

uint64_t Buffers::random(spark_dtype dtype, uint64_t bytes) {
    if (source_ == Source::none) return nowhere(bytes);
    if (source_ == Source::pool) return cut(inputs_, bytes);
    return cut(read_[dtype], bytes, [&](uint64_t size) { return filled(dtype, size); });
}

uint64_t Buffers::updated(spark_dtype dtype, uint64_t bytes) {
    return source_ == Source::shared ? filled(dtype, bytes) : random(dtype, bytes);
}

uint64_t Buffers::result(uint64_t bytes) {
    if (source_ == Source::none) return nowhere(bytes);
    if (source_ == Source::pool) return cut(results_, bytes);
    return cut(written_, bytes, [&](uint64_t size) { return allocate(size); });
}

uint64_t Buffers::copied(const std::vector<uint8_t>& bytes) {
    if (source_ == Source::none) return nowhere(bytes.size());
    const uint64_t data = source_ == Source::pool ? cut(results_, bytes.size()) : allocate(bytes.size());
    fill(data, bytes.size(), bytes.data(), bytes.size());
    return data;
}

} // namespace bench
