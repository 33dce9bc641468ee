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

template <class Args> Args start(spark_op op) {
    Args args{};
    args.hdr.struct_size = sizeof args;
    args.hdr.op = op;
    return args;
}

size_t copies(uint64_t bytes) { return std::clamp<uint64_t>(BEYOND_CACHE / std::max<uint64_t>(bytes, 1) + 1, 2, 64); }

// The view of a packed [columns, rows] tensor as [rows, columns]: the layouts nn and nt of gemm.
spark_tensor transposed(spark_tensor t) {
    std::swap(t.shape[0], t.shape[1]);
    t.stride[0] = 1, t.stride[1] = t.shape[0];
    return t;
}

Item gemm(Buffers& buffers, int64_t m, int64_t n, int64_t k, spark_dtype dtype, const std::string& layout) {
    auto g = start<spark_gemm_args>(SPARK_OP_GEMM);
    g.a = layout == "nt" ? transposed(buffers.random(dtype, {k, m})) : buffers.random(dtype, {m, k});
    g.b = layout == "tn" ? buffers.random(dtype, {n, k}) : transposed(buffers.random(dtype, {k, n}));
    g.d = buffers.random(dtype, {m, n});
    const std::string shape = "m=" + std::to_string(m) + " n=" + std::to_string(n) + " k=" + std::to_string(k) + " " +
                              spark_dtype_name(dtype) + " " + layout;
    return operator_item<spark_gemm_args>(buffers.context(), "gemm", shape, {g}, "mma_bf16", Unit::flops);
}

// Few rows: a stream of b, which no cache holds.
Item gemm_rows(Buffers& buffers, int64_t m, int64_t n, int64_t k) {
    std::vector<spark_gemm_args> all;
    for (size_t i = 0; i < copies(uint64_t(n) * k * 2); ++i) {
        auto g = start<spark_gemm_args>(SPARK_OP_GEMM);
        g.a = buffers.random(SPARK_DTYPE_BF16, {m, k}), g.b = buffers.random(SPARK_DTYPE_BF16, {n, k});
        g.d = buffers.random(SPARK_DTYPE_BF16, {m, n});
        all.push_back(g);
    }
    const std::string shape =
        "m=" + std::to_string(m) + " n=" + std::to_string(n) + " k=" + std::to_string(k) + " BF16 tn";
    return operator_item(buffers.context(), "gemm", shape, std::move(all), "read", Unit::bytes);
}

Item rmsnorm(Buffers& buffers, int64_t rows, int64_t n, spark_dtype dtype, bool residual) {
    std::vector<spark_rmsnorm_args> all;
    const uint64_t bytes = uint64_t(rows) * n * (dtype == SPARK_DTYPE_F32 ? 4 : 2) * (residual ? 4 : 2);
    for (size_t i = 0; i < copies(bytes); ++i) {
        auto r = start<spark_rmsnorm_args>(SPARK_OP_RMSNORM);
        r.eps = 1e-5f;
        r.x = buffers.random(dtype, {rows, n}), r.weight = buffers.random(dtype, {n}),
        r.y = buffers.random(dtype, {rows, n});
        if (residual) r.residual = buffers.random(dtype, {rows, n}), r.residual_out = r.residual;
        all.push_back(r);
    }
    const std::string shape = "rows=" + std::to_string(rows) + " n=" + std::to_string(n) + " " +
                              spark_dtype_name(dtype) + (residual ? " +residual" : "");
    return operator_item(buffers.context(), "rmsnorm", shape, std::move(all), "copy", Unit::bytes);
}

Item l2norm(Buffers& buffers, int64_t rows, int64_t n, spark_dtype dtype) {
    std::vector<spark_l2norm_args> all;
    const uint64_t bytes = uint64_t(rows) * n * (dtype == SPARK_DTYPE_F32 ? 4 : 2) * 2;
    for (size_t i = 0; i < copies(bytes); ++i) {
        auto l = start<spark_l2norm_args>(SPARK_OP_L2NORM);
        l.eps = 1e-6f, l.x = buffers.random(dtype, {rows, n}), l.y = buffers.random(dtype, {rows, n});
        all.push_back(l);
    }
    const std::string shape =
        "rows=" + std::to_string(rows) + " n=" + std::to_string(n) + " " + spark_dtype_name(dtype);
    return operator_item(buffers.context(), "l2norm", shape, std::move(all), "copy", Unit::bytes);
}

// FLOPs count the pairs that are visible, twice (scores, sums); bytes are q, k, v and o once. A decoding row of a batch
// reads a cache of its own, and takes turns with copies that the caches of the card do not hold.
Item attention(Buffers& buffers, int64_t batch, int64_t queries, int64_t keys, int64_t heads, int64_t kv_heads,
               int64_t d, bool causal) {
    const bool decode = queries <= 8;
    std::vector<spark_attention_args> all;
    for (size_t i = 0; i < (decode ? copies(uint64_t(batch) * keys * kv_heads * d * 4) : 1); ++i) {
        auto a = start<spark_attention_args>(SPARK_OP_ATTENTION);
        a.hdr.flags = causal ? SPARK_ATTENTION_CAUSAL : 0;
        a.q = buffers.random(SPARK_DTYPE_BF16, {batch, queries, heads, d});
        a.k = buffers.random(SPARK_DTYPE_BF16, {batch, keys, kv_heads, d});
        a.v = buffers.random(SPARK_DTYPE_BF16, {batch, keys, kv_heads, d});
        a.o = buffers.random(SPARK_DTYPE_BF16, {batch, queries, heads, d});
        all.push_back(a);
    }
    const std::string shape = "b=" + std::to_string(batch) + " q=" + std::to_string(queries) +
                              " k=" + std::to_string(keys) + " h=" + std::to_string(heads) + "/" +
                              std::to_string(kv_heads) + " d=" + std::to_string(d) + " BF16" +
                              (causal ? " causal" : "");
    return operator_item(buffers.context(), "attention", shape, std::move(all), decode ? "read" : "mma_bf16",
                         decode ? Unit::bytes : Unit::flops);
}

Item layernorm(Buffers& buffers, int64_t rows, int64_t n, bool residual) {
    std::vector<spark_layernorm_args> all;
    for (size_t i = 0; i < copies(uint64_t(rows) * n * (residual ? 8 : 4)); ++i) {
        auto l = start<spark_layernorm_args>(SPARK_OP_LAYERNORM);
        l.eps = 1e-5f;
        l.x = buffers.random(SPARK_DTYPE_BF16, {rows, n}), l.y = buffers.random(SPARK_DTYPE_BF16, {rows, n});
        l.weight = buffers.random(SPARK_DTYPE_BF16, {n}), l.bias = buffers.random(SPARK_DTYPE_BF16, {n});
        if (residual) l.residual = buffers.random(SPARK_DTYPE_BF16, {rows, n}), l.residual_out = l.residual;
        all.push_back(l);
    }
    const std::string shape =
        "rows=" + std::to_string(rows) + " n=" + std::to_string(n) + " BF16" + (residual ? " +residual" : "");
    return operator_item(buffers.context(), "layernorm", shape, std::move(all), "copy", Unit::bytes);
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
Item pointwise(Buffers& buffers, int64_t rows, int64_t n, spark_activation_kind kind, int inputs, bool packed = false) {
    const auto tensor = [&] { return buffers.random(SPARK_DTYPE_BF16, {rows, n}); };
    const size_t count = copies(uint64_t(rows) * n * 2 * (inputs + 1));
    std::string shape = "rows=" + std::to_string(rows) + " n=" + std::to_string(n) + " BF16";
    if (inputs == 2 && kind == SPARK_ACTIVATION_NONE) {
        std::vector<spark_add_args> all(count, start<spark_add_args>(SPARK_OP_ADD));
        for (auto& a : all) a.a = tensor(), a.b = tensor(), a.y = a.a;
        return operator_item(buffers.context(), "add", shape + " in place", std::move(all), "copy", Unit::bytes);
    }
    shape += kind == SPARK_ACTIVATION_SILU ? " silu" : kind == SPARK_ACTIVATION_GELU_ERF ? " gelu" : " gelu_tanh";
    if (inputs == 1) {
        std::vector<spark_activation_args> all(count, start<spark_activation_args>(SPARK_OP_ACTIVATION));
        for (auto& a : all) a.x = tensor(), a.y = tensor(), a.activation = kind;
        return operator_item(buffers.context(), "activation", shape, std::move(all), "copy", Unit::bytes);
    }
    std::vector<spark_glu_args> all(count, start<spark_glu_args>(SPARK_OP_GLU));
    for (auto& g : all) {
        if (packed) std::tie(g.gate, g.up) = halves(buffers, rows, n);
        else g.gate = tensor(), g.up = tensor();
        g.y = tensor(), g.activation = kind;
    }
    return operator_item(buffers.context(), "glu", shape + (packed ? " packed" : ""), std::move(all), "copy",
                         Unit::bytes);
}

Item softmax(Buffers& buffers, int64_t rows, int64_t n, spark_dtype dtype) {
    std::vector<spark_softmax_args> all;
    for (size_t i = 0; i < copies(uint64_t(rows) * n * (dtype == SPARK_DTYPE_F32 ? 4 : 2) * 2); ++i) {
        auto s = start<spark_softmax_args>(SPARK_OP_SOFTMAX);
        s.x = buffers.random(dtype, {rows, n}), s.y = buffers.random(dtype, {rows, n});
        all.push_back(s);
    }
    const std::string shape =
        "rows=" + std::to_string(rows) + " n=" + std::to_string(n) + " " + spark_dtype_name(dtype);
    return operator_item(buffers.context(), "softmax", shape, std::move(all), "copy", Unit::bytes);
}

Item embedding(Buffers& buffers, int64_t tokens, int64_t vocabulary, int64_t width) {
    std::vector<spark_embedding_args> all;
    const spark_tensor table = buffers.random(SPARK_DTYPE_BF16, {vocabulary, width});
    for (size_t i = 0; i < 4; ++i) {
        auto e = start<spark_embedding_args>(SPARK_OP_EMBEDDING);
        e.hdr.flags = SPARK_EMBEDDING_ZERO_INVALID;
        e.table = table, e.ids = buffers.indices(tokens, vocabulary),
        e.y = buffers.random(SPARK_DTYPE_BF16, {tokens, width});
        all.push_back(e);
    }
    const std::string shape = "tokens=" + std::to_string(tokens) + " vocabulary=" + std::to_string(vocabulary) +
                              " width=" + std::to_string(width) + " BF16";
    return operator_item(buffers.context(), "embedding", shape, std::move(all), "copy", Unit::bytes);
}

Item cast(Buffers& buffers, int64_t rows, int64_t n, spark_dtype from, spark_dtype to, bool transpose) {
    std::vector<spark_cast_args> all;
    const auto size = [](spark_dtype dtype) { return dtype == SPARK_DTYPE_F32 ? 4 : 2; };
    for (size_t i = 0; i < copies(uint64_t(rows) * n * (size(from) + size(to))); ++i) {
        auto c = start<spark_cast_args>(SPARK_OP_CAST);
        c.x = transpose ? transposed(buffers.random(from, {n, rows})) : buffers.random(from, {rows, n});
        c.y = buffers.random(to, {rows, n});
        all.push_back(c);
    }
    const std::string shape = "rows=" + std::to_string(rows) + " n=" + std::to_string(n) + " " +
                              spark_dtype_name(from) + " to " + spark_dtype_name(to) + (transpose ? " transposed" : "");
    return operator_item(buffers.context(), "cast", shape, std::move(all), "copy", Unit::bytes);
}

// Records of random bits: NaN scales among them cost what others cost.
Item dequantize(Buffers& buffers, int64_t rows, int64_t n, spark_record format, spark_dtype dtype) {
    std::vector<spark_dequantize_args> all;
    const int64_t bytes = n / 32 * (format == SPARK_RECORD_Q8_0 ? 34 : 20);
    for (size_t i = 0; i < copies(uint64_t(rows) * (bytes + n * (dtype == SPARK_DTYPE_F32 ? 4 : 2))); ++i) {
        auto d = start<spark_dequantize_args>(SPARK_OP_DEQUANTIZE);
        d.x = buffers.random(SPARK_DTYPE_U8, {rows, bytes}), d.y = buffers.random(dtype, {rows, n});
        d.x.quant.scheme = SPARK_QUANT_RECORD, d.x.quant.block[0] = format;
        all.push_back(d);
    }
    const std::string shape = "rows=" + std::to_string(rows) + " n=" + std::to_string(n) +
                              (format == SPARK_RECORD_Q8_0 ? " Q8_0 to " : " Q4_1 to ") + spark_dtype_name(dtype);
    return operator_item(buffers.context(), "dequantize", shape, std::move(all), "copy", Unit::bytes);
}

// Greedy where k and p are 0.
Item sample(Buffers& buffers, int64_t rows, int64_t vocabulary, spark_dtype dtype, int32_t k, float p) {
    std::vector<spark_sample_args> all;
    const uint64_t bytes = uint64_t(rows) * vocabulary * (dtype == SPARK_DTYPE_F32 ? 4 : 2);
    for (size_t i = 0; i < copies(bytes); ++i) {
        auto s = start<spark_sample_args>(SPARK_OP_SAMPLE);
        s.temperature = k != 0 || p != 0 ? 0.1f : 0; // logits are +-0.5 to 1 here: their ratios become those of a model
        s.top_k = k, s.top_p = p, s.seed = i;
        s.logits = buffers.random(dtype, {rows, vocabulary}), s.ids = buffers.indices(rows, 1);
        all.push_back(s);
    }
    const std::string shape = "rows=" + std::to_string(rows) + " v=" + std::to_string(vocabulary) + " " +
                              spark_dtype_name(dtype) + (k != 0 ? " k=" + std::to_string(k) : "") +
                              (p != 0 ? " p=0.9" : "") + (k == 0 && p == 0 ? " greedy" : "");
    return operator_item(buffers.context(), "sample", shape, std::move(all), "read", Unit::bytes);
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

static void add_pointwise(Buffers& buffers, std::vector<Item>& items) {
    for (bool residual : {false, true}) items.push_back(layernorm(buffers, 16384, 4096, residual));
    items.push_back(layernorm(buffers, 65536, 768, false));
    items.push_back(pointwise(buffers, 8192, 14336, SPARK_ACTIVATION_SILU, 1));
    items.push_back(pointwise(buffers, 8192, 14336, SPARK_ACTIVATION_GELU_ERF, 1));
    for (bool packed : {false, true})
        items.push_back(pointwise(buffers, 8192, 14336, SPARK_ACTIVATION_SILU, 2, packed));
    items.push_back(pointwise(buffers, 8192, 14336, SPARK_ACTIVATION_GELU_TANH, 2, true));
    items.push_back(pointwise(buffers, 64, 14336, SPARK_ACTIVATION_SILU, 2, true));
    items.push_back(pointwise(buffers, 4096, 4097, SPARK_ACTIVATION_SILU, 2, true));
    items.push_back(pointwise(buffers, 16384, 4096, SPARK_ACTIVATION_NONE, 2));
}

std::vector<Item> operator_items(Buffers& buffers, bool small) {
    if (small) // a look at the mechanism where a card is not at hand: the figures mean nothing there
        return {gemm(buffers, 128, 128, 64, SPARK_DTYPE_BF16, "tn"),
                rmsnorm(buffers, 16, 1024, SPARK_DTYPE_BF16, false),
                attention(buffers, 1, 64, 64, 2, 1, 64, true),
                attention(buffers, 1, 1, 1024, 4, 1, 64, false),
                embedding(buffers, 16, 100, 256),
                pointwise(buffers, 16, 256, SPARK_ACTIVATION_SILU, 2, true)};
    std::vector<Item> items;
    for (const char* layout : {"tn", "nn", "nt"})
        items.push_back(gemm(buffers, 4096, 4096, 4096, SPARK_DTYPE_BF16, layout));
    items.push_back(gemm(buffers, 4096, 4096, 4096, SPARK_DTYPE_F16, "tn"));
    items.push_back(gemm(buffers, 1024, 1024, 1024, SPARK_DTYPE_BF16, "tn"));
    items.push_back(gemm(buffers, 2048, 2048, 2048, SPARK_DTYPE_BF16, "tn"));
    items.push_back(gemm(buffers, 8192, 8192, 8192, SPARK_DTYPE_BF16, "tn"));
    items.push_back(gemm(buffers, 4096, 14336, 4096, SPARK_DTYPE_BF16, "tn"));
    items.push_back(gemm(buffers, 4095, 4097, 4104, SPARK_DTYPE_BF16, "tn"));
    items.push_back(gemm(buffers, 128, 4096, 4096, SPARK_DTYPE_BF16, "tn"));
    for (int64_t m : {1, 4, 16}) {
        items.push_back(gemm_rows(buffers, m, 4096, 4096));
        items.push_back(gemm_rows(buffers, m, 14336, 4096));
        items.push_back(gemm_rows(buffers, m, 49152, 576));
    }
    items.push_back(gemm_rows(buffers, 32, 4096, 4096)); // more than the kernels for few rows take
    for (bool residual : {false, true}) items.push_back(rmsnorm(buffers, 16384, 4096, SPARK_DTYPE_BF16, residual));
    items.push_back(rmsnorm(buffers, 16384, 4096, SPARK_DTYPE_F32, false));
    items.push_back(rmsnorm(buffers, 8192, 8192, SPARK_DTYPE_BF16, false));
    items.push_back(rmsnorm(buffers, 65536, 576, SPARK_DTYPE_BF16, false));
    items.push_back(rmsnorm(buffers, 4096, 4097, SPARK_DTYPE_BF16, false));
    items.push_back(rmsnorm(buffers, 262144, 128, SPARK_DTYPE_BF16, false));
    items.push_back(l2norm(buffers, 262144, 128, SPARK_DTYPE_BF16));
    for (bool causal : {false, true}) items.push_back(attention(buffers, 2, 4096, 4096, 32, 32, 128, causal));
    items.push_back(attention(buffers, 2, 4096, 4096, 32, 8, 128, true));
    for (bool causal : {false, true}) items.push_back(attention(buffers, 4, 4096, 4096, 32, 32, 64, causal));
    items.push_back(attention(buffers, 1, 4096, 4096, 16, 2, 256, true));
    items.push_back(attention(buffers, 1, 512, 512, 32, 8, 128, true));
    for (int64_t batch : {1, 2, 4, 8}) items.push_back(attention(buffers, batch, 1, 32768, 32, 8, 128, false));
    items.push_back(attention(buffers, 1, 8, 32768, 32, 8, 128, true));
    items.push_back(attention(buffers, 8, 1, 4096, 9, 3, 64, false));
    add_pointwise(buffers, items);
    items.push_back(embedding(buffers, 65536, 128256, 4096));
    items.push_back(softmax(buffers, 16384, 4096, SPARK_DTYPE_BF16));
    items.push_back(softmax(buffers, 2048, 128256, SPARK_DTYPE_BF16));
    items.push_back(softmax(buffers, 64, 128256, SPARK_DTYPE_BF16));
    items.push_back(cast(buffers, 16384, 4096, SPARK_DTYPE_F32, SPARK_DTYPE_BF16, false));
    items.push_back(cast(buffers, 16384, 4096, SPARK_DTYPE_BF16, SPARK_DTYPE_BF16, false));
    items.push_back(cast(buffers, 4096, 4096, SPARK_DTYPE_BF16, SPARK_DTYPE_BF16, true));
    for (spark_record format : {SPARK_RECORD_Q8_0, SPARK_RECORD_Q4_1})
        for (spark_dtype dtype : {SPARK_DTYPE_BF16, SPARK_DTYPE_F32})
            items.push_back(dequantize(buffers, 14336, 4096, format, dtype));
    for (int64_t vocabulary : {49152, 128256, 262144}) {
        items.push_back(sample(buffers, 1, vocabulary, SPARK_DTYPE_F32, 0, 0));
        items.push_back(sample(buffers, 1, vocabulary, SPARK_DTYPE_F32, 50, 0.9f));
    }
    items.push_back(sample(buffers, 1, 128256, SPARK_DTYPE_F32, 0, 0.9f));
    items.push_back(sample(buffers, 64, 128256, SPARK_DTYPE_BF16, 0, 0));
    for (int32_t k : {0, 50}) items.push_back(sample(buffers, 256, 128256, SPARK_DTYPE_F32, k, k == 0 ? 0 : 0.9f));
    return items;
}

} // namespace bench
