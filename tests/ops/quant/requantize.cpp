// SPDX-License-Identifier: Apache-2.0
// Cases of requantize: from a row of requantize.inc (or a random one) to arguments, memory and right results. Called by
// spark-check through families.cpp; results come from tests/ref, of the matrix and of the transposed one. There is one
// right result, bit for bit, but for the bits of a scale that is NaN.
#include "ops/quant/quantized.h"
#include "ref/amax.h"

#include <cmath>
#include <cstddef>
#include <map>
#include <optional>

namespace check::requantize {
namespace {

using Args = spark_requantize_args;

struct Shape {
    const char* name = "";
    int64_t batch = 1, rows = 1, columns = 1;
    int64_t x_pad = 0, x_pad1 = 0, y_pad = 0, y_pad1 = 0; // elements between rows, and after each matrix
    int64_t x_misalign = 0, y_misalign = 0;               // elements off the 16-byte boundary
    bool straight = true, turned = true;                  // which outputs there are
    bool scale_columns = false, tiled = false, from_tiled = false;
    int64_t scale_pad = 0;
    unsigned forms = TENSOR | B128 | MXFP8 | NVFP4, codes = E4M3; // of the outputs
    unsigned types = BF16;                                        // of x; 0: codes of the forms `from`
    unsigned from = 0, from_codes = E4M3;
    float amax_floor = 0, scale = 0.5f;
    bool given = false, own = false, no_whole = false, zeros = false, any_bits = false;
    Special special = Special::none;
    ref::Rule rule = ref::Rule::floor;
    ref::Type stored = ref::Type::f16; // scales of FOURS
    Tier tier = Tier::quick;
};

const Shape SHAPES[] = {
#include "ops/quant/requantize.inc"
};

// What x is: numbers of a type, or codes of a form.
struct Source {
    ref::Type type;
    std::optional<Form> form;
};

bool is_int4(const Form& form) { return (form & INT4) != 0; }

std::vector<double> add_numbers(Case& c, const Shape& s, ref::Type type, Random& random) {
    const Operand& x = c.add("x", offsetof(Args, x), rows_view(type, s.batch, s.rows, s.columns, s.x_pad, s.x_pad1),
                             static_cast<size_t>(16 + s.x_misalign * static_cast<int64_t>(ref::size_of(type))), false);
    fill(c, x, random);
    for (int64_t i = 0; s.any_bits && i < c.to_fill(x); ++i) {
        ref::store_bits(type, random.next() & (ref::size_of(type) == 2 ? 0xffffu : 0xffffffffu), c.element(x, i));
    }
    for (int64_t row = 0; row < s.batch * s.rows; row += 2) {
        make_special(c, x, s.special, row, s.columns, random);
    }
    return c.values(c.operands[0]);
}

// Any codes, under scales that are usual ones, or with any_bits some that are not.
double scale_drawn(const Shape& s, Random& random) {
    const double usual = random.normal();
    return s.any_bits && random.chance(0.3) ? random.pick<double>({0, NAN, INFINITY, 0x1p-140, 0x1.8p120}) : usual;
}

void add_scales(Case& c, const Shape& s, const Form& form, const Scales& place, Random& random) {
    const View view = view_of(place, form);
    const size_t at = c.operands.size();
    c.add_array("x.quant.scale", offsetof(Args, x.quant.scale), view, 4, false);
    for (int64_t i = 0; i < c.to_fill(c.operands[at]); ++i) {
        const double scale = scale_drawn(s, random);
        const double stored = form & MX       ? ref::mx_scale_of(std::fabs(scale))
                              : form == NVFP4 ? ref::to_e4m3(scale) // the sign is not looked at
                                              : scale;
        ref::store(view.type, stored, c.element(c.operands[at], i));
    }
}

// Of INT4 zeros, if there are any, in the places of scales, each as it stands for these.
std::vector<int> add_zeros(Case& c, bool any, Random& random) {
    const Operand scales = c.operands[1];
    std::vector<int> numbers(static_cast<size_t>(std::max<int64_t>(c.to_fill(scales), 0)), 0);
    if (!any) return numbers;
    const int64_t bytes = (scales.view.span() + 1) / 2;
    c.as<Args>().x.quant.zero_dtype = SPARK_DTYPE_U4;
    c.as<Args>().x.quant.zero_bytes = static_cast<uint64_t>(bytes);
    c.add_array("x.quant.zero_point", offsetof(Args, x.quant.zero_point), packed(ref::Type::u8, {bytes}), 1, false);
    const Operand& zeros = c.operands.back();
    for (int64_t i = 0; i < c.to_fill(zeros); ++i) {
        *c.element(zeros, i) = static_cast<uint8_t>(random.next());
    }
    for (size_t i = 0; i < numbers.size(); ++i) {
        const int64_t at = scales.view.offset(static_cast<int64_t>(i));
        numbers[i] = *c.element(zeros, at / 2) >> at % 2 * 4 & 15;
    }
    return numbers;
}

std::vector<double> add_codes(Case& c, const Shape& s, const Form& form, Random& random) {
    const Scales place{s.batch, s.rows, s.columns, s.scale_columns, s.scale_pad, s.from_tiled, s.stored};
    const int64_t width = code_bytes(form, s.columns);
    c.add("x", offsetof(Args, x),
          rows_view(ref::Type::u8, s.batch, s.rows, width, pad_of(form, s.columns, s.x_pad), pad_of(form, 0, s.x_pad1)),
          static_cast<size_t>(16 + s.x_misalign), false);
    describe(c.as<Args>().x, form, place);
    for (int64_t i = 0; i < c.to_fill(c.operands[0]); ++i) {
        *c.element(c.operands[0], i) = static_cast<uint8_t>(random.next());
    }
    add_scales(c, s, form, place, random);
    double whole = 1;
    if (form == NVFP4 && !s.no_whole) {
        c.add_array("x.quant.global_scale", offsetof(Args, x.quant.global_scale), packed(ref::Type::f32, {1}), 4,
                    false);
        whole = ref::rounded(ref::Type::f32, scale_drawn(s, random));
        ref::store(ref::Type::f32, whole, c.element(c.operands[2], 0));
    }
    const std::vector<int> zeros = add_zeros(c, s.zeros && is_int4(form), random);
    const std::vector<double> scales = c.values(c.operands[1]);
    std::vector<double> numbers(c.outline ? 0 : static_cast<size_t>(s.batch * s.rows * s.columns));
    for (int64_t i = 0; i < static_cast<int64_t>(numbers.size()); ++i) {
        const uint8_t code = code_at(form, c.element(c.operands[0], i / s.columns * width), i % s.columns);
        const auto block = static_cast<size_t>(scale_number(place, form, i));
        const double number =
            is_int4(form) ? ref::of_int4(code, form.codes == ref::Type::i8) - zeros[block] : of_code(form, code);
        numbers[static_cast<size_t>(i)] = ref::rounded(ref::Type::f32, number * whole * number_of(form, scales[block]));
    }
    return numbers;
}

std::vector<double> transposed(const Shape& s, const std::vector<double>& x) {
    std::vector<double> out(x.size());
    for (size_t i = 0; i < x.size(); ++i) {
        const auto rows = static_cast<size_t>(s.rows), columns = static_cast<size_t>(s.columns);
        const size_t matrix = i / (rows * columns), row = i / columns % rows, column = i % columns;
        out[(matrix * columns + column) * rows + row] = x[i];
    }
    return out;
}

using Right = std::map<size_t, std::vector<Allowed>>; // by operand

// An output of `rows` rows of `n` codes, and its scales.
void add_output(Case& c, const Shape& s, const Form& form, const char* field, size_t at, int64_t rows, int64_t n,
                const std::vector<double>& x, Right& right) {
    const Quantising how{.form = form,
                         .place = {s.batch, rows, n, s.scale_columns, s.scale_pad, s.tiled, s.stored},
                         .given = s.given,
                         .no_whole = s.no_whole,
                         .scale = s.scale,
                         .amax_floor = s.amax_floor,
                         .rule = s.rule};
    const View scales = view_of(how.place, form), one = packed(ref::Type::f32, {1});
    const std::string name = field;
    const QuantizedNumbers codes = c.outline ? QuantizedNumbers{} : quantized(how, x);
    right[c.operands.size()] = allowed_bytes(codes.y);
    c.add(name, at,
          rows_view(ref::Type::u8, s.batch, rows, code_bytes(form, n), pad_of(form, n, s.y_pad),
                    pad_of(form, 0, s.y_pad1)),
          static_cast<size_t>(16 + s.y_misalign), true);
    describe(*reinterpret_cast<spark_tensor*>(&c.args[at]), form, how.place);
    right[c.operands.size()] = allowed_scales(codes.scales, scales.type, x.empty());
    c.add_array(name + ".quant.scale", at + offsetof(spark_tensor, quant.scale), scales, 4, form != TENSOR || !s.given);
    if (form == NVFP4 && !s.no_whole) {
        right[c.operands.size()] = allowed_scales(std::vector<double>{codes.whole}, ref::Type::f32, x.empty());
        c.add_array(name + ".quant.global_scale", at + offsetof(spark_tensor, quant.global_scale), one, 4, !s.given);
    }
    if (s.given && (form == TENSOR || form == NVFP4)) {
        ref::store(ref::Type::f32, static_cast<double>(s.scale), c.element(c.operands.back(), 0));
    }
}

uint32_t rule_of(const Shape& s, const Form& form) {
    return s.rule == ref::Rule::rceil               ? SPARK_SCALE_RULE_RCEIL
           : s.rule == ref::Rule::even              ? SPARK_SCALE_RULE_EVEN
           : (form & MX) != 0 && s.columns % 8 == 0 ? SPARK_SCALE_RULE_FLOOR
                                                    : SPARK_SCALE_RULE_USUAL;
}

Case build(const Shape& s, const Source& from, const Form& form, const std::string& name, const Seed& seed) {
    Case c = make_case<Args>("requantize", name, SPARK_OP_REQUANTIZE, seed);
    Random random(seed, name);
    const std::vector<double> x =
        from.form ? add_codes(c, s, *from.form, random) : add_numbers(c, s, from.type, random);
    Right right;
    if (s.straight) add_output(c, s, form, "y", offsetof(Args, y), s.rows, s.columns, x, right);
    if (s.turned) add_output(c, s, form, "y_t", offsetof(Args, y_t), s.columns, s.rows, transposed(s, x), right);
    Args& args = c.as<Args>();
    args.amax_floor = (form & MX) != 0 || form == NVFP4 ? 0 : s.amax_floor;
    args.rule = rule_of(s, form);
    if (form == TENSOR || (form == NVFP4 && !s.no_whole)) {
        if (s.own) args.hdr.flags |= SPARK_REQUANTIZE_OWN_AMAX;
        if (!s.own && !s.given) {
            c.add("amax", offsetof(Args, amax), packed(ref::Type::f32, {1}), 4, false);
            ref::store(ref::Type::f32, ref::amax(x), c.element(c.operands.back(), 0));
        }
    }
    c.exact = true;
    c.large = s.tier == Tier::card;
    c.kind = any_kernel;
    c.note = "a scale for each " + name_of(form) + ", from " +
             (from.form ? name_of(*from.form) : std::string(ref::name_of(from.type))) + ", " + std::to_string(s.batch) +
             " of " + std::to_string(s.rows) + " x " + std::to_string(s.columns);
    c.expect = [right = std::move(right)](size_t operand, const std::string&) { return right.at(operand); };
    return c;
}

Entry entry(const Shape& s, const Source& from, const Form& form, const std::string& name) {
    return {"requantize", name, s.tier, [=](const Seed& seed) { return build(s, from, form, name, seed); }};
}

// U4 is read alone.
std::vector<Form> written(const Shape& s) {
    std::vector<Form> forms = forms_of(s.forms, s.codes);
    std::erase_if(forms, [](const Form& form) { return form.codes == ref::Type::u8; });
    return forms;
}

std::vector<Source> sources(const Shape& s) {
    std::vector<Source> out;
    for (ref::Type type : types_of(s.from != 0 ? 0 : s.types)) {
        out.push_back({type, {}});
    }
    for (const Form& form : forms_of(s.from, s.from_codes)) {
        out.push_back({ref::Type::u8, form});
    }
    return out;
}

std::string name_of(const Source& from) { return from.form ? name_of(*from.form) : ref::name_of(from.type); }

void entries(const Shape& s, const std::string& name, std::vector<Entry>& out) {
    for (const Form& form : written(s)) {
        for (const Source& from : sources(s)) {
            out.push_back(entry(s, from, form, name + "." + name_of(from) + "." + name_of(form)));
        }
    }
}

void named(std::vector<Entry>& out) { add_table("requantize", SHAPES, entries, out); }

void draw_places(Random& r, Shape& s) {
    s.x_pad = r.chance(0.3) ? r.pick<int64_t>({1, 4, 8, 32}) : 0;
    s.x_pad1 = r.chance(0.3) ? r.pick<int64_t>({1, 8, 64}) : 0;
    s.y_pad = r.chance(0.3) ? r.pick<int64_t>({1, 4, 16}) : 0;
    s.y_pad1 = r.chance(0.3) ? r.pick<int64_t>({1, 4, 16}) : 0;
    s.x_misalign = r.chance(0.2) ? r.between(1, 7) : 0;
    s.y_misalign = r.chance(0.2) ? r.between(1, 7) : 0;
    s.scale_columns = r.chance(0.3);
    s.tiled = r.chance(0.3);
    s.from_tiled = r.chance(0.3);
    s.turned = r.chance(0.9);
    s.straight = !s.turned || r.chance(0.7);
}

// In runs of 16.
void make_usual(Shape& s) {
    constexpr int64_t RUN = 16;
    for (int64_t* count : {&s.rows, &s.columns, &s.x_pad, &s.x_pad1, &s.y_pad, &s.y_pad1}) {
        *count = (*count + RUN - 1) / RUN * RUN;
    }
    s.x_misalign = s.y_misalign = 0;
}

Entry random(uint64_t seed, int64_t index) {
    const std::string name = "random_" + std::to_string(index);
    Random r(seed, "requantize." + name);
    Shape s;
    s.batch = r.chance(0.2) ? r.between(2, 3) : 1;
    s.rows = r.chance(0.1) ? r.between(1, 270) : r.between(1, 40);
    s.columns = r.chance(0.5) ? 8 * r.between(1, 20) : r.between(1, 150);
    draw_places(r, s);
    s.amax_floor = r.chance(0.3) ? 1e-4f : 0;
    s.special = static_cast<Special>(r.between(0, static_cast<int64_t>(Special::huge_row)));
    s.any_bits = r.chance(0.2);
    s.forms = ALL_FORMS | FOURS;
    s.forms &= ~static_cast<unsigned>(ROW);
    s.codes = E4M3 | E5M2 | I8;
    s.stored = r.pick(types_of(ALL));
    const Form form = r.pick(written(s));
    s.from = r.chance(0.5) ? ALL_FORMS | FOURS | B128X128 | B32X32 : 0;
    s.from_codes = E4M3 | E5M2 | I8;
    s.types = r.chance(0.6) ? BF16 | F16 : F32;
    const Source from = r.pick(sources(s));
    s.zeros = r.chance(0.5);
    s.no_whole = r.chance(0.2);
    s.given = !s.no_whole && r.chance(0.3);
    s.own = s.from == 0 && !s.given && r.chance(0.5);
    const bool mx = (form & MX) != 0, powers = form != NVFP4 && (form & FOURS) == 0 && !s.given;
    s.rule = powers && r.chance(0.3) ? ref::Rule::rceil : mx && r.chance(0.3) ? ref::Rule::even : ref::Rule::floor;
    if (r.chance(0.3)) make_usual(s);
    return entry(s, from, form, name);
}

void sized(const std::vector<int64_t>& dims, std::vector<Entry>& out) {
    if (dims.size() == 2) {
        entries({.rows = dims[0], .columns = dims[1]}, dims_name(dims), out);
    }
}

// "rows=3 n=64 MXFP8 turned from BF16", or "both" or "straight"; "from NVFP4 codes". A scale of all is given, or found.
Entry worded(Words& words) {
    Shape s{.rows = words.number("rows"), .columns = words.number("n"), .given = true};
    const Form form = worded_form(words);
    s.tiled = s.from_tiled = words.take("tiled");
    if (words.take("own-amax")) s.given = false, s.own = true;
    const std::string which = words.one_of({"both", "turned", "straight"});
    s.straight = which != "turned", s.turned = which != "straight";
    words.one_of({"from"});
    Source from{ref::Type::u8, {}};
    if (words.take("codes")) {
        from.form = worded_form(words);
    } else {
        from.type = words.type(ALL);
    }
    return entry(s, from, form, words.name());
}

constexpr OpCases CASES{"requantize", named, random, sized, "R,N", worded};

} // namespace
} // namespace check::requantize

const check::OpCases check::REQUANTIZE = check::requantize::CASES;
