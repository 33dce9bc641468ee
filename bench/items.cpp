// SPDX-License-Identifier: Apache-2.0
// The fixed rows of the benchmark, and what is to be said of a row that has been measured.
#include "items.h"

#include "ceilings.h"
#include "shapes.h"

#include <algorithm>
#include <stdexcept>

namespace bench {

static constexpr double LEAST_GAP = 0.3e-3; // milliseconds that two medians of one kernel may differ by

const Way& best(const Item& item) {
    return *std::min_element(item.ways.begin(), item.ways.end(),
                             [](const Way& a, const Way& b) { return a.median() < b.median(); });
}

bool beaten(const Item& item) {
    const double chosen = item.ways[0].median(), least = best(item).median();
    return least < 0.95 * chosen && chosen - least > LEAST_GAP;
}

std::vector<Item> ceiling_items(const Ceilings& ceilings, Buffers& buffers, bool small) {
    const int64_t words = (small ? int64_t{1} << 20 : int64_t{1} << 30) / 4;
    const spark_tensor from = buffers.random(SPARK_DTYPE_F32, {words}), to = buffers.random(SPARK_DTYPE_F32, {words});
    spark_context* ctx = buffers.context();
    const auto item = [](const char* name, Unit unit, double work, std::function<void(spark_stream)> run) {
        Item i;
        i.name = name, i.unit = unit, i.work = work;
        i.ways.emplace_back().run = std::move(run);
        return i;
    };
    const auto native = [=](spark_stream s) { // the driver knows nothing of the library's handles
        uint64_t stream = 0;
        if (spark_stream_native(ctx, s, &stream, nullptr) != SPARK_OK) throw std::runtime_error("the stream is gone");
        return stream;
    };
    return {item("mma_bf16", Unit::flops, ceilings.mma_flops(),
                 [&ceilings, native](spark_stream s) { ceilings.mma_bf16(native(s)); }),
            item("copy", Unit::bytes, 2.0 * static_cast<double>(from.size_bytes), // read and written
                 [=](spark_stream s) { spark_mem_copy(ctx, to.data, from.data, from.size_bytes, s, nullptr); }),
            item("read", Unit::bytes, ceilings.read_bytes(),
                 [&ceilings, native](spark_stream s) { ceilings.read(native(s)); })};
}

static void add_gemm(Rows& rows) {
    for (const char* layout : {"tn", "nn", "nt"}) gemm(rows, 4096, 4096, 4096, SPARK_DTYPE_BF16, layout);
    gemm(rows, 4096, 4096, 4096, SPARK_DTYPE_F16, "tn");
    gemm(rows, 1024, 1024, 1024, SPARK_DTYPE_BF16, "tn");
    gemm(rows, 2048, 2048, 2048, SPARK_DTYPE_BF16, "tn");
    gemm(rows, 8192, 8192, 8192, SPARK_DTYPE_BF16, "tn");
    gemm(rows, 4096, 14336, 4096, SPARK_DTYPE_BF16, "tn");
    gemm(rows, 4095, 4097, 4104, SPARK_DTYPE_BF16, "tn");
    gemm(rows, 128, 4096, 4096, SPARK_DTYPE_BF16, "tn");
    for (int64_t m : {1, 4, 16}) {
        gemm(rows, m, 4096, 4096, SPARK_DTYPE_BF16, "tn");
        gemm(rows, m, 14336, 4096, SPARK_DTYPE_BF16, "tn");
        gemm(rows, m, 49152, 576, SPARK_DTYPE_BF16, "tn");
    }
    for (int64_t m : {1, 16, 128}) gemm(rows, m, 14336, 4096, SPARK_DTYPE_E4M3, "tn");
    gemm(rows, 4096, 4096, 4096, SPARK_DTYPE_E4M3, "tn"); // on 9.0 of halves, so that it says nothing there
    gemm(rows, 32, 4096, 4096, SPARK_DTYPE_BF16, "tn");   // more than the kernels for few rows take
}

static void add_norms(Rows& rows) {
    for (bool residual : {false, true}) rmsnorm(rows, 16384, 4096, SPARK_DTYPE_BF16, residual);
    rmsnorm(rows, 16384, 4096, SPARK_DTYPE_F32, false);
    rmsnorm(rows, 8192, 8192, SPARK_DTYPE_BF16, false);
    rmsnorm(rows, 65536, 576, SPARK_DTYPE_BF16, false);
    rmsnorm(rows, 4096, 4097, SPARK_DTYPE_BF16, false);
    rmsnorm(rows, 262144, 128, SPARK_DTYPE_BF16, false);
    l2norm(rows, 262144, 128, SPARK_DTYPE_BF16);
}

static void add_attention(Rows& rows) {
    for (bool causal : {false, true}) attention(rows, 2, 4096, 4096, 32, 32, 128, causal);
    attention(rows, 2, 4096, 4096, 32, 8, 128, true);
    for (int64_t d : {64, 96})
        for (bool causal : {false, true}) attention(rows, 4, 4096, 4096, 32, 32, d, causal);
    for (bool causal : {false, true}) attention(rows, 1, 4096, 4096, 16, 2, 256, causal);
    attention(rows, 1, 512, 512, 32, 8, 128, true);
    for (int64_t batch : {1, 2, 4, 8}) attention(rows, batch, 1, 32768, 32, 8, 128, false);
    attention(rows, 1, 8, 32768, 32, 8, 128, true);
    for (int64_t batch : {1, 8}) attention(rows, batch, 1, 32768, 32, 8, 96, false);
    for (int64_t batch : {1, 8}) attention(rows, batch, 1, 32768, 16, 2, 256, false);
    attention(rows, 1, 8, 32768, 16, 2, 256, true);
    for (int64_t batch : {1, 8}) attention(rows, batch, 1, 32768, 32, 8, 128, false, true);
    attention(rows, 2, 4096, 4096, 32, 8, 128, true, true);
    attention(rows, 8, 1, 4096, 9, 3, 64, false);
}

static void add_pointwise(Rows& rows) {
    for (bool residual : {false, true}) layernorm(rows, 16384, 4096, residual);
    layernorm(rows, 65536, 768, false);
    pointwise(rows, 8192, 14336, SPARK_ACTIVATION_SILU, 1);
    pointwise(rows, 8192, 14336, SPARK_ACTIVATION_GELU_ERF, 1);
    for (bool packed : {false, true}) pointwise(rows, 8192, 14336, SPARK_ACTIVATION_SILU, 2, packed);
    pointwise(rows, 8192, 14336, SPARK_ACTIVATION_GELU_TANH, 2, true);
    pointwise(rows, 64, 14336, SPARK_ACTIVATION_SILU, 2, true);
    pointwise(rows, 4096, 4097, SPARK_ACTIVATION_SILU, 2, true);
    pointwise(rows, 16384, 4096, SPARK_ACTIVATION_NONE, 2);
}

static void add_tables_and_samples(Rows& rows) {
    embedding(rows, 65536, 128256, 4096);
    softmax(rows, 16384, 4096, SPARK_DTYPE_BF16);
    softmax(rows, 2048, 128256, SPARK_DTYPE_BF16);
    softmax(rows, 64, 128256, SPARK_DTYPE_BF16);
    cast(rows, 16384, 4096, SPARK_DTYPE_F32, SPARK_DTYPE_BF16, false);
    cast(rows, 16384, 4096, SPARK_DTYPE_BF16, SPARK_DTYPE_BF16, false);
    cast(rows, 4096, 4096, SPARK_DTYPE_BF16, SPARK_DTYPE_BF16, true);
    for (spark_record format : {SPARK_RECORD_Q8_0, SPARK_RECORD_Q4_1})
        for (spark_dtype dtype : {SPARK_DTYPE_BF16, SPARK_DTYPE_F32}) dequantize(rows, 14336, 4096, format, dtype);
    for (const char* form : {"E4M3_TENSOR", "E4M3_ROW", "E4M3_1X128", "MXFP8", "MXFP8 tiled", "NVFP4", "NVFP4 tiled"}) {
        quantize(rows, 14336, 4096, SPARK_DTYPE_BF16, form);
        dequantize_scaled(rows, 14336, 4096, SPARK_DTYPE_BF16, form);
    }
    for (const char* form : {"E4M3_TENSOR", "NVFP4"}) quantize(rows, 14336, 4096, SPARK_DTYPE_BF16, form, true);
    amax(rows, 14336, 4096, SPARK_DTYPE_BF16);
    amax(rows, 1, 14336 * 4096, SPARK_DTYPE_BF16);
    for (int64_t vocabulary : {49152, 128256, 262144}) {
        sample(rows, 1, vocabulary, SPARK_DTYPE_F32, 0, 0);
        sample(rows, 1, vocabulary, SPARK_DTYPE_F32, 50, 0.9f);
    }
    sample(rows, 1, 128256, SPARK_DTYPE_F32, 0, 0.9f);
    sample(rows, 64, 128256, SPARK_DTYPE_BF16, 0, 0);
    for (int32_t k : {0, 50}) sample(rows, 256, 128256, SPARK_DTYPE_F32, k, k == 0 ? 0 : 0.9f);
}

std::vector<Item> operator_items(Buffers& buffers, bool small, const std::string& only, bool rivals,
                                 const std::vector<std::string>& shapes) {
    Rows rows{buffers, only, rivals, false, {}};
    if (!shapes.empty()) {
        for (const std::string& shape : shapes) add_shape(rows, shape);
        return std::move(rows.items);
    }
    if (small) { // a look at the mechanism where a card is not at hand: the figures mean nothing there
        gemm(rows, 128, 128, 64, SPARK_DTYPE_BF16, "tn");
        rmsnorm(rows, 16, 1024, SPARK_DTYPE_BF16, false);
        attention(rows, 1, 64, 64, 2, 1, 64, true);
        attention(rows, 1, 1, 1024, 4, 1, 64, false);
        embedding(rows, 16, 100, 256);
        pointwise(rows, 16, 256, SPARK_ACTIVATION_SILU, 2, true);
        return std::move(rows.items);
    }
    add_gemm(rows);
    add_norms(rows);
    add_attention(rows);
    add_pointwise(rows);
    add_tables_and_samples(rows);
    return std::move(rows.items);
}

} // namespace bench
