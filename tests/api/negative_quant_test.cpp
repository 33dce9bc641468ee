// SPDX-License-Identifier: Apache-2.0
// Wrong descriptions of quantised tensors, for every field of every operator that takes such: scales, codes, records.
#include <cstring>
#include <limits>

#include "damage.h"

namespace {

// Scales beside a tensor: their form, their memory, and that no two of an output share a place.
void scales(const spark_op_desc& d, uint32_t f) {
    if (!has_scales(d, f)) return;
    const auto quant = [=](const char* what, const Wanted& wanted, const std::function<void(spark_quant&)>& damage) {
        damaged(d, f, what, wanted, [=](auto& e) { damage(e.tensor(f).quant); });
    };
    quant("quant absent", {SPARK_ERR_INVALID_VALUE}, [](auto& q) { q = {}; });
    quant("no such scheme", {SPARK_ERR_UNSUPPORTED_DTYPE}, [](auto& q) { q.scheme = SPARK_QUANT_SCHEME_FORCE32; });
    quant("scales of another dtype", {SPARK_ERR_UNSUPPORTED_DTYPE}, [](auto& q) { q.scale_dtype = SPARK_DTYPE_F64; });
    quant("a record", {SPARK_ERR_INVALID_RESERVED}, [](auto& q) { q.record = 1; });
    quant("blocks of no form", {SPARK_ERR_UNSUPPORTED_DTYPE}, [](auto& q) {
        q.scheme = SPARK_QUANT_BLOCK;
        q.block[0] = 3;
    });
    quant("data of the scales 0", {SPARK_ERR_INVALID_NULL}, [](auto& q) { q.scale = 0; });
    quant("scales misaligned", {SPARK_ERR_INVALID_ALIGNMENT}, [](auto& q) { q.scale += 1; });
    quant("scale_bytes one short", {SPARK_ERR_INVALID_BOUNDS}, [](auto& q) { q.scale_bytes -= 1; });
    quant("a negative stride", {SPARK_ERR_INVALID_STRIDE}, [](auto& q) { q.scale_stride[0] = -1; });
    if (!(api::field(d, f).flags & SPARK_FIELD_OUT)) return;
    quant("rows of scales on top of each other", {SPARK_ERR_INVALID_STRIDE}, [](auto& q) {
        q.scheme = SPARK_QUANT_PER_ROW;
        q.scale_stride[1] = 1;
    });
    for (uint32_t g = 0; g < d.num_fields; ++g) {
        if (api::field(d, g).kind != SPARK_KIND_TENSOR) continue;
        damaged(d, f, "data of the scales on another tensor", {SPARK_ERR_INVALID_OVERLAP},
                [=](auto& e) { e.tensor(f).quant.scale = e.tensor(g).data; });
    }
}

// What quantize refuses of its own where y is records.
void quantize_records(
    const std::function<void(const char*, const Wanted&, const std::function<void(spark_quantize_args&)>&)>& wrong) {
    const auto records = [](auto& a, int64_t elements = 32, int64_t bytes = 34) {
        for (spark_tensor* t : {&a.x, &a.y}) {
            t->shape[t->ndim - 1] = t == &a.x ? elements : bytes;
            std::memset(t->stride, 0, sizeof t->stride);
            t->size_bytes = 0;
        }
        a.y.dtype = SPARK_DTYPE_U8, a.y.quant = {};
        a.y.quant.scheme = SPARK_QUANT_RECORD, a.y.quant.record = SPARK_RECORD_Q8_0;
    };
    wrong("amax", {SPARK_ERR_INVALID_VALUE}, [=](auto& a) { records(a); });
    const auto alone = [=](auto& a) { records(a), a.amax = {}; };
    wrong("amax_floor", {SPARK_ERR_INVALID_VALUE}, [=](auto& a) { alone(a), a.amax_floor = 1e-4f; });
    for (spark_scale_rule rule :
         {SPARK_SCALE_RULE_FLOOR, SPARK_SCALE_RULE_RCEIL, SPARK_SCALE_RULE_EVEN, SPARK_SCALE_RULE_FOUR_OVER_SIX})
        wrong("rule", {SPARK_ERR_UNSUPPORTED}, [=](auto& a) { alone(a), a.rule = rule; });
    wrong("y", {SPARK_ERR_INVALID_VALUE}, [=](auto& a) { alone(a), a.hdr.flags |= SPARK_QUANTIZE_OWN_AMAX; });
    wrong("y", {SPARK_ERR_UNSUPPORTED}, [=](auto& a) { alone(a), a.hdr.flags |= SPARK_QUANTIZE_STOCHASTIC; });
    wrong("y", {SPARK_ERR_UNSUPPORTED_DTYPE}, [=](auto& a) { alone(a), a.y.quant.record = SPARK_RECORD_Q4_K; });
    wrong("y", {SPARK_ERR_INVALID_SHAPE}, [=](auto& a) { alone(a), records(a, 31, 34); });
    wrong("y", {SPARK_ERR_INVALID_SHAPE}, [=](auto& a) { alone(a), records(a, 32, 35); });
    wrong("y", {SPARK_ERR_INVALID_SHAPE}, [=](auto& a) { alone(a), records(a, 16, 17); });
}

// What quantize refuses of its own.
void quantize(const spark_op_desc& d) {
    if (d.op != SPARK_OP_QUANTIZE) return;
    const auto wrong = [&](const char* name, const Wanted& wanted,
                           const std::function<void(spark_quantize_args&)>& damage,
                           const char* what = "a wrong value") {
        uint32_t f = 0;
        while (std::strcmp(api::field(d, f).name, name) != 0) ++f;
        damaged(d, f, what, wanted, [=](auto& e) { damage(*reinterpret_cast<spark_quantize_args*>(e.head())); });
    };
    for (float least : {-1.0f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
        wrong("amax_floor", {SPARK_ERR_INVALID_VALUE}, [=](auto& a) { a.amax_floor = least; });
    for (spark_scale_rule rule : {SPARK_SCALE_RULE_FLOOR, SPARK_SCALE_RULE_EVEN, SPARK_SCALE_RULE_FOUR_OVER_SIX})
        wrong("rule", {SPARK_ERR_UNSUPPORTED}, [=](auto& a) { a.rule = rule; });
    const auto mxfp8 = [](auto& a) {
        a.amax = {};
        a.y.dtype = SPARK_DTYPE_E4M3;
        a.y.quant.scheme = SPARK_QUANT_BLOCK, a.y.quant.scale_dtype = SPARK_DTYPE_UE8M0, a.y.quant.scale_bytes = 0;
        for (uint32_t dim = 0; dim < a.y.ndim; ++dim) a.y.quant.block[dim] = dim + 1 < a.y.ndim ? 1 : 32;
    };
    wrong("amax_floor", {SPARK_ERR_INVALID_VALUE}, [=](auto& a) { mxfp8(a), a.amax_floor = 1e-4f; });
    wrong("rule", {SPARK_ERR_UNSUPPORTED}, [=](auto& a) { mxfp8(a), a.rule = SPARK_SCALE_RULE_FOUR_OVER_SIX; });
    wrong("amax", {SPARK_ERR_INVALID_VALUE}, [](auto& a) {
        a.y.quant.scheme = SPARK_QUANT_PER_ROW;
        a.y.quant.scale_bytes = 0;
    });
    wrong("y", {SPARK_ERR_INVALID_VALUE}, [=](auto& a) { mxfp8(a), a.hdr.flags |= SPARK_QUANTIZE_OWN_AMAX; });
    wrong("amax", {SPARK_ERR_INVALID_VALUE}, [](auto& a) { a.hdr.flags |= SPARK_QUANTIZE_OWN_AMAX; });
    const auto nvfp4 = [=](auto& a) {
        mxfp8(a);
        a.y.dtype = SPARK_DTYPE_E2M1, a.y.quant.scale_dtype = SPARK_DTYPE_UE4M3, a.y.quant.block[a.y.ndim - 1] = 16;
        for (int64_t& stride : a.y.stride) stride = 0;
    };
    wrong("amax_floor", {SPARK_ERR_INVALID_VALUE}, [=](auto& a) { nvfp4(a), a.amax_floor = 1e-4f; });
    for (spark_scale_rule rule : {SPARK_SCALE_RULE_FLOOR, SPARK_SCALE_RULE_RCEIL, SPARK_SCALE_RULE_EVEN})
        wrong("rule", {SPARK_ERR_UNSUPPORTED}, [=](auto& a) { nvfp4(a), a.rule = rule; });
    wrong(
        "y", {SPARK_ERR_INVALID_NULL}, [=](auto& a) { nvfp4(a), a.hdr.flags |= SPARK_QUANTIZE_OWN_AMAX; },
        "data of the scale of all 0");
    wrong("y", {SPARK_ERR_UNSUPPORTED_LAYOUT},
          [=](auto& a) { nvfp4(a), a.y.quant.global_scale = a.y.quant.scale + 4096, a.y.quant.global_stride = 1; });
    wrong("y", {SPARK_ERR_UNSUPPORTED_LAYOUT}, [=](auto& a) {
        nvfp4(a), a.y.stride[a.y.ndim - 1] = 1;
        int64_t odd = a.y.shape[a.y.ndim - 1] | 1;
        for (uint32_t dim = a.y.ndim - 1; dim-- > 0; odd *= a.y.shape[dim]) a.y.stride[dim] = odd;
    });
    wrong("y", {SPARK_ERR_UNSUPPORTED_LAYOUT}, [=](auto& a) {
        mxfp8(a), a.y.quant.scale_layout = SPARK_SCALE_TILED_128X4, a.y.quant.tile[0] = 1, a.y.quant.tile[1] = 0;
    });
    wrong("y", {SPARK_ERR_INVALID_STRIDE}, [=](auto& a) { // matrices of one tile each, on top of each other
        mxfp8(a), a.y.quant.scale_layout = SPARK_SCALE_TILED_128X4, a.y.quant.scale_stride[0] = 511;
    });
    wrong("rule", {SPARK_ERR_UNSUPPORTED}, [=](auto& a) {
        nvfp4(a), a.rule = SPARK_SCALE_RULE_FOUR_OVER_SIX, a.hdr.flags |= SPARK_QUANTIZE_STOCHASTIC;
    });
    quantize_records([&](const char* name, const Wanted& wanted, const auto& damage) { wrong(name, wanted, damage); });
}

// Rows of records: their format must be named and known, their bytes must be those of whole records of y's elements.
void records(const spark_op_desc& d, uint32_t f) {
    const spark_quant_form* form = spark_op_form(d.op, f, 0);
    if (!form || form->scheme != SPARK_QUANT_RECORD) return;
    damaged(d, f, "quant absent", {SPARK_ERR_INVALID_VALUE},
            [=](auto& e) { std::memset(&e.tensor(f).quant, 0, sizeof(spark_quant)); });
    for (uint16_t format : {0, 4, 9, 16, 0xffff}) // the number that was Q4_2, GGML's Q8_1, IQ2_XXS
        damaged(d, f, "no such format", {SPARK_ERR_UNSUPPORTED_DTYPE},
                [=](auto& e) { e.tensor(f).quant.record = format; });
    damaged(d, f, "bytes of another format", {SPARK_ERR_INVALID_SHAPE},
            [=](auto& e) { e.tensor(f).quant.record = SPARK_RECORD_Q4_1; });
    const auto width = [=](uint32_t field, int64_t bytes, int64_t elements) {
        damaged(d, field, "a part of a record", {SPARK_ERR_INVALID_SHAPE}, [=](auto& e) {
            for (uint32_t g : {f, f + 1}) {
                spark_tensor& t = e.tensor(g);
                t.shape[t.ndim - 1] = g == f ? bytes : elements;
                std::memset(t.stride, 0, sizeof t.stride);
                t.size_bytes = 0;
            }
        });
    };
    for (int64_t elements : {1, 31, 33, 48}) width(f + 1, 34, elements);
    for (int64_t bytes : {0, 17, 33, 35, 68}) width(f, bytes, 32);
}

// Codes with a scale a row, or for all, in the place of numbers, wherever they may be. The scales lie where their codes
// do.
void put_codes(api::Example& e) {
    for (uint32_t g = 0; g < e.desc().num_fields; ++g) {
        const spark_quant_form* form = spark_op_form(e.desc().op, g, 0);
        if (!form || form->scheme == SPARK_QUANT_RECORD) continue;
        spark_tensor& t = e.tensor(g);
        uint64_t taken = 0;
        for (uint32_t as = g; as != 0xffffffff; as = api::field(e.desc(), as).dtype_as)
            taken |= api::field(e.desc(), as).dtype_mask;
        t.dtype = static_cast<spark_dtype>(__builtin_ctzll(form->dtype_mask & taken));
        t.quant.scheme = spark_op_form(e.desc().op, g, 1) ? SPARK_QUANT_PER_ROW : SPARK_QUANT_PER_TENSOR;
        t.quant.scale_dtype = SPARK_DTYPE_F32;
        t.quant.scale = t.data;
        t.size_bytes = 0;
    }
}

void codes(const spark_op_desc& d, uint32_t f) {
    const spark_quant_form* form = spark_op_form(d.op, f, 0);
    if (!form || form->scheme == SPARK_QUANT_RECORD || has_scales(d, f)) return;
    api::Arena arena(g_ctx);
    api::Example right(d, arena);
    put_codes(right);
    expect(right, f, "codes with scales", {SPARK_OK}, false);
    const auto wrong = [&](const char* what, spark_status wanted, const std::function<void(spark_tensor&)>& damage) {
        damaged(d, f, what, {wanted}, [=](auto& e) { put_codes(e), damage(e.tensor(f)); });
    };
    const auto form_of = [&](const char* what, const std::function<void(spark_quant&)>& damage) {
        wrong(what, SPARK_ERR_UNSUPPORTED_DTYPE, [=](spark_tensor& t) { damage(t.quant); });
    };
    form_of("blocks", [](spark_quant& q) { q.scheme = SPARK_QUANT_BLOCK; });
    form_of("scales of another dtype", [](spark_quant& q) { q.scale_dtype = SPARK_DTYPE_F16; });
    form_of("scales without a dtype", [](spark_quant& q) { q.scale_dtype = SPARK_DTYPE_NONE; });
    form_of("tiled scales", [](spark_quant& q) { q.scale_layout = SPARK_SCALE_TILED_128X4; });
    form_of("zero points", [](spark_quant& q) { q.zero_dtype = SPARK_DTYPE_I8; });
    form_of("a second factor", [](spark_quant& q) { q.global_scale = q.scale; });
    wrong("scales of numbers", SPARK_ERR_UNSUPPORTED_DTYPE, [](spark_tensor& t) { t.dtype = SPARK_DTYPE_BF16; });
    wrong("data of scales absent", SPARK_ERR_INVALID_NULL, [](spark_tensor& t) { t.quant.scale = 0; });
    wrong("data of scales off by 2", SPARK_ERR_INVALID_ALIGNMENT, [](spark_tensor& t) { t.quant.scale += 2; });
    wrong("a scale too few", SPARK_ERR_INVALID_BOUNDS, [](spark_tensor& t) {
        const bool one = t.quant.scheme == SPARK_QUANT_PER_TENSOR; // 0 bytes would be not told
        t.quant.scale_bytes = one ? 3 : 4 * uint64_t(t.shape[t.ndim - 2]) - 4;
    });
    wrong("scales backwards", SPARK_ERR_INVALID_STRIDE, [](spark_tensor& t) { t.quant.scale_stride[t.ndim - 2] = -1; });
    wrong("blocks that nothing reads", SPARK_ERR_INVALID_RESERVED, [](spark_tensor& t) { t.quant.block[0] = 1; });
    for (uint32_t o = 0; o < d.num_fields; ++o) {
        if (o == f || !(api::field(d, o).flags & SPARK_FIELD_OUT)) continue;
        damaged(d, f, "data over scales", {SPARK_ERR_INVALID_OVERLAP}, [=](auto& e) {
            put_codes(e);
            e.tensor(f).quant.scale = e.tensor(o).data;
        });
    }
}

// What is multiplied along k alone.
void codes_across(const spark_op_desc& d) {
    if (d.op != SPARK_OP_GEMM) return;
    for (uint32_t f : {0u, 1u})
        damaged(d, f, "codes with stride 1 along the rows", {SPARK_ERR_UNSUPPORTED_LAYOUT}, [=](auto& e) {
            put_codes(e);
            spark_tensor& t = e.tensor(f);
            t.stride[t.ndim - 2] = 1, t.stride[t.ndim - 1] = t.shape[t.ndim - 2];
        });
}

// Sums that are results: of integers alone, with nothing that follows. And integers whose sum might not be one of I32.
void integers(const spark_op_desc& d) {
    if (d.op != SPARK_OP_GEMM) return;
    const auto tensor = [&](spark_gemm_args& a, uint32_t f) -> spark_tensor& {
        return *reinterpret_cast<spark_tensor*>(reinterpret_cast<char*>(&a) + api::field(d, f).offset);
    };
    const auto of = [&](const char* name, const char* what, spark_status status,
                        const std::function<void(spark_gemm_args&)>& damage) {
        uint32_t f = 0;
        while (std::strcmp(api::field(d, f).name, name) != 0) ++f;
        damaged(d, f, what, {status}, [=](auto& e) {
            auto& a = *reinterpret_cast<spark_gemm_args*>(e.head());
            a.bias = a.c = {};
            a.a.dtype = a.b.dtype = SPARK_DTYPE_I8, a.d.dtype = SPARK_DTYPE_I32;
            a.beta = 0, a.activation = SPARK_ACTIVATION_NONE;
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

void put_blocks(api::Example& e, spark_dtype codes, spark_dtype scales, uint16_t block) {
    for (uint32_t f : {0u, 1u}) {
        spark_tensor& t = e.tensor(f);
        t.dtype = codes, t.size_bytes = 0;
        for (int64_t& stride : t.stride) stride = 0;
        t.quant.scheme = SPARK_QUANT_BLOCK, t.quant.scale_dtype = scales, t.quant.scale = t.data;
        for (uint32_t dim = 0; dim < t.ndim; ++dim) t.quant.block[dim] = dim + 1 < t.ndim ? 1 : block;
    }
}

// Products of codes that have scales of their blocks.
void blocks_in_gemm(const spark_op_desc& d) {
    if (d.op != SPARK_OP_GEMM) return;
    const auto put_nvfp4 = [](auto& e) { put_blocks(e, SPARK_DTYPE_E2M1, SPARK_DTYPE_UE4M3, 16); };
    api::Arena arena(g_ctx);
    api::Example right(d, arena);
    put_nvfp4(right);
    expect(right, 0, "codes of E2M1 with scales of blocks", {SPARK_OK}, false);
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
    damaged(d, 0, "a part of a block", {SPARK_ERR_UNSUPPORTED_SHAPE}, [=](auto& e) {
        put_nvfp4(e);
        for (uint32_t f : {0u, 1u}) e.tensor(f).shape[e.tensor(f).ndim - 1] -= 8;
    });
}

// The same of scales that are F32, whose sums are promoted.
void promoted_in_gemm(const spark_op_desc& d) {
    if (d.op != SPARK_OP_GEMM) return;
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
    if (d.op != SPARK_OP_GEMM) return;
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
    if (d.op != SPARK_OP_GEMM) return;
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

// Caches of FP8 below queries of 16 bits: k and v alike, one scale each.
void caches(const spark_op_desc& d) {
    if (d.op != SPARK_OP_ATTENTION) return;
    const auto put = [](spark_attention_args& a) {
        for (spark_tensor* t : {&a.k, &a.v}) {
            t->dtype = SPARK_DTYPE_E4M3;
            t->quant.scheme = SPARK_QUANT_PER_TENSOR, t->quant.scale_dtype = SPARK_DTYPE_F32;
            t->quant.scale = a.o.data + a.o.size_bytes;
        }
    };
    const auto args_of = [](api::Example& e) -> spark_attention_args& {
        return *reinterpret_cast<spark_attention_args*>(e.head());
    };
    api::Arena arena(g_ctx);
    api::Example right(d, arena);
    put(args_of(right));
    expect(right, 1, "caches of E4M3", {SPARK_OK}, false);
    const auto wrong = [&](uint32_t field, const char* what, const std::function<void(spark_attention_args&)>& damage) {
        damaged(d, field, what, {SPARK_ERR_INVALID_DTYPE, SPARK_ERR_UNSUPPORTED_DTYPE},
                [=](auto& e) { put(args_of(e)), damage(args_of(e)); });
    };
    wrong(1, "caches of E5M2", [](auto& a) { a.k.dtype = a.v.dtype = SPARK_DTYPE_E5M2; });
    wrong(2, "values of q's type beside keys of E4M3", [](auto& a) { a.v.dtype = a.q.dtype, a.v.quant = {}; });
    wrong(2, "codes of values beside keys of q's type", [](auto& a) { a.k.dtype = a.q.dtype, a.k.quant = {}; });
    wrong(1, "a scale of keys that are no codes", [](auto& a) { a.k.dtype = a.v.dtype = a.q.dtype, a.v.quant = {}; });
    wrong(1, "a scale of each row", [](auto& a) { a.k.quant.scheme = SPARK_QUANT_PER_ROW; });
}

// Codes in the place of y, with a scale for each row behind them: of norms and glu.
void coded_results(const spark_op_desc& d) {
    if (d.op != SPARK_OP_RMSNORM && d.op != SPARK_OP_LAYERNORM && d.op != SPARK_OP_GLU) return;
    uint32_t y = 0;
    while (std::strcmp(api::field(d, y).name, "y") != 0) ++y;
    const auto put = [=](api::Example& e) -> spark_tensor& {
        spark_tensor& t = e.tensor(y);
        const uint64_t codes = t.size_bytes / 4;
        t.dtype = SPARK_DTYPE_E4M3, t.size_bytes = codes;
        t.quant.scheme = SPARK_QUANT_PER_ROW, t.quant.scale_dtype = SPARK_DTYPE_F32, t.quant.scale = t.data + codes;
        return t;
    };
    api::Arena arena(g_ctx);
    api::Example right(d, arena);
    put(right);
    expect(right, y, "codes of E4M3", {SPARK_OK}, false);
    const auto wrong = [&](const char* what, spark_status status,
                           const std::function<void(spark_tensor&, const spark_tensor& in)>& damage) {
        damaged(d, y, what, {status}, [=](auto& e) { damage(put(e), e.tensor(0)); });
    };
    wrong("codes without scales", SPARK_ERR_INVALID_VALUE, [](auto& t, auto&) { t.quant = {}; });
    wrong("scales of numbers", SPARK_ERR_UNSUPPORTED_DTYPE,
          [](auto& t, auto& in) { t.dtype = in.dtype, t.size_bytes = 0; });
    wrong("half bytes", SPARK_ERR_INVALID_DTYPE, [](auto& t, auto&) { t.dtype = SPARK_DTYPE_E2M1, t.quant = {}; });
    wrong("blocks of a row and a half", SPARK_ERR_UNSUPPORTED_DTYPE, [](auto& t, auto&) {
        t.quant.scheme = SPARK_QUANT_BLOCK;
        t.quant.block[0] = 3;
    });
    wrong("codes in place", SPARK_ERR_INVALID_OVERLAP, [](auto& t, auto& in) { t.data = in.data; });
    wrong("scales on the input", SPARK_ERR_INVALID_OVERLAP, [](auto& t, auto& in) { t.quant.scale = in.data; });
    wrong("rows of scales on top of each other", SPARK_ERR_INVALID_STRIDE,
          [](auto& t, auto&) { t.quant.scale_stride[1] = 1; });
}

void every_quantised_field(void**) {
    for (uint32_t i = 0; i < spark_op_count(); ++i) {
        const spark_op_desc& d = *spark_op_at(i);
        quantize(d), codes_across(d), integers(d), blocks_in_gemm(d), promoted_in_gemm(d), weights(d),
            weights_of_codes(d), caches(d), coded_results(d);
        for (uint32_t f = 0; f < d.num_fields; ++f)
            if (api::field(d, f).kind == SPARK_KIND_TENSOR) records(d, f), scales(d, f), codes(d, f);
    }
    print_message("%d damaged calls, each refused with a sentence\n", g_cases);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(every_quantised_field)};
    return cmocka_run_group_tests_name("api.negative_quant", tests, set_up, tear_down);
}
