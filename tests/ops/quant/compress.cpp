// SPDX-License-Identifier: Apache-2.0
// Cases of compress: from a row of compress.inc (or a random one) to arguments, memory and right results.
// Called by spark-check through families.cpp; results come from tests/ref. Bits are moved: there is one right result.
#include "ref/compress.h"

#include "ops/families.h"

#include <cstddef>
#include <utility>

namespace check::compress {
namespace {

// Numbers; few magnitudes, so that there are equals; all bits; two zeros in each four.
enum class Values { normal, few, strange, pruned };

struct Shape {
    const char* name = "";
    int64_t rows1 = 1, rows0 = 1, n = 4;
    int64_t x_pad = 0, x_pad1 = 0, y_pad = 0, kept_pad = 0;    // elements after each row, and after each rows0 of them
    int64_t x_misalign = 0, y_misalign = 0, kept_misalign = 0; // elements off the 16-byte boundary
    Values values = Values::normal;
    Tier tier = Tier::quick;
};

const Shape SHAPES[] = {
#include "ops/quant/compress.inc"
};

void fill_values(Case& c, const Operand& x, Values values, Random& random) {
    for (int64_t i = 0; i < c.to_fill(x); ++i) {
        const double number = random.normal();
        const uint64_t any = random.next();
        const bool zero = values == Values::pruned && (i % 4 + i / 4) % 4 < 2;
        if (values == Values::strange) {
            ref::store_bits(x.view.type, any & (ref::size_of(x.view.type) == 1 ? 0xff : 0xffff), c.element(x, i));
        } else {
            const double few = static_cast<double>(any % 5) - 2;
            ref::store(x.view.type, zero ? 0 : values == Values::few ? few : number, c.element(x, i));
        }
    }
}

// The right elements of y, and the right bytes of kept.
std::pair<std::vector<Allowed>, std::vector<Allowed>> results(Case& c, const Shape& s) {
    std::pair<std::vector<Allowed>, std::vector<Allowed>> right;
    const Operand x = c.operands[0];
    std::vector<uint64_t> four;
    for (int64_t i = 0; i < c.to_fill(x); ++i) {
        four.push_back(ref::load_bits(x.view.type, c.element(x, i)));
        if (four.size() < 4) {
            continue;
        }
        const unsigned places = ref::places_of_two(four, ref::size_of(x.view.type));
        for (const unsigned place : {places & 3, places >> 2}) {
            right.first.push_back({.kind = Allowed::bits, .pattern = static_cast<uint32_t>(four[place])});
        }
        if (i % s.n % 8 < 4) {
            right.second.push_back({.kind = Allowed::bits, .pattern = places});
        } else {
            right.second.back().pattern |= places << 4;
        }
        four.clear();
    }
    return right;
}

Case build(const Shape& s, ref::Type type, const std::string& name, const Seed& seed) {
    using Args = spark_compress_args;
    Case c = make_case<Args>("compress", name, SPARK_OP_COMPRESS, seed);
    Random random(seed, name);
    const auto base = [&](int64_t elements) { return 16 + static_cast<size_t>(elements) * ref::size_of(type); };
    const View x = rows_view(type, s.rows1, s.rows0, s.n, s.x_pad, s.x_pad1);
    fill_values(c, c.add("x", offsetof(Args, x), x, base(s.x_misalign), false), s.values, random);
    c.add("y", offsetof(Args, y), rows_view(type, s.rows1, s.rows0, s.n / 2, s.y_pad, 0), base(s.y_misalign), true);
    c.add("kept", offsetof(Args, kept), rows_view(ref::Type::u8, s.rows1, s.rows0, (s.n + 7) / 8, s.kept_pad, 0),
          static_cast<size_t>(16 + s.kept_misalign), true);
    c.exact = true;
    c.large = s.tier == Tier::card;
    c.note = "rows " + std::to_string(s.rows1 * s.rows0) + ", n " + std::to_string(s.n);
    c.kind = any_kernel;
    c.expect = [right = results(c, s)](size_t index, const std::string&) {
        return index == 1 ? right.first : right.second;
    };
    return c;
}

Entry entry(const Shape& s, ref::Type type, const std::string& name) {
    return {"compress", name, s.tier, [=](const Seed& seed) { return build(s, type, name, seed); }};
}

void expand(const Shape& s, const std::string& name, std::vector<Entry>& out) {
    for (ref::Type type : types_of(BF16 | F16 | E4M3 | E5M2)) {
        out.push_back(entry(s, type, name + "." + ref::name_of(type)));
    }
}

void named(std::vector<Entry>& out) { add_table("compress", SHAPES, expand, out); }

Entry random(uint64_t seed, int64_t index) {
    const std::string name = "random_" + std::to_string(index);
    Random r(seed, "compress." + name);
    Shape s;
    s.rows1 = r.chance(0.3) ? r.between(2, 3) : 1;
    s.rows0 = r.between(1, 20);
    s.n = 4 * (r.chance(0.5) ? 2 * r.between(1, 30) : r.between(1, 60));
    s.x_pad = r.pick<int64_t>({0, 0, 8, 1});
    s.x_pad1 = r.pick<int64_t>({0, 0, 8, 3});
    s.y_pad = r.pick<int64_t>({0, 0, 4, 1});
    s.kept_pad = r.pick<int64_t>({0, 0, 1, 5});
    s.x_misalign = r.chance(0.1) ? r.between(1, 7) : 0;
    s.y_misalign = r.chance(0.1) ? r.between(1, 7) : 0;
    s.kept_misalign = r.chance(0.1) ? r.between(1, 7) : 0;
    s.values = r.pick<Values>({Values::normal, Values::few, Values::strange, Values::pruned});
    return entry(s, r.pick(types_of(BF16 | F16 | E4M3 | E5M2)), name);
}

void sized(const std::vector<int64_t>& dims, std::vector<Entry>& out) {
    if (dims.size() == 2) {
        expand({.rows0 = dims[0], .n = dims[1]}, dims_name(dims), out);
    }
}

Entry worded(Words& words) {
    Shape s;
    s.rows0 = words.number("rows"), s.n = words.number("n");
    return entry(s, words.type(BF16 | F16 | E4M3 | E5M2), words.name());
}

constexpr OpCases CASES{"compress", named, random, sized, "rows,n", worded};

} // namespace
} // namespace check::compress

const check::OpCases check::COMPRESS = check::compress::CASES;
