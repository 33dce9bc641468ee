// SPDX-License-Identifier: Apache-2.0
// Wrong descriptions of what gemm multiplies: integers, codes with scales of blocks, weights in records and in codes;
// of gates, of results that become codes, of caps, and of b with two of each four numbers.
#include <cstring>
#include <utility>

#include "damage.h"

namespace {

// Where there is none, how many there are.
uint32_t field_named(const spark_op_desc& d, const char* name) {
    uint32_t f = 0;
    while (f < d.num_fields && std::strcmp(api::field(d, f).name, name) != 0) ++f;
    return f;
}

// Damage to a product that nothing is added to or done with.
using GemmDamage = std::function<void(spark_gemm_args&)>;
spark_gemm_args& plain_product(api::Example& e) {
    auto& a = *reinterpret_cast<spark_gemm_args*>(e.head());
    a.bias = a.c = a.amax = {};
    a.beta = 0, a.activation = SPARK_ACTIVATION_NONE;
    return a;
}
void damaged_product(const spark_op_desc& d, const char* name, const char* what, spark_status status,
                     const GemmDamage& damage) {
    damaged(d, field_named(d, name), what, {status}, [=](auto& e) { damage(plain_product(e)); });
}

// Two parts of k whose sums are more than what adds them can count; and as many as it can, which nothing allocates.
void parts(const spark_op_desc& d) {
    const auto of_rows = [](spark_gemm_args& a, int64_t m) {
        const auto put = [&](spark_tensor& t, int64_t rows, int64_t columns, uint64_t apart) {
            t.data = a.a.data + (apart << 40), t.dtype = SPARK_DTYPE_BF16, t.ndim = 2;
            t.shape[0] = rows, t.shape[1] = columns, t.size_bytes = 0, t.quant = {};
            std::memset(t.stride, 0, sizeof t.stride);
        };
        constexpr int64_t N = 512, K = 2048;
        a.hdr.flags = SPARK_FLAG_BATCH_INVARIANT, a.kept = {};
        put(a.d, m, N, 2), put(a.b, N, K, 1), put(a.a, m, K, 0);
    };
    constexpr int64_t TOO_MANY = int64_t{1} << 25;
    damaged_product(d, "d", "2^34 sums of two parts", SPARK_ERR_UNSUPPORTED_SHAPE,
                    [=](auto& a) { of_rows(a, TOO_MANY); });
    api::Arena arena(g_ctx);
    api::Example right(d, arena);
    of_rows(plain_product(right), TOO_MANY - 2);
    expect(right, field_named(d, "d"), "as many as can be added", {SPARK_OK}, false);
}

// Sums that are results: of integers alone, with nothing that follows. And integers whose sum might not be one of I32.
void integers(const spark_op_desc& d) {
    const auto tensor = [&](spark_gemm_args& a, uint32_t f) -> spark_tensor& {
        return *reinterpret_cast<spark_tensor*>(reinterpret_cast<char*>(&a) + api::field(d, f).offset);
    };
    const auto of = [&](const char* name, const char* what, spark_status status, const GemmDamage& damage) {
        damaged_product(d, name, what, status, [=](auto& a) {
            a.kept = {};
            a.a.dtype = a.b.dtype = SPARK_DTYPE_I8, a.d.dtype = SPARK_DTYPE_I32;
            damage(a);
        });
    };
    of("b", "E5M2 beside I8", SPARK_ERR_UNSUPPORTED_DTYPE, [](auto& a) { a.b.dtype = SPARK_DTYPE_E5M2; });
    of("d", "sums of BF16", SPARK_ERR_UNSUPPORTED_DTYPE, [](auto& a) { a.a.dtype = a.b.dtype = SPARK_DTYPE_BF16; });
    for (uint32_t f : {0u, 1u})
        of(api::field(d, f).name, "a scale", SPARK_ERR_INVALID_VALUE, [=](auto& a) {
            spark_quant& q = tensor(a, f).quant;
            q.scheme = SPARK_QUANT_PER_TENSOR, q.scale_dtype = SPARK_DTYPE_F32, q.scale = tensor(a, f).data;
        });
    of("alpha", "a factor", SPARK_ERR_INVALID_VALUE, [](auto& a) { a.alpha = 0.5f; });
    of("activation", "an activation", SPARK_ERR_INVALID_VALUE, [](auto& a) { a.activation = SPARK_ACTIVATION_RELU; });
    of("beta", "a factor of c", SPARK_ERR_INVALID_VALUE, [](auto& a) { a.c = a.d, a.beta = 1; });
    of("bias", "a bias", SPARK_ERR_INVALID_VALUE, [](auto& a) {
        a.bias.dtype = SPARK_DTYPE_F32, a.bias.data = a.a.data;
        a.bias.ndim = 1, a.bias.shape[0] = a.d.shape[a.d.ndim - 1];
    });
    of("a", "more than 131071 of them", SPARK_ERR_UNSUPPORTED_SHAPE, [](auto& a) {
        for (spark_tensor* t : {&a.a, &a.b}) {
            t->shape[t->ndim - 1] = 131072, t->size_bytes = 0;
            std::memset(t->stride, 0, sizeof t->stride);
        }
        a.d.data = a.a.data + (uint64_t{1} << 32);
    });
}

void put_blocks(api::Example& e, spark_dtype codes, spark_dtype scales, uint16_t block,
                std::initializer_list<uint32_t> fields = {0u, 1u}) {
    for (uint32_t f : fields) {
        spark_tensor& t = e.tensor(f);
        t.dtype = codes, t.size_bytes = 0;
        for (int64_t& stride : t.stride) stride = 0;
        t.quant.scheme = SPARK_QUANT_BLOCK, t.quant.scale_dtype = scales, t.quant.scale = t.data;
        for (uint32_t dim = 0; dim < t.ndim; ++dim) t.quant.block[dim] = dim + 1 < t.ndim ? 1 : block;
    }
}

// Products of codes that have scales of their blocks.
void blocks_in_gemm(const spark_op_desc& d) {
    const auto put_nvfp4 = [](auto& e) { put_blocks(e, SPARK_DTYPE_E2M1, SPARK_DTYPE_UE4M3, 16); };
    api::Arena arena(g_ctx);
    api::Example right(d, arena);
    put_nvfp4(right);
    expect(right, 0, "codes of E2M1 with scales of blocks", {SPARK_OK}, false);
    put_blocks(right, SPARK_DTYPE_E5M2, SPARK_DTYPE_UE8M0, 32, {0u});
    put_blocks(right, SPARK_DTYPE_E2M3, SPARK_DTYPE_UE8M0, 32, {1u});
    expect(right, 0, "two of OCP's formats", {SPARK_OK}, false);
    for (uint32_t f : {0u, 1u}) {
        const auto wrong = [&](const char* what, spark_status wanted,
                               const std::function<void(spark_tensor&)>& damage) {
            damaged(d, f, what, {wanted}, [=](auto& e) { put_nvfp4(e), damage(e.tensor(f)); });
        };
        wrong("no scales of blocks", SPARK_ERR_INVALID_VALUE, [](auto& t) { t.quant = {}; });
        wrong("rows on half bytes", SPARK_ERR_UNSUPPORTED_LAYOUT, [](auto& t) {
            int64_t pitch = t.shape[t.ndim - 1] | 1;
            for (uint32_t dim = t.ndim - 1; dim-- > 0; pitch *= t.shape[dim]) t.stride[dim] = pitch;
            t.stride[t.ndim - 1] = 1;
        });
        wrong("stride 1 along the rows", SPARK_ERR_UNSUPPORTED_LAYOUT,
              [](auto& t) { t.stride[t.ndim - 2] = 1, t.stride[t.ndim - 1] = t.shape[t.ndim - 2]; });
        wrong("tiles along other dimensions", SPARK_ERR_UNSUPPORTED_LAYOUT, [](auto& t) {
            t.quant.scale_layout = SPARK_SCALE_TILED_128X4;
            t.quant.tile[0] = static_cast<uint8_t>(t.ndim - 1), t.quant.tile[1] = static_cast<uint8_t>(t.ndim - 2);
        });
    }
    damaged(d, 1, "a scale of all beside scales of blocks", {SPARK_ERR_INVALID_VALUE}, [=](auto& e) {
        put_blocks(e, SPARK_DTYPE_E4M3, SPARK_DTYPE_UE8M0, 32);
        spark_tensor& t = e.tensor(1);
        t.quant = {}, t.quant.scheme = SPARK_QUANT_PER_TENSOR;
        t.quant.scale = t.data, t.quant.scale_dtype = SPARK_DTYPE_F32;
    });
    damaged(d, 1, "another form than a's", {SPARK_ERR_UNSUPPORTED_DTYPE}, [=](auto& e) {
        put_nvfp4(e);
        spark_quant& q = e.tensor(1).quant;
        q.scale_dtype = SPARK_DTYPE_UE8M0, q.block[e.tensor(1).ndim - 1] = 32;
    });
    damaged(d, 1, "MXFP6 beside NVFP4", {SPARK_ERR_UNSUPPORTED_DTYPE},
            [=](auto& e) { put_nvfp4(e), put_blocks(e, SPARK_DTYPE_E3M2, SPARK_DTYPE_UE8M0, 32, {1u}); });
    damaged(d, 1, "MXFP6 without scales", {SPARK_ERR_INVALID_VALUE},
            [=](auto& e) { put_blocks(e, SPARK_DTYPE_E3M2, SPARK_DTYPE_UE8M0, 32), e.tensor(1).quant = {}; });
    damaged(d, 1, "rows of six bits on parts of bytes", {SPARK_ERR_UNSUPPORTED_LAYOUT}, [=](auto& e) {
        put_blocks(e, SPARK_DTYPE_E2M3, SPARK_DTYPE_UE8M0, 32);
        spark_tensor& t = e.tensor(1);
        int64_t pitch = t.shape[t.ndim - 1] + 2;
        for (uint32_t dim = t.ndim - 1; dim-- > 0; pitch *= t.shape[dim]) t.stride[dim] = pitch;
        t.stride[t.ndim - 1] = 1;
    });
    damaged(d, 0, "a part of a block", {SPARK_ERR_UNSUPPORTED_SHAPE}, [=](auto& e) {
        put_nvfp4(e);
        for (uint32_t f : {0u, 1u}) e.tensor(f).shape[e.tensor(f).ndim - 1] -= 8;
    });
}

// The same of scales that are F32, whose sums are promoted.
void promoted_in_gemm(const spark_op_desc& d) {
    const auto put_b128 = [](auto& e) {
        put_blocks(e, SPARK_DTYPE_E4M3, SPARK_DTYPE_F32, 128);
        e.tensor(1).quant.block[e.tensor(1).ndim - 2] = 128;
    };
    api::Arena arena(g_ctx);
    api::Example promoted(d, arena);
    put_b128(promoted);
    expect(promoted, 0, "E4M3 with scales of 1 x 128 and of 128 x 128", {SPARK_OK}, false);
    damaged(d, 0, "codes of E5M2 with scales of 1 x 128", {SPARK_ERR_UNSUPPORTED_DTYPE},
            [=](auto& e) { put_b128(e), e.tensor(0).dtype = SPARK_DTYPE_E5M2; });
    damaged(d, 1, "scales of 1 x 128 in b", {SPARK_ERR_UNSUPPORTED_DTYPE},
            [=](auto& e) { put_b128(e), e.tensor(1).quant.block[e.tensor(1).ndim - 2] = 1; });
    damaged(d, 1, "another form than goes with 1 x 128", {SPARK_ERR_UNSUPPORTED_DTYPE}, [=](auto& e) {
        put_b128(e);
        spark_quant& q = e.tensor(1).quant;
        q.scale_dtype = SPARK_DTYPE_UE8M0, q.block[e.tensor(1).ndim - 2] = 1, q.block[e.tensor(1).ndim - 1] = 32;
        for (uint32_t f : {0u, 1u}) e.tensor(f).shape[e.tensor(f).ndim - 1] = 32;
    });
    damaged(d, 1, "strides of the scales below 0", {SPARK_ERR_INVALID_STRIDE},
            [=](auto& e) { put_b128(e), e.tensor(1).quant.scale_stride[0] = -1; });
}

// Records beside numbers, as weights are: 64 elements of K in two records of Q8_0.
void put_weights(api::Example& e) {
    auto& args = *reinterpret_cast<spark_gemm_args*>(e.head());
    for (spark_tensor* t : {&args.a, &args.b}) {
        t->shape[t->ndim - 1] = t == &args.a ? 64 : 68;
        std::memset(t->stride, 0, sizeof t->stride);
        t->size_bytes = 0;
    }
    args.a.dtype = SPARK_DTYPE_BF16, args.b.dtype = SPARK_DTYPE_U8;
    args.b.quant.scheme = SPARK_QUANT_RECORD, args.b.quant.record = SPARK_RECORD_Q8_0;
}

void weights(const spark_op_desc& d) {
    api::Arena arena(g_ctx);
    api::Example right(d, arena);
    put_weights(right);
    expect(right, 1, "records of weights", {SPARK_OK}, false);
    const auto wrong = [&](uint32_t f, const char* what, spark_status wanted,
                           const std::function<void(spark_gemm_args&)>& damage) {
        damaged(d, f, what, {wanted},
                [=](auto& e) { put_weights(e), damage(*reinterpret_cast<spark_gemm_args*>(e.head())); });
    };
    wrong(1, "bytes without a format", SPARK_ERR_INVALID_VALUE,
          [](auto& g) { g.b.quant = {}, g.b.shape[g.b.ndim - 1] = 64; });
    wrong(1, "a format of no kernel", SPARK_ERR_UNSUPPORTED_DTYPE, [](auto& g) { g.b.quant.record = 16; });
    wrong(1, "bytes of another format", SPARK_ERR_INVALID_SHAPE, [](auto& g) { g.b.quant.record = SPARK_RECORD_Q4_1; });
    for (int64_t bytes : {0, 1, 34, 64, 67, 69, 102})
        wrong(1, "not the records of K", SPARK_ERR_INVALID_SHAPE, [=](auto& g) { g.b.shape[g.b.ndim - 1] = bytes; });
    wrong(1, "half a record", SPARK_ERR_INVALID_SHAPE,
          [](auto& g) { g.a.shape[g.a.ndim - 1] = 48, g.b.shape[g.b.ndim - 1] = 51; });
    wrong(1, "data on an odd byte", SPARK_ERR_INVALID_ALIGNMENT, [](auto& g) { g.b.data += 1; });
    wrong(1, "rows an odd number of bytes apart", SPARK_ERR_UNSUPPORTED_LAYOUT, [](auto& g) {
        g.b.stride[g.b.ndim - 1] = 1, g.b.stride[g.b.ndim - 2] = 69;
        if (g.b.ndim > 2) g.b.stride[0] = 4096;
    });
    wrong(1, "records across", SPARK_ERR_UNSUPPORTED_LAYOUT,
          [](auto& g) { g.b.stride[g.b.ndim - 1] = g.b.shape[g.b.ndim - 2], g.b.stride[g.b.ndim - 2] = 1; });
    wrong(0, "numbers across", SPARK_ERR_UNSUPPORTED_LAYOUT,
          [](auto& g) { g.a.stride[g.a.ndim - 1] = g.a.shape[g.a.ndim - 2], g.a.stride[g.a.ndim - 2] = 1; });
    wrong(1, "codes beside records", SPARK_ERR_UNSUPPORTED_DTYPE, [](auto& g) { g.a.dtype = SPARK_DTYPE_E4M3; });
    wrong(0, "records in a", SPARK_ERR_UNSUPPORTED_DTYPE,
          [](auto& g) { g.a.dtype = SPARK_DTYPE_U8, g.a.quant = g.b.quant; });
}

// Codes beside numbers, as weights are, with a scale a row: words of four of them are read.
void weights_of_codes(const spark_op_desc& d) {
    const auto put = [](auto& e) {
        put_weights(e);
        auto& b = reinterpret_cast<spark_gemm_args*>(e.head())->b;
        b.dtype = SPARK_DTYPE_I8, b.shape[b.ndim - 1] = 64, b.quant = {};
        b.quant.scheme = SPARK_QUANT_PER_ROW, b.quant.scale_dtype = SPARK_DTYPE_F32, b.quant.scale = b.data;
    };
    api::Arena arena(g_ctx);
    api::Example right(d, arena);
    put(right);
    expect(right, 1, "codes of weights", {SPARK_OK}, false);
    const auto wrong = [&](const char* what, spark_status wanted, const std::function<void(spark_gemm_args&)>& damage) {
        damaged(d, 1, what, {wanted}, [=](auto& e) { put(e), damage(*reinterpret_cast<spark_gemm_args*>(e.head())); });
    };
    wrong("codes without scales", SPARK_ERR_UNSUPPORTED_DTYPE, [](auto& g) { g.b.quant = {}; });
    wrong("codes that are no weights", SPARK_ERR_UNSUPPORTED_DTYPE, [](auto& g) { g.b.dtype = SPARK_DTYPE_E5M2; });
    wrong("not whole words", SPARK_ERR_UNSUPPORTED_SHAPE,
          [](auto& g) { g.a.shape[g.a.ndim - 1] = g.b.shape[g.b.ndim - 1] = 62; });
    wrong("data between words", SPARK_ERR_INVALID_ALIGNMENT, [](auto& g) { g.b.data += 2; });
    wrong("rows between words", SPARK_ERR_UNSUPPORTED_LAYOUT, [](auto& g) {
        g.b.stride[g.b.ndim - 1] = 1, g.b.stride[g.b.ndim - 2] = 66;
        if (g.b.ndim > 2) g.b.stride[0] = 4096;
    });
    wrong("codes across", SPARK_ERR_UNSUPPORTED_LAYOUT,
          [](auto& g) { g.b.stride[g.b.ndim - 1] = g.b.shape[g.b.ndim - 2], g.b.stride[g.b.ndim - 2] = 1; });
}

// Codes of four bits beside numbers, with a scale and a zero for 32 of K each.
void weights_of_int4(const spark_op_desc& d) {
    const auto put = [](auto& e) {
        put_weights(e);
        auto& g = *reinterpret_cast<spark_gemm_args*>(e.head());
        g.b.dtype = SPARK_DTYPE_U4, g.b.shape[g.b.ndim - 1] = 64, g.b.quant = {}, g.b.size_bytes = 0;
        for (int64_t& stride : g.b.stride) stride = 0;
        g.b.quant.scheme = SPARK_QUANT_BLOCK, g.b.quant.scale_dtype = SPARK_DTYPE_F16;
        g.b.quant.zero_dtype = SPARK_DTYPE_U4, g.b.quant.scale = g.b.quant.zero_point = g.b.data;
        for (uint32_t dim = 0; dim < g.b.ndim; ++dim) g.b.quant.block[dim] = dim + 1 < g.b.ndim ? 1 : 32;
    };
    api::Arena arena(g_ctx);
    api::Example right(d, arena);
    put(right);
    expect(right, 1, "weights of U4", {SPARK_OK}, false);
    const auto wrong = [&](const char* what, spark_status wanted, const std::function<void(spark_gemm_args&)>& damage) {
        damaged(d, 1, what, {wanted}, [=](auto& e) { put(e), damage(*reinterpret_cast<spark_gemm_args*>(e.head())); });
    };
    wrong("codes without scales", SPARK_ERR_INVALID_VALUE, [](auto& g) { g.b.quant = {}; });
    wrong("NF4 without scales", SPARK_ERR_INVALID_VALUE, [](auto& g) { g.b.dtype = SPARK_DTYPE_NF4, g.b.quant = {}; });
    wrong("NF4 with a scale for 32", SPARK_ERR_UNSUPPORTED_DTYPE, [](auto& g) {
        g.b.dtype = SPARK_DTYPE_NF4;
        g.b.quant.zero_dtype = SPARK_DTYPE_NONE, g.b.quant.zero_point = 0;
    });
    wrong("NF4 with zeros", SPARK_ERR_UNSUPPORTED_DTYPE,
          [](auto& g) { g.b.dtype = SPARK_DTYPE_NF4, g.b.quant.block[g.b.ndim - 1] = 64; });
    wrong("beside F32", SPARK_ERR_UNSUPPORTED_DTYPE, [](auto& g) { g.a.dtype = SPARK_DTYPE_F32; });
    wrong("groups of 48", SPARK_ERR_UNSUPPORTED_DTYPE, [](auto& g) { g.b.quant.block[g.b.ndim - 1] = 48; });
    wrong("groups of rows", SPARK_ERR_UNSUPPORTED_DTYPE, [](auto& g) { g.b.quant.block[g.b.ndim - 2] = 32; });
    wrong("zeros of I8", SPARK_ERR_UNSUPPORTED_DTYPE, [](auto& g) { g.b.quant.zero_dtype = SPARK_DTYPE_I8; });
    wrong("zeros without a dtype", SPARK_ERR_INVALID_RESERVED,
          [](auto& g) { g.b.quant.zero_dtype = SPARK_DTYPE_NONE; });
    wrong("scales of E4M3", SPARK_ERR_UNSUPPORTED_DTYPE, [](auto& g) { g.b.quant.scale_dtype = SPARK_DTYPE_E4M3; });
    wrong("data of zeros absent", SPARK_ERR_INVALID_NULL, [](auto& g) { g.b.quant.zero_point = 0; });
    wrong("a zero too few", SPARK_ERR_INVALID_BOUNDS, [](auto& g) { g.b.quant.zero_bytes = 1; });
    wrong("data of zeros under the result", SPARK_ERR_INVALID_OVERLAP,
          [](auto& g) { g.b.quant.zero_point = g.d.data; });
    wrong("rows on half bytes", SPARK_ERR_UNSUPPORTED_LAYOUT, [](auto& g) {
        g.b.stride[g.b.ndim - 1] = 1, g.b.stride[g.b.ndim - 2] = 65;
        if (g.b.ndim > 2) g.b.stride[0] = 4096;
    });
    wrong("codes across", SPARK_ERR_UNSUPPORTED_LAYOUT,
          [](auto& g) { g.b.stride[g.b.ndim - 1] = g.b.shape[g.b.ndim - 2], g.b.stride[g.b.ndim - 2] = 1; });
}

// Codes with scales of blocks beside numbers.
void weights_of_blocks(const spark_op_desc& d) {
    const auto put = [](auto& e) {
        put_weights(e);
        auto& g = *reinterpret_cast<spark_gemm_args*>(e.head());
        g.b.shape[g.b.ndim - 1] = 64, g.b.quant = {};
        put_blocks(e, SPARK_DTYPE_E2M1, SPARK_DTYPE_UE4M3, 16, {1u});
    };
    api::Arena arena(g_ctx);
    api::Example right(d, arena);
    put(right);
    expect(right, 1, "weights of NVFP4", {SPARK_OK}, false);
    const auto wrong = [&](const char* what, spark_status wanted, const std::function<void(spark_gemm_args&)>& damage) {
        damaged(d, 1, what, {wanted}, [=](auto& e) { put(e), damage(*reinterpret_cast<spark_gemm_args*>(e.head())); });
    };
    wrong("codes without scales", SPARK_ERR_UNSUPPORTED_DTYPE, [](auto& g) { g.b.quant = {}; });
    wrong("beside F32", SPARK_ERR_UNSUPPORTED_DTYPE, [](auto& g) { g.a.dtype = g.d.dtype = SPARK_DTYPE_F32; });
    wrong("scales of 128 x 128", SPARK_ERR_UNSUPPORTED_DTYPE, [](auto& g) {
        g.b.dtype = SPARK_DTYPE_E4M3, g.b.quant.scale_dtype = SPARK_DTYPE_F32;
        g.b.quant.block[g.b.ndim - 1] = g.b.quant.block[g.b.ndim - 2] = 128;
    });
    wrong("blocks of 8", SPARK_ERR_UNSUPPORTED_DTYPE, [](auto& g) { g.b.quant.block[g.b.ndim - 1] = 8; });
    wrong("a block that is not whole", SPARK_ERR_UNSUPPORTED_SHAPE,
          [](auto& g) { g.a.shape[g.a.ndim - 1] = g.b.shape[g.b.ndim - 1] = 56; });
    wrong("data of scales absent", SPARK_ERR_INVALID_NULL, [](auto& g) { g.b.quant.scale = 0; });
    wrong("a scale of all for each row", SPARK_ERR_UNSUPPORTED_LAYOUT,
          [](auto& g) { g.b.quant.global_scale = g.b.data, g.b.quant.global_stride = 1; });
    wrong("tiles along other dimensions", SPARK_ERR_UNSUPPORTED_LAYOUT, [](auto& g) {
        g.b.quant.scale_layout = SPARK_SCALE_TILED_128X4;
        g.b.quant.tile[0] = static_cast<uint8_t>(g.b.ndim - 1), g.b.quant.tile[1] = static_cast<uint8_t>(g.b.ndim - 2);
    });
    wrong("codes across", SPARK_ERR_UNSUPPORTED_LAYOUT,
          [](auto& g) { g.b.stride[g.b.ndim - 1] = g.b.shape[g.b.ndim - 2], g.b.stride[g.b.ndim - 2] = 2; });
}

// Flags that go with a gate, and what does not go with one.
void gates(const spark_op_desc& d) {
    const auto of = [&](const char* name, const char* what, spark_status status, const GemmDamage& damage) {
        damaged_product(d, name, what, status, [=](auto& a) {
            a.kept = {};
            a.activation = SPARK_ACTIVATION_SILU;
            a.hdr.flags = SPARK_GEMM_GATED;
            int64_t &rows = a.b.shape[a.b.ndim - 2], &columns = a.d.shape[a.d.ndim - 1];
            rows -= rows % 2, columns = rows / 2;
            std::memset(a.d.stride, 0, sizeof a.d.stride);
            damage(a);
        });
    };
    of("d", "as many columns as b has rows", SPARK_ERR_INVALID_SHAPE, [](auto& a) { a.d.shape[a.d.ndim - 1] *= 2; });
    of("b", "an odd number of rows", SPARK_ERR_INVALID_SHAPE,
       [](auto& a) { ++a.b.shape[a.b.ndim - 2], a.b.size_bytes = 0; });
    of("d", "sums of I8", SPARK_ERR_UNSUPPORTED_DTYPE,
       [](auto& a) { a.a.dtype = a.b.dtype = SPARK_DTYPE_I8, a.d.dtype = SPARK_DTYPE_I32; });
    of("limit", "below 0", SPARK_ERR_INVALID_VALUE, [](auto& a) { a.limit = -1; });
    of("limit", "without a gate", SPARK_ERR_INVALID_VALUE,
       [](auto& a) { a.limit = 7, a.hdr.flags = 0, a.d.shape[a.d.ndim - 1] = a.b.shape[a.b.ndim - 2]; });
    of("beta", "an addend", SPARK_ERR_INVALID_VALUE, [](auto& a) { a.c = a.d, a.beta = 1; });
    of("activation", "a GELU in gpt-oss's form", SPARK_ERR_INVALID_VALUE,
       [](auto& a) { a.hdr.flags |= SPARK_GEMM_GPT_OSS, a.activation = SPARK_ACTIVATION_GELU_ERF; });
    for (uint32_t flag : {SPARK_GEMM_INTERLEAVED, SPARK_GEMM_UP_FIRST, SPARK_GEMM_GPT_OSS}) {
        of("hdr", "a flag without a gate", SPARK_ERR_INVALID_VALUE,
           [=](auto& a) { a.hdr.flags = flag, a.d.shape[a.d.ndim - 1] = a.b.shape[a.b.ndim - 2]; });
    }
}

// d as codes: a form of them, and what is not done to such results; a bias of another type than d's where it is none.
void results(const spark_op_desc& d) {
    const auto of = [&](const char* name, const char* what, spark_status status, const GemmDamage& damage) {
        damaged_product(d, name, what, status, [=](auto& a) {
            a.kept = {};
            a.d.dtype = SPARK_DTYPE_E4M3, a.d.size_bytes = 0;
            a.d.quant = {};
            a.d.quant.scheme = SPARK_QUANT_PER_ROW, a.d.quant.scale_dtype = SPARK_DTYPE_F32;
            a.d.quant.scale = a.d.data + (uint64_t{1} << 24);
            std::memset(a.d.stride, 0, sizeof a.d.stride);
            damage(a);
        });
    };
    const auto add_bias = [](spark_gemm_args& a, spark_dtype dtype) {
        a.bias.dtype = dtype, a.bias.data = a.a.data, a.bias.ndim = 1, a.bias.shape[0] = a.d.shape[a.d.ndim - 1];
    };
    const auto add_amax = [](spark_gemm_args& a) {
        a.amax.dtype = SPARK_DTYPE_F32, a.amax.data = a.d.data + (uint64_t{1} << 25);
        a.amax.ndim = 1, a.amax.shape[0] = 1;
    };
    of("d", "no form", SPARK_ERR_INVALID_VALUE, [](auto& a) { a.d.quant = {}; });
    of("d", "the amax of rows", SPARK_ERR_INVALID_VALUE, [](auto& a) { a.hdr.flags = SPARK_GEMM_OWN_AMAX; });
    of("d", "the amax of numbers", SPARK_ERR_INVALID_VALUE,
       [](auto& a) { a.hdr.flags = SPARK_GEMM_OWN_AMAX, a.d.dtype = SPARK_DTYPE_BF16, a.d.quant = {}; });
    of("c", "an addend", SPARK_ERR_INVALID_VALUE, [](auto& a) { a.c = a.d, a.c.quant = {}; });
    of("bias", "of codes", SPARK_ERR_UNSUPPORTED_DTYPE, [=](auto& a) { add_bias(a, SPARK_DTYPE_E4M3); });
    of("bias", "of F16 beside BF16", SPARK_ERR_UNSUPPORTED_DTYPE, [=](auto& a) {
        add_bias(a, SPARK_DTYPE_F16);
        a.d.dtype = SPARK_DTYPE_BF16, a.d.quant = {};
    });
    of("amax", "of sums", SPARK_ERR_INVALID_VALUE, [=](auto& a) {
        add_amax(a);
        a.a.dtype = a.b.dtype = SPARK_DTYPE_I8, a.d.dtype = SPARK_DTYPE_I32, a.d.quant = {};
    });
}

// The cap of SOFTCAP, of every operator that has one.
void caps(const spark_op_desc& d) {
    const uint32_t cap = field_named(d, "cap"), activation = field_named(d, "activation");
    if (cap == d.num_fields) return;
    for (const auto& [kind, value] : {std::pair{SPARK_ACTIVATION_SOFTCAP, 0.0f},
                                      {SPARK_ACTIVATION_SOFTCAP, -1.0f},
                                      {SPARK_ACTIVATION_SOFTCAP, 0x1p21f},
                                      {SPARK_ACTIVATION_SILU, 1.0f}}) {
        damaged(d, cap, "a cap", {SPARK_ERR_INVALID_VALUE}, [&, kind, value](auto& e) {
            char* args = reinterpret_cast<char*>(e.head());
            const uint32_t number = kind;
            std::memcpy(args + api::field(d, activation).offset, &number, sizeof number);
            std::memcpy(args + api::field(d, cap).offset, &value, sizeof value);
        });
    }
}

// Flag, tensor, types, widths and layouts of b with two of each four numbers.
void two_of_four(const spark_op_desc& d) {
    const auto of = [&](const char* name, const char* what, spark_status status, const GemmDamage& damage) {
        damaged_product(d, name, what, status, [=](auto& a) {
            a.hdr.flags = SPARK_GEMM_TWO_OF_FOUR;
            a.b.quant = {};
            for (spark_tensor* t : {&a.a, &a.b, &a.d, &a.kept}) {
                t->size_bytes = 0;
                std::memset(t->stride, 0, sizeof t->stride);
            }
            a.a.dtype = a.b.dtype = a.d.dtype = SPARK_DTYPE_BF16;
            a.a.shape[a.a.ndim - 1] = 16, a.b.shape[a.b.ndim - 1] = 8, a.kept.shape[a.kept.ndim - 1] = 2;
            damage(a);
        });
    };
    of("kept", "absent", SPARK_ERR_INVALID_NULL, [](auto& a) { a.kept = {}; });
    of("kept", "a byte too many", SPARK_ERR_INVALID_SHAPE, [](auto& a) { ++a.kept.shape[a.kept.ndim - 1]; });
    of("b", "all of K", SPARK_ERR_INVALID_SHAPE, [](auto& a) { a.b.shape[a.b.ndim - 1] = 16; });
    of("a", "half a four", SPARK_ERR_UNSUPPORTED_SHAPE,
       [](auto& a) { a.a.shape[a.a.ndim - 1] = 14, a.b.shape[a.b.ndim - 1] = 7; });
    of("a", "F32", SPARK_ERR_UNSUPPORTED_DTYPE, [](auto& a) { a.a.dtype = a.b.dtype = a.d.dtype = SPARK_DTYPE_F32; });
    of("a", "I8", SPARK_ERR_UNSUPPORTED_DTYPE, [](auto& a) { a.a.dtype = a.b.dtype = SPARK_DTYPE_I8; });
    of("b", "FP8 beside BF16", SPARK_ERR_UNSUPPORTED_DTYPE, [](auto& a) { a.b.dtype = SPARK_DTYPE_E4M3; });
    of("b", "across", SPARK_ERR_UNSUPPORTED_LAYOUT,
       [](auto& a) { a.b.stride[a.b.ndim - 2] = 1, a.b.stride[a.b.ndim - 1] = a.b.shape[a.b.ndim - 2]; });
}

// How F32 is multiplied: one way, and F32 alone; sums of F16 are those of F16 and FP8.
void products(const spark_op_desc& d) {
    const auto of = [&](const char* name, spark_dtype dtype, uint32_t flags, spark_status status) {
        damaged_product(d, name, "products of F32", status, [=](auto& a) {
            a.kept = {};
            a.hdr.flags = flags;
            a.a.dtype = a.b.dtype = dtype, a.d.dtype = SPARK_DTYPE_F32;
            for (spark_tensor* t : {&a.a, &a.b, &a.d}) t->quant = {}, t->size_bytes = 0;
        });
    };
    for (uint32_t flag : {SPARK_GEMM_TF32, SPARK_GEMM_BF16X3}) {
        of("a", SPARK_DTYPE_BF16, flag, SPARK_ERR_UNSUPPORTED_DTYPE);
    }
    for (spark_dtype dtype : {SPARK_DTYPE_F32, SPARK_DTYPE_BF16, SPARK_DTYPE_I8}) {
        of("a", dtype, SPARK_GEMM_F16_SUMS, SPARK_ERR_UNSUPPORTED_DTYPE);
    }
    of("hdr", SPARK_DTYPE_F32, SPARK_GEMM_TF32 | SPARK_GEMM_BF16X3, SPARK_ERR_INVALID_VALUE);
}

void every_kind(void**) {
    for (uint32_t i = 0; i < spark_op_count(); ++i) {
        const spark_op_desc& d = *spark_op_at(i);
        caps(d);
        if (d.op != SPARK_OP_GEMM) continue;
        integers(d), blocks_in_gemm(d), promoted_in_gemm(d), weights(d), weights_of_codes(d), weights_of_int4(d);
        weights_of_blocks(d), gates(d), results(d), two_of_four(d), products(d), parts(d);
    }
    print_message("%d damaged calls, each refused with a sentence\n", g_cases);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(every_kind)};
    return cmocka_run_group_tests_name("api.negative_gemm", tests, set_up, tear_down);
}
