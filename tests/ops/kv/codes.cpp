// SPDX-License-Identifier: Apache-2.0
// See rows.h. To a cache: quantize's oracle for each head of a row, then a move; out of it: dequantize's. All of it has
// one right result, bit for bit, but for the bits of a NaN.
#include "ops/kv/rows.h"

#include "ref/amax.h"
#include "ref/quantize.h"

#include <cstddef>

namespace check {

namespace kv {
namespace {

constexpr int64_t BLOCK = 16; // of NVFP4

bool is_nv(const Shape& s) { return s.codes == Codes::nvfp4; }
ref::Type codes_of(const Shape& s) { return s.codes == Codes::e5m2 ? ref::Type::e5m2 : ref::Type::e4m3; }
Scales scales_of(const Shape& s, const std::string& cache) { return cache[0] == 'k' ? s.k_scales : s.v_scales; }

// [B, S, H, blocks], or 1 where all have the same.
View scales_view(const Shape& s, Scales kind) {
    const bool batch = is_nv(s) || kind == Scales::batch_head || kind == Scales::row;
    const bool row = is_nv(s) || kind == Scales::row, head = is_nv(s) || kind != Scales::tensor;
    const View view = packed(is_nv(s) ? ref::Type::u8 : ref::Type::f32, {batch ? s.b : 1, row ? s.s : 1, head ? s.h : 1,
                                                                         is_nv(s) ? (s.d + BLOCK - 1) / BLOCK : 1});
    return cache_view(view, 0, s.scale_pad, s.heads_outside);
}

// The number, row-major in that view, of the scale of element d of a head of a row.
int64_t scale_number(const View& view, int64_t slot, int64_t rows, int64_t head, int64_t d) {
    const int64_t at[] = {slot / rows, slot % rows, head, d / BLOCK};
    int64_t number = 0;
    for (size_t i = 0; i < 4; ++i) {
        number = number * view.shape[i] + (view.shape[i] > 1 ? at[i] : 0);
    }
    return number;
}

void describe(spark_quant& quant, const Shape& s, Scales kind, const View& view) {
    quant.scheme = is_nv(s) || kind == Scales::head || kind == Scales::batch_head ? SPARK_QUANT_BLOCK
                   : kind == Scales::row                                          ? SPARK_QUANT_PER_ROW
                                                                                  : SPARK_QUANT_PER_TENSOR;
    quant.scale_dtype = is_nv(s) ? SPARK_DTYPE_UE4M3 : SPARK_DTYPE_F32;
    quant.scale_bytes = static_cast<uint64_t>(view.span()) * ref::size_of(view.type);
    if (quant.scheme == SPARK_QUANT_BLOCK) {
        quant.block[0] = is_nv(s) || kind == Scales::batch_head;
        quant.block[1] = is_nv(s);
        quant.block[2] = 1;
        quant.block[3] = is_nv(s) ? BLOCK : 0;
    }
    std::copy(view.stride.begin(), view.stride.end(), quant.scale_stride);
}

// Mostly some that numbers and codes go well with.
float some_scale(Random& r) {
    return r.chance(0.1) ? r.pick<float>({0.0f, 1e-38f, 1e38f, -1.0f, INFINITY, NAN})
                         : static_cast<float>(std::exp2(r.between(-9, 1)) * (1 + 0.3 * std::fabs(r.normal())));
}

double whole_of(const Case& before, const std::string& cache, int64_t batch) {
    for (const Operand& operand : before.operands) {
        if (operand.field == cache + ".global") {
            return before.values(operand)[operand.view.count() > 1 ? static_cast<size_t>(batch) : 0];
        }
    }
    return 1;
}

// A head of a row: what becomes of the codes, the scales, or the numbers of its tokens.
struct Head {
    const Shape& s;
    std::string cache;
    bool made;
    View scale_view;
    std::vector<double> scales; // that are given

    Head(const Case& before, const Shape& shape, const std::string& of, bool gathers)
        : s(shape), cache(of), made(!gathers && (is_nv(s) || scales_of(s, of) == Scales::row)),
          scale_view(scales_view(s, scales_of(s, of))) {
        if (!made && (is_nv(s) || scales_of(s, of) != Scales::none)) {
            scales = before.values(operand_of(before, of + ".scale"));
        }
    }

    double given(int64_t slot, int64_t head, int64_t d) const {
        return scales.empty() ? 1 : scales[static_cast<size_t>(scale_number(scale_view, slot, s.s, head, d))];
    }

    // Codes of x, one each, and a scale for each block, as it is stored.
    struct Made {
        std::vector<uint8_t> codes;
        std::vector<double> scales;
    };
    Made quantized(std::span<const double> x, double whole, int64_t slot, int64_t head) const {
        Made out{std::vector<uint8_t>(x.size()), {}};
        if (!is_nv(s)) {
            const double scale = made ? ref::scale_of(codes_of(s), ref::amax(x), 0) : given(slot, head, 0);
            ref::quantize_block(codes_of(s), x, scale, out.codes);
            out.scales.push_back(scale);
            return out;
        }
        for (size_t first = 0; first < x.size(); first += BLOCK) {
            const size_t count = std::min<size_t>(BLOCK, x.size() - first);
            const uint8_t scale = ref::nv_scale_of(ref::amax(x.subspan(first, count)), whole);
            ref::quantize_nv_block(x.subspan(first, count), scale, whole, std::span(out.codes).subspan(first, count));
            out.scales.push_back(scale);
        }
        return out;
    }
    double number(const uint8_t* row, double whole, int64_t slot, int64_t head, int64_t d) const {
        const double scale = given(slot, head, d);
        if (!is_nv(s)) {
            return ref::of_code(codes_of(s), row[d]) * scale;
        }
        return ref::of_e2m1(row[d / 2] >> d % 2 * 4 & 15) * ref::of_ue4m3(static_cast<uint8_t>(scale)) * whole;
    }
};

// What is right of a head: each byte of codes, and each scale.
struct AllowedHead {
    std::vector<Allowed> codes, scales;
};

Allowed stored_scale(const Shape& s, double scale) {
    return is_nv(s) ? Allowed{Allowed::bits, 0, 0, static_cast<uint32_t>(scale)} : exactly(ref::Type::f32, scale);
}

AllowedHead allow_head(const Shape& s, const Head::Made& made) {
    AllowedHead out;
    for (size_t i = 0; i < made.codes.size(); i += is_nv(s) ? 2 : 1) {
        const uint32_t bits = is_nv(s) ? made.codes[i] | made.codes[i + 1] << 4 : made.codes[i];
        out.codes.push_back({Allowed::bits, 0, 0, bits});
    }
    for (const double scale : made.scales) {
        out.scales.push_back(stored_scale(s, scale));
    }
    return out;
}

// Whether one of such numbers may be anything, NaN too.
bool has_any(std::span<const double> low, std::span<const double> high) {
    return std::ranges::count(low, -INFINITY) > 0 && std::ranges::count(high, INFINITY) > 0;
}

// The same of numbers that are known to an interval. Of NVFP4 a block is right whose ends agree; where they do not,
// which is rare, nothing is said of it.
AllowedHead allow_head(const Head& head, const check::Numbers& x, double whole, int64_t slot, int64_t h) {
    const Shape& s = head.s;
    if (!is_nv(s)) {
        const auto scale = static_cast<float>(head.made ? 1 : head.given(slot, h, 0));
        if (head.made && has_any(x.low, x.high)) {
            return {std::vector<Allowed>(x.low.size(), Allowed{Allowed::any}), {{Allowed::any}}};
        }
        const auto made = allow_coded({{head.made ? ROW : TENSOR, codes_of(s)}, {1, 1, s.d}, scale}, x);
        return {made.codes, made.scales};
    }
    const Head::Made low = head.quantized(x.low, whole, slot, h), high = head.quantized(x.high, whole, slot, h);
    AllowedHead out = allow_head(s, low);
    for (size_t block = 0; block < low.scales.size(); ++block) {
        const size_t first = block * BLOCK, end = std::min(first + BLOCK, x.low.size());
        const auto lows = std::span(x.low).subspan(first, end - first),
                   highs = std::span(x.high).subspan(first, end - first);
        const Interval most = amax_of(lows, highs);
        const bool sure =
            !has_any(lows, highs) && ref::nv_scale_of(most.low, whole) == ref::nv_scale_of(most.high, whole);
        if (!sure) {
            out.scales[block] = {Allowed::any};
        }
        for (size_t i = first; i < end; ++i) {
            if (!sure || low.codes[i] != high.codes[i]) {
                out.codes[i / 2] = {Allowed::any};
            }
        }
    }
    return out;
}

// The codes of a head, or its scales, at their places in what is allowed.
void put_codes(std::vector<Allowed>& out, const Head& head, const AllowedHead& made, int64_t slot, int64_t h) {
    std::ranges::copy(made.codes, out.begin() + (slot * head.s.h + h) * cache_width(head.s));
}
void put_scales(std::vector<Allowed>& out, const Head& head, const AllowedHead& made, int64_t slot, int64_t h) {
    for (size_t block = 0; block < made.scales.size(); ++block) {
        const auto d = static_cast<int64_t>(block) * BLOCK;
        out[static_cast<size_t>(scale_number(head.scale_view, slot, head.s.s, h, d))] = made.scales[block];
    }
}

} // namespace

ref::Type cache_type(const Shape& s, ref::Type tokens) {
    return s.codes == Codes::none ? tokens : is_nv(s) ? ref::Type::u8 : codes_of(s);
}
int64_t cache_width(const Shape& s) { return is_nv(s) ? s.d / 2 : s.d; }

void fill_numbers(Case& c, const Operand& operand, Numbers kind, Random& r) {
    const int64_t width = std::max<int64_t>(operand.view.shape.back(), 1);
    for (int64_t i = 0, of_head = 0; i < c.to_fill(operand); ++i) {
        of_head = i % width == 0 && kind == Numbers::strange ? r.between(0, 9) : of_head;
        const bool one = of_head == 1 && i % width == width / 2;
        uint8_t* const at = c.element(operand, i);
        if (of_head == 2 || kind == Numbers::bits) {
            ref::store_bits(operand.view.type, r.next(), at);
            continue;
        }
        const double size = of_head == 3 ? 0 : of_head == 4 ? 1e-3 : of_head == 5 ? 300 : 1;
        ref::store(operand.view.type, one ? r.pick<double>({NAN, INFINITY, -INFINITY, 1e30, 1e-30}) : r.normal() * size,
                   at);
    }
}

void add_scales(Case& c, const Shape& s, const char* cache, size_t at, bool gathers, Random& r) {
    const Scales kind = scales_of(s, cache);
    if (s.codes == Codes::none || (kind == Scales::none && !is_nv(s))) {
        return;
    }
    const bool made = !gathers && (is_nv(s) || kind == Scales::row);
    const View view = scales_view(s, kind);
    spark_quant& quant = reinterpret_cast<spark_tensor*>(&c.args[at])->quant;
    describe(quant, s, kind, view);
    const size_t address = at + offsetof(spark_tensor, quant);
    Operand& scales = c.add_array(std::string(cache) + ".scale", address + offsetof(spark_quant, scale), view,
                                  is_nv(s) ? 3 : 20, made);
    scales.input = true;
    for (int64_t i = 0; i < c.to_fill(scales); ++i) {
        if (is_nv(s)) {
            *c.element(scales, i) = static_cast<uint8_t>(r.next());
        } else {
            ref::store(ref::Type::f32, static_cast<double>(some_scale(r)), c.element(scales, i));
        }
    }
    if (is_nv(s)) {
        recode(c, Said::e2m1, {at});
    }
    if (is_nv(s) && s.whole != Whole::none) {
        const int64_t count = s.whole == Whole::each ? s.b : 1;
        reinterpret_cast<spark_tensor*>(&c.args[at])->quant.global_stride = s.whole == Whole::each ? 2 : 0;
        const View wholes{ref::Type::f32, {count}, {2}};
        const Operand& whole = c.add_array(std::string(cache) + ".global",
                                           address + offsetof(spark_quant, global_scale), wholes, 12, false);
        for (int64_t i = 0; i < c.to_fill(whole); ++i) {
            ref::store(ref::Type::f32, static_cast<double>(some_scale(r)) / 64, c.element(whole, i));
        }
    }
}

std::vector<Allowed> expect_codes(const Case& before, const Shape& s, std::span<const int64_t> slot,
                                  const std::string& field, bool gathers) {
    const std::string side = field.substr(0, 1), cache = side + "_cache";
    const Operand &tokens = operand_of(before, side), &codes = operand_of(before, cache);
    const Operand& to = operand_of(before, field);
    std::vector<Allowed> out(static_cast<size_t>(to.view.count()), Allowed{Allowed::unchanged});
    const Head head(before, s, cache, gathers);
    const std::vector<double> numbers = gathers ? std::vector<double>{} : before.values(tokens);
    std::vector<uint8_t> row(static_cast<size_t>(cache_width(s)));
    for (size_t n = 0; n < slot.size() * static_cast<size_t>(s.h); ++n) {
        const auto t = static_cast<int64_t>(n) / s.h, h = static_cast<int64_t>(n) % s.h;
        const int64_t at = slot[static_cast<size_t>(t)];
        if (at < 0) {
            continue;
        }
        const double whole = whole_of(before, cache, at / s.s);
        if (!gathers) {
            const auto first = static_cast<size_t>(static_cast<int64_t>(n) * s.d);
            const auto x = std::span(numbers).subspan(first, static_cast<size_t>(s.d));
            const AllowedHead made = allow_head(s, head.quantized(x, whole, at, h));
            (field == cache ? put_codes : put_scales)(out, head, made, at, h);
            continue;
        }
        for (int64_t i = 0; i < std::ssize(row); ++i) {
            row[static_cast<size_t>(i)] =
                static_cast<uint8_t>(as_in(before, codes, (at * s.h + h) * std::ssize(row) + i).pattern);
        }
        for (int64_t d = 0; d < s.d; ++d) {
            out[n * static_cast<size_t>(s.d) + static_cast<size_t>(d)] =
                exactly(tokens.view.type, head.number(row.data(), whole, at, h, d));
        }
    }
    return out;
}

std::vector<Allowed> expect_codes(const Case& before, const Shape& s, std::span<const int64_t> slot,
                                  const std::string& field, const HeadNumbers& numbers) {
    const std::string cache = field.substr(0, 1) + "_cache";
    std::vector<Allowed> out(static_cast<size_t>(operand_of(before, field).view.count()), Allowed{Allowed::unchanged});
    const Head head(before, s, cache, false);
    for (size_t n = 0; n < slot.size() * static_cast<size_t>(s.h); ++n) {
        const auto t = static_cast<int64_t>(n) / s.h, h = static_cast<int64_t>(n) % s.h;
        const int64_t at = slot[static_cast<size_t>(t)];
        if (at >= 0) {
            const AllowedHead made = allow_head(head, numbers(t, h), whole_of(before, cache, at / s.s), at, h);
            (field == cache ? put_codes : put_scales)(out, head, made, at, h);
        }
    }
    return out;
}

void draw_codes(Shape& s, Random& r) {
    s.codes = r.pick<Codes>({Codes::e4m3, Codes::e5m2, Codes::nvfp4});
    s.d += is_nv(s) ? s.d % 2 : 0;
    const auto scales = {Scales::none, Scales::tensor, Scales::head, Scales::batch_head, Scales::row};
    s.k_scales = r.pick<Scales>(scales);
    s.v_scales = r.pick<Scales>(scales);
    s.scale_pad = r.chance(0.3) ? r.between(1, 5) : 0;
    s.whole = r.pick<Whole>({Whole::none, Whole::one, Whole::each});
    s.numbers = r.pick<Numbers>({Numbers::usual, Numbers::strange, Numbers::bits});
}

} // namespace kv
} // namespace check
