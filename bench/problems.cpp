// SPDX-License-Identifier: Apache-2.0
// Arguments on random operands. Streaming rows rotate over enough copies that no cache holds them from one launch to
// the next.
#include "problems.h"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <tuple>

namespace bench {
namespace {

constexpr uint64_t BEYOND_CACHE = uint64_t{512} << 20;
constexpr uint32_t MOST_KERNELS = 32;

void must(spark_status status, const std::string& what, const spark_error& err) {
    if (status != SPARK_OK) throw std::runtime_error(what + ": " + err.message);
}

// What can do the work of these arguments, the library's choice first.
std::vector<spark_op_info> kernels_for(spark_context* ctx, const spark_args* args, bool rivals,
                                       const std::string& name) {
    spark_error err{};
    err.struct_size = sizeof err;
    spark_op_info blank{};
    blank.struct_size = sizeof blank;
    if (!rivals) {
        must(spark_op_prepare(ctx, args, &blank, &err), name, err);
        return {blank};
    }
    std::vector<spark_op_info> infos(MOST_KERNELS, blank);
    uint32_t count = 0;
    must(spark_op_kernels(ctx, args, UINT64_MAX, infos.data(), MOST_KERNELS, &count, &err), name, err);
    infos.resize(std::min(count, MOST_KERNELS));
    return infos;
}

std::string explained(spark_context* ctx, const spark_args* args) {
    spark_error err{};
    err.struct_size = sizeof err;
    size_t size = 0;
    spark_op_explain(ctx, args, nullptr, 0, &size, nullptr);
    std::string text(size, 0);
    must(spark_op_explain(ctx, args, text.data(), text.size(), &size, &err), "spark_op_explain", err);
    text.resize(text.find('\0'));
    return text;
}

// Memory that all launches of a row share, since they follow each other in a stream.
std::shared_ptr<spark_devptr> workspace_of(spark_context* ctx, uint64_t bytes, const std::string& name) {
    spark_error err{};
    err.struct_size = sizeof err;
    const std::shared_ptr<spark_devptr> memory(new spark_devptr(0), [ctx](spark_devptr* data) {
        if (*data != 0) spark_mem_free(ctx, *data, nullptr);
        delete data;
    });
    if (bytes != 0) must(spark_mem_alloc(ctx, bytes, memory.get(), &err), name, err);
    return memory;
}

// Launches args[i] in turn. All of them have one kernel, since they differ only in addresses.
template <class Args>
Item operator_item(const Rows& rows, std::string name, std::string shape, std::vector<Args> args, const char* ceiling,
                   Unit unit) {
    spark_context* ctx = rows.buffers.context();
    const std::vector<spark_op_info> infos = kernels_for(ctx, &args[0].hdr, rows.rivals, name);
    uint64_t bytes = 0;
    for (const spark_op_info& info : infos) bytes = std::max(bytes, info.workspace_size);
    const auto workspace = workspace_of(ctx, bytes, name);
    Item item;
    item.name = std::move(name), item.shape = std::move(shape), item.ceiling = ceiling, item.unit = unit;
    item.work = static_cast<double>(unit == Unit::flops ? infos[0].flops : infos[0].bytes);
    item.explain = [ctx, first = args[0]] { return explained(ctx, &first.hdr); };
    item.query = [ctx, first = args[0]] {
        spark_op_info info{};
        info.struct_size = sizeof info;
        spark_op_query(ctx, &first.hdr, &info, nullptr);
    };
    const auto shared = std::make_shared<std::vector<Args>>(std::move(args));
    for (const spark_op_info& info : infos) {
        Way way;
        way.kernel = info.kernel, way.launches = info.launches, way.workspace = info.workspace_size;
        spark_exec exec{};
        exec.struct_size = sizeof exec;
        exec.workspace = *workspace, exec.workspace_size = bytes;
        exec.kernel_id = &info == &infos[0] ? 0 : info.kernel_id; // 0: whatever the library chooses
        auto turn = std::make_shared<size_t>(0);
        way.run = [ctx, exec, shared, turn, workspace](spark_stream stream) {
            spark_exec where = exec;
            where.stream = stream;
            spark_error err{};
            err.struct_size = sizeof err;
            if (spark_op_launch(ctx, &(*shared)[(*turn)++ % shared->size()].hdr, &where, &err) != SPARK_OK)
                throw std::runtime_error(err.message);
        };
        item.ways.push_back(std::move(way));
    }
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
    rows.items.push_back(operator_item(rows, name, shape, std::move(all), ceiling, unit));
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

int64_t size_of(spark_dtype dtype) { return static_cast<int64_t>(spark_dtype_bits(dtype) / 8); }

// Two halves [rows, n] of one packed tensor.
std::pair<spark_tensor, spark_tensor> halves(Buffers& buffers, int64_t rows, int64_t n) {
    spark_tensor first = buffers.random(SPARK_DTYPE_BF16, {rows, 2 * n});
    first.shape[1] = n, first.stride[0] = 2 * n, first.stride[1] = 1, first.size_bytes = 0;
    spark_tensor second = first;
    second.data += static_cast<uint64_t>(n) * 2;
    return {first, second};
}

} // namespace

// Few rows are a stream of b, which no cache holds; more are products. Codes have a scale a row, and results of BF16.
void gemm(Rows& rows, int64_t m, int64_t n, int64_t k, spark_dtype dtype, const std::string& layout) {
    const bool stream = m <= 32;
    const bool codes = dtype == SPARK_DTYPE_E4M3;
    const auto tensor = [&](int64_t a, int64_t b) {
        spark_tensor t = rows.buffers.random(dtype, {a, b});
        if (codes) t.quant.scheme = SPARK_QUANT_PER_ROW, t.quant.scale_dtype = SPARK_DTYPE_F32;
        if (codes) t.quant.scale = rows.buffers.random(SPARK_DTYPE_F32, {a}).data;
        return t;
    };
    const std::string shape = "m=" + std::to_string(m) + " n=" + std::to_string(n) + " k=" + std::to_string(k) + " " +
                              spark_dtype_name(dtype) + " " + layout;
    const size_t turns = stream || rows.cold ? copies(uint64_t(n + m) * k * size_of(dtype)) : 1;
    add_row<spark_gemm_args>(rows, SPARK_OP_GEMM, shape, turns, stream ? "read" : "mma_bf16",
                             stream ? Unit::bytes : Unit::flops, [&](spark_gemm_args& g) {
                                 g.a = layout == "tn" || layout == "nn" ? tensor(m, k) : transposed(tensor(k, m));
                                 g.b = layout == "tn" || layout == "tt" ? tensor(n, k) : transposed(tensor(k, n));
                                 g.d = rows.buffers.result(codes ? SPARK_DTYPE_BF16 : dtype, {m, n});
                             });
}

void rmsnorm(Rows& rows, int64_t count, int64_t n, spark_dtype dtype, bool residual) {
    const auto tensor = [&] { return rows.buffers.random(dtype, {count, n}); };
    const uint64_t bytes = uint64_t(count) * n * size_of(dtype) * (residual ? 4 : 2);
    add_row<spark_rmsnorm_args>(rows, SPARK_OP_RMSNORM, row_shape(count, n, dtype) + (residual ? " +residual" : ""),
                                copies(bytes), "copy", Unit::bytes, [&](spark_rmsnorm_args& r) {
                                    r.eps = 1e-5f, r.x = tensor(), r.y = rows.buffers.result(dtype, {count, n});
                                    r.weight = rows.buffers.random(dtype, {n});
                                    if (residual) r.residual = tensor(), r.residual_out = r.residual;
                                });
}

void l2norm(Rows& rows, int64_t count, int64_t n, spark_dtype dtype) {
    const auto tensor = [&] { return rows.buffers.random(dtype, {count, n}); };
    add_row<spark_l2norm_args>(rows, SPARK_OP_L2NORM, row_shape(count, n, dtype),
                               copies(uint64_t(count) * n * size_of(dtype) * 2), "copy", Unit::bytes,
                               [&](spark_l2norm_args& l) {
                                   l.eps = 1e-6f, l.x = tensor(), l.y = rows.buffers.result(dtype, {count, n});
                               });
}

// FLOPs count the pairs that are visible, twice (scores, sums); bytes are q, k, v and o once. A decoding row of a batch
// reads a cache of its own, and takes turns with copies that the caches of the card do not hold.
void attention(Rows& rows, int64_t batch, int64_t queries, int64_t keys, int64_t heads, int64_t kv_heads, int64_t d,
               bool causal, bool invariant, spark_dtype dtype) {
    const bool decode = queries <= 8;
    const std::string shape = "b=" + std::to_string(batch) + " q=" + std::to_string(queries) +
                              " k=" + std::to_string(keys) + " h=" + std::to_string(heads) + "/" +
                              std::to_string(kv_heads) + " d=" + std::to_string(d) + " " + spark_dtype_name(dtype) +
                              (causal ? " causal" : "") + (invariant ? " batch-invariant" : "");
    const auto tensor = [&](int64_t tokens, int64_t count) {
        return rows.buffers.random(dtype, {batch, tokens, count, d});
    };
    add_row<spark_attention_args>(
        rows, SPARK_OP_ATTENTION, shape, decode || rows.cold ? copies(uint64_t(batch) * keys * kv_heads * d * 4) : 1,
        decode ? "read" : "mma_bf16", decode ? Unit::bytes : Unit::flops, [&](spark_attention_args& a) {
            a.hdr.flags = (causal ? uint32_t{SPARK_ATTENTION_CAUSAL} : 0u) |
                          (invariant ? uint32_t{SPARK_FLAG_BATCH_INVARIANT} : 0u);
            a.q = tensor(queries, heads), a.k = tensor(keys, kv_heads);
            a.v = tensor(keys, kv_heads), a.o = rows.buffers.result(dtype, {batch, queries, heads, d});
        });
}

void layernorm(Rows& rows, int64_t count, int64_t n, bool residual, spark_dtype dtype) {
    const auto tensor = [&] { return rows.buffers.random(dtype, {count, n}); };
    const auto vector = [&] { return rows.buffers.random(dtype, {n}); };
    add_row<spark_layernorm_args>(rows, SPARK_OP_LAYERNORM, row_shape(count, n, dtype) + (residual ? " +residual" : ""),
                                  copies(uint64_t(count) * n * size_of(dtype) * (residual ? 4 : 2)), "copy",
                                  Unit::bytes, [&](spark_layernorm_args& l) {
                                      l.eps = 1e-5f, l.x = tensor(), l.y = rows.buffers.result(dtype, {count, n});
                                      l.weight = vector(), l.bias = vector();
                                      if (residual) l.residual = tensor(), l.residual_out = l.residual;
                                  });
}

void pointwise(Rows& rows, int64_t count, int64_t n, spark_activation_kind kind, int inputs, bool packed) {
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
                                [&](spark_softmax_args& s) {
                                    s.x = tensor(), s.y = rows.buffers.result(dtype, {count, n});
                                });
}

void rope(Rows& rows, int64_t tokens, int64_t heads, int64_t d, spark_dtype dtype) {
    const std::string shape = "tokens=" + std::to_string(tokens) + " heads=" + std::to_string(heads) +
                              " d=" + std::to_string(d) + " " + spark_dtype_name(dtype);
    spark_tensor positions{}; // one for all
    add_row<spark_rope_args>(rows, SPARK_OP_ROPE, shape, copies(uint64_t(tokens) * heads * d * size_of(dtype) * 2),
                             "copy", Unit::bytes, [&](spark_rope_args& r) {
                                 if (!positions.data) positions = rows.buffers.indices(tokens, 32768);
                                 r.positions = positions, r.x = rows.buffers.random(dtype, {tokens, heads, d});
                                 r.y = rows.buffers.result(dtype, {tokens, heads, d});
                             });
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

void amax(Rows& rows, int64_t count, int64_t n, spark_dtype dtype) {
    add_row<spark_amax_args>(rows, SPARK_OP_AMAX, row_shape(count, n, dtype),
                             copies(uint64_t(count) * n * size_of(dtype)), "read", Unit::bytes,
                             [&](spark_amax_args& a) {
                                 a.x = rows.buffers.random(dtype, {count, n});
                                 a.y = rows.buffers.random(SPARK_DTYPE_F32, {count, 1});
                                 a.all = rows.buffers.random(SPARK_DTYPE_F32, {1});
                             });
}

// What a form of scales is called, and how a tensor says it.
struct ScaledForm {
    const char* name;
    spark_dtype dtype;
    spark_quant_scheme scheme;
    spark_dtype scale;
    int64_t block; // 0: as the scheme says
    bool tiled;
};
constexpr ScaledForm SCALED_FORMS[] = {
    {"E4M3_TENSOR", SPARK_DTYPE_E4M3, SPARK_QUANT_PER_TENSOR, SPARK_DTYPE_F32, 0, false},
    {"E4M3_ROW", SPARK_DTYPE_E4M3, SPARK_QUANT_PER_ROW, SPARK_DTYPE_F32, 0, false},
    {"E4M3_1X128", SPARK_DTYPE_E4M3, SPARK_QUANT_BLOCK, SPARK_DTYPE_F32, 128, false},
    {"MXFP8", SPARK_DTYPE_E4M3, SPARK_QUANT_BLOCK, SPARK_DTYPE_UE8M0, 32, false},
    {"MXFP8 tiled", SPARK_DTYPE_E4M3, SPARK_QUANT_BLOCK, SPARK_DTYPE_UE8M0, 32, true},
    {"NVFP4", SPARK_DTYPE_E2M1, SPARK_QUANT_BLOCK, SPARK_DTYPE_UE4M3, 16, false},
    {"NVFP4 tiled", SPARK_DTYPE_E2M1, SPARK_QUANT_BLOCK, SPARK_DTYPE_UE4M3, 16, true},
};

// Bytes of the codes and scales of count rows of n.
uint64_t scaled_bytes(const ScaledForm& form, int64_t count, int64_t n) {
    const uint64_t codes = uint64_t(count) * n / (form.dtype == SPARK_DTYPE_E2M1 ? 2 : 1);
    return codes + (form.block != 0 ? uint64_t(count) * n / form.block * size_of(form.scale) : 0);
}

// Codes, scales, as many as whole tiles have, and the scale of all, if the form has one.
spark_tensor scaled(Rows& rows, const ScaledForm& form, int64_t count, int64_t n) {
    const bool halves = form.dtype == SPARK_DTYPE_E2M1;
    spark_tensor t = rows.buffers.random(SPARK_DTYPE_U8, {count, halves ? (n + 1) / 2 : n});
    t.dtype = form.dtype, t.shape[1] = n;
    for (int64_t& stride : t.stride) stride = 0;
    t.quant.scheme = form.scheme, t.quant.scale_dtype = form.scale;
    if (form.block != 0) t.quant.block[0] = 1, t.quant.block[1] = static_cast<uint16_t>(form.block);
    if (form.tiled) t.quant.scale_layout = SPARK_SCALE_TILED_128X4;
    const int64_t scales = form.block != 0 ? (n + form.block - 1) / form.block : 1;
    t.quant.scale = rows.buffers
                        .random(form.scale == SPARK_DTYPE_F32 ? SPARK_DTYPE_F32 : SPARK_DTYPE_U8,
                                {(count + 127) / 128 * 128, (scales + 3) / 4 * 4})
                        .data;
    if (halves) t.quant.global_scale = rows.buffers.random(SPARK_DTYPE_F32, {1}).data;
    return t;
}

const ScaledForm* find_scaled_form(const std::string& name) {
    for (const ScaledForm& form : SCALED_FORMS) {
        if (name == form.name) return &form;
    }
    throw std::runtime_error("no form " + name);
}

// own_amax: the scale of all is made of x's, which is read twice.
void quantize(Rows& rows, int64_t count, int64_t n, spark_dtype dtype, const std::string& name, bool own_amax) {
    const ScaledForm& form = *find_scaled_form(name);
    const uint64_t read = uint64_t(count) * n * size_of(dtype) * (own_amax ? 2 : 1);
    add_row<spark_quantize_args>(
        rows, SPARK_OP_QUANTIZE, row_shape(count, n, dtype) + " " + name + (own_amax ? " own-amax" : ""),
        copies(read + scaled_bytes(form, count, n)), "copy", Unit::bytes, [&](spark_quantize_args& q) {
            q.x = rows.buffers.random(dtype, {count, n});
            q.y = scaled(rows, form, count, n);
            if (own_amax) q.hdr.flags |= SPARK_QUANTIZE_OWN_AMAX;
        });
}

void dequantize_scaled(Rows& rows, int64_t count, int64_t n, spark_dtype dtype, const std::string& name) {
    const ScaledForm& form = *find_scaled_form(name);
    add_row<spark_dequantize_args>(rows, SPARK_OP_DEQUANTIZE,
                                   "rows=" + std::to_string(count) + " n=" + std::to_string(n) + " " + name + " to " +
                                       spark_dtype_name(dtype),
                                   copies(uint64_t(count) * n * size_of(dtype) + scaled_bytes(form, count, n)), "copy",
                                   Unit::bytes, [&](spark_dequantize_args& d) {
                                       d.x = scaled(rows, form, count, n);
                                       d.y = rows.buffers.random(dtype, {count, n});
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
                                       d.x.quant.scheme = SPARK_QUANT_RECORD, d.x.quant.record = format;
                                       d.y = rows.buffers.random(dtype, {count, n});
                                   });
}

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

} // namespace bench
