// SPDX-License-Identifier: Apache-2.0
// Cases of cast: from a row of shapes.inc (or a random one) to arguments, memory and right results.
// Called by spark-check through families.cpp; results come from tests/ref. Nine pairs of types unless the row says
// otherwise; one right result, bit for bit, but for the bits of a converted NaN.
#include "ref/cast.h"

#include "ops/families.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>

namespace check::cast {
namespace {

using Dims = std::vector<int64_t>;

struct Shape {
    const char* name = "";
    Dims shape = {1};
    Dims x_order = {}, y_order = {};        // dimensions as they lie in memory, outermost first; empty: as in shape
    int64_t x_pad = 0, y_pad = 0;           // elements added to the innermost dimension in memory
    int64_t x_misalign = 0, y_misalign = 0; // elements off the 16-byte boundary
    int64_t x_same = -1;                    // the dimension of x whose elements are one
    unsigned from = ALL, to = ALL;
    Tier tier = Tier::quick;
};

const Shape SHAPES[] = {
#include "ops/convert/shapes.inc"
};

View view_of(ref::Type type, const Dims& shape, Dims order, int64_t pad) {
    if (order.empty()) {
        order.resize(shape.size());
        std::iota(order.begin(), order.end(), 0);
    }
    View view{type, shape, Dims(shape.size())};
    int64_t step = 1;
    for (size_t i = order.size(); i-- > 0;) {
        const auto d = static_cast<size_t>(order[i]);
        view.stride[d] = step;
        step *= std::max<int64_t>(shape[d] + (i + 1 == order.size() ? pad : 0), 1);
    }
    return view;
}

// Where rounding may go wrong: random bits (NaN, infinity, subnormals), midpoints of the target and numbers just
// beside them, numbers near the ends of its range, zeros of both signs.
uint64_t draw(ref::Type from, ref::Type to, Random& random) {
    if (random.chance(0.4)) {
        return random.next() & (ref::size_of(from) == 2 ? 0xffffu : 0xffffffffu);
    }
    const ref::Format format = ref::format_of(to);
    double value = random.normal();
    if (random.chance(0.5)) { // a midpoint: odd multiples of half a unit, of normal and of subnormal numbers
        const int exponent = static_cast<int>(random.between(format.min_exponent() - 3, format.max_exponent()));
        const double unit = ref::ulp(to, std::ldexp(1, exponent));
        value = ref::rounded(to, std::ldexp(1 + random.unit(), exponent)) + unit / 2;
        value += unit * static_cast<double>(random.between(-1, 1)) * 0x1p-9;
    } else if (random.chance(0.2)) {
        value = random.chance(0.5) ? 0.0 : std::ldexp(1.99 + 0.02 * random.unit(), format.max_exponent());
    }
    return ref::encode(from, random.chance(0.5) ? value : -value);
}

Case build(const Shape& s, ref::Type from, ref::Type to, const std::string& name, const Seed& seed) {
    using Args = spark_cast_args;
    Case c = make_case<Args>("cast", name, SPARK_OP_CAST, seed);
    Random random(seed, name);
    const auto base = [](int64_t misalign, ref::Type type) {
        return 16 + static_cast<size_t>(misalign) * ref::size_of(type);
    };
    View x = view_of(from, s.shape, s.x_order, s.x_pad);
    if (s.x_same >= 0) {
        x.stride[static_cast<size_t>(s.x_same)] = 0;
    }
    c.add("x", offsetof(Args, x), x, base(s.x_misalign, from), false);
    std::vector<Allowed> allowed;
    std::map<const uint8_t*, uint64_t> drawn; // elements that are one have one number
    for (int64_t i = 0; i < c.to_fill(c.operands[0]); ++i) {
        const uint64_t bits = drawn.try_emplace(c.element(c.operands[0], i), draw(from, to, random)).first->second;
        ref::store_bits(from, bits, c.element(c.operands[0], i));
        const double value = ref::decode(to, ref::cast(from, to, bits));
        allowed.push_back(from == to ? Allowed{Allowed::bits, 0, 0, static_cast<uint32_t>(bits)} : exactly(to, value));
    }
    c.add("y", offsetof(Args, y), view_of(to, s.shape, s.y_order, s.y_pad), base(s.y_misalign, to), true);
    c.exact = true;
    c.large = s.tier == Tier::card;
    c.note = "shape " + dims_name(s.shape) + ", y in memory " + (s.y_order.empty() ? "as it is" : dims_name(s.y_order));
    c.expect = [allowed = std::move(allowed)](size_t, const std::string&) { return allowed; };
    return c;
}

Entry entry(const Shape& s, ref::Type from, ref::Type to, const std::string& name) {
    return {"cast", name, s.tier, [=](const Seed& seed) { return build(s, from, to, name, seed); }};
}

void entries(const Shape& s, const std::string& name, std::vector<Entry>& out) {
    for (ref::Type from : types_of(s.from)) {
        for (ref::Type to : types_of(s.to)) {
            out.push_back(entry(s, from, to, name + "." + ref::name_of(from) + "." + ref::name_of(to)));
        }
    }
}

void named(std::vector<Entry>& out) { add_table("cast", SHAPES, entries, out); }

Dims shuffled(size_t count, Random& r) {
    Dims order(count);
    std::iota(order.begin(), order.end(), 0);
    for (size_t i = count; i > 1; --i) {
        std::swap(order[i - 1], order[static_cast<size_t>(r.below(static_cast<int64_t>(i)))]);
    }
    return order;
}

Entry random(uint64_t seed, int64_t index) {
    const std::string name = "random_" + std::to_string(index);
    Random r(seed, "cast." + name);
    Shape s;
    s.shape.resize(static_cast<size_t>(r.between(1, 6)));
    int64_t room = 6000; // elements
    for (int64_t& size : s.shape) {
        size = r.chance(0.3) ? 8 * r.between(1, 8) : r.between(1, 13);
        size = std::min(size, std::max<int64_t>(room, 1));
        room /= size;
    }
    const bool same_order = r.chance(0.5);
    s.y_order = r.chance(0.4) ? Dims() : shuffled(s.shape.size(), r);
    s.x_order = same_order ? s.y_order : shuffled(s.shape.size(), r);
    s.x_pad = r.chance(0.3) ? r.pick<int64_t>({1, 4, 8, 16}) : 0;
    s.y_pad = r.chance(0.3) ? r.pick<int64_t>({1, 4, 8, 16}) : 0;
    s.x_misalign = r.chance(0.2) ? r.between(1, 7) : 0;
    s.y_misalign = r.chance(0.2) ? r.between(1, 7) : 0;
    const auto to = r.pick(types_of(ALL)); // one draw a line: arguments have no order
    const auto from = r.pick(types_of(ALL));
    return entry(s, from, to, name);
}

void sized(const std::vector<int64_t>& dims, std::vector<Entry>& out) {
    if (!dims.empty() && dims.size() <= SPARK_MAX_NDIM) {
        entries({.shape = dims}, dims_name(dims), out);
    }
}

Entry worded(Words& words) {
    const int64_t rows = words.number("rows");
    Shape s{.shape = {rows, words.number("n")}};
    s.x_order = words.take("transposed") ? Dims{1, 0} : Dims{};
    words.one_of({"to"});
    const ref::Type from = words.next_type(ALL), to = words.next_type(ALL);
    return entry(s, from, to, words.name());
}

constexpr OpCases CASES{"cast", named, random, sized, "sizes, up to six", worded};

} // namespace
} // namespace check::cast

const check::OpCases check::CAST = check::cast::CASES;
