// SPDX-License-Identifier: Apache-2.0
// Cases of sample: from a row of shapes.inc (or a random one) to arguments, memory and right results.
// Called by spark-check through families.cpp; results come from tests/ref.
#include "ref/sample.h"

#include "ops/families.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace check::sample {
namespace {

// few_values: five of them, so that most tokens have equals. nan, nothing (all -infinity): every third row, masked:
// -infinity but for a few tokens. huge: up to the largest of the type, so that differences overflow.
enum class Logits { normal, equal, few_values, zeros, nan, nothing, masked, infinities, huge };
enum class Lists { none, good, bad };

struct Shape {
    const char* name = "";
    int64_t b = 1, v = 1, pad = 0, misalign = 0; // elements between rows, and off the 16-byte boundary
    unsigned types = ALL;
    Logits logits = Logits::normal;
    double scale = 2;
    bool count = false; // invalid_count is given
    float temperature = 1;
    int32_t top_k = 0;
    float top_p = 0, min_p = 0;
    Lists lists = Lists::none;
    bool seeds = false, offsets = false; // as lists
    bool unsigned_seeds = false, zero_seed = false;
    unsigned later = 0; // types of the long tier: from the first read on, all types go the same way
    Tier tier = Tier::quick;
};

const Shape SHAPES[] = {
#include "ops/sampling/shapes.inc"
};

constexpr int32_t COUNT_BEFORE = 40; // the counter is counted up, not set

// Of a weight in FP32, a = (max - l) / temperature: the difference, 1 / temperature times log2(e), and their product
// round once each, and log2(e) is off by half an ulp: 4 * 2^-24 of the exponent, so a * 2^-22 of the weight. The
// polynomial for 2^f is off by 2^-23, and its five steps round values around 1: less than 2^-22 more. Then an integer
// of 2^40.
constexpr ref::WeightError ERROR = {.relative_0 = 0x1p-21, .relative_per_a = 0x1p-22, .absolute = 0x1p-41};

double special_logit(Logits kind, ref::Type type, int64_t v, int64_t j, Random& random) {
    switch (kind) {
    case Logits::equal: return 1.5;
    case Logits::few_values: return static_cast<double>(random.below(5)) / 2;
    case Logits::zeros: return random.chance(0.3) ? -1 : random.chance(0.5) ? 0.0 : -0.0;
    case Logits::nothing: return -INFINITY;
    case Logits::masked: return random.chance(0.02) || j == v / 3 ? random.normal() : -INFINITY;
    case Logits::infinities: return j % 100 == 7 ? INFINITY : random.chance(0.2) ? -INFINITY : random.normal();
    case Logits::huge: return (2 * random.unit() - 1) * (type == ref::Type::f16 ? 65504 : 3.3e38);
    default: return random.normal();
    }
}

void fill_logits(Case& c, const Shape& s, const Operand& operand, Random& random) {
    fill(c, operand, random, s.scale);
    if (s.logits == Logits::normal || c.outline) {
        return;
    }
    for (int64_t row = 0; row < s.b; ++row) {
        if (s.logits == Logits::nan || (s.logits == Logits::nothing && row % 3 != 1)) {
            continue;
        }
        for (int64_t j = 0; j < s.v; ++j) {
            ref::store(operand.view.type, special_logit(s.logits, operand.view.type, s.v, j, random),
                       c.element(operand, row * s.v + j));
        }
    }
    // Rows 1, 4, 7, ... have a NaN: the first token, the last, any one.
    for (int64_t row = 1; s.logits == Logits::nan && row < s.b; row += 3) {
        const int64_t at = row == 1 ? 0 : row == 4 ? s.v - 1 : random.below(s.v);
        ref::store(operand.view.type, NAN, c.element(operand, row * s.v + at));
    }
}

// The settings of one row: the shape's, or where each row has its own, something near.
ref::Sample settings_of(const Shape& s, int64_t row) {
    ref::Sample op{s.temperature, s.top_p, s.min_p, s.top_k};
    switch (s.lists == Lists::none ? 0 : row % 6) {
    case 1: op.temperature = 0; break;
    case 2: op.top_k = 0; break;
    case 3: op.top_p = 0; break;
    case 4: op.temperature = static_cast<float>(op.temperature * 3), op.top_k = 2; break;
    case 5: op.top_k = 0, op.top_p = 0; break;
    default: break;
    }
    switch (s.lists == Lists::bad ? row % 7 : 0) {
    case 2: op.temperature = -1; break;
    case 3: op.temperature = NAN; break;
    case 4: op.temperature = INFINITY; break;
    case 5: op.top_p = NAN; break;
    case 6: op.min_p = NAN; break;
    default: break;
    }
    return op;
}

// A list of the settings of all rows.
template <class Get>
void add_list(Case& c, const Shape& s, const char* field, size_t at, ref::Type type, const Get& get) {
    const Operand& list = c.add(field, at, packed(type, {s.b}), 20, false);
    for (int64_t row = 0; row < s.b; ++row) {
        ref::store(type, static_cast<double>(get(settings_of(s, row))), c.element(list, row));
    }
}

// Seeds or offsets, of all 64 bits: a scalar, or a list and another scalar, which is not to be used. Returns the one of
// each row.
std::vector<uint64_t> add_numbers(Case& c, const Shape& s, const char* field, size_t at, bool list, uint64_t& scalar,
                                  Random& random) {
    scalar = s.zero_seed ? 0 : random.next();
    std::vector<uint64_t> numbers(static_cast<size_t>(s.b), scalar);
    if (!list) {
        return numbers;
    }
    const Operand& operand = c.add(field, at, packed(ref::Type::i64, {s.b}), 24, false);
    for (size_t i = 0; i < numbers.size(); ++i) {
        numbers[i] = random.next();
        ref::store_bits(ref::Type::i64, numbers[i], c.element(operand, static_cast<int64_t>(i)));
    }
    if (s.unsigned_seeds) {
        reinterpret_cast<spark_tensor*>(&c.args[at])->dtype = SPARK_DTYPE_U64;
    }
    return numbers;
}

Allowed allowed_of(const std::vector<int64_t>& ids) {
    if (ids.size() == 1) {
        return {Allowed::bits, 0, 0, static_cast<uint32_t>(ids[0])};
    }
    // The drawn number is within the error of a boundary: a neighbour is as right.
    return {Allowed::range, static_cast<float>(ids.front()), static_cast<float>(ids.back()), 0};
}

Case build(const Shape& s, ref::Type type, const std::string& name, const Seed& seed) {
    using Args = spark_sample_args;
    Case c = make_case<Args>("sample", name, SPARK_OP_SAMPLE, seed);
    Random random(seed, name);
    const View view{type, {s.b, s.v}, {std::max<int64_t>(s.v + s.pad, 1), 1}};
    const size_t base = 16 + static_cast<size_t>(s.misalign) * ref::size_of(type);
    fill_logits(c, s, c.add("logits", offsetof(Args, logits), view, base, false), random);
    c.add("ids", offsetof(Args, ids), packed(ref::Type::i32, {s.b}), 20, true);

    Args scalars{};
    scalars.temperature = s.temperature, scalars.top_k = s.top_k, scalars.top_p = s.top_p, scalars.min_p = s.min_p;
    if (s.lists != Lists::none) {
        scalars.temperature = 9, scalars.top_k = 1, scalars.top_p = 0.5f, scalars.min_p = 0.5f; // not to be used
        add_list(c, s, "temperatures", offsetof(Args, temperatures), ref::Type::f32,
                 [](const ref::Sample& op) { return op.temperature; });
        add_list(c, s, "top_ks", offsetof(Args, top_ks), ref::Type::i32,
                 [](const ref::Sample& op) { return op.top_k; });
        add_list(c, s, "top_ps", offsetof(Args, top_ps), ref::Type::f32,
                 [](const ref::Sample& op) { return op.top_p; });
        add_list(c, s, "min_ps", offsetof(Args, min_ps), ref::Type::f32,
                 [](const ref::Sample& op) { return op.min_p; });
    }
    const auto seeds = add_numbers(c, s, "seeds", offsetof(Args, seeds), s.seeds, scalars.seed, random);
    const auto offsets = add_numbers(c, s, "offsets", offsetof(Args, offsets), s.offsets, scalars.offset, random);
    c.as<Args>().temperature = scalars.temperature, c.as<Args>().top_k = scalars.top_k;
    c.as<Args>().top_p = scalars.top_p, c.as<Args>().min_p = scalars.min_p;
    c.as<Args>().seed = scalars.seed, c.as<Args>().offset = scalars.offset;
    if (s.count) {
        Operand& counter = c.add("invalid_count", offsetof(Args, invalid_count), packed(ref::Type::i32, {1}), 20, true);
        counter.input = true;
        ref::store_bits(ref::Type::i32, COUNT_BEFORE, c.element(counter, 0));
    }
    c.exact = true;
    c.large = s.tier == Tier::card;
    c.note = "B " + std::to_string(s.b) + ", V " + std::to_string(s.v);

    const std::vector<double> logits = c.values(c.operands[0]);
    std::vector<Allowed> ids;
    uint32_t refused = COUNT_BEFORE;
    for (int64_t row = 0; row < s.b && !c.outline; ++row) {
        const auto at = static_cast<size_t>(row);
        const uint32_t counter = s.seeds ? 0 : static_cast<uint32_t>(row);
        const auto right = ref::sample_row(
            settings_of(s, row), std::span(logits).subspan(at * static_cast<size_t>(s.v), static_cast<size_t>(s.v)),
            ref::drawn_number(seeds[at], offsets[at], counter), ERROR);
        refused += right[0] < 0 ? 1 : 0;
        ids.push_back(allowed_of(right));
    }
    c.expect = [ids, refused](size_t index, const std::string&) {
        return index == 1 ? ids : std::vector<Allowed>{{Allowed::bits, 0, 0, refused}};
    };
    return c;
}

Entry entry(const Shape& s, ref::Type type, const std::string& name) {
    return {"sample", name, s.tier, [=](const Seed& seed) { return build(s, type, name, seed); }};
}

void expand(const Shape& s, const std::string& name, std::vector<Entry>& out) {
    const std::vector<ref::Type> later = types_of(s.later);
    for (ref::Type type : types_of(s.types)) {
        out.push_back(entry(s, type, name + "." + ref::name_of(type)));
        if (std::ranges::count(later, type) != 0) {
            out.back().tier = std::max(s.tier, Tier::longer);
        }
    }
}

void named(std::vector<Entry>& out) { add_table("sample", SHAPES, expand, out); }

Entry random(uint64_t seed, int64_t index) {
    const std::string name = "random_" + std::to_string(index);
    Random r(seed, "sample." + name);
    Shape s;
    s.b = r.between(1, 8);
    s.v = r.chance(0.3) ? r.between(1, 40) : r.chance(0.7) ? r.between(41, 1500) : r.between(1501, 7000);
    s.pad = r.pick<int64_t>({0, 0, 8, 1, 5});
    s.misalign = r.chance(0.2) ? r.between(1, 7) : 0;
    s.logits =
        r.pick<Logits>({Logits::normal, Logits::normal, Logits::normal, Logits::equal, Logits::few_values,
                        Logits::zeros, Logits::nan, Logits::nothing, Logits::masked, Logits::infinities, Logits::huge});
    s.scale = r.pick<double>({0.1, 1, 3, 10});
    s.count = r.chance(0.5);
    s.temperature = r.pick<float>({0, 0.3f, 0.8f, 1, 1, 2, 30});
    s.top_k = r.chance(0.5) ? 0 : static_cast<int32_t>(r.chance(0.6) ? r.between(-1, 60) : r.between(1, 3000));
    s.top_p = r.chance(0.5) ? 0 : static_cast<float>(r.unit() * 1.1);
    s.min_p = r.chance(0.7) ? 0 : static_cast<float>(r.unit() * r.unit());
    s.lists = r.pick<Lists>({Lists::none, Lists::none, Lists::good, Lists::bad});
    s.seeds = r.chance(0.5), s.offsets = r.chance(0.5);
    s.unsigned_seeds = r.chance(0.5);
    return entry(s, r.pick(types_of(ALL)), name);
}

void sized(const std::vector<int64_t>& dims, std::vector<Entry>& out) {
    if (dims.size() == 2) {
        const Shape s{.b = dims[0], .v = dims[1], .top_k = 50, .top_p = 0.9f};
        for (ref::Type type : types_of(ALL)) {
            out.push_back(entry(s, type, dims_name(dims) + "." + ref::name_of(type)));
        }
    }
}

// Logits of the bench are near each other: such a temperature gives them the ratios of a model's.
Entry worded(Words& words) {
    Shape s{.b = words.number("rows"), .v = words.number("v")};
    const std::string k = words.value("k"), p = words.value("p");
    if (!p.empty() && p != "0.9") {
        words.refuse("p=" + p + ": rows have 0.9");
    }
    if (k.empty() && p.empty()) {
        words.one_of({"greedy"});
    }
    s.temperature = k.empty() && p.empty() ? 0 : 0.1f;
    s.top_k = k.empty() ? 0 : static_cast<int32_t>(words.count(k, "k"));
    s.top_p = p.empty() ? 0 : 0.9f;
    return entry(s, words.type(ALL), words.name());
}

constexpr OpCases CASES{"sample", named, random, sized, "rows,V", worded};

} // namespace
} // namespace check::sample

const check::OpCases check::SAMPLE = check::sample::CASES;
