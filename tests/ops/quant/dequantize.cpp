// SPDX-License-Identifier: Apache-2.0
// Cases of dequantize: from a row of dequantize.inc (or a random one) to arguments, memory and right results.
// Called by spark-check through families.cpp; results come from tests/ref. The definition rounds once, and so does the
// oracle: there is one right result, bit for bit, but for the bits of a NaN.
#include "ref/dequantize.h"

#include "ops/quant/scaled.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace check::dequantize {
namespace {

using ref::RecordFormat;

// Bits of ref::record_formats().
enum Formats : unsigned { Q8_0 = 1, Q4_1 = 2, BOTH = 3, ALL_FORMATS = ~0u };
// What half of the records hold instead of ordinary numbers.
enum class Strange {
    none,
    nan_scale,  // d or m
    inf_scale,  // and so NaN where the code is 0
    zero_signs, // d negative or -0 and most codes 0, m 0 or -0
    subnormal,  // d and m below the smallest normal f16
    overflow,   // products beyond the largest f16
    cancel,     // d q = -m for one code
    midpoint,   // exact results just beside a midpoint of bf16 or f16, which FP32 cannot tell from it
    any_bits,   // random bytes
};

struct Shape {
    const char* name = "";
    int64_t rows1 = 1, rows0 = 1, n = 32;
    int64_t x_pad = 0, x_pad1 = 0;          // bytes between rows, and after each group of rows0 rows
    int64_t y_pad = 0, y_pad1 = 0;          // the same in elements of y
    int64_t x_misalign = 0, y_misalign = 0; // bytes and elements off the 16-byte boundary
    unsigned formats = BOTH, types = ALL;
    Strange strange = Strange::none;
    Tier tier = Tier::quick;
};

const Shape SHAPES[] = {
#include "ops/quant/dequantize.inc"
};

struct Values {
    double d, m;
    int code = -1; // of all elements; -1 = random ones
};

Values strange_values(Strange strange, Random& random) {
    constexpr double NaN = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
    const bool coin = random.chance(0.5);
    switch (strange) {
    case Strange::nan_scale: return coin ? Values{NaN, 1} : Values{1, NaN};
    case Strange::inf_scale: return coin ? Values{inf, 1} : Values{1, -inf};
    case Strange::zero_signs: return {coin ? -0.0 : -1.0, random.chance(0.5) ? -0.0 : 0.0, coin ? -1 : 0};
    case Strange::subnormal: return {std::ldexp(random.unit() - 0.5, -14), std::ldexp(random.unit() - 0.5, -14)};
    case Strange::overflow: return {coin ? 65504.0 : -30000.0, coin ? 65504.0 : 0};
    case Strange::cancel: {
        const auto code = static_cast<double>(random.between(1, 15)); // d has few bits, so that d q is an f16
        const double d = std::ldexp(static_cast<double>(random.between(1, 127)), -10);
        return {d, -d * code};
    }
    case Strange::midpoint: // of bf16 at 1 + 2^-8, of f16 at 3 * (1 + 2^-10); the smallest f16 is 2^-24
        return coin ? Values{random.chance(0.5) ? 0x1p-24 : -0x1p-24, 1 + 0x1p-8}
                    : Values{1 + 0x1p-10, random.chance(0.5) ? 0x1p-24 : -0x1p-24, 3};
    default: return {random.normal() / 64, random.normal()};
    }
}

void fill_record(uint8_t* record, const RecordFormat& format, Strange strange, Random& random) {
    for (size_t i = 0; i < format.bytes; ++i) {
        record[i] = static_cast<uint8_t>(random.next());
    }
    if (strange == Strange::any_bits) {
        return;
    }
    const Values values = strange_values(strange, random);
    for (const auto& [at, value] : {std::pair{format.d_at, values.d}, {format.m_at, values.m}}) {
        if (at >= 0) {
            ref::store(ref::Type::f16, value, record + at);
        }
    }
    const bool bytes = format.record == ref::Record::q8_0;
    for (size_t i = format.m_at == 2 ? 4 : 2; i < format.bytes && values.code >= 0 && format.elements == 32; ++i) {
        record[i] = static_cast<uint8_t>(bytes ? values.code : values.code * 17);
    }
}

View rows_view(ref::Type type, const Shape& s, int64_t width, int64_t pad, int64_t pad1) {
    const int64_t pitch = std::max<int64_t>(width + pad, 1);
    if (s.rows1 == 1) {
        return {type, {s.rows0, width}, {pitch, 1}};
    }
    return {type, {s.rows1, s.rows0, width}, {s.rows0 * pitch + pad1, pitch, 1}};
}

Case build(const Shape& s, const RecordFormat& format, ref::Type type, const std::string& name, const Seed& seed) {
    using Args = spark_dequantize_args;
    Case c = make_case<Args>("dequantize", name, SPARK_OP_DEQUANTIZE, seed);
    Random random(seed, name);
    const auto record_bytes = static_cast<int64_t>(format.bytes);
    const int64_t records = s.n / static_cast<int64_t>(format.elements), bytes = records * record_bytes;
    const auto size = static_cast<int64_t>(ref::size_of(type));
    c.add("x", offsetof(Args, x), rows_view(ref::Type::u8, s, bytes, s.x_pad, s.x_pad1),
          static_cast<size_t>(16 + s.x_misalign), false);
    std::vector<double> exact;
    for (int64_t i = 0; i < s.rows1 * s.rows0 * records && !c.outline; ++i) {
        uint8_t* record = c.element(c.operands[0], i * record_bytes);
        fill_record(record, format, random.chance(0.5) ? s.strange : Strange::none, random);
        const auto numbers = ref::dequantize_record(format.record, record);
        exact.insert(exact.end(), numbers.begin(), numbers.end());
    }
    c.add("y", offsetof(Args, y), rows_view(type, s, s.n, s.y_pad, s.y_pad1),
          static_cast<size_t>(16 + s.y_misalign * size), true);
    c.as<Args>().x.quant.scheme = SPARK_QUANT_RECORD;
    c.as<Args>().x.quant.record = static_cast<uint16_t>(format.record);
    c.exact = true;
    c.large = s.tier == Tier::card;
    c.note = std::string(format.name) + ", rows " + std::to_string(s.rows1) + "x" + std::to_string(s.rows0) + ", N " +
             std::to_string(s.n);
    c.expect = [exact = std::move(exact), type](size_t, const std::string&) {
        std::vector<Allowed> out;
        for (double value : exact) {
            out.push_back(exactly(type, value));
        }
        return out;
    };
    return c;
}

Entry entry(const Shape& s, const RecordFormat& format, ref::Type type, const std::string& name) {
    return {"dequantize", name, s.tier, [=](const Seed& seed) { return build(s, format, type, name, seed); }};
}

void entries(const Shape& s, const std::string& name, std::vector<Entry>& out) {
    for (size_t i = 0; i < ref::record_formats().size(); ++i) {
        for (ref::Type type : types_of(s.types)) {
            if (s.formats >> i & 1) {
                const RecordFormat& format = ref::record_formats()[i];
                out.push_back(entry(s, format, type, name + "." + format.name + "." + ref::name_of(type)));
            }
        }
    }
}

void named(std::vector<Entry>& out) {
    add_table("dequantize", SHAPES, entries, out);
    dequantize_scaled::named(out);
}

Entry random(uint64_t seed, int64_t index) {
    const std::string name = "random_" + std::to_string(index);
    Random r(seed, "dequantize." + name);
    if (index % 2 != 0) {
        return dequantize_scaled::random(r, name);
    }
    Shape s;
    s.rows1 = r.chance(0.3) ? r.between(2, 4) : 1;
    s.rows0 = r.between(1, 9);
    const RecordFormat& format = ref::record_formats()[static_cast<size_t>(
        r.between(0, static_cast<int64_t>(ref::record_formats().size()) - 1))];
    const auto elements = static_cast<int64_t>(format.elements);
    s.n = elements * (r.chance(0.7) ? r.between(1, 640 / elements) : r.between(1, 2880 / elements));
    s.x_pad = r.chance(0.3) ? r.pick<int64_t>({1, 2, 4, 6, 34, 60}) : 0;
    s.x_pad1 = r.chance(0.3) ? r.pick<int64_t>({1, 2, 4, 80}) : 0;
    s.y_pad = r.chance(0.3) ? r.pick<int64_t>({1, 4, 8, 32}) : 0;
    s.y_pad1 = r.chance(0.3) ? r.pick<int64_t>({1, 8, 64}) : 0;
    s.x_misalign = r.chance(0.3) ? r.between(1, 15) : 0;
    s.y_misalign = r.chance(0.2) ? r.between(1, 7) : 0;
    s.strange = static_cast<Strange>(r.between(0, static_cast<int64_t>(Strange::any_bits)));
    return entry(s, format, r.pick(types_of(ALL)), name);
}

void sized(const std::vector<int64_t>& dims, std::vector<Entry>& out) {
    if (dims.size() == 2 && dims[1] % 32 == 0) {
        entries({.rows0 = dims[0], .n = dims[1]}, dims_name(dims), out);
    }
}

Entry worded(Words& words) {
    const Shape s{.rows0 = words.number("rows"), .n = words.number("n")};
    const auto format = std::ranges::find_if(ref::record_formats(), [&](const auto& f) { return words.take(f.name); });
    if (format == ref::record_formats().end()) {
        return dequantize_scaled::worded(words, s.rows0, s.n);
    }
    words.one_of({"to"});
    return entry(s, *format, words.type(ALL), words.name());
}

constexpr OpCases CASES{"dequantize", named, random, sized, "rows,N (a multiple of 32)", worded};

} // namespace
} // namespace check::dequantize

const check::OpCases check::DEQUANTIZE = check::dequantize::CASES;
