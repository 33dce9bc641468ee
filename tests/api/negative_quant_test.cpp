// SPDX-License-Identifier: Apache-2.0
// Wrong descriptions of quantised tensors, for every field of every operator that takes such: scales, codes, records.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

#include "damage.h"

namespace {

bool has_row_form(const spark_op_desc& d, uint32_t f) {
    for (uint32_t i = 0; i < api::field(d, f).num_forms; ++i) {
        if (spark_op_form(d.op, f, i)->scheme == SPARK_QUANT_PER_ROW) return true;
    }
    return false;
}

// Scales beside a tensor: their form, their memory, and that no two of an output share a place.
void scales(const spark_op_desc& d, uint32_t f) {
    if (!has_scales(d, f)) return;
    const auto quant = [=](const char* what, const Wanted& wanted, const std::function<void(spark_quant&)>& damage) {
        damaged(d, f, what, wanted, [=](auto& e) { damage(e.tensor(f).quant); });
    };
    quant("quant absent", {SPARK_ERR_INVALID_VALUE}, [](auto& q) { q = {}; });
    quant("no such scheme", {SPARK_ERR_UNSUPPORTED_DTYPE}, [](auto& q) { q.scheme = SPARK_QUANT_SCHEME_FORCE32; });
    quant("scales of another dtype", {SPARK_ERR_UNSUPPORTED_DTYPE}, [](auto& q) { q.scale_dtype = SPARK_DTYPE_F64; });
    // What is none of the forms is told by the field that keeps it from being one.
    const auto named = [=](const char* sentence, const std::function<void(spark_quant&)>& damage) {
        api::Arena arena(g_ctx);
        api::Example example(d, arena);
        damage(example.tensor(f).quant);
        const Verdict v = call(example.head(), false);
        if (std::strstr(v.err.message, sentence) == nullptr)
            fail_msg("%s field %u: \"%s\" wanted: \"%s\"", d.name, f, sentence, v.err.message);
    };
    named("quant.scheme is 2147483647; ", [](auto& q) { q.scheme = SPARK_QUANT_SCHEME_FORCE32; });
    named("quant.scale_dtype is F64; ", [](auto& q) { q.scale_dtype = SPARK_DTYPE_F64; });
    named("quant.scale_layout is 2147483647; ", [](auto& q) { q.scale_layout = SPARK_SCALE_LAYOUT_FORCE32; });
    named("quant.zero_dtype is F64; ", [](auto& q) { q.zero_dtype = SPARK_DTYPE_F64; });
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
    if (has_row_form(d, f)) {
        quant("rows of scales on top of each other", {SPARK_ERR_INVALID_STRIDE}, [](auto& q) {
            q.scheme = SPARK_QUANT_PER_ROW;
            q.scale_stride[1] = 1;
        });
    }
    for (uint32_t g = 0; g < d.num_fields; ++g) {
        if (api::field(d, g).kind != SPARK_KIND_TENSOR) continue;
        damaged(d, f, "data of the scales on another tensor", {SPARK_ERR_INVALID_OVERLAP},
                [=](auto& e) { e.tensor(f).quant.scale = e.tensor(g).data; });
    }
}

using Refused = std::function<void(const char*, const Wanted&, const std::function<void(spark_quantize_args&)>&)>;

// What quantize refuses of its own where y is I4.
void quantize_int4(const Refused& wrong) {
    const auto int4 = [=](auto& a) {
        a.amax = {};
        a.y.dtype = SPARK_DTYPE_I4, a.y.quant.scale_dtype = SPARK_DTYPE_F16;
        a.y.quant.scheme = SPARK_QUANT_BLOCK, a.y.quant.scale_bytes = 0;
        for (uint32_t dim = 0; dim < a.y.ndim; ++dim) {
            a.y.quant.block[dim] = dim + 1 < a.y.ndim ? 1 : 32, a.y.stride[dim] = 0;
        }
    };
    for (spark_scale_rule rule : {SPARK_SCALE_RULE_RCEIL, SPARK_SCALE_RULE_FOUR_OVER_SIX})
        wrong("rule", {SPARK_ERR_UNSUPPORTED}, [=](auto& a) { int4(a), a.rule = rule; });
    wrong("y", {SPARK_ERR_UNSUPPORTED}, [=](auto& a) { int4(a), a.hdr.flags |= SPARK_QUANTIZE_STOCHASTIC; });
    wrong("y", {SPARK_ERR_UNSUPPORTED_DTYPE}, [=](auto& a) {
        int4(a), a.y.quant.zero_dtype = SPARK_DTYPE_U4, a.y.quant.zero_point = a.y.quant.scale + 4096;
    });
    wrong("y", {SPARK_ERR_UNSUPPORTED_DTYPE}, [=](auto& a) { int4(a), a.y.dtype = SPARK_DTYPE_U4; });
}

// What quantize refuses of its own where y is records.
void quantize_records(const Refused& wrong) {
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

void mxfp8(spark_quantize_args& a) {
    a.amax = {};
    a.y.dtype = SPARK_DTYPE_E4M3;
    a.y.quant.scheme = SPARK_QUANT_BLOCK, a.y.quant.scale_dtype = SPARK_DTYPE_UE8M0, a.y.quant.scale_bytes = 0;
    for (uint32_t dim = 0; dim < a.y.ndim; ++dim) a.y.quant.block[dim] = dim + 1 < a.y.ndim ? 1 : 32;
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
    wrong("y", {SPARK_ERR_INVALID_SHAPE}, [=](auto& a) {
        for (spark_tensor* t : {&a.x, &a.y}) {
            *t = {.data = t->data, .dtype = t->dtype, .ndim = 1, .shape = {64}, .quant = t->quant};
        }
        mxfp8(a), a.y.quant.scale_layout = SPARK_SCALE_TILED_128X4;
    });
    wrong("y", {SPARK_ERR_INVALID_STRIDE}, [=](auto& a) { // matrices of one tile each, on top of each other
        mxfp8(a), a.y.quant.scale_layout = SPARK_SCALE_TILED_128X4, a.y.quant.scale_stride[0] = 511;
    });
    wrong("rule", {SPARK_ERR_UNSUPPORTED}, [=](auto& a) {
        nvfp4(a), a.rule = SPARK_SCALE_RULE_FOUR_OVER_SIX, a.hdr.flags |= SPARK_QUANTIZE_STOCHASTIC;
    });
    const auto refused = [&](const char* name, const Wanted& wanted, const auto& damage) {
        wrong(name, wanted, damage);
    };
    quantize_int4(refused);
    quantize_records(refused);
}

// What a refusal says of a call with something in it that nothing here reads.
void says(const spark_op_desc& d, const char* wanted, const Damage& damage) {
    api::Arena arena(g_ctx);
    api::Example example(d, arena);
    damage(example);
    const Verdict v = call(example.head(), false);
    if (v.status != SPARK_ERR_UNSUPPORTED_DTYPE || !std::strstr(v.err.message, wanted))
        fail_msg("%s: \"%s\" does not name %s", d.name, v.err.message, wanted);
}

// Formats of other software are refused by the names that they have there.
void refused_by_name(const spark_op_desc& d, uint32_t f) {
    constexpr std::pair<uint16_t, const char*> TYPES[] = {
        {9, "Q8_1"},   {15, "Q8_K"},  {16, "IQ2_XXS"}, {17, "IQ2_XS"}, {18, "IQ3_XXS"}, {19, "IQ1_S"},
        {21, "IQ3_S"}, {22, "IQ2_S"}, {29, "IQ1_M"},   {34, "TQ1_0"},  {35, "TQ2_0"},   {77, "no type of GGUF's"}};
    for (const auto& [number, name] : TYPES) {
        says(d, name, [=](auto& e) { e.tensor(f).quant.record = number; });
    }
    says(d, "HQQ", [=](auto& e) {
        spark_tensor& t = e.tensor(f);
        t.dtype = SPARK_DTYPE_U4, t.quant = {};
        t.quant.scheme = SPARK_QUANT_BLOCK, t.quant.scale_dtype = t.quant.zero_dtype = SPARK_DTYPE_F16;
        t.quant.scale = t.quant.zero_point = t.data;
        for (uint32_t dim = 0; dim < t.ndim; ++dim) t.quant.block[dim] = dim + 1 < t.ndim ? 1 : 64;
    });
}

// Queries and keys have scales for a tensor, a head, a token, and for blocks of 2^n tokens of a head: other blocks are
// refused by what is nearest.
void token_blocks(const spark_op_desc& d) {
    if (d.op != SPARK_OP_ATTENTION) return;
    for (uint32_t f : {0, 1, 2}) {
        const std::string name = api::field(d, f).name;
        const auto put = [=](uint16_t tokens, uint16_t heads) {
            return [=](api::Example& e) {
                spark_tensor& t = e.tensor(f);
                t.dtype = SPARK_DTYPE_E4M3, t.quant = {};
                t.quant.scheme = SPARK_QUANT_BLOCK, t.quant.scale_dtype = SPARK_DTYPE_F32, t.quant.scale = t.data;
                const uint16_t blocks[] = {1, tokens, heads, 0};
                std::copy(std::begin(blocks), std::end(blocks), t.quant.block);
            };
        };
        says(d, (name + ".quant.block[1] is 48; BATCH_HEAD wants 0").c_str(), put(48, 1));
        says(d, (name + ".quant.block[2] is 0; TOKENS_64 wants 1").c_str(), put(64, 0));
        says(d, "of the forms that attention reads: TENSOR, ROW, HEAD, BATCH_HEAD, TOKENS_16, TOKENS_32, ", put(48, 1));
    }
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
    refused_by_name(d, f);
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

// Codes with a scale a row, or for all, in the place of numbers, wherever inputs may be such. The scales lie where
// their codes do.
void put_codes(api::Example& e) {
    for (uint32_t g = 0; g < e.desc().num_fields; ++g) {
        const spark_quant_form* form = spark_op_form(e.desc().op, g, 0);
        if (!form || form->scheme == SPARK_QUANT_RECORD) continue;
        if ((api::field(e.desc(), g).flags & SPARK_FIELD_OUT) != 0) continue;
        spark_tensor& t = e.tensor(g);
        uint64_t taken = 0;
        for (uint32_t as = g; as != 0xffffffff; as = api::field(e.desc(), as).dtype_as)
            taken |= api::field(e.desc(), as).dtype_mask;
        const uint64_t both = form->dtype_mask & taken, e4m3 = uint64_t{1} << SPARK_DTYPE_E4M3; // which goes with all
        t.dtype = static_cast<spark_dtype>(__builtin_ctzll((both & e4m3) != 0 ? e4m3 : both));
        t.quant.scheme = spark_op_form(e.desc().op, g, 1) ? SPARK_QUANT_PER_ROW : SPARK_QUANT_PER_TENSOR;
        t.quant.scale_dtype = SPARK_DTYPE_F32;
        t.quant.scale = t.data;
        t.size_bytes = 0;
    }
}

void codes(const spark_op_desc& d, uint32_t f) {
    const spark_quant_form* form = spark_op_form(d.op, f, 0);
    if (!form || form->scheme == SPARK_QUANT_RECORD || has_scales(d, f)) return;
    if ((api::field(d, f).flags & SPARK_FIELD_OUT) != 0) return; // scales of their own: coded_results
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
    wrong(2, "values of E5M2 beside keys of E4M3", [](auto& a) { a.v.dtype = SPARK_DTYPE_E5M2; });
    wrong(2, "values of q's type beside keys of E4M3", [](auto& a) { a.v.dtype = a.q.dtype, a.v.quant = {}; });
    wrong(2, "codes of values beside keys of q's type", [](auto& a) { a.k.dtype = a.q.dtype, a.k.quant = {}; });
    wrong(1, "codes of keys beside queries of I8", [](auto& a) { a.q.dtype = SPARK_DTYPE_I8; });
    wrong(2, "values of I8 beside queries and keys of I8",
          [](auto& a) { a.q.dtype = a.k.dtype = a.v.dtype = SPARK_DTYPE_I8; });
    wrong(1, "a scale of keys that are no codes", [](auto& a) { a.k.dtype = a.v.dtype = a.q.dtype, a.v.quant = {}; });
    wrong(1, "a scale of each token",
          [](auto& a) { a.k.quant.scheme = SPARK_QUANT_BLOCK, a.k.quant.block[0] = a.k.quant.block[1] = 1; });
}

// Caches of E2M1 are moved by whole bytes.
void moved_pairs(const spark_op_desc& d) {
    if (d.op != SPARK_OP_KV_APPEND) return;
    const auto put = [](api::Example& e, int64_t width) {
        auto& a = *reinterpret_cast<spark_kv_append_args*>(e.head());
        for (spark_tensor* t : {&a.k, &a.v, &a.k_cache, &a.v_cache}) {
            t->dtype = SPARK_DTYPE_E2M1;
            int64_t step = 1;
            for (uint32_t dim = t->ndim; dim-- > 0;) {
                if (dim + 1 == t->ndim) t->shape[dim] = width;
                t->stride[dim] = step, step *= t->shape[dim], step += step % 2;
            }
        }
    };
    api::Arena arena(g_ctx);
    api::Example right(d, arena);
    put(right, 6);
    expect(right, 0, "pairs", {SPARK_OK}, false);
    damaged(d, 0, "half a pair", {SPARK_ERR_UNSUPPORTED_SHAPE}, [=](auto& e) { put(e, 5); });
    damaged(d, 0, "a row on half a byte", {SPARK_ERR_UNSUPPORTED_LAYOUT}, [=](auto& e) {
        put(e, 6);
        e.tensor(0).stride[1] = 7;
    });
}

// Caches of codes for tokens that are numbers, and what goes with neither of the two ways.
void coded_caches(const spark_op_desc& d) {
    if (d.op != SPARK_OP_KV_APPEND && d.op != SPARK_OP_KV_GATHER) return;
    const auto put = [](api::Example& e, spark_dtype tokens, spark_dtype cache) -> spark_kv_append_args& {
        auto& a = *reinterpret_cast<spark_kv_append_args*>(e.head()); // the fields of both
        for (spark_tensor* t : {&a.k, &a.v}) t->dtype = tokens;
        for (spark_tensor* t : {&a.k_cache, &a.v_cache}) t->dtype = cache;
        return a;
    };
    api::Arena arena(g_ctx);
    api::Example right(d, arena);
    put(right, SPARK_DTYPE_F32, SPARK_DTYPE_E4M3);
    expect(right, 4, "caches of E4M3 with the scale 1", {SPARK_OK}, false);
    damaged(d, 0, "codes of other codes", {SPARK_ERR_UNSUPPORTED_DTYPE},
            [=](auto& e) { put(e, SPARK_DTYPE_E5M2, SPARK_DTYPE_E4M3); });
    damaged(d, 4, "pairs without scales", {SPARK_ERR_INVALID_VALUE, SPARK_ERR_UNSUPPORTED_LAYOUT},
            [=](auto& e) { put(e, SPARK_DTYPE_F32, SPARK_DTYPE_E2M1); });
    damaged(d, 5, "keys and values of two types", {SPARK_ERR_INVALID_DTYPE, SPARK_ERR_UNSUPPORTED_DTYPE},
            [=](auto& e) { put(e, SPARK_DTYPE_F32, SPARK_DTYPE_E4M3).v_cache.dtype = SPARK_DTYPE_E5M2; });
    damaged(d, 4, "a scale of codes that are moved", {SPARK_ERR_INVALID_RESERVED}, [=](auto& e) {
        spark_quant& quant = put(e, SPARK_DTYPE_E4M3, SPARK_DTYPE_E4M3).k_cache.quant;
        quant.scheme = SPARK_QUANT_PER_TENSOR, quant.scale_dtype = SPARK_DTYPE_F32, quant.scale = 0x100000000;
    });
}

// Codes of heads, which a team of lanes has.
using Put = std::function<spark_tensor&(api::Example&)>;
void coded_heads(const spark_op_desc& d, uint32_t x, uint32_t y, const Put& put) {
    damaged(d, y, "scales of heads in tiles", {SPARK_ERR_UNSUPPORTED_LAYOUT}, [=](auto& e) {
        spark_tensor& t = put(e);
        t.quant.scheme = SPARK_QUANT_BLOCK, t.quant.scale_dtype = SPARK_DTYPE_UE8M0;
        t.quant.scale_layout = SPARK_SCALE_TILED_128X4;
        for (uint32_t dim = 0; dim < t.ndim; ++dim) t.quant.block[dim] = dim + 1 < t.ndim ? 1 : 32;
    });
    damaged(d, x, "heads of more than a team's lanes", {SPARK_ERR_UNSUPPORTED_SHAPE}, [=](auto& e) {
        for (spark_tensor* t : {&put(e), &e.tensor(x)}) {
            t->shape[t->ndim - 1] = 520, t->size_bytes = 0;
            std::memset(t->stride, 0, sizeof t->stride);
        }
        constexpr uint64_t FAR = uint64_t{1} << 40; // from all that is there, and has other sizes
        e.tensor(y).data += FAR, e.tensor(y).quant.scale += 2 * FAR, e.tensor(x).data += 3 * FAR;
    });
}

// Codes in the place of y, with a scale for each row behind them: of norms, glu and rope.
void coded_results(const spark_op_desc& d) {
    const bool rotates = d.op == SPARK_OP_ROPE;
    if (d.op != SPARK_OP_RMSNORM && d.op != SPARK_OP_LAYERNORM && d.op != SPARK_OP_GLU && !rotates) return;
    const auto named = [&](const char* name) {
        uint32_t f = 0;
        while (std::strcmp(api::field(d, f).name, name) != 0) ++f;
        return f;
    };
    const uint32_t y = named("y"), x = rotates ? named("x") : 0;
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
        damaged(d, y, what, {status}, [=](auto& e) { damage(put(e), e.tensor(x)); });
    };
    if (rotates) coded_heads(d, x, y, put);
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
        quantize(d), codes_across(d), caches(d), moved_pairs(d), coded_caches(d), coded_results(d), token_blocks(d);
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
