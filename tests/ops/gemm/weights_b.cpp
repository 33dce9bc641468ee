// SPDX-License-Identifier: Apache-2.0
// The quantised b of a case: codes and scales drawn, and the numbers that they stand for.
#include "ops/gemm/weights_b.h"

#include "ops/gemm/scaled_codes.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstring>

namespace check {
namespace {

// A record, its numbers, and their terms: |d q| + |m|.
void fill_record(uint8_t* record, const ref::RecordFormat& format, bool nan, Random& random, WeightsProblem& p) {
    for (size_t i = 0; i < format.bytes; ++i) {
        record[i] = static_cast<uint8_t>(random.next());
    }
    if (format.record == ref::Record::gguf_mxfp4) {
        record[0] = static_cast<uint8_t>(random.between(118, 128));
    }
    if (format.record == ref::Record::gguf_nvfp4) {
        for (size_t i = 0; i < 4; ++i) {
            record[i] = static_cast<uint8_t>(random.between(16, 72));
        }
    }
    const double m = format.m_at < 0 ? 0 : random.normal() / 4;
    for (const auto& [at, value] :
         {std::pair{format.d_at, nan ? std::nan("") : random.normal() / 64}, {format.m_at, m}}) {
        if (at >= 0) {
            ref::store(ref::Type::f16, value, record + at);
        }
    }
    const double offset = format.record == ref::Record::q4_1 ? ref::load(ref::Type::f16, record + 2) : 0;
    for (const double number : ref::dequantize_record(format.record, record)) {
        p.b.push_back(number);
        p.terms.push_back(std::fabs(number - offset) + std::fabs(offset));
    }
}

void add_records(Case& c, const WeightsShape& s, const ref::RecordFormat& format, Random& random, WeightsProblem& p) {
    const auto bytes = static_cast<int64_t>(format.bytes), records = s.k / static_cast<int64_t>(format.elements);
    View of_b = weights_matrix(ref::Type::u8, s.batch, s.n, records * bytes, s.b_pad);
    if (s.b_same && s.batch > 1) {
        of_b.stride[0] = 0;
    }
    const Operand b = c.add("b", offsetof(spark_gemm_args, b), of_b, static_cast<size_t>(16 + s.b_misalign), false);
    for (int64_t i = 0; i < (s.b_same ? 1 : s.batch) * s.n * records && !c.outline; ++i) {
        fill_record(c.element(b, i * bytes), format, s.nans && random.chance(0.02), random, p);
    }
    auto& quant = c.as<spark_gemm_args>().b.quant;
    quant.scheme = SPARK_QUANT_RECORD;
    quant.record = static_cast<uint16_t>(format.record);
}

// Codes of one byte, and what the descriptor says of their scales, which stand after each other or scale_step apart.
void add_codes(Case& c, const WeightsShape& s, const WeightFormat& format, Random& random, WeightsProblem& p) {
    using Args = spark_gemm_args;
    View of_b = weights_matrix(format.type, s.batch, s.n, s.k, s.b_pad);
    View of_scales = packed(ref::Type::f32, {of_b.shape.begin(), of_b.shape.end() - 1});
    if (s.b_same && s.batch > 1) {
        of_b.stride[0] = 0;
    }
    const Operand b = c.add("b", offsetof(Args, b), of_b, static_cast<size_t>(16 + s.b_misalign), false);
    auto& quant = c.as<Args>().b.quant;
    for (size_t d = 0; d < of_scales.shape.size(); ++d) {
        of_scales.stride[d] *= s.scale_step;
        quant.scale_stride[d] = s.scale_step == 1 || format.one_scale ? 0 : of_scales.stride[d];
    }
    if (format.one_scale) {
        of_scales = packed(ref::Type::f32, {1});
    }
    quant.scheme = format.one_scale ? SPARK_QUANT_PER_TENSOR : SPARK_QUANT_PER_ROW;
    quant.scale_dtype = SPARK_DTYPE_F32;
    quant.scale_bytes = static_cast<uint64_t>(of_scales.span()) * sizeof(float);
    const size_t address = offsetof(Args, b) + offsetof(spark_tensor, quant) + offsetof(spark_quant, scale);
    const Operand scales = c.add_array("b.scale", address, of_scales, 0, false);
    for (int64_t i = 0; i < c.to_fill(b); ++i) {
        const double code =
            format.type == ref::Type::i8 ? static_cast<double>(random.between(-128, 127)) : random.normal() * 8;
        ref::store(format.type, code, c.element(b, i));
        if (s.nans && format.type == ref::Type::e4m3 && random.chance(0.01)) {
            *c.element(b, i) = random.chance(0.5) ? 0x7f : 0xff;
        }
    }
    for (int64_t i = 0; i < c.to_fill(scales); ++i) {
        ref::store(ref::Type::f32, s.nans && random.chance(0.02) ? std::nan("") : random.normal() / 64,
                   c.element(scales, i));
    }
    p.b = c.values(b), p.b_same = false; // the same codes may have other scales
    const std::vector<double> numbers = c.values(scales);
    for (size_t i = 0; i < p.b.size(); ++i) {
        p.b[i] *= numbers[format.one_scale ? 0 : i / static_cast<size_t>(std::max<int64_t>(s.k, 1)) % numbers.size()];
        p.terms.push_back(std::fabs(p.b[i]));
    }
}

// An array beside b, whose address and bytes b.quant names there.
Operand add_beside(Case& c, const char* name, size_t address, size_t bytes_at, const View& view) {
    const auto bytes = static_cast<uint64_t>(view.span()) * ref::size_of(view.type);
    std::memcpy(&c.args[offsetof(spark_gemm_args, b.quant) + bytes_at], &bytes, sizeof bytes);
    return c.add_array(name, offsetof(spark_gemm_args, b.quant) + address, view, 0, false);
}

// The strides of codes of INT4 count halves of bytes. Scales stand one after the other, or scale_step apart.
void add_int4(Case& c, const WeightsShape& s, const WeightFormat& format, Random& random, WeightsProblem& p) {
    using Args = spark_gemm_args;
    View codes = weights_matrix(ref::Type::u8, s.batch, s.n, (s.k + 1) / 2, s.b_pad);
    View scales = packed(format.type, codes.shape);
    scales.shape.back() = (s.k + format.group - 1) / format.group;
    scales = packed(format.type, scales.shape);
    if (s.b_same && s.batch > 1) {
        codes.stride[0] = 0;
    }
    const Operand b = c.add("b", offsetof(Args, b), codes, static_cast<size_t>(16 + s.b_misalign), false);
    spark_tensor& t = c.as<Args>().b;
    t.dtype = format.nf4 ? SPARK_DTYPE_NF4 : format.is_signed ? SPARK_DTYPE_I4 : SPARK_DTYPE_U4;
    t.shape[t.ndim - 1] = s.k;
    t.quant.scheme = SPARK_QUANT_BLOCK, t.quant.scale_dtype = dtype_of(format.type);
    for (uint32_t d = 0; d < t.ndim; ++d) {
        const bool along = d + 1 == t.ndim;
        t.stride[d] *= along ? 1 : 2;
        t.quant.block[d] = static_cast<uint16_t>(along ? format.group : 1);
        scales.stride[d] *= s.scale_step;
        t.quant.scale_stride[d] = scales.stride[d];
    }
    const Operand of_scales =
        add_beside(c, "b.scale", offsetof(spark_quant, scale), offsetof(spark_quant, scale_bytes), scales);
    const View halves = packed(ref::Type::u8, {(scales.span() + 1) / 2});
    t.quant.zero_dtype = format.zeros ? SPARK_DTYPE_U4 : SPARK_DTYPE_NONE;
    const Operand zeros = format.zeros ? add_beside(c, "b.zero", offsetof(spark_quant, zero_point),
                                                    offsetof(spark_quant, zero_bytes), halves)
                                       : b;
    for (const Operand& bytes : {b, zeros}) {
        for (int64_t i = 0; i < c.to_fill(bytes); ++i) {
            *c.element(bytes, i) = static_cast<uint8_t>(random.next());
        }
    }
    for (int64_t i = 0; i < c.to_fill(of_scales); ++i) {
        ref::store(format.type, s.nans && random.chance(0.02) ? std::nan("") : random.normal() / 64,
                   c.element(of_scales, i));
    }
    for (int64_t i = 0; i < s.batch * s.n * s.k && !c.outline; ++i) {
        const int64_t row = i / s.k, k = i % s.k;
        const int64_t block = row * scales.shape.back() + k / format.group, place = scales.offset(block);
        const int zero = format.zeros ? *c.element(zeros, place / 2) >> place % 2 * 4 & 15 : 0;
        const unsigned code = *c.element(b, row * ((s.k + 1) / 2) + k / 2) >> (k + format.nf4) % 2 * 4;
        p.b.push_back(ref::load(format.type, c.element(of_scales, block)) *
                      (format.nf4 ? ref::of_nf4(code) : ref::of_int4(code, format.is_signed) - zero));
        p.terms.push_back(std::fabs(p.b.back()));
    }
}

// Codes with scales of blocks in bytes. Where matrices share their codes, these have other scales.
void add_blocks(Case& c, const WeightsShape& s, const WeightFormat& format, Random& random, WeightsProblem& p) {
    const Form form{static_cast<Forms>(format.form), format.type};
    const Scales scales{s.batch, s.n, s.k, s.columns, s.scale_step - 1, s.tiled};
    const size_t at = offsetof(spark_gemm_args, b);
    const ScaledMatrix b = add_scaled_codes(c, {"b", at, form, scales, s.b_pad, s.b_misalign, s.b_same},
                                            {.no_whole = s.no_whole, .nan_scales = s.nans}, random);
    for (const double number : b.values) {
        p.b.push_back(number * b.whole);
        p.terms.push_back(std::fabs(p.b.back()));
    }
}

} // namespace

View weights_matrix(ref::Type type, int64_t batch, int64_t rows, int64_t columns, int64_t pad) {
    const int64_t pitch = std::max<int64_t>(columns + pad, 1);
    if (batch == 1) {
        return {type, {rows, columns}, {pitch, 1}};
    }
    return {type, {batch, rows, columns}, {rows * pitch, pitch, 1}};
}

const std::vector<WeightFormat>& weight_formats() {
    static const std::vector<WeightFormat> all = [] {
        std::vector<WeightFormat> made = {{"I8_ROW", nullptr, ref::Type::i8},
                                          {"E4M3_ROW", nullptr, ref::Type::e4m3},
                                          {"I8_TENSOR", nullptr, ref::Type::i8, true},
                                          {"E4M3_TENSOR", nullptr, ref::Type::e4m3, true}};
        for (const ref::RecordFormat& format : ref::record_formats()) {
            made.push_back({format.name, &format});
        }
        using ref::Type;
        for (const WeightFormat& int4 : {WeightFormat{"U4_32_F16_U4", nullptr, Type::f16, false, 32, false, true},
                                         {"U4_64_BF16", nullptr, Type::bf16, false, 64, false, false},
                                         {"U4_128_F16_U4", nullptr, Type::f16, false, 128, false, true},
                                         {"I4_128_F32", nullptr, Type::f32, false, 128, true, false},
                                         {"I4_64_BF16_U4", nullptr, Type::bf16, false, 64, true, true}}) {
            made.push_back(int4);
        }
        made.push_back({.name = "NF4_F32", .type = Type::f32, .group = 64, .nf4 = true});
        for (const Form& form : forms_of(MX | NVFP4 | B32X32, 0)) {
            made.push_back({.name = name_of(form), .type = form.codes, .form = form.scales});
            std::string& name = made.back().name;
            std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
        }
        return made;
    }();
    return all;
}

void add_weights(Case& c, const WeightsShape& s, const WeightFormat& format, Random& random, WeightsProblem& p) {
    if (format.record != nullptr) {
        add_records(c, s, *format.record, random, p);
    } else if (format.group != 0) {
        add_int4(c, s, format, random, p);
    } else if (format.form != 0) {
        add_blocks(c, s, format, random, p);
    } else {
        add_codes(c, s, format, random, p);
    }
}

} // namespace check
