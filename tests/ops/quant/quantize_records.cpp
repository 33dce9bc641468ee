// SPDX-License-Identifier: Apache-2.0
// Cases of quantize that write records. There is one right result, bit for bit; results come from tests/ref.
#include "ops/quant/records.h"

#include "ref/quantize.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace check::records {
namespace {

using ref::Record, ref::RecordFormat;

// What half of the records hold instead of ordinary numbers.
enum class Numbers {
    ordinary,
    ties,        // halfway between two codes, under a d that is a power of two
    beside_ties, // an ulp or two off
    signs,       // of one magnitude, zeros of both signs among them
    constant,    // all the same
    zeros,       // of either sign, or of both
    tiny,        // d so small that its inverse is beyond F32, or nearly
    large,       // max - min beyond F32, or nearly
    any_bits,
    every // x[i] has the bits i
};

struct Shape {
    const char* name = "";
    int64_t rows1 = 1, rows0 = 1, n = 32;
    int64_t x_pad = 0, x_pad1 = 0, y_pad = 0, y_pad1 = 0; // elements of x and bytes of y, as in rows_view
    int64_t x_misalign = 0, y_misalign = 0;               // likewise, off the 16-byte boundary
    unsigned types = ALL;
    Numbers numbers = Numbers::ordinary;
    Special special = Special::none;
    Tier tier = Tier::quick;
};

const Shape SHAPES[] = {
#include "ops/quant/quantize_records.inc"
};

std::vector<RecordFormat> written_formats() {
    std::vector<RecordFormat> formats;
    for (Record record : {Record::q8_0, Record::q4_0, Record::q4_1, Record::q5_0, Record::q5_1}) {
        formats.push_back(ref::format_of(record));
    }
    return formats;
}

// The codes that the numbers of a record are halfway between, in units of d: the first makes d, the second the minimum.
double tie(Record format, int64_t i, Random& random) {
    const int64_t half = format == Record::q8_0 ? 127 : format == Record::q4_0 || format == Record::q4_1 ? 8 : 16;
    const bool offset = format == Record::q4_1 || format == Record::q5_1;
    if (i < 2) {
        return static_cast<double>(offset ? i == 0 ? 2 * half - 1 : 0 : -half);
    }
    return static_cast<double>(offset ? random.between(0, 2 * half - 2) : random.between(-half, half - 2)) + 0.5;
}

void fill_record(Case& c, const Operand& x, int64_t first, Record format, Numbers numbers, Random& random) {
    const ref::Type type = x.view.type;
    const double unit = std::ldexp(1.0, static_cast<int>(random.between(-9, 4)));
    const double same = random.normal();
    for (int64_t i = 0; i < 32; ++i) {
        uint8_t* at = c.element(x, first + i);
        const double sign = random.chance(0.5) ? 1 : -1;
        switch (numbers) {
        case Numbers::ties: ref::store(type, unit * tie(format, i, random), at); break;
        case Numbers::beside_ties:
            ref::store(type, unit * tie(format, i, random), at);
            ref::store_bits(type, ref::load_bits(type, at) + (i < 2 ? 0 : random.below(5) - 2), at);
            break;
        case Numbers::signs: ref::store(type, sign * (random.chance(0.1) ? 0 : same), at); break;
        case Numbers::constant: ref::store(type, same, at); break;
        case Numbers::zeros: ref::store(type, same > 1 ? -0.0 : same < -1 ? 0.0 : sign * 0.0, at); break;
        case Numbers::tiny: ref::store(type, std::ldexp(random.unit() - 0.5, -122), at); break;
        case Numbers::large: ref::store(type, sign * std::ldexp(1 + random.unit() / 2, 127), at); break;
        case Numbers::any_bits:
            ref::store_bits(type, random.next() & (ref::size_of(type) == 2 ? 0xffffu : 0xffffffffu), at);
            break;
        case Numbers::every: ref::store_bits(type, static_cast<uint64_t>(first + i), at); break;
        case Numbers::ordinary: break;
        }
    }
}

Case build(const Shape& s, const RecordFormat& format, ref::Type type, const std::string& name, const Seed& seed) {
    using Args = spark_quantize_args;
    Case c = make_case<Args>("quantize", name, SPARK_OP_QUANTIZE, seed);
    Random random(seed, name);
    const auto bytes = static_cast<int64_t>(format.bytes);
    c.add("x", offsetof(Args, x), rows_view(type, s.rows1, s.rows0, s.n, s.x_pad, s.x_pad1),
          static_cast<size_t>(16 + s.x_misalign * static_cast<int64_t>(ref::size_of(type))), false);
    c.add("y", offsetof(Args, y), rows_view(ref::Type::u8, s.rows1, s.rows0, s.n / 32 * bytes, s.y_pad, s.y_pad1),
          static_cast<size_t>(16 + s.y_misalign), true);
    c.as<Args>().y.quant.scheme = SPARK_QUANT_RECORD;
    c.as<Args>().y.quant.record = static_cast<uint16_t>(format.record);
    const Operand& x = c.operands[0];
    fill(c, x, random);
    for (int64_t i = 0; i < c.to_fill(x) / 32; ++i) {
        if (s.numbers == Numbers::every || random.chance(0.5)) {
            fill_record(c, x, 32 * i, format.record, s.numbers, random);
        } else {
            make_special(c, x, s.special, i, 32, random);
        }
    }
    const std::vector<double> numbers = c.values(x);
    std::vector<uint8_t> right(numbers.size() / 32 * format.bytes);
    for (size_t i = 0; i < numbers.size() / 32; ++i) {
        ref::quantize_record(format.record, std::span(numbers).subspan(32 * i, 32), &right[i * format.bytes]);
    }
    c.exact = true;
    c.large = s.tier == Tier::card;
    c.note = std::string(format.name) + ", rows " + std::to_string(s.rows1) + "x" + std::to_string(s.rows0) + ", N " +
             std::to_string(s.n);
    c.expect = [right = std::move(right)](size_t, const std::string&) {
        std::vector<Allowed> out;
        for (uint8_t byte : right) {
            out.push_back({Allowed::bits, 0, 0, byte});
        }
        return out;
    };
    return c;
}

Entry entry(const Shape& s, const RecordFormat& format, ref::Type type, const std::string& name) {
    return {"quantize", name, s.tier, [=](const Seed& seed) { return build(s, format, type, name, seed); }};
}

void entries(const Shape& s, const std::string& name, std::vector<Entry>& out) {
    for (const RecordFormat& format : written_formats()) {
        for (ref::Type type : types_of(s.types)) {
            out.push_back(entry(s, format, type, name + "." + format.name + "." + ref::name_of(type)));
        }
    }
}

} // namespace

void named(std::vector<Entry>& out) { add_table("quantize", SHAPES, entries, out); }

Entry random(Random& r, const std::string& name) {
    Shape s;
    s.rows1 = r.chance(0.3) ? r.between(2, 3) : 1;
    s.rows0 = r.between(1, 6);
    s.n = 32 * r.between(1, r.chance(0.7) ? 9 : 40);
    s.x_pad = r.chance(0.3) ? r.pick<int64_t>({1, 4, 8, 32}) : 0;
    s.x_pad1 = r.chance(0.3) ? r.pick<int64_t>({1, 8, 64}) : 0;
    s.y_pad = r.chance(0.3) ? r.pick<int64_t>({1, 2, 4, 16}) : 0;
    s.y_pad1 = r.chance(0.3) ? r.pick<int64_t>({1, 2, 4, 64}) : 0;
    s.x_misalign = r.chance(0.2) ? r.between(1, 7) : 0;
    s.y_misalign = r.chance(0.2) ? r.between(1, 7) : 0;
    s.numbers = static_cast<Numbers>(r.between(0, static_cast<int64_t>(Numbers::any_bits)));
    s.special = static_cast<Special>(r.between(0, static_cast<int64_t>(Special::huge_row)));
    const RecordFormat format = r.pick(written_formats());
    return entry(s, format, r.pick(types_of(ALL)), name);
}

const RecordFormat* taken(Words& words) {
    for (const RecordFormat& format : written_formats()) {
        if (words.take(format.name)) {
            return &ref::format_of(format.record);
        }
    }
    return nullptr;
}

Entry worded(const RecordFormat& format, ref::Type type, int64_t rows, int64_t n, const std::string& name) {
    return entry({.rows0 = rows, .n = n}, format, type, name);
}

} // namespace check::records
