// SPDX-License-Identifier: Apache-2.0
// Cases of quantize to codes with scales beside them: from a row of quantize.inc (or a random one) to arguments, memory
// and right results. Called by spark-check through families.cpp; results come from tests/ref. There is one right
// result, bit for bit, but for the bits of a scale that is NaN.
#include "ref/quantize.h"

#include "ops/quant/quantized.h"
#include "ops/quant/records.h"
#include "ref/amax.h"

#include <cmath>
#include <cstddef>

namespace check::quantize {
namespace {

// How codes are rounded: at random with seed and offset as scalars, as tensors, or as tensors of U64.
enum class Draw { nearest, scalars, tensors, unsigned_tensors };

struct Shape {
    const char* name = "";
    int64_t rows1 = 1, rows0 = 1, n = 1;
    int64_t x_pad = 0, x_pad1 = 0, y_pad = 0, y_pad1 = 0; // elements between rows, and after each group of rows0 rows
    int64_t x_misalign = 0, y_misalign = 0;               // elements off the 16-byte boundary
    bool scale_columns = false;
    int64_t scale_pad = 0;
    unsigned forms = ALL_FORMS, types = ALL, codes = E4M3;
    float amax_floor = 0;
    bool given = false, own = false; // the scale of all; or made of x's own amax
    bool no_whole = false;           // NVFP4 without a scale of all
    bool tiled = false;
    float scale = 1;
    bool ties = false, any_bits = false; // numbers between two of the codes' under that scale; random bits
    bool beside = false;                 // ties, or up to two ulp beside one
    bool every = false, edges = false;   // x[i] has the bits i; the largest of a block is where rules change their mind
    Special special = Special::none;
    ref::Rule rule = ref::Rule::floor;
    ref::Type stored = ref::Type::f16; // scales of FOURS
    Draw draw = Draw::nearest;
    Tier tier = Tier::quick;
};

const Shape SHAPES[] = {
#include "ops/quant/quantize.inc"
};

// Between two numbers of the form; of E2M1 beside a 6 that makes the block's own scale 1.
double between(const Form& form, int64_t place, Random& random) {
    if (in_halves(form) && place % 16 == 0) {
        return 6;
    }
    const int largest = code_bits(form) < 8             ? (1 << (code_bits(form) - 1)) - 1
                        : form.codes == ref::Type::e5m2 ? 0x7b
                                                        : 0x7e;
    const auto code = static_cast<int>(random.below(largest));
    const auto of = [&](int bits) { return of_code(form, static_cast<uint8_t>(bits)); };
    return (of(code) + of(code + 1)) / 2;
}

// A number where rules of powers of two change their mind, or an ulp beside it: a power, the largest of a format, the
// one half a unit before the next power; or such a one that is subnormal in FP32.
void put_edge(Case& c, const Operand& x, int64_t i, bool subnormal, Random& random) {
    const double at = random.pick<double>({1, 1.5, 1.75, 1.875, 1.9375, 1.984375, 1.9921875});
    const auto power = static_cast<int>(subnormal ? random.between(-128, -126) : random.between(-10, 10));
    ref::store(x.view.type, at * std::ldexp(1.0, power), c.element(x, i));
    ref::store_bits(x.view.type, ref::load_bits(x.view.type, c.element(x, i)) + random.below(3) - 1, c.element(x, i));
}

void fill_x(Case& c, const Shape& s, const Form& form, Random& random) {
    const Operand& x = c.operands[0];
    fill(c, x, random);
    for (int64_t i = 0; i < c.to_fill(x); ++i) {
        if (s.every) {
            ref::store_bits(x.view.type, static_cast<uint64_t>(i), c.element(x, i));
        } else if (s.edges && i % s.n % 32 == 0) {
            put_edge(c, x, i, i / s.n % 4 == 3, random);
        } else if (s.edges) {
            ref::store(x.view.type, std::ldexp(random.unit() - 0.5, i / s.n % 4 == 3 ? -128 : -10), c.element(x, i));
        } else if (s.any_bits) {
            ref::store_bits(x.view.type, random.next() & (ref::size_of(x.view.type) == 2 ? 0xffffu : 0xffffffffu),
                            c.element(x, i));
        } else if (s.ties) {
            const double sign = random.chance(0.5) ? 1 : -1;
            ref::store(x.view.type, between(form, i % s.n, random) * static_cast<double>(s.scale) * sign,
                       c.element(x, i));
            if (s.beside && !(in_halves(form) && i % s.n % 16 == 0)) {
                const uint64_t bits = ref::load_bits(x.view.type, c.element(x, i));
                ref::store_bits(x.view.type, bits + random.below(5) - 2, c.element(x, i));
            }
        }
    }
    for (int64_t row = 0; row < s.rows1 * s.rows0; row += 2) {
        make_special(c, x, s.special, row, s.n, random);
    }
}

Quantising quantising(const Shape& s, const Form& form) {
    return {.form = form,
            .place = {s.rows1, s.rows0, s.n, s.scale_columns, s.scale_pad, s.tiled, s.stored},
            .given = s.given,
            .no_whole = s.no_whole,
            .scale = s.scale,
            .amax_floor = s.amax_floor,
            .rule = s.rule};
}

// The scale of all, given or to be made, and the amax that it is made of.
void add_whole(Case& c, const Shape& s, const Form& form, double amax) {
    using Args = spark_quantize_args;
    const View one = packed(ref::Type::f32, {1});
    if (form == NVFP4) {
        c.add_array("y.quant.global_scale", offsetof(Args, y.quant.global_scale), one, 4, !s.given);
    }
    if (s.given) {
        ref::store(ref::Type::f32, static_cast<double>(s.scale), c.element(c.operands.back(), 0));
    } else if (s.own) {
        c.as<Args>().hdr.flags |= SPARK_QUANTIZE_OWN_AMAX;
    } else {
        c.add("amax", offsetof(Args, amax), one, 4, false);
        ref::store(ref::Type::f32, amax, c.element(c.operands.back(), 0));
    }
}

// Seed or offset, of all 64 bits: a scalar, or a tensor and another scalar, which is not to be used.
uint64_t add_random(Case& c, const Shape& s, const char* field, size_t at, uint64_t& scalar, Random& random) {
    scalar = random.next();
    if (s.draw == Draw::scalars) {
        return scalar;
    }
    const Operand& operand = c.add(field, at, packed(ref::Type::i64, {1}), 24, false);
    const uint64_t number = random.next();
    ref::store_bits(ref::Type::i64, number, c.element(operand, 0));
    if (s.draw == Draw::unsigned_tensors) {
        reinterpret_cast<spark_tensor*>(&c.args[at])->dtype = SPARK_DTYPE_U64;
    }
    return number;
}

// The random words of `count` elements, if there are to be such.
std::vector<uint16_t> add_words(Case& c, const Shape& s, size_t count, Random& random) {
    using Args = spark_quantize_args;
    if (s.draw == Draw::nearest) {
        return {};
    }
    c.as<Args>().hdr.flags |= SPARK_QUANTIZE_STOCHASTIC;
    uint64_t scalar;
    const uint64_t seed = add_random(c, s, "seeds", offsetof(Args, seeds), scalar, random);
    c.as<Args>().seed = scalar;
    const uint64_t offset = add_random(c, s, "offsets", offsetof(Args, offsets), scalar, random);
    c.as<Args>().offset = scalar;
    return ref::random_words(seed, offset, count);
}

Case build(const Shape& s, const Form& form, ref::Type type, const std::string& name, const Seed& seed) {
    using Args = spark_quantize_args;
    Case c = make_case<Args>("quantize", name, SPARK_OP_QUANTIZE, seed);
    Random random(seed, name);
    const Quantising how = quantising(s, form);
    const Scales& place = how.place;
    const View scales = view_of(place, form);
    c.add("x", offsetof(Args, x), rows_view(type, s.rows1, s.rows0, s.n, s.x_pad, s.x_pad1),
          static_cast<size_t>(16 + s.x_misalign * static_cast<int64_t>(ref::size_of(type))), false);
    c.add("y", offsetof(Args, y),
          rows_view(ref::Type::u8, s.rows1, s.rows0, code_bytes(form, s.n), pad_of(form, s.n, s.y_pad),
                    pad_of(form, 0, s.y_pad1)),
          static_cast<size_t>(16 + s.y_misalign), true);
    describe(c.as<Args>().y, form, place);
    c.add_array("y.quant.scale", offsetof(Args, y.quant.scale), scales, 4, form != TENSOR || !s.given);
    const bool mx = (form & MX) != 0;
    c.as<Args>().amax_floor = mx || form == NVFP4 ? 0 : s.amax_floor;
    c.as<Args>().rule = s.rule == ref::Rule::rceil           ? SPARK_SCALE_RULE_RCEIL
                        : s.rule == ref::Rule::even          ? SPARK_SCALE_RULE_EVEN
                        : s.rule == ref::Rule::four_over_six ? SPARK_SCALE_RULE_FOUR_OVER_SIX
                        : mx && s.n % 8 == 0                 ? SPARK_SCALE_RULE_FLOOR
                                                             : SPARK_SCALE_RULE_USUAL;
    fill_x(c, s, form, random);
    const std::vector<double> x = c.values(c.operands[0]);
    if (form == TENSOR || (form == NVFP4 && !s.no_whole)) {
        add_whole(c, s, form, ref::amax(x));
    }
    const auto words = add_words(c, s, x.size(), random);
    QuantizedNumbers right = c.outline ? QuantizedNumbers{} : quantized(how, x, words);
    c.exact = true;
    c.large = s.tier == Tier::card;
    c.note = std::string(in_tiles(place, form) ? "scales in tiles, " : "") + "a scale for each " + name_of(form) +
             ", rows " + std::to_string(s.rows1) + "x" + std::to_string(s.rows0) + ", N " + std::to_string(s.n);
    c.expect = [right = std::move(right), empty = x.empty(), type = scales.type](size_t operand, const std::string&) {
        return operand == 1   ? allowed_bytes(right.y)
               : operand == 2 ? allowed_scales(right.scales, type, empty)
                              : allowed_scales(std::vector<double>{right.whole}, ref::Type::f32, empty);
    };
    return c;
}

Entry entry(const Shape& s, const Form& form, ref::Type type, const std::string& name) {
    return {"quantize", name, s.tier, [=](const Seed& seed) { return build(s, form, type, name, seed); }};
}

// Zeros are not written, and so no U4.
std::vector<Form> written_forms(unsigned mask, unsigned codes) {
    std::vector<Form> forms = forms_of(mask, codes);
    std::erase_if(forms, [](const Form& form) { return form.codes == ref::Type::u8; });
    return forms;
}

void entries(const Shape& s, const std::string& name, std::vector<Entry>& out) {
    for (const Form& form : written_forms(s.forms, s.codes)) {
        for (ref::Type type : types_of(s.types)) {
            out.push_back(entry(s, form, type, name + "." + name_of(form) + "." + ref::name_of(type)));
        }
    }
}

void named(std::vector<Entry>& out) {
    add_table("quantize", SHAPES, entries, out);
    records::named(out);
}

Entry random(uint64_t seed, int64_t index) {
    const std::string name = "random_" + std::to_string(index);
    Random r(seed, "quantize." + name);
    if (index % 4 == 3) {
        return records::random(r, name);
    }
    Shape s;
    s.rows1 = r.chance(0.3) ? r.between(2, 3) : 1;
    s.rows0 = r.between(1, 6);
    s.n = r.chance(0.5) ? 4 * r.between(1, 160) : r.between(1, 600);
    s.x_pad = r.chance(0.3) ? r.pick<int64_t>({1, 4, 8, 32}) : 0;
    s.x_pad1 = r.chance(0.3) ? r.pick<int64_t>({1, 8, 64}) : 0;
    s.y_pad = r.chance(0.3) ? r.pick<int64_t>({1, 4, 16}) : 0;
    s.x_misalign = r.chance(0.2) ? r.between(1, 7) : 0;
    s.y_misalign = r.chance(0.2) ? r.between(1, 7) : 0;
    s.scale_columns = r.chance(0.3);
    s.amax_floor = r.chance(0.3) ? 1e-4f : 0;
    s.special = static_cast<Special>(r.between(0, static_cast<int64_t>(Special::huge_row)));
    s.any_bits = r.chance(0.1);
    const Form form = r.pick(written_forms(ALL_FORMS | FOURS, E4M3 | E5M2 | I8));
    s.stored = r.pick(types_of(ALL));
    s.given = (form == TENSOR || form == NVFP4) && r.chance(0.3);
    s.own = !s.given && r.chance(0.5);
    s.tiled = r.chance(0.3);
    s.no_whole = !s.given && r.chance(0.2);
    s.scale = static_cast<float>(r.normal());
    s.edges = r.chance(0.1);
    s.draw = (form & FOURS) == 0 && r.chance(0.3) ? static_cast<Draw>(r.between(1, 3)) : Draw::nearest;
    const bool mx = (form & MX) != 0, rules = form != NVFP4 && (form & FOURS) == 0 && !s.given;
    s.rule = form == NVFP4 && s.draw == Draw::nearest && r.chance(0.5) ? ref::Rule::four_over_six
             : rules && r.chance(0.3)                                  ? ref::Rule::rceil
             : mx && r.chance(0.3)                                     ? ref::Rule::even
                                                                       : ref::Rule::floor;
    return entry(s, form, r.pick(types_of(ALL)), name);
}

void sized(const std::vector<int64_t>& dims, std::vector<Entry>& out) {
    if (dims.size() == 2) {
        entries({.rows0 = dims[0], .n = dims[1]}, dims_name(dims), out);
    }
}

// A scale for all is given, or made of x's own amax; those of rows and blocks are found.
Entry worded(Words& words) {
    Shape s{.rows0 = words.number("rows"), .n = words.number("n")};
    if (const ref::RecordFormat* format = records::taken(words)) {
        return records::worded(*format, words.type(ALL), s.rows0, s.n, words.name());
    }
    const Form form = worded_form(words);
    s.tiled = (form & (MX | NVFP4)) != 0 && words.take("tiled");
    s.own = (form == TENSOR || form == NVFP4) && words.take("own-amax");
    s.given = (form == TENSOR || form == NVFP4) && !s.own;
    if (form == NVFP4 && words.take("four-over-six")) {
        s.rule = ref::Rule::four_over_six;
    } else if (words.take("stochastic")) {
        s.draw = Draw::scalars;
    }
    return entry(s, form, words.type(ALL), words.name());
}

constexpr OpCases CASES{"quantize", named, random, sized, "rows,N", worded};

} // namespace
} // namespace check::quantize

const check::OpCases check::QUANTIZE = check::quantize::CASES;
