// SPDX-License-Identifier: Apache-2.0
// Oracle of quantize; see the header for the definition.
#include "ref/quantize.h"

#include "ref/amax.h"
#include "ref/sample.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace ref {
namespace {

constexpr int LARGEST = 0x7e;      // 448
constexpr int LARGEST_E5M2 = 0x7b; // 57344
constexpr double LARGEST_I8 = 127;
constexpr int NOT_A_NUMBER = 0x7f;
constexpr double LARGEST_E2M1 = 6;

// What numbers are divided by, of F32.
double divisor(double scale) {
    const double rounded_scale = rounded(Type::f32, scale);
    return rounded_scale == 0 ? std::numeric_limits<double>::infinity() : rounded_scale;
}

} // namespace

static double e4m3_of(uint8_t bits) {
    const int magnitude = bits & 0x7f, field = magnitude >> 3, fraction = magnitude & 7;
    const double value = magnitude == NOT_A_NUMBER ? std::numeric_limits<double>::quiet_NaN()
                         : field == 0              ? std::ldexp(fraction, -9)
                                                   : std::ldexp(8 + fraction, field - 10);
    return bits & 0x80 ? -value : value;
}

static double e5m2_of(uint8_t bits) {
    const int magnitude = bits & 0x7f, field = magnitude >> 2, fraction = magnitude & 3;
    const double value =
        field == 31 ? fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN()
        : field == 0 ? std::ldexp(fraction, -16)
                     : std::ldexp(4 + fraction, field - 17);
    return bits & 0x80 ? -value : value;
}

// Of all patterns: nearest() below asks for a hundred of them at each number.
static std::array<double, 256> table_of(double (*of)(uint8_t)) {
    std::array<double, 256> table;
    for (size_t bits = 0; bits < table.size(); ++bits) {
        table[bits] = of(static_cast<uint8_t>(bits));
    }
    return table;
}

double of_e4m3(uint8_t bits) {
    static const std::array<double, 256> table = table_of(e4m3_of);
    return table[bits];
}

static double of_e5m2(uint8_t bits) {
    static const std::array<double, 256> table = table_of(e5m2_of);
    return table[bits];
}

double of_code(Type codes, uint8_t bits) {
    return codes == Type::i8     ? static_cast<double>(static_cast<int8_t>(bits))
           : codes == Type::e5m2 ? of_e5m2(bits)
                                 : of_e4m3(bits);
}

const MxElement* mx_element(std::string_view name) {
    static constexpr std::pair<std::string_view, MxElement> ELEMENTS[] = {
        {"E4M3", MX_E4M3}, {"E2M3", {2, 3}}, {"E3M2", {3, 2}}, {"E2M1", MX_E2M1}, {"I2F6", {1, 6, true}}};
    const auto* found = std::ranges::find(ELEMENTS, name, &std::pair<std::string_view, MxElement>::first);
    return found == std::end(ELEMENTS) ? nullptr : &found->second;
}

double of_mx(MxElement element, uint8_t bits) {
    if (element.fixed) {
        return std::ldexp(static_cast<int8_t>(bits), -element.fraction);
    }
    const int steps = 1 << element.fraction, bias = (1 << (element.exponent - 1)) - 1;
    const int magnitude = bits % (steps << element.exponent), field = magnitude / steps, fraction = magnitude % steps;
    const int power = std::max(field, 1) - bias - element.fraction;
    const double value = std::ldexp(field == 0 ? fraction : steps + fraction, power);
    return bits / (steps << element.exponent) % 2 != 0 ? -value : value;
}

double of_e2m1(uint8_t bits) { return of_mx(MX_E2M1, bits); }

std::vector<uint16_t> random_words(uint64_t seed, uint64_t offset, size_t count) {
    std::vector<uint16_t> words(count);
    for (size_t i = 0; i < count; ++i) {
        const uint64_t counter = i / 8;
        const auto four = philox({static_cast<uint32_t>(offset), static_cast<uint32_t>(offset >> 32),
                                  static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32)},
                                 {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
        words[i] = static_cast<uint16_t>(four[i % 8 / 2] >> (i % 2 * 16));
    }
    return words;
}

// Whether a number that is `fraction` of the way to its greater neighbour becomes that.
static bool rises(double fraction, uint16_t word) { return word + std::floor(std::ldexp(fraction, 16)) >= 0x1p16; }

// The slow and obvious way: of all numbers from 0 to the largest one the nearest. Neighbours are an odd and an even
// pattern.
template <class Of> static int nearest(double magnitude, int largest, Of of, Words word) {
    if (magnitude >= of(static_cast<uint8_t>(largest))) {
        return largest;
    }
    int best = 0;
    while (of(static_cast<uint8_t>(best + 1)) <= magnitude) {
        ++best;
    }
    const double below = magnitude - of(static_cast<uint8_t>(best));
    const double above = of(static_cast<uint8_t>(best + 1)) - magnitude;
    if (!word.empty()) {
        return best + rises(below / (below + above), word[0]);
    }
    return best + (above < below || (above == below && best % 2 != 0));
}

static uint8_t to_fp8(double x, int largest, double (*of)(uint8_t), Words word = {}) {
    if (std::isnan(x)) {
        return NOT_A_NUMBER;
    }
    return static_cast<uint8_t>(nearest(std::fabs(x), largest, of, word) | (std::signbit(x) ? 0x80 : 0));
}

uint8_t to_e4m3(double x) { return to_fp8(x, LARGEST, of_e4m3); }

uint8_t to_code(Type codes, double x, Words word) {
    if (codes != Type::i8) {
        return codes == Type::e5m2 ? to_fp8(x, LARGEST_E5M2, of_e5m2, word) : to_fp8(x, LARGEST, of_e4m3, word);
    }
    const double within = std::isnan(x) ? 0 : std::clamp(x, -LARGEST_I8, LARGEST_I8);
    if (!word.empty()) {
        const double less = std::trunc(within), rest = std::fabs(within - less);
        return static_cast<uint8_t>(static_cast<int8_t>(less + std::copysign(rises(rest, word[0]), within)));
    }
    return static_cast<uint8_t>(static_cast<int8_t>(std::nearbyint(within))); // default mode: ties to even
}

static int largest_code(MxElement element) {
    return (1 << (element.exponent + element.fraction)) - (element == MX_E4M3 ? 2 : 1);
}

uint8_t to_mx(MxElement element, double x, Words word) {
    const int largest = largest_code(element), sign = 1 << (element.exponent + element.fraction);
    if (std::isnan(x)) {
        return static_cast<uint8_t>(element.fixed ? 0 : largest);
    }
    const auto of = [&](uint8_t bits) { return of_mx(element, bits); };
    const int code = nearest(std::fabs(x), largest, of, word);
    return static_cast<uint8_t>(!std::signbit(x) ? code : element.fixed ? -code : code | sign);
}

// The least exponent, from `least` on, whose power of two is no less than x.
static int exponent_above(double x, int least) {
    int exponent = least;
    while (std::ldexp(1.0, exponent) < x) {
        ++exponent;
    }
    return exponent;
}

double scale_of(Type codes, double amax, double amax_floor, Rule rule) {
    const double most = std::isnan(amax) ? amax : std::max(amax, amax_floor);
    const double largest = codes == Type::i8     ? LARGEST_I8
                           : codes == Type::e5m2 ? of_e5m2(LARGEST_E5M2)
                                                 : of_e4m3(LARGEST);
    const double scale = rounded(Type::f32, most / largest);
    const bool as_it_is = rule == Rule::floor || scale == 0 || !std::isfinite(scale);
    return as_it_is ? scale : std::ldexp(1.0, exponent_above(scale, -126));
}

uint8_t mx_scale_of(double amax, MxElement element, Rule rule) {
    if (std::isnan(amax)) {
        return 0xff;
    }
    const double finite = std::isinf(amax) ? 0x1p128 : amax;
    const double largest = of_mx(element, static_cast<uint8_t>(largest_code(element)));
    if (rule == Rule::rceil) {
        return static_cast<uint8_t>(std::min(exponent_above(finite / largest, -127), 127) + 127);
    }
    int exponent = finite == 0 ? -127 : std::ilogb(finite);
    if (rule == Rule::even && finite != 0) { // to the format's bits, ties to even
        const int unit = exponent - element.fraction;
        exponent = std::ilogb(std::ldexp(std::nearbyint(std::ldexp(finite, -unit)), unit));
    }
    return static_cast<uint8_t>(std::clamp(exponent - std::ilogb(largest), -127, 127) + 127);
}

double of_ue8m0(uint8_t bits) { return bits == 0xff ? std::nan("") : std::ldexp(1.0, bits - 127); }

// Those of some of the numbers, or still none.
static Words words_of(Words words, size_t first, size_t count) {
    return words.empty() ? words : words.subspan(first, count);
}

void quantize_block(Type codes, std::span<const double> x, double scale, std::span<uint8_t> y, Words words) {
    const double by = divisor(scale);
    for (size_t i = 0; i < x.size(); ++i) {
        y[i] = to_code(codes, rounded(Type::f32, x[i] / by), words_of(words, i, 1));
    }
}

static double stored_scale_of(Type stored, double amax, double amax_floor, double largest) {
    const double most = std::isnan(amax) ? amax : std::max(amax, amax_floor);
    return rounded(stored, rounded(Type::f32, most / largest));
}
double int4_scale_of(Type stored, double amax, double amax_floor) {
    return stored_scale_of(stored, amax, amax_floor, 7);
}
double nf4_scale_of(Type stored, double amax, double amax_floor) {
    return stored_scale_of(stored, amax, amax_floor, 1);
}

void quantize_nf4_block(std::span<const double> x, double scale, std::span<uint8_t> y) {
    const double by = divisor(scale);
    for (size_t i = 0; i < x.size(); ++i) {
        const double quotient = rounded(Type::f32, x[i] / by);
        y[i] = 0;
        for (unsigned code = 0; code < 15; ++code) {
            if (quotient > rounded(Type::f32, (of_nf4(code) + of_nf4(code + 1)) / 2)) {
                ++y[i];
            }
        }
    }
}

void quantize_int4_block(std::span<const double> x, double scale, std::span<uint8_t> y) {
    const double by = divisor(scale);
    for (size_t i = 0; i < x.size(); ++i) {
        const double quotient = rounded(Type::f32, x[i] / by);
        const double within = std::isnan(quotient) ? 0 : std::clamp(quotient, -7.0, 7.0);
        y[i] = static_cast<uint8_t>(static_cast<int>(std::nearbyint(within)) & 15);
    }
}

double nv_whole_of(double amax) { return rounded(Type::f32, amax / (of_e4m3(LARGEST) * LARGEST_E2M1)); }

static uint8_t nv_scale_under(double largest, double amax, double whole) {
    const double by = divisor(largest * whole);
    return to_e4m3(std::fabs(rounded(Type::f32, amax / by)));
}

uint8_t nv_scale_of(double amax, double whole) { return nv_scale_under(LARGEST_E2M1, amax, whole); }

// The sum of the squares of what codes under that scale are off, in FP32.
static float nv_error_of(std::span<const double> x, uint8_t scale, double whole) {
    std::vector<uint8_t> codes(x.size());
    quantize_nv_block(x, scale, whole, codes);
    const auto product = static_cast<float>(rounded(Type::f32, of_ue4m3(scale) * whole));
    std::vector<float> sums(16);
    for (size_t i = 0; i < x.size(); ++i) {
        const float off = std::fma(static_cast<float>(-of_e2m1(codes[i])), product, static_cast<float>(x[i]));
        sums[i] = off * off;
    }
    for (; sums.size() > 1; sums.resize(sums.size() / 2)) {
        for (size_t i = 0; i < sums.size() / 2; ++i) {
            sums[i] = sums[2 * i] + sums[2 * i + 1];
        }
    }
    return sums[0];
}

uint8_t nv_better_scale_of(std::span<const double> x, double whole) {
    const uint8_t six = nv_scale_of(amax(x), whole), four = nv_scale_under(4, amax(x), whole);
    return nv_error_of(x, four, whole) < nv_error_of(x, six, whole) ? four : six;
}

double of_ue4m3(uint8_t bits) { return of_e4m3(bits & 0x7f); }

void quantize_nv_block(std::span<const double> x, uint8_t scale, double whole, std::span<uint8_t> y, Words words) {
    quantize_mx_block(MX_E2M1, x, of_ue4m3(scale) * whole, y, words);
}

void quantize_mx_block(MxElement element, std::span<const double> x, double scale, std::span<uint8_t> y, Words words) {
    const double by = divisor(scale);
    for (size_t i = 0; i < x.size(); ++i) {
        y[i] = to_mx(element, rounded(Type::f32, x[i] / by), words_of(words, i, 1));
    }
}

int64_t place_in_tiles(int64_t row, int64_t column, int64_t columns) {
    const int64_t tile = row / 128 * ((columns + 3) / 4) + column / 4;
    return tile * 512 + row % 32 * 16 + row % 128 / 32 * 4 + column % 4;
}

int64_t size_of_tiles(int64_t rows, int64_t columns) { return (rows + 127) / 128 * ((columns + 3) / 4) * 512; }

// The words of a call that has a seed.
static std::vector<uint16_t> words_of(const Call& call) {
    if (!call.words.contains("seed")) {
        return {};
    }
    const auto of = [&](const char* name) { return std::stoull(call.words.at(name)); };
    return random_words(of("seed"), of("offset"), call["x"].values.size());
}

// The scale of all, those of blocks and where they stand in tiles, codes, and the numbers that they stand for.
static Results compute_nv(const Call& call) {
    const Tensor& x = call["x"];
    const std::vector<uint16_t> words = words_of(call);
    const size_t n = x.size(1);
    const auto columns = static_cast<int64_t>((n + 15) / 16);
    const double whole = call.is("given") ? call["whole"].values[0] : nv_whole_of(amax(x.values));
    Result scales, tiles, y, back;
    tiles.bits.resize(static_cast<size_t>(size_of_tiles(static_cast<int64_t>(x.size(0)), columns)));
    y.bits.resize(x.values.size() / 2);
    for (size_t first = 0, count; first < x.values.size(); first += count) {
        count = std::min<size_t>(16, n - first % n);
        const auto block = static_cast<int64_t>(scales.bits.size());
        const std::span<const double> part = x.row(first, count);
        const uint8_t scale =
            call.words.contains("rule") ? nv_better_scale_of(part, whole) : nv_scale_of(amax(part), whole);
        scales.bits.push_back(scale);
        tiles.bits[static_cast<size_t>(place_in_tiles(block / columns, block % columns, columns))] = scale;
        std::vector<uint8_t> codes(count);
        quantize_nv_block(part, scale, whole, codes, words_of(words, first, count));
        for (size_t i = 0; i < count; ++i) {
            y.bits[(first + i) / 2] |= uint64_t{codes[i]} << (first + i) % 2 * 4;
            back.values.push_back(of_e2m1(codes[i]) * of_ue4m3(scale) * whole);
        }
    }
    return {{"whole", {.values = {whole}, .rounded = true}},
            {"scales", scales},
            {"tiles", tiles},
            {"y", y},
            {"back_f32", back},
            {"back_f16", back},
            {"back_bf16", back}};
}

static Results compute_int4(const Call& call) {
    const Tensor& x = call["x"];
    const bool nf4 = call.words.at("codes") == "NF4";
    const size_t n = x.size(1), block = static_cast<size_t>(call.number("block"));
    Result y, scales{.rounded = true};
    for (size_t first = 0, count; first < x.values.size(); first += count) {
        count = std::min(block, n - first % n);
        const std::span<const double> part = x.row(first, count);
        scales.values.push_back((nf4 ? nf4_scale_of : int4_scale_of)(call["scales"].type, amax(part), 0));
        std::vector<uint8_t> codes(count);
        (nf4 ? quantize_nf4_block : quantize_int4_block)(part, scales.values.back(), codes);
        for (size_t i = 0; i < count; i += 2) {
            y.bits.push_back(codes[i + (nf4 ? 1 : 0)] | uint64_t{codes[i + (nf4 ? 0 : 1)]} << 4);
        }
    }
    return {{"y", y}, {"scales", scales}};
}

static Results compute_quantize(const Call& call) {
    if (call.numbers.contains("format")) {
        return quantize_records(call);
    }
    if (!call["whole"].values.empty()) {
        return compute_nv(call);
    }
    const Tensor &x = call["x"], &given = call["scales"];
    const bool mx = given.type == Type::u8;
    const bool named = call.words.contains("codes");
    if (named && (call.words.at("codes") == "I4" || call.words.at("codes") == "NF4")) {
        return compute_int4(call);
    }
    const auto is_named = [&](const char* codes) { return named && call.words.at("codes") == codes; };
    const MxElement* found = named ? mx_element(call.words.at("codes")) : nullptr;
    const MxElement element = found == nullptr ? MX_E4M3 : *found;
    const size_t bits = bits_of(element);
    const Type type = is_named("I8") ? Type::i8 : is_named("E5M2") ? Type::e5m2 : Type::e4m3;
    const size_t n = x.size(1), block = static_cast<size_t>(call.number("block"));
    const std::vector<uint16_t> words = words_of(call);
    Result y, scales{.rounded = true}, back;
    for (size_t first = 0, count; first < x.values.size(); first += count) {
        count = std::min(block, n - first % n);
        const std::span<const double> part = x.row(first, count);
        const double scale = call.is("given") ? given.values[scales.values.size()]
                             : mx             ? mx_scale_of(amax(part), element)
                                              : scale_of(type, amax(part), 0);
        scales.values.push_back(scale);
        std::vector<uint8_t> codes(count);
        const double number = mx ? of_ue8m0(static_cast<uint8_t>(scale)) : scale;
        if (bits < 8 || element.fixed) {
            quantize_mx_block(element, part, number, codes, words_of(words, first, count));
            for (size_t i = 0; i < count * bits; ++i) {
                if (i % 8 == 0) {
                    y.bits.push_back(0);
                }
                y.bits.back() |= (codes[i / bits] >> i % bits & uint64_t{1}) << i % 8;
            }
            continue;
        }
        quantize_block(type, part, number, codes, words_of(words, first, count));
        y.bits.insert(y.bits.end(), codes.begin(), codes.end());
        for (uint8_t code : codes) {
            back.values.push_back(of_code(type, code) * number);
        }
    }
    Results results{{"y", y}, {"scales", scales}};
    for (const char* name : {"back_f32", "back_f16", "back_bf16"}) {
        if (named && !back.values.empty()) {
            results.emplace(name, back);
        }
    }
    return results;
}

bool wants_codes(const Call& call) { return call.words.contains("codes"); }

Results codes_of(Call call, const char* like, std::vector<double> numbers) {
    const int64_t n = call[like].shape.back();
    call.tensors["x"] = {
        .type = Type::f32, .shape = {std::ssize(numbers) / n, n}, .values = std::move(numbers), .bits = {}};
    Results all = compute_quantize(call);
    return {{"y", all.at("y")}, {"scales", all.at("scales")}};
}

extern const Oracle QUANTIZE{"quantize", compute_quantize};

} // namespace ref
