// SPDX-License-Identifier: Apache-2.0
// Oracle of requantize: what codes stand for, rounded to F32, then the oracle of quantize, of the matrix and of the
// transposed one. A call has the tensor x of numbers, or of codes whose dtype is the word `from`, with from_scales for
// blocks of from_block and, of NVFP4, from_whole; all else is that of quantize's calls.
#include "ref/quantize.h"

namespace ref {

extern const Oracle QUANTIZE;

namespace {

uint8_t code_at(const Tensor& codes, size_t i, size_t n, size_t bits) {
    const size_t width = (n * bits + 7) / 8;
    const uint64_t byte = codes.bits[i / n * width + i % n * bits / 8];
    return static_cast<uint8_t>(byte >> i % n * bits % 8 & ((1u << bits) - 1));
}

std::vector<double> numbers_of(const Call& call, const Tensor& x, size_t n) {
    const std::string& from = call.words.at("from");
    const bool short_codes = from == "E2M1", nvfp4 = !call["from_whole"].values.empty();
    const Tensor& scales = call["from_scales"];
    const auto block = static_cast<size_t>(call.number("from_block")), blocks = (n + block - 1) / block;
    std::vector<double> out(x.size(0) * n);
    for (size_t i = 0; i < out.size(); ++i) {
        const uint8_t code = code_at(x, i, n, short_codes ? 4 : 8);
        const size_t at = i / n * blocks + i % n / block;
        const double number = short_codes ? of_e2m1(code) : of_code(from == "I8" ? Type::i8 : Type::e4m3, code);
        const double scale = nvfp4 ? of_ue4m3(static_cast<uint8_t>(scales.bits[at])) * call["from_whole"].values[0]
                             : scales.type == Type::u8 ? of_ue8m0(static_cast<uint8_t>(scales.bits[at]))
                                                       : scales.values[at];
        out[i] = rounded(Type::f32, number * scale);
    }
    return out;
}

Results compute_requantize(const Call& call) {
    Call straight = call, turned = call;
    Tensor& x = straight.tensors["x"];
    if (call.words.contains("from")) {
        x = {.type = Type::f32,
             .shape = {x.shape[0], static_cast<int64_t>(call.number("n"))},
             .values = numbers_of(call, x, static_cast<size_t>(call.number("n"))),
             .bits = {}};
    }
    Tensor& xt = turned.tensors["x"];
    xt = {.type = x.type, .shape = {x.shape[1], x.shape[0]}, .values = {}, .bits = {}};
    for (size_t column = 0; column < x.size(1); ++column) {
        for (size_t row = 0; row < x.size(0); ++row) {
            xt.values.push_back(x.values[row * x.size(1) + column]);
        }
    }
    const Results rows = QUANTIZE.compute(straight), columns = QUANTIZE.compute(turned);
    return {{"y", rows.at("y")},
            {"scales", rows.at("scales")},
            {"y_t", columns.at("y")},
            {"scales_t", columns.at("scales")}};
}

} // namespace

extern const Oracle REQUANTIZE{"requantize", compute_requantize};

} // namespace ref
