// SPDX-License-Identifier: Apache-2.0
// Wrong arguments, generated from reflection for every field of every operator. Each case starts from a right call,
// damages one thing, and demands: the status, a sentence that names the field, err.field, and untouched device memory.

#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>

#include "outcome.h"

namespace {

int g_cases = 0;

struct Verdict {
    spark_status status;
    spark_error err;
};

Verdict call(const spark_args* args, bool launch) {
    Verdict v{};
    v.err.struct_size = sizeof v.err;
    if (launch) {
        v.status = spark_op_launch(g_ctx, args, nullptr, &v.err);
    } else {
        spark_op_info info{};
        info.struct_size = sizeof info;
        spark_op_info before = info;
        v.status = spark_op_query(g_ctx, args, &info, &v.err);
        if (v.status != SPARK_OK && std::memcmp(&info, &before, sizeof info) != 0)
            fail_msg("info written by a failed query");
    }
    return v;
}

// Statuses that a damage may lead to; most damages have exactly one.
using Wanted = std::vector<spark_status>;

void expect(api::Example& example, uint32_t field, const char* what, const Wanted& wanted, bool launch = true) {
    ++g_cases;
    const Verdict v = call(example.head(), launch);
    const char* name = field < example.desc().num_fields ? api::field(example.desc(), field).name : "(head)";
    bool listed = false;
    for (spark_status s : wanted) listed |= s == v.status;
    if (!listed)
        fail_msg("%s.%s, %s: status %s, message \"%s\"", example.desc().name, name, what, spark_status_name(v.status),
                 v.err.message);
    if (v.status == SPARK_OK) return;
    if (v.err.message[0] == 0 || v.err.status != v.status)
        fail_msg("%s.%s, %s: no message", example.desc().name, name, what);
    if (field >= example.desc().num_fields) return;
    if (!std::strstr(v.err.message, name))
        fail_msg("%s.%s, %s: the message does not name the field: \"%s\"", example.desc().name, name, what,
                 v.err.message);
}

using Damage = std::function<void(api::Example&)>;

// Runs one damage on a fresh right call, through query and through launch, and looks at the memory afterwards.
void damaged(const spark_op_desc& desc, uint32_t field, const char* what, const Wanted& wanted, const Damage& damage) {
    api::Arena arena(g_ctx);
    api::Example example(desc, arena);
    damage(example);
    expect(example, field, what, wanted, true);
    if (!arena.untouched()) fail_msg("%s field %u, %s: device memory was written", desc.name, field, what);
    // Query has no use for data addresses, so only damages elsewhere are seen by both.
    const bool addresses = !std::strncmp(what, "data", 4);
    if (!addresses) expect(example, field, what, wanted, false);
}

void presence(const spark_op_desc& d, uint32_t f) {
    if (api::field(d, f).flags & SPARK_FIELD_OPTIONAL) return;
    damaged(d, f, "absent", {SPARK_ERR_INVALID_NULL},
            [f](auto& e) { std::memset(&e.tensor(f), 0, sizeof(spark_tensor)); });
    damaged(d, f, "data 0", {SPARK_ERR_INVALID_NULL}, [f](auto& e) { e.tensor(f).data = 0; });
}

void dtypes(const spark_op_desc& d, uint32_t f) {
    const Wanted wrong = {SPARK_ERR_INVALID_DTYPE, SPARK_ERR_UNSUPPORTED_DTYPE};
    for (uint32_t dtype : {0u, 6u, 15u, 30u, 47u, 49u, 63u, 64u, 1000u, 0xffffffffu})
        damaged(d, f, "no dtype", wrong, [=](auto& e) {
            e.tensor(f).dtype = static_cast<spark_dtype>(dtype);
            e.tensor(f).size_bytes = 0;
        });
    for (uint32_t dtype = 1; dtype < 64; ++dtype) {
        if (!std::strcmp(spark_dtype_name(static_cast<spark_dtype>(dtype)), "UNKNOWN")) continue;
        if (api::field(d, f).dtype_mask >> dtype & 1) continue;
        const uint32_t as = api::field(d, f).dtype_as;
        if (as != 0xffffffffu && api::field(d, as).dtype_mask >> dtype & 1) continue; // may be right: see `pairs`
        damaged(d, f, "dtype of another kind", wrong, [=](auto& e) {
            e.tensor(f).dtype = static_cast<spark_dtype>(dtype);
            e.tensor(f).size_bytes = 0;
        });
    }
}

// A field whose dtype follows another's must be refused when it differs from it.
void pairs(const spark_op_desc& d, uint32_t f) {
    const uint32_t as = api::field(d, f).dtype_as;
    if (as == 0xffffffffu) return;
    for (uint32_t dtype = 1; dtype < 64; ++dtype) {
        if (!(api::field(d, as).dtype_mask >> dtype & 1) || api::field(d, f).dtype_mask >> dtype & 1) continue;
        api::Arena probe(nullptr);
        api::Example right(d, probe);
        if (right.tensor(as).dtype == static_cast<spark_dtype>(dtype)) continue;
        damaged(d, f, "dtype unlike its partner's", {SPARK_ERR_INVALID_DTYPE}, [=](auto& e) {
            e.tensor(f).dtype = static_cast<spark_dtype>(dtype);
            e.tensor(f).size_bytes = 0;
        });
    }
}

void ranks(const spark_op_desc& d, uint32_t f) {
    const Wanted wrong = {SPARK_ERR_INVALID_SHAPE};
    std::vector<uint32_t> bad = {0, 7, 8, 0xffffffffu};
    if (api::field(d, f).min_ndim > 0) bad.push_back(api::field(d, f).min_ndim - 1);
    if (api::field(d, f).max_ndim < SPARK_MAX_NDIM) bad.push_back(api::field(d, f).max_ndim + 1);
    for (uint32_t ndim : bad) damaged(d, f, "rank", wrong, [=](auto& e) { e.tensor(f).ndim = ndim; });
}

void dimensions(const spark_op_desc& d, uint32_t f) {
    api::Arena probe(nullptr);
    api::Example right(d, probe);
    const uint32_t ndim = right.tensor(f).ndim;
    for (uint32_t dim = 0; dim < ndim; ++dim) {
        for (int64_t bad : {int64_t{-1}, std::numeric_limits<int64_t>::min()})
            damaged(d, f, "negative dimension", {SPARK_ERR_INVALID_SHAPE},
                    [=](auto& e) { e.tensor(f).shape[dim] = bad; });
        for (int64_t huge : {int64_t{1} << 62, std::numeric_limits<int64_t>::max()})
            damaged(d, f, "overflowing dimension",
                    {SPARK_ERR_INVALID_SHAPE, SPARK_ERR_INVALID_BOUNDS, SPARK_ERR_INVALID_STRIDE,
                     SPARK_ERR_UNSUPPORTED_SHAPE},
                    [=](auto& e) {
                        e.tensor(f).shape[dim] = huge;
                        e.tensor(f).size_bytes = 0;
                    });
    }
    if (ndim < SPARK_MAX_NDIM) {
        const Wanted unused = {SPARK_ERR_INVALID_RESERVED, SPARK_ERR_INVALID_SHAPE, SPARK_ERR_INVALID_STRIDE};
        damaged(d, f, "shape beyond ndim", unused, [=](auto& e) { e.tensor(f).shape[ndim] = 1; });
        damaged(d, f, "stride beyond ndim", unused, [=](auto& e) { e.tensor(f).stride[ndim] = 1; });
    }
}

// Sizes shared by two fields must agree: one more in one of them is refused, and the sentence names a field.
void agreement(const spark_op_desc& d, uint32_t f) {
    const api::Shape shape = api::parse_shape(api::field(d, f).shape);
    api::Arena probe(nullptr);
    api::Example right(d, probe);
    const uint32_t lead = right.tensor(f).ndim - static_cast<uint32_t>(shape.names.size());
    for (uint32_t k = 0; k < shape.names.size(); ++k) {
        if (shape.names[k].back() == '?') return; // absent in the example, so positions would not match
        const bool constant = shape.names[k].find_first_not_of("0123456789") == std::string::npos;
        bool shared = constant;
        for (uint32_t g = 0; g < d.num_fields && !shared; ++g) {
            if (g == f || api::field(d, g).kind != SPARK_KIND_TENSOR) continue;
            for (const std::string& name : api::parse_shape(api::field(d, g).shape).names)
                shared |= name == shape.names[k];
        }
        if (!shared) continue;
        api::Arena arena(g_ctx);
        api::Example e(d, arena);
        spark_tensor& t = e.tensor(f);
        t.shape[lead + k] += 1;
        std::memset(t.stride, 0, sizeof t.stride);
        t.size_bytes = 0;
        expect(e, 0xffffffffu, "a size that disagrees", {SPARK_ERR_INVALID_SHAPE});
        if (!arena.untouched()) fail_msg("%s: memory written", d.name);
    }
}

void strides(const spark_op_desc& d, uint32_t f) {
    api::Arena probe(nullptr);
    api::Example right(d, probe);
    const uint32_t ndim = right.tensor(f).ndim;
    const Wanted wrong = {SPARK_ERR_INVALID_STRIDE, SPARK_ERR_UNSUPPORTED_LAYOUT};
    const auto set = [=](api::Example& e, uint32_t dim, int64_t value) {
        spark_tensor& t = e.tensor(f);
        t.stride[dim] = value;
        t.size_bytes = 0;
    };
    for (uint32_t dim = 0; dim < ndim; ++dim) {
        if (right.tensor(f).shape[dim] < 2) continue; // the stride of one element is not read
        damaged(d, f, "negative stride", wrong, [=](auto& e) { set(e, dim, -right.tensor(f).stride[dim]); });
        damaged(d, f, "least stride", {SPARK_ERR_INVALID_STRIDE, SPARK_ERR_UNSUPPORTED_LAYOUT, SPARK_ERR_INVALID_SHAPE},
                [=](auto& e) { set(e, dim, std::numeric_limits<int64_t>::min()); });
        damaged(
            d, f, "overflowing stride",
            {SPARK_ERR_INVALID_STRIDE, SPARK_ERR_UNSUPPORTED_LAYOUT, SPARK_ERR_INVALID_SHAPE, SPARK_ERR_INVALID_BOUNDS},
            [=](auto& e) { set(e, dim, std::numeric_limits<int64_t>::max()); });
        const bool output = api::field(d, f).flags & SPARK_FIELD_OUT;
        if (output && dim + 1 < ndim && right.tensor(f).stride[dim] != 1)
            damaged(d, f, "rows of an output on top of each other", wrong, [=](auto& e) { set(e, dim, 1); });
    }
    if ((api::field(d, f).flags & SPARK_FIELD_UNIT_STRIDE) && right.tensor(f).shape[ndim - 1] > 1)
        damaged(d, f, "last stride 2", wrong, [=](auto& e) {
            spark_tensor& t = e.tensor(f);
            for (uint32_t dim = 0; dim < ndim; ++dim) t.stride[dim] *= 2;
            t.size_bytes = 0;
        });
    if ((api::field(d, f).flags & SPARK_FIELD_PACKED) && ndim > 1)
        damaged(d, f, "a gap where there may be none", wrong,
                [=](auto& e) { set(e, 0, right.tensor(f).stride[0] + 1); });
}

void addresses(const spark_op_desc& d, uint32_t f) {
    api::Arena probe(nullptr);
    api::Example right(d, probe);
    uint64_t align = api::field(d, f).align ? api::field(d, f).align : spark_dtype_bits(right.tensor(f).dtype) / 8;
    for (uint64_t by : {1, 2, 4, 8})
        if (align > 1 && by % align != 0)
            damaged(d, f, "data misaligned", {SPARK_ERR_INVALID_ALIGNMENT}, [=](auto& e) { e.tensor(f).data += by; });
    if (right.allocated(f) >= 16) // the second half would lie beyond the last address
        damaged(d, f, "data at the end of the address space", {SPARK_ERR_INVALID_BOUNDS, SPARK_ERR_INVALID_SHAPE},
                [=](auto& e) { e.tensor(f).data = 0 - (right.allocated(f) / 2 / 8 * 8); });
    damaged(d, f, "size_bytes one short", {SPARK_ERR_INVALID_BOUNDS}, [=](auto& e) { e.tensor(f).size_bytes -= 1; });
    if (!(api::field(d, f).flags & SPARK_FIELD_OUT)) return;
    for (uint32_t g = 0; g < d.num_fields; ++g) { // the output's first element on the last element of another tensor
        if (g == f || api::field(d, g).kind != SPARK_KIND_TENSOR) continue;
        damaged(d, 0xffffffffu, "data overlaps at its first element", {SPARK_ERR_INVALID_OVERLAP}, [=](auto& e) {
            const uint64_t unit =
                std::max(spark_dtype_bits(e.tensor(f).dtype), spark_dtype_bits(e.tensor(g).dtype)) / 8;
            e.tensor(f).data = e.tensor(g).data + e.allocated(g) - std::min(unit, e.allocated(g));
        });
        if (api::field(d, f).alias_mask >> g & 1) continue;
        damaged(d, 0xffffffffu, "data in place where it may not be", {SPARK_ERR_INVALID_OVERLAP},
                [=](auto& e) { e.tensor(f).data = e.tensor(g).data; });
    }
}

// Whether the example has scales there.
bool has_scales(const spark_op_desc& d, uint32_t f) {
    api::Arena arena(g_ctx);
    api::Example right(d, arena);
    return api::field(d, f).kind == SPARK_KIND_TENSOR && right.tensor(f).quant.scale != 0;
}

void reserved(const spark_op_desc& d, uint32_t f) {
    const Wanted wrong = {SPARK_ERR_INVALID_RESERVED};
    damaged(d, f, "flags", wrong, [=](auto& e) { e.tensor(f).flags = 1; });
    damaged(d, f, "reserved", wrong, [=](auto& e) { e.tensor(f).reserved = 1; });
    // Where a quant is read, the example has one that is right, and no member of it may be another.
    const Wanted quant = {SPARK_ERR_INVALID_RESERVED, SPARK_ERR_UNSUPPORTED_DTYPE, SPARK_ERR_INVALID_VALUE};
    if (has_scales(d, f)) return;
    for (size_t byte = 0; byte < sizeof(spark_quant); byte += 2)
        damaged(d, f, "quant set where there is none", quant,
                [=](auto& e) { reinterpret_cast<unsigned char*>(&e.tensor(f).quant)[byte] = 1; });
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
    for (spark_scale_rule rule : {SPARK_SCALE_RULE_FLOOR, SPARK_SCALE_RULE_FOUR_OVER_SIX})
        wrong("rule", {SPARK_ERR_UNSUPPORTED}, [=](auto& a) { a.rule = rule; });
    const auto mxfp8 = [](auto& a) {
        a.amax = {};
        a.y.quant.scheme = SPARK_QUANT_BLOCK, a.y.quant.scale_dtype = SPARK_DTYPE_UE8M0, a.y.quant.scale_bytes = 0;
        for (uint32_t dim = 0; dim < a.y.ndim; ++dim) a.y.quant.block[dim] = dim + 1 < a.y.ndim ? 1 : 32;
    };
    wrong("amax_floor", {SPARK_ERR_INVALID_VALUE}, [=](auto& a) { mxfp8(a), a.amax_floor = 1e-4f; });
    wrong("rule", {SPARK_ERR_UNSUPPORTED}, [=](auto& a) { mxfp8(a), a.rule = SPARK_SCALE_RULE_RCEIL; });
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
    wrong("rule", {SPARK_ERR_UNSUPPORTED}, [=](auto& a) { nvfp4(a), a.rule = SPARK_SCALE_RULE_FOUR_OVER_SIX; });
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
}

// Rows of records: their format must be named and known, their bytes must be those of whole records of y's elements.
void records(const spark_op_desc& d, uint32_t f) {
    const spark_quant_form* form = spark_op_form(d.op, f, 0);
    if (!form || form->scheme != SPARK_QUANT_RECORD) return;
    damaged(d, f, "quant absent", {SPARK_ERR_INVALID_VALUE},
            [=](auto& e) { std::memset(&e.tensor(f).quant, 0, sizeof(spark_quant)); });
    for (uint16_t format : {0, 2, 4, 9, 0xffff}) // GGML's Q4_0, the number that was Q4_2, Q8_1
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

// Codes with a scale a row in the place of numbers, wherever they may be. The scales lie where their codes do.
void put_codes(api::Example& e) {
    for (uint32_t g = 0; g < e.desc().num_fields; ++g) {
        const spark_quant_form* form = spark_op_form(e.desc().op, g, 0);
        if (!form || form->scheme == SPARK_QUANT_RECORD) continue;
        spark_tensor& t = e.tensor(g);
        t.dtype = static_cast<spark_dtype>(__builtin_ctzll(form->dtype_mask));
        t.quant.scheme = SPARK_QUANT_PER_ROW;
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
    expect(right, f, "codes with a scale a row", {SPARK_OK}, false);
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
    wrong("a scale too few", SPARK_ERR_INVALID_BOUNDS,
          [](spark_tensor& t) { t.quant.scale_bytes = 4 * uint64_t(t.shape[t.ndim - 2]) - 4; });
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

void scalar(const spark_op_desc& d, uint32_t f) {
    const spark_field& field = api::field(d, f);
    const auto store = [=](api::Example& e, const void* value) { std::memcpy(e.at(f), value, field.size); };
    if (field.kind == SPARK_KIND_RESERVED)
        damaged(d, f, "reserved", {SPARK_ERR_INVALID_RESERVED}, [=](auto& e) {
            const uint32_t one = 1;
            store(e, &one);
        });
    if (field.kind == SPARK_KIND_ENUM)
        for (uint32_t bad : {999u, 0x7fffffffu, 0xffffffffu})
            damaged(d, f, "no such choice", {SPARK_ERR_INVALID_VALUE}, [=](auto& e) { store(e, &bad); });
}

void needs(const spark_op_desc& d, uint32_t f) {
    for (uint32_t other = 0; other < d.num_fields; ++other)
        if (api::field(d, f).needs_mask >> other & 1)
            damaged(d, f, "without the field it needs", {SPARK_ERR_INVALID_NULL, SPARK_ERR_INVALID},
                    [=](auto& e) { std::memset(e.at(other), 0, sizeof(spark_tensor)); });
}

void head(const spark_op_desc& d) {
    const uint32_t none = 0xffffffffu;
    const auto size = [&](const char* what, uint32_t value) {
        damaged(d, none, what, {SPARK_ERR_INVALID_STRUCT_SIZE}, [=](auto& e) { e.head()->struct_size = value; });
    };
    size("struct_size 0", 0);
    size("struct_size 8", 8);
    size("struct_size below the first", d.first_size - 1);
    damaged(d, none, "struct_size over 8192", {SPARK_ERR_INVALID_STRUCT_SIZE}, [](auto& e) {
        e.bytes().resize(9000);
        e.head()->struct_size = 8193;
    });
    for (uint32_t tail = 0; tail < 64; ++tail)
        damaged(d, none, "a newer caller's field is set", {SPARK_ERR_INVALID_STRUCT_SIZE}, [&](auto& e) {
            e.bytes().resize(d.args_size + 64);
            e.head()->struct_size = d.args_size + 64;
            e.bytes()[d.args_size + tail] = std::byte{1};
        });
    for (uint32_t bit = 0; bit < 32; ++bit)
        if (!(d.given_mask >> bit & 1))
            damaged(d, none, "unknown bit of given", {SPARK_ERR_INVALID_RESERVED},
                    [=](auto& e) { e.head()->given = 1u << bit; });
    damaged(d, none, "next", {SPARK_ERR_INVALID_RESERVED}, [](auto& e) { e.head()->next = 1; });
    for (uint32_t bit = 0; bit < 32; ++bit)
        if (!(d.flags_mask >> bit & 1))
            damaged(d, none, "unknown flag", {SPARK_ERR_INVALID_RESERVED},
                    [=](auto& e) { e.head()->flags |= 1u << bit; });
    for (uint32_t op : {0u, 3000u, 0x8000u, 0xffffffffu})
        damaged(d, none, "no such operator", {SPARK_ERR_UNSUPPORTED_OP}, [=](auto& e) { e.head()->op = op; });
}

void every_field_of_every_operator(void**) {
    for (uint32_t i = 0; i < spark_op_count(); ++i) {
        const spark_op_desc& d = *spark_op_at(i);
        head(d), quantize(d);
        for (uint32_t f = 0; f < d.num_fields; ++f) {
            if (api::field(d, f).kind != SPARK_KIND_TENSOR) {
                scalar(d, f);
                continue;
            }
            presence(d, f), dtypes(d, f), pairs(d, f), ranks(d, f), dimensions(d, f), agreement(d, f), strides(d, f);
            addresses(d, f), reserved(d, f), records(d, f), scales(d, f), codes(d, f), needs(d, f);
        }
        codes_across(d);
    }
    print_message("%d damaged calls, each refused with a sentence\n", g_cases);
}

// The undamaged calls must pass, or every refusal above would prove nothing.
void right_calls_pass(void**) {
    for (uint32_t i = 0; i < spark_op_count(); ++i)
        for (bool optional_fields : {true, false})
            for (bool optional_dims : {false, true}) {
                api::Arena arena(g_ctx);
                api::Options options;
                options.optional_fields = optional_fields;
                options.optional_dims = optional_dims;
                api::Example e(*spark_op_at(i), arena, options);
                const Verdict v = call(e.head(), false);
                // An operator may demand an optional tensor through its flags; it then says which.
                if (v.status != SPARK_OK && !(v.status == SPARK_ERR_INVALID_NULL && !optional_fields))
                    fail_msg("%s: %s", spark_op_at(i)->name, v.err.message);
                if (v.status != SPARK_OK) continue;
                e.bytes().resize(e.bytes().size() + 64); // a newer caller that sets nothing new
                e.head()->struct_size += 64;
                assert_int_equal(call(e.head(), true).status, SPARK_OK);
                assert_int_equal(spark_stream_synchronize(g_ctx, 0, nullptr), SPARK_OK);
            }
}

} // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(right_calls_pass), cmocka_unit_test(every_field_of_every_operator)};
    return cmocka_run_group_tests_name("api.negative", tests, set_up, tear_down);
}
