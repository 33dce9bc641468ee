// SPDX-License-Identifier: Apache-2.0
// The rows of the benchmark. Inputs are random, since zeros run faster; row operators rotate over enough copies that no
// cache holds them from one launch to the next.
#include "items.h"

#include "ceilings.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <stdexcept>
#include <tuple>

namespace bench {
namespace {

constexpr uint64_t BEYOND_CACHE = uint64_t{512} << 20;

// The rows so far, and what the name or shape of a row must contain: no other row is made, so that a run of a few needs
// neither the memory of all of them nor a kernel for each.
struct Rows {
    Buffers& buffers;
    const std::string& only;
    std::vector<Item> items;
};

// Launches args[i] in turn. All of them have one kernel, since they differ only in addresses.
template <class Args>
Item operator_item(spark_context* ctx, std::string name, std::string shape, std::vector<Args> args, const char* ceiling,
                   Unit unit) {
    spark_error err{};
    err.struct_size = sizeof err;
    spark_op_info info{};
    info.struct_size = sizeof info;
    for (const Args& a : args)
        if (spark_op_prepare(ctx, &a.hdr, &info, &err) != SPARK_OK) throw std::runtime_error(name + ": " + err.message);
    // Launches follow each other in a stream, so that one workspace serves them all.
    spark_devptr room = 0;
    if (info.workspace_size != 0 && spark_mem_alloc(ctx, info.workspace_size, &room, &err) != SPARK_OK)
        throw std::runtime_error(name + ": " + err.message);
    const std::shared_ptr<void> workspace(nullptr, [=](void*) { spark_mem_free(ctx, room, nullptr); });
    Item item;
    item.name = std::move(name), item.shape = std::move(shape), item.kernel = info.kernel, item.ceiling = ceiling;
    item.unit = unit;
    item.work = static_cast<double>(unit == Unit::flops ? info.flops : info.bytes);
    auto shared = std::make_shared<std::vector<Args>>(std::move(args));
    auto turn = std::make_shared<size_t>(0);
    item.run = [=, held = workspace](spark_stream stream) {
        spark_exec exec{};
        exec.struct_size = sizeof exec;
        exec.stream = stream;
        exec.workspace = room, exec.workspace_size = info.workspace_size;
        spark_error failure{};
        failure.struct_size = sizeof failure;
        if (spark_op_launch(ctx, &(*shared)[(*turn)++ % shared->size()].hdr, &exec, &failure) != SPARK_OK)
            throw std::runtime_error(failure.message);
    };
    return item;
}

// A row of the operator `op`: `count` arguments, each completed by `fill`.
template <class Args, class Fill>
void add_row(Rows& rows, spark_op op, const std::string& shape, size_t count, const char* ceiling, Unit unit,
             const Fill& fill) {
    const std::string name = spark_op_describe(op)->name;
    if ((name + " " + shape).find(rows.only) == std::string::npos) return;
    Args args{};
    args.hdr.struct_size = sizeof args;
    args.hdr.op = op;
    std::vector<Args> all(count, args);
    for (Args& a : all) fill(a);
    rows.items.push_back(operator_item(rows.buffers.context(), name, shape, std::move(all), ceiling, unit));
}

size_t copies(uint64_t bytes) { return std::clamp<uint64_t>(BEYOND_CACHE / std::max<uint64_t>(bytes, 1) + 1, 2, 64); }

// The view of a packed [columns, rows] tensor as [rows, columns]: the layouts nn and nt of gemm.
spark_tensor transposed(spark_tensor t) {
    std::swap(t.shape[0], t.shape[1]);
    t.stride[0] = 1, t.stride[1] = t.shape[0];
    return t;
}

std::string row_shape(int64_t rows, int64_t n, spark_dtype dtype) {
    return "rows=" + std::to_string(rows) + " n=" + std::to_string(n) + " " + spark_dtype_name(dtype);
}

std::string gemm_shape(int64_t m, int64_t n, int64_t k) {
    return "m=" + std::to_string(m) + " n=" + std::to_string(n) + " k=" + std::to_string(k);
}

int64_t size_of(spark_dtype dtype) { return dtype == SPARK_DTYPE_F32 ? 4 : 2; }

void gemm(Rows& rows, int64_t m, int64_t n, int64_t k, spark_dtype dtype, const std::string& layout) {
    const auto tensor = [&](int64_t a, int64_t b) { return rows.buffers.random(dtype, {a, b}); };
    add_row<spark_gemm_args>(rows, SPARK_OP_GEMM, gemm_shape(m, n, k) + " " + spark_dtype_name(dtype) + " " + layout, 1,
                             "mma_bf16", Unit::flops, [&](spark_gemm_args& g) {
                                 g.a = layout == "nt" ? transposed(tensor(k, m)) : tensor(m, k);
                                 g.b = layout == "tn" ? tensor(n, k) : transposed(tensor(k, n));
                                 g.d = tensor(m, n);
                             });
}

// Few rows: a stream of b, which no cache holds.
void gemm_rows(Rows& rows, int64_t m, int64_t n, int64_t k) {
    const auto tensor = [&](int64_t a, int64_t b) { return rows.buffers.random(SPARK_DTYPE_BF16, {a, b}); };
    add_row<spark_gemm_args>(rows, SPARK_OP_GEMM, gemm_shape(m, n, k) + " BF16 tn", copies(uint64_t(n) * k * 2), "read",
                             Unit::bytes,
                             [&](spark_gemm_args& g) { g.a = tensor(m, k), g.b = tensor(n, k), g.d = tensor(m, n); });
}

void rmsnorm(Rows& rows, int64_t count, int64_t n, spark_dtype dtype, bool residual) {
    const auto tensor = [&] { return rows.buffers.random(dtype, {count, n}); };
    const uint64_t bytes = uint64_t(count) * n * size_of(dtype) * (residual ? 4 : 2);
    add_row<spark_rmsnorm_args>(rows, SPARK_OP_RMSNORM, row_shape(count, n, dtype) + (residual ? " +residual" : ""),
                                copies(bytes), "copy", Unit::bytes, [&](spark_rmsnorm_args& r) {
                                    r.eps = 1e-5f, r.x = tensor(), r.y = tensor();
                                    r.weight = rows.buffers.random(dtype, {n});
                                    if (residual) r.residual = tensor(), r.residual_out = r.residual;
                                });
}

void l2norm(Rows& rows, int64_t count, int64_t n, spark_dtype dtype) {
    const auto tensor = [&] { return rows.buffers.random(dtype, {count, n}); };
    add_row<spark_l2norm_args>(rows, SPARK_OP_L2NORM, row_shape(count, n, dtype),
                               copies(uint64_t(count) * n * size_of(dtype) * 2), "copy", Unit::bytes,
                               [&](spark_l2norm_args& l) { l.eps = 1e-6f, l.x = tensor(), l.y = tensor(); });
}

// FLOPs count the pairs that are visible, twice (scores, sums); bytes are q, k, v and o once. A decoding row of a batch
// reads a cache of its own, and takes turns with copies that the caches of the card do not hold.
void attention(Rows& rows, int64_t batch, int64_t queries, int64_t keys, int64_t heads, int64_t kv_heads, int64_t d,
               bool causal) {
    const bool decode = queries <= 8;
    const std::string shape = "b=" + std::to_string(batch) + " q=" + std::to_string(queries) +
                              " k=" + std::to_string(keys) + " h=" + std::to_string(heads) + "/" +
                              std::to_string(kv_heads) + " d=" + std::to_string(d) + " BF16" +
                              (causal ? " causal" : "");
    const auto tensor = [&](int64_t tokens, int64_t count) {
        return rows.buffers.random(SPARK_DTYPE_BF16, {batch, tokens, count, d});
    };
    add_row<spark_attention_args>(
        rows, SPARK_OP_ATTENTION, shape, decode ? copies(uint64_t(batch) * keys * kv_heads * d * 4) : 1,
        decode ? "read" : "mma_bf16", decode ? Unit::bytes : Unit::flops, [&](spark_attention_args& a) {
            a.hdr.flags = causal ? SPARK_ATTENTION_CAUSAL : 0;
            a.q = tensor(queries, heads), a.k = tensor(keys, kv_heads);
            a.v = tensor(keys, kv_heads), a.o = tensor(queries, heads);
        });
}

void layernorm(Rows& rows, int64_t count, int64_t n, bool residual) {
    const auto tensor = [&] { return rows.buffers.random(SPARK_DTYPE_BF16, {count, n}); };
    const auto vector = [&] { return rows.buffers.random(SPARK_DTYPE_BF16, {n}); };
    add_row<spark_layernorm_args>(
        rows, SPARK_OP_LAYERNORM, row_shape(count, n, SPARK_DTYPE_BF16) + (residual ? " +residual" : ""),
        copies(uint64_t(count) * n * (residual ? 8 : 4)), "copy", Unit::bytes, [&](spark_layernorm_args& l) {
            l.eps = 1e-5f, l.x = tensor(), l.y = tensor();
            l.weight = vector(), l.bias = vector();
            if (residual) l.residual = tensor(), l.residual_out = l.residual;
        });
}

// Two halves [rows, n] of one packed tensor.
std::pair<spark_tensor, spark_tensor> halves(Buffers& buffers, int64_t rows, int64_t n) {
    spark_tensor first = buffers.random(SPARK_DTYPE_BF16, {rows, 2 * n});
    first.shape[1] = n, first.stride[0] = 2 * n, first.stride[1] = 1, first.size_bytes = 0;
    spark_tensor second = first;
    second.data += static_cast<uint64_t>(n) * 2;
    return {first, second};
}

// BF16. inputs 1: activation; 2: glu of two tensors or, packed, of two halves; add where kind is NONE.
void pointwise(Rows& rows, int64_t count, int64_t n, spark_activation_kind kind, int inputs, bool packed = false) {
    const auto tensor = [&] { return rows.buffers.random(SPARK_DTYPE_BF16, {count, n}); };
    const size_t turns = copies(uint64_t(count) * n * 2 * (inputs + 1));
    std::string shape = row_shape(count, n, SPARK_DTYPE_BF16);
    if (inputs == 2 && kind == SPARK_ACTIVATION_NONE)
        return add_row<spark_add_args>(rows, SPARK_OP_ADD, shape + " in place", turns, "copy", Unit::bytes,
                                       [&](spark_add_args& a) { a.a = tensor(), a.b = tensor(), a.y = a.a; });
    shape += kind == SPARK_ACTIVATION_SILU ? " silu" : kind == SPARK_ACTIVATION_GELU_ERF ? " gelu" : " gelu_tanh";
    if (inputs == 1)
        return add_row<spark_activation_args>(
            rows, SPARK_OP_ACTIVATION, shape, turns, "copy", Unit::bytes,
            [&](spark_activation_args& a) { a.x = tensor(), a.y = tensor(), a.activation = kind; });
    add_row<spark_glu_args>(rows, SPARK_OP_GLU, shape + (packed ? " packed" : ""), turns, "copy", Unit::bytes,
                            [&](spark_glu_args& g) {
                                if (packed) std::tie(g.gate, g.up) = halves(rows.buffers, count, n);
                                else g.gate = tensor(), g.up = tensor();
                                g.y = tensor(), g.activation = kind;
                            });
}

void softmax(Rows& rows, int64_t count, int64_t n, spark_dtype dtype) {
    const auto tensor = [&] { return rows.buffers.random(dtype, {count, n}); };
    add_row<spark_softmax_args>(rows, SPARK_OP_SOFTMAX, row_shape(count, n, dtype),
                                copies(uint64_t(count) * n * size_of(dtype) * 2), "copy", Unit::bytes,
                                [&](spark_softmax_args& s) { s.x = tensor(), s.y = tensor(); });
}

void embedding(Rows& rows, int64_t tokens, int64_t vocabulary, int64_t width) {
    const std::string shape = "tokens=" + std::to_string(tokens) + " vocabulary=" + std::to_string(vocabulary) +
                              " width=" + std::to_string(width) + " BF16";
    spark_tensor table{}; // one for all
    add_row<spark_embedding_args>(rows, SPARK_OP_EMBEDDING, shape, 4, "copy", Unit::bytes,
                                  [&](spark_embedding_args& e) {
                                      if (!table.data)
                                          table = rows.buffers.random(SPARK_DTYPE_BF16, {vocabulary, width});
                                      e.hdr.flags = SPARK_EMBEDDING_ZERO_INVALID;
                                      e.table = table, e.ids = rows.buffers.indices(tokens, vocabulary);
                                      e.y = rows.buffers.random(SPARK_DTYPE_BF16, {tokens, width});
                                  });
}

void cast(Rows& rows, int64_t count, int64_t n, spark_dtype from, spark_dtype to, bool transpose) {
    const auto tensor = [&](spark_dtype dtype, int64_t a, int64_t b) { return rows.buffers.random(dtype, {a, b}); };
    add_row<spark_cast_args>(
        rows, SPARK_OP_CAST,
        row_shape(count, n, from) + " to " + spark_dtype_name(to) + (transpose ? " transposed" : ""),
        copies(uint64_t(count) * n * (size_of(from) + size_of(to))), "copy", Unit::bytes, [&](spark_cast_args& c) {
            c.x = transpose ? transposed(tensor(from, n, count)) : tensor(from, count, n);
            c.y = tensor(to, count, n);
        });
}

// Records of random bits: NaN scales among them cost what others cost.
void dequantize(Rows& rows, int64_t count, int64_t n, spark_record format, spark_dtype dtype) {
    const int64_t bytes = n / 32 * (format == SPARK_RECORD_Q8_0 ? 34 : 20);
    const std::string shape = "rows=" + std::to_string(count) + " n=" + std::to_string(n) +
                              (format == SPARK_RECORD_Q8_0 ? " Q8_0 to " : " Q4_1 to ") + spark_dtype_name(dtype);
    add_row<spark_dequantize_args>(rows, SPARK_OP_DEQUANTIZE, shape,
                                   copies(uint64_t(count) * (bytes + n * size_of(dtype))), "copy", Unit::bytes,
                                   [&](spark_dequantize_args& d) {
                                       d.x = rows.buffers.random(SPARK_DTYPE_U8, {count, bytes});
                                       d.x.quant.scheme = SPARK_QUANT_RECORD, d.x.quant.block[0] = format;
                                       d.y = rows.buffers.random(dtype, {count, n});
                                   });
}

// Greedy where k and p are 0.
void sample(Rows& rows, int64_t count, int64_t vocabulary, spark_dtype dtype, int32_t k, float p) {
    const std::string shape = "rows=" + std::to_string(count) + " v=" + std::to_string(vocabulary) + " " +
                              spark_dtype_name(dtype) + (k != 0 ? " k=" + std::to_string(k) : "") +
                              (p != 0 ? " p=0.9" : "") + (k == 0 && p == 0 ? " greedy" : "");
    uint64_t seed = 0;
    add_row<spark_sample_args>(rows, SPARK_OP_SAMPLE, shape, copies(uint64_t(count) * vocabulary * size_of(dtype)),
                               "read", Unit::bytes, [&](spark_sample_args& s) {
                                   // logits are +-0.5 to 1 here: their ratios become those of a model
                                   s.temperature = k != 0 || p != 0 ? 0.1f : 0;
                                   s.top_k = k, s.top_p = p, s.seed = seed++;
                                   s.logits = rows.buffers.random(dtype, {count, vocabulary});
                                   s.ids = rows.buffers.indices(count, 1);
                               });
}

} // namespace

Buffers::~Buffers() {
    for (uint64_t data : all_) spark_mem_free(ctx_, data, nullptr);
}

// Fills `total` bytes on the device with repetitions of the host block.
uint64_t Buffers::upload(const void* data, uint64_t bytes, uint64_t total) {
    spark_error err{};
    err.struct_size = sizeof err;
    spark_devptr device = 0;
    if (spark_mem_alloc(ctx_, total, &device, &err) != SPARK_OK) throw std::runtime_error(err.message);
    all_.push_back(device);
    for (uint64_t at = 0; at < total; at += bytes)
        if (spark_mem_copy_to_device(ctx_, device + at, data, std::min(bytes, total - at), 0, &err) != SPARK_OK)
            throw std::runtime_error(err.message);
    return device;
}

spark_tensor Buffers::random(spark_dtype dtype, std::vector<int64_t> shape) {
    // One prime-sized block of random words for all buffers: sign and fraction random, magnitude 0.5 to 1.
    static const std::vector<uint32_t> noise = [] {
        std::vector<uint32_t> words(4'000'037);
        std::mt19937 generator(1);
        for (uint32_t& word : words) word = generator();
        return words;
    }();
    std::vector<uint32_t> words = noise;
    for (uint32_t& w : words) {
        if (dtype == SPARK_DTYPE_F32) w = (w & 0x807fffffu) | 0x3f000000u;
        if (dtype == SPARK_DTYPE_BF16) w = (w & 0x807f807fu) | 0x3f003f00u;
        if (dtype == SPARK_DTYPE_F16) w = (w & 0x83ff83ffu) | 0x38003800u;
    }
    spark_tensor t{};
    t.dtype = dtype;
    uint64_t elements = 1;
    for (int64_t size : shape) t.shape[t.ndim++] = size, elements *= static_cast<uint64_t>(size);
    t.size_bytes = elements * (dtype == SPARK_DTYPE_F32 ? 4 : dtype == SPARK_DTYPE_U8 ? 1 : 2);
    t.data = upload(words.data(), words.size() * 4, t.size_bytes);
    return t;
}

spark_tensor Buffers::indices(int64_t count, int64_t limit) {
    std::vector<int32_t> ids(static_cast<size_t>(count));
    std::mt19937 generator(2);
    for (int32_t& id : ids) id = static_cast<int32_t>(generator() % static_cast<uint64_t>(limit));
    spark_tensor t{};
    t.dtype = SPARK_DTYPE_I32, t.ndim = 1, t.shape[0] = count, t.size_bytes = ids.size() * 4;
    t.data = upload(ids.data(), t.size_bytes, t.size_bytes);
    return t;
}

std::vector<Item> ceiling_items(const Ceilings& ceilings, Buffers& buffers, bool small) {
    const int64_t words = (small ? int64_t{1} << 20 : int64_t{1} << 30) / 4;
    const spark_tensor from = buffers.random(SPARK_DTYPE_F32, {words}), to = buffers.random(SPARK_DTYPE_F32, {words});
    spark_context* ctx = buffers.context();
    const auto item = [](const char* name, Unit unit, double work, std::function<void(spark_stream)> run) {
        Item i;
        i.name = name, i.unit = unit, i.work = work, i.run = std::move(run);
        return i;
    };
    return {item("mma_bf16", Unit::flops, ceilings.mma_flops(), [&](spark_stream s) { ceilings.mma_bf16(s); }),
            item("copy", Unit::bytes, 2.0 * static_cast<double>(from.size_bytes), // read and written
                 [=](spark_stream s) { spark_mem_copy(ctx, to.data, from.data, from.size_bytes, s, nullptr); }),
            item("read", Unit::bytes, ceilings.read_bytes(), [&](spark_stream s) { ceilings.read(s); })};
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
        gemm_rows(rows, m, 4096, 4096);
        gemm_rows(rows, m, 14336, 4096);
        gemm_rows(rows, m, 49152, 576);
    }
    gemm_rows(rows, 32, 4096, 4096); // more than the kernels for few rows take
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
    for (int64_t vocabulary : {49152, 128256, 262144}) {
        sample(rows, 1, vocabulary, SPARK_DTYPE_F32, 0, 0);
        sample(rows, 1, vocabulary, SPARK_DTYPE_F32, 50, 0.9f);
    }
    sample(rows, 1, 128256, SPARK_DTYPE_F32, 0, 0.9f);
    sample(rows, 64, 128256, SPARK_DTYPE_BF16, 0, 0);
    for (int32_t k : {0, 50}) sample(rows, 256, 128256, SPARK_DTYPE_F32, k, k == 0 ? 0 : 0.9f);
}

std::vector<Item> operator_items(Buffers& buffers, bool small, const std::string& only) {
    Rows rows{buffers, only, {}};
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
