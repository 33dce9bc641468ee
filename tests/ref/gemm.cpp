// SPDX-License-Identifier: Apache-2.0
// Oracle of gemm; see the header for the definition.
#include "ref/gemm.h"

#include "ref/call.h"
#include "ref/compress.h"
#include "ref/dequantize.h"
#include "ref/quantize.h"

#include <algorithm>
#include <cmath>

namespace ref {

GemmElement gemm_element(const Gemm& op, std::span<const double> a, std::span<const double> b, double c, double bias) {
    double sum = 0;
    double magnitude = 0;
    for (size_t k = 0; k < a.size(); ++k) {
        const double product = a[k] * b[k];
        sum += product;
        magnitude += std::fabs(product);
    }
    double before = op.alpha * op.scale * sum + bias;
    if (op.beta != 0) {
        before += op.beta * c;
    }
    return {activate(op.activation, before, op.cap), before, std::fabs(op.scale) * magnitude};
}

// x with so many fraction bits and the exponents of FP32, to nearest even; infinite beyond the largest such number.
static double with_fraction(double x, int bits) {
    if (x == 0 || !std::isfinite(x)) {
        return x;
    }
    const double unit = std::ldexp(1, std::max(std::ilogb(x), -126) - bits);
    const double rounded = std::nearbyint(x / unit) * unit;
    return std::fabs(rounded) < 0x1p128 ? rounded : std::copysign(INFINITY, x);
}

std::vector<double> factors(Products products, std::span<const double> numbers, bool of_b) {
    std::vector<double> all;
    for (const double x : numbers) {
        if (products != Products::bf16x3) {
            all.push_back(products == Products::tf32 ? with_fraction(x, 10) : x);
            continue;
        }
        const double high = with_fraction(x, 7), low = with_fraction(x - high, 7);
        all.insert(all.end(), {of_b ? high : low, of_b ? low : high, high});
    }
    return all;
}

GatedRows gated_rows(const Gate& gate, size_t n, size_t j) {
    const GatedRows rows = gate.interleaved ? GatedRows{2 * j, 2 * j + 1} : GatedRows{j, n / 2 + j};
    return gate.up_first ? GatedRows{rows.up, rows.gate} : rows;
}

// NaN stays NaN: of a comparison with it the second value is taken.
GatedFactors gated_factors(const Gate& gate, Activation activation, double g, double u) {
    if (gate.limit != 0) {
        g = g > gate.limit ? gate.limit : g;
        u = u > gate.limit ? gate.limit : u < -gate.limit ? -gate.limit : u;
    }
    if (gate.gpt_oss) {
        return {g / (1 + std::exp(-1.702 * g)), u + 1};
    }
    return {activate(activation, g, gate.cap), u};
}

// E4M3 with F32 scales in x_blocks: blocks of 128 along K and, where there are fewer rows of them, of 128 rows.
static Tensor promoted_numbers_of(const Tensor& codes, const Tensor& scales) {
    Tensor out{Type::f32, codes.shape, {}, {}};
    const int64_t k = codes.shape[1], across = scales.shape[1], share = scales.shape[0] == codes.shape[0] ? 1 : 128;
    for (int64_t i = 0; i < codes.shape[0] * k; ++i) {
        const int64_t scale = i / k / share * across + i % k / 128;
        out.values.push_back(codes.values[static_cast<size_t>(i)] * scales.values[static_cast<size_t>(scale)]);
    }
    return out;
}

// U4 with zeros in x_zeros, one a byte, and a scale for so many of k.
static Tensor int4_numbers_of(const Tensor& codes, const Tensor& scales, const Tensor& zeros) {
    const size_t k = codes.size(1) * 2, group = k / scales.size(1);
    Tensor out{Type::f32, {codes.shape[0], static_cast<int64_t>(k)}, {}, {}};
    for (size_t i = 0; i < codes.bits.size() * 2; ++i) {
        const int code = of_int4(static_cast<unsigned>(codes.bits[i / 2] >> i % 2 * 4), false);
        out.values.push_back(scales.values[i / group] * (code - zeros.values[i / group]));
    }
    return out;
}

// NF4, the first code in the upper half of its byte, and a scale for 64.
static Tensor nf4_numbers_of(const Tensor& bytes, const Tensor& scales) {
    Tensor out{Type::f32, {bytes.shape[0], bytes.shape[1] * 2}, {}, {}};
    for (size_t i = 0; i < bytes.bits.size() * 2; ++i) {
        const auto code = static_cast<unsigned>(bytes.bits[i / 2] >> (i % 2 == 0 ? 4 : 0));
        out.values.push_back(of_nf4(code) * scales.values[i / 64]);
    }
    return out;
}

// OCP's formats by the name of their codes, which lie in bytes of U8, the first in the lowest bits; a scale for 32, or
// where there are fewer rows of scales for 32 of each 32 rows.
static Tensor mx_numbers_of(const Tensor& bytes, const Tensor& scales, const std::string& codes) {
    const MxElement* found = mx_element(codes); // of E5M2, whose exponent alone has infinities, none
    const size_t bits = found == nullptr ? 8 : bits_of(*found);
    Tensor out{Type::f32, {bytes.shape[0], bytes.shape[1] * 8 / static_cast<int64_t>(bits)}, {}, {}};
    const auto k = static_cast<size_t>(out.shape[1]), rows = scales.shape[0] < bytes.shape[0] ? size_t{32} : size_t{1};
    for (size_t i = 0; i < bytes.bits.size() * 8 / bits; ++i) {
        const size_t at = i * bits, block = i / k / rows * (k / 32) + i % k / 32;
        const uint64_t next = at / 8 + 1 < bytes.bits.size() ? bytes.bits[at / 8 + 1] : 0;
        const auto code = static_cast<uint8_t>((bytes.bits[at / 8] | next << 8) >> at % 8 & ((1u << bits) - 1));
        const double number = found == nullptr ? of_code(Type::e5m2, code) : of_mx(*found, code);
        out.values.push_back(number * of_ue8m0(static_cast<uint8_t>(scales.bits[block])));
    }
    return out;
}

// Codes with scales of their blocks as numbers: NVFP4 has two codes a byte, and a scale for 16 in a_blocks; MXFP8 a
// code a byte, and a scale for 32.
static Tensor numbers_in(const Call& call, const std::string& name) {
    const Tensor &codes = call[name], &scales = call[name + "_blocks"];
    if (scales.bits.empty()) {
        return codes;
    }
    if (!call[name + "_zeros"].bits.empty()) {
        return int4_numbers_of(codes, scales, call[name + "_zeros"]);
    }
    if (call.words.contains(name + "_codes") && call.words.at(name + "_codes") == "NF4") {
        return nf4_numbers_of(codes, scales);
    }
    if (call.words.contains(name + "_codes")) {
        return mx_numbers_of(codes, scales, call.words.at(name + "_codes"));
    }
    if (scales.type == Type::f32) {
        return promoted_numbers_of(codes, scales);
    }
    const bool halves = codes.type == Type::u8;
    const size_t per_byte = halves ? 2 : 1, count = codes.bits.size() * per_byte, block = count / scales.bits.size();
    Tensor out{Type::f32, {codes.shape[0], codes.shape[1] * static_cast<int64_t>(per_byte)}, {}, {}};
    for (size_t i = 0; i < count; ++i) {
        const auto scale = static_cast<uint8_t>(scales.bits[i / block]);
        const double code = halves ? of_e2m1(codes.bits[i / 2] >> i % 2 * 4 & 15) : codes.values[i];
        out.values.push_back(code * (block == 16 ? of_ue4m3(scale) : of_ue8m0(scale)));
    }
    return out;
}

// b with two of each four in their places, among zeros.
static Tensor spread_out(const Tensor& b, const Tensor& kept) {
    Tensor out{b.type, {b.shape[0], 2 * b.shape[1]}, std::vector<double>(2 * b.values.size()), {}};
    const std::vector<uint8_t> bytes(kept.bits.begin(), kept.bits.end());
    const size_t half = b.size(1), width = kept.size(1);
    for (size_t i = 0; i < b.values.size(); ++i) {
        const size_t row = i / half;
        const size_t place = kept_place(std::span(bytes).subspan(row * width, width), i % half);
        out.values[row * 2 * half + place] = b.values[i];
    }
    return out;
}

// Settings that older vectors do not have.
static Gate gate_of(const Call& call) {
    if (!call.numbers.contains("limit")) {
        return {};
    }
    return {true, call.is("interleaved"), call.is("up_first"), call.is("gpt_oss"), call.number("limit")};
}

static Products products_of(const Call& call) {
    const auto named = call.words.find("products");
    return named == call.words.end() ? Products::whole : named->second == "tf32" ? Products::tf32 : Products::bf16x3;
}

// d from x, rows of n, where there is a gate.
static Result gated(const Gate& gate, Activation activation, const Result& x, size_t n) {
    Result d;
    for (size_t at = 0; at < x.values.size() / 2; ++at) {
        const size_t row = at / (n / 2) * n;
        const GatedRows rows = gated_rows(gate, n, at % (n / 2));
        const GatedFactors f = gated_factors(gate, activation, x.values[row + rows.gate], x.values[row + rows.up]);
        d.values.push_back(f.gate * f.up);
    }
    return d;
}

// Codes of m rows, which are made of the results in F32.
static Results codes_of_result(Call call, const Result& result, size_t m) {
    std::vector<double> numbers;
    for (const double value : result.values) {
        numbers.push_back(rounded(Type::f32, value));
    }
    const size_t n = numbers.size() / m;
    call.tensors["d"] = {.type = Type::f32, .shape = {static_cast<int64_t>(m), static_cast<int64_t>(n)}};
    return codes_of(call, "d", std::move(numbers));
}

static Results compute_gemm(const Call& call) {
    const Tensor &c = call["c"], &bias = call["bias"], &kept = call["kept"];
    const Tensor a = numbers_in(call, "a"), stored = numbers_in(call, "b");
    const Tensor b = kept.bits.empty() ? stored : spread_out(stored, kept);
    const bool a_t = call.is("a_transposed"), b_t = call.is("b_transposed");
    const size_t m = a.size(a_t), n = b.size(b_t), k = a.size(!a_t);
    const auto scale = [&](const char* name, size_t row) { // none, one for all, or one a row
        const std::vector<double>& all = call[name].values;
        return all.empty() ? 1 : all[all.size() == 1 ? 0 : row];
    };
    const std::vector<double> unpacked =
        b.type == Type::u8 ? dequantize_records(static_cast<Record>(call.number("b_format")), b.bits) : b.values;
    const Gate gate = gate_of(call);
    const Products products = products_of(call);
    Gemm op{.alpha = call.number("alpha"), .beta = call.number("beta")};
    op.activation = gate.on ? Activation::none : activation_named(call);
    std::vector<double> a_row(k), b_row(k);
    Result d;
    for (size_t at = 0; at < m * n; ++at) {
        const size_t i = at / n, j = at % n;
        for (size_t l = 0; l < k; ++l) {
            a_row[l] = a.values[a_t ? l * m + i : i * k + l];
            b_row[l] = unpacked[b_t ? l * n + j : j * k + l];
        }
        op.scale = scale("a_scale", i) * scale("b_scale", j);
        const double addend = c.values.empty() ? 0 : c.values[at], shift = bias.values.empty() ? 0 : bias.values[j];
        const auto value = [&](Products as) {
            return gemm_element(op, factors(as, a_row, false), factors(as, b_row, true), addend, shift).value;
        };
        const double split = value(products);
        d.values.push_back(std::isnan(split) ? value(Products::whole) : split);
    }
    const Result result = gate.on ? gated(gate, activation_named(call), d, n) : d;
    return wants_codes(call) ? codes_of_result(call, result, m) : Results{{"d", result}};
}

extern const Oracle GEMM{"gemm", compute_gemm};

} // namespace ref
