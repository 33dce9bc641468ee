// SPDX-License-Identifier: Apache-2.0
// Tensors with scales beside them, and the cases of dequantize that read such. The definition rounds once, and so does
// the oracle: there is one right result, bit for bit, but for the bits of a NaN.
#include "ops/quant/scaled.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

namespace check {

namespace {

// A form with codes of its own. codes, scales: dtypes, NONE where a case says them.
struct Own {
    Form form;
    const char* name;
    spark_dtype codes, scales;
    int bits;
    int64_t block;
    const char* element = "";
};
// What stands for others.
constexpr ref::Type E4 = ref::Type::e4m3, E5 = ref::Type::e5m2, I4 = ref::Type::i8, U4 = ref::Type::u8;
constexpr spark_dtype NONE = SPARK_DTYPE_NONE;
constexpr Forms other(unsigned number) { return static_cast<Forms>(8192u << number); }
constexpr Own OWN[] = {
    {{MXFP8, E4}, "mxfp8", NONE, SPARK_DTYPE_UE8M0, 8, 32, "E4M3"},
    {{MXFP6, E4}, "e2m3_mxfp6", SPARK_DTYPE_E2M3, SPARK_DTYPE_UE8M0, 6, 32, "E2M3"},
    {{MXFP6, E5}, "e3m2_mxfp6", SPARK_DTYPE_E3M2, SPARK_DTYPE_UE8M0, 6, 32, "E3M2"},
    {{MXFP4, E4}, "mxfp4", SPARK_DTYPE_E2M1, SPARK_DTYPE_UE8M0, 4, 32, "E2M1"},
    {{NVFP4, E4}, "nvfp4", SPARK_DTYPE_E2M1, SPARK_DTYPE_UE4M3, 4, 16, "E2M1"},
    {{other(0), E4}, "mxint8", SPARK_DTYPE_I2F6, SPARK_DTYPE_UE8M0, 8, 32, "I2F6"},
    {{INT4_32, I4}, "i4_int4_32", SPARK_DTYPE_I4, NONE, 4, 32},
    {{INT4_32, U4}, "u4_int4_32", SPARK_DTYPE_U4, NONE, 4, 32},
    {{INT4_64, I4}, "i4_int4_64", SPARK_DTYPE_I4, NONE, 4, 64},
    {{INT4_64, U4}, "u4_int4_64", SPARK_DTYPE_U4, NONE, 4, 64},
    {{INT4_128, I4}, "i4_int4_128", SPARK_DTYPE_I4, NONE, 4, 128},
    {{INT4_128, U4}, "u4_int4_128", SPARK_DTYPE_U4, NONE, 4, 128},
    {{NF4, I4}, "nf4_64", SPARK_DTYPE_NF4, NONE, 4, 64},
    {{B32X32, E4}, "32x32", NONE, SPARK_DTYPE_UE8M0, 8, 32, "E4M3"},
};
constexpr std::pair<Forms, const char*> OF_ANY[] = {
    {TENSOR, "tensor"}, {ROW, "row"}, {B128, "1x128"}, {B128X128, "128x128"}};

// The first of those with such scales; nullptr where they are F32.
const Own* own_of(Forms form) {
    const Own* found = std::ranges::find(OWN, form, [](const Own& own) { return own.form.scales; });
    return found == std::end(OWN) ? nullptr : found;
}
const Own* own_of(const Form& form) {
    const auto is = [&](const Own& own) { return own.form.scales == form.scales && own.form.codes == form.codes; };
    const Own* found = std::ranges::find_if(OWN, is);
    return found == std::end(OWN) ? own_of(form.scales) : found;
}

bool in_bytes(Forms form) { return own_of(form) != nullptr && own_of(form)->scales != NONE; }
bool is_int4(Forms form) { return (form & INT4) != 0; }

} // namespace

int code_bits(Forms form) { return own_of(form) == nullptr ? 8 : own_of(form)->bits; }
bool in_halves(Forms form) { return code_bits(form) == 4; }

std::vector<Form> forms_of(unsigned mask, unsigned codes) {
    std::vector<Form> forms;
    for (const auto& [form, name] : OF_ANY) {
        for (ref::Type type : types_of((mask & form) == 0 ? 0 : form == B128X128 ? E4M3 : codes)) {
            forms.push_back({form, type});
        }
    }
    for (const Own& own : OWN) {
        if (mask & own.form) {
            forms.push_back(own.form);
        }
    }
    return forms;
}

ref::MxElement element_of(const Form& form) { return *ref::mx_element(own_of(form)->element); }

double of_code(const Form& form, uint8_t code) {
    if (form == NF4) {
        return ref::of_nf4(code);
    }
    return own_of(form) == nullptr || form == MXFP8 || form == B32X32 ? ref::of_code(form.codes, code)
                                                                      : ref::of_mx(element_of(form), code);
}

static std::string name_of_scales(Forms form) {
    return std::ranges::find(OF_ANY, form, &std::pair<Forms, const char*>::first)->second;
}

std::string name_of(const Form& form) {
    const Own* own = own_of(form);
    const std::string name = own != nullptr ? own->name : name_of_scales(form.scales);
    const bool said = form.codes == ref::Type::e4m3 || (own != nullptr && own->codes != NONE);
    return said ? name : std::string(ref::name_of(form.codes)) + "_" + name;
}

Form worded_form(Words& words) {
    const std::vector<Form> forms = forms_of(ALL_FORMS | FOURS, E4M3 | E5M2 | I8);
    std::vector<std::string> names;
    for (const Form& form : forms) {
        names.push_back(own_of(form) != nullptr
                            ? name_of(form)
                            : std::string(ref::name_of(form.codes)) + "_" + name_of_scales(form.scales));
        std::ranges::transform(names.back(), names.back().begin(), [](unsigned char c) { return std::toupper(c); });
    }
    const std::string name = words.one_of(names);
    return forms[static_cast<size_t>(std::ranges::find(names, name) - names.begin())];
}

ref::Type scale_type(const Scales& s, Forms form) {
    return in_bytes(form) ? ref::Type::u8 : own_of(form) != nullptr ? s.type : ref::Type::f32;
}
bool in_tiles(const Scales& s, Forms form) { return s.tiled && in_bytes(form) && form != B32X32; }

double number_of(Forms form, double stored) {
    const spark_dtype scales = own_of(form) == nullptr ? NONE : own_of(form)->scales;
    return scales == SPARK_DTYPE_UE8M0   ? ref::of_ue8m0(static_cast<uint8_t>(stored))
           : scales == SPARK_DTYPE_UE4M3 ? ref::of_ue4m3(static_cast<uint8_t>(stored))
                                         : stored;
}

int64_t block_of(Forms form, int64_t n) {
    const bool by_128 = form == B128 || form == B128X128;
    return own_of(form) != nullptr ? own_of(form)->block : by_128 ? 128 : std::max<int64_t>(n, 1);
}

int64_t block_rows(Forms form) { return form == B128X128 ? 128 : form == B32X32 ? 32 : 1; }

static int64_t up(int64_t value, int64_t by) { return (value + by - 1) / by; }

View view_of(const Scales& s, Forms form) {
    if (form == TENSOR) {
        return packed(ref::Type::f32, {1});
    }
    const int64_t blocks = up(s.n, block_of(form, s.n));
    if (in_tiles(s, form)) {
        const int64_t area = ref::size_of_tiles(s.rows0, blocks);
        return {ref::Type::u8, {s.rows1, area}, {area + s.pad, 1}};
    }
    const int64_t rows = up(s.rows0, block_rows(form));
    if (!s.columns) {
        return rows_view(scale_type(s, form), s.rows1, rows, blocks, s.pad, 0);
    }
    View view{scale_type(s, form), {s.rows1, rows, blocks}, {rows * blocks + s.pad, 1, rows}};
    if (s.rows1 == 1) {
        view.shape.erase(view.shape.begin());
        view.stride.erase(view.stride.begin());
    }
    return view;
}

int64_t scale_number(const Scales& s, Forms form, int64_t index) {
    if (form == TENSOR) {
        return 0;
    }
    const int64_t blocks = up(s.n, block_of(form, s.n)), k = index % s.n / block_of(form, s.n);
    if (!in_tiles(s, form)) {
        const int64_t row = index / s.n, by = block_rows(form);
        return (row / s.rows0 * up(s.rows0, by) + row % s.rows0 / by) * blocks + k;
    }
    return index / s.n / s.rows0 * ref::size_of_tiles(s.rows0, blocks) +
           ref::place_in_tiles(index / s.n % s.rows0, k, blocks);
}

int64_t pad_of(Forms form, int64_t n, int64_t pad) {
    const int64_t whole = code_bits(form) == 6 ? 3 : 1, bytes = code_bytes(form, n);
    return up(bytes + pad, whole) * whole - bytes;
}

int64_t code_bytes(Forms form, int64_t n) { return up(n * code_bits(form), 8); }
uint8_t code_at(Forms form, const uint8_t* row, int64_t i) {
    uint8_t code = 0;
    i ^= form == NF4 ? 1 : 0; // of two the first is in the upper half
    for (int64_t bits = code_bits(form), b = bits; b-- > 0;) {
        const int64_t at = i * bits + b;
        code = static_cast<uint8_t>(code << 1 | (row[at / 8] >> at % 8 & 1));
    }
    return code;
}
// Into bytes of 0.
void put_code(Forms form, uint8_t* row, int64_t i, uint8_t code) {
    i ^= form == NF4 ? 1 : 0;
    for (int64_t bits = code_bits(form), b = 0; b < bits; ++b) {
        const int64_t at = i * bits + b;
        row[at / 8] = static_cast<uint8_t>(row[at / 8] | (code >> b & 1) << at % 8);
    }
}

void describe(spark_tensor& tensor, const Form& form, int64_t n, const View& scales, bool tiled) {
    const uint32_t last = tensor.ndim - 1;
    const Own* own = own_of(form);
    tensor.dtype = own != nullptr && own->codes != NONE ? own->codes : dtype_of(form.codes);
    tensor.shape[last] = n;
    for (uint32_t d = 0; d < last; ++d) {
        tensor.stride[d] = tensor.stride[d] * 8 / code_bits(form);
    }
    tensor.quant.scheme = form == TENSOR ? SPARK_QUANT_PER_TENSOR
                          : form == ROW  ? SPARK_QUANT_PER_ROW
                                         : SPARK_QUANT_BLOCK;
    tensor.quant.scale_dtype = in_bytes(form) ? own->scales : dtype_of(scales.type);
    tensor.quant.scale_bytes = static_cast<uint64_t>(scales.span()) * ref::size_of(scales.type);
    for (uint32_t d = 0; d < tensor.ndim && form != TENSOR; ++d) {
        tensor.quant.block[d] = form == ROW            ? 0
                                : d + 1 == tensor.ndim ? static_cast<uint16_t>(block_of(form, 0))
                                : d + 2 == tensor.ndim ? static_cast<uint16_t>(block_rows(form))
                                                       : 1;
        if (!tiled) {
            tensor.quant.scale_stride[d] = scales.stride[d];
        }
    }
}

void describe(spark_tensor& tensor, const Form& form, const Scales& s) {
    const View scales = view_of(s, form);
    describe(tensor, form, s.n, scales, in_tiles(s, form));
    if (in_tiles(s, form)) {
        tensor.quant.scale_layout = SPARK_SCALE_TILED_128X4;
        tensor.quant.scale_stride[0] = s.rows1 > 1 ? scales.stride[0] : 0;
    }
}

} // namespace check

namespace check::dequantize_scaled {
namespace {

enum class Strange { none, nan, inf, zero, subnormal, huge, midpoint };

struct Shape {
    const char* name = "";
    int64_t rows1 = 1, rows0 = 1, n = 1;
    int64_t x_pad = 0, y_pad = 0;           // elements between rows
    int64_t x_misalign = 0, y_misalign = 0; // elements off the 16-byte boundary
    bool scale_columns = false;
    int64_t scale_pad = 0;
    bool tiled = false, no_whole = false; // NVFP4 without a scale of all
    ref::Type scale = ref::Type::f16;     // of FOURS
    bool zeros = false;                   // likewise
    Strange strange = Strange::none;      // half of the scales
    unsigned forms = ALL_FORMS, types = ALL, codes = E4M3;
    Tier tier = Tier::quick;
};

const Shape SHAPES[] = {
#include "ops/quant/dequantize_scaled.inc"
};

// midpoint: a number of E4M3 times the scale is just beside a midpoint of bf16, which FP32 cannot tell from it.
double scale_for(Strange strange, Random& random) {
    const double sign = random.chance(0.5) ? 1 : -1;
    switch (strange) {
    case Strange::nan: return std::nan("");
    case Strange::inf: return sign * std::numeric_limits<double>::infinity();
    case Strange::zero: return sign * 0.0;
    case Strange::subnormal: { // one draw a line: arguments have no order
        const auto below = static_cast<int>(random.below(20));
        return sign * std::ldexp(random.unit(), -127 - below);
    }
    case Strange::huge: {
        const auto power = static_cast<int>(random.between(110, 127));
        return sign * std::ldexp(1 + random.unit(), power);
    }
    case Strange::midpoint: {
        const double middle = 1 + static_cast<double>(2 * random.below(128) + 1) * 0x1p-8;
        return sign * middle / (static_cast<double>(random.between(9, 15)) / 8);
    }
    default: return random.normal();
    }
}

// Zeros of INT4, if there are `any`, in the places of operand 2, the scales; and each, in the order of these.
std::vector<int> add_zeros(Case& c, bool any, Random& random) {
    const auto count = static_cast<size_t>(std::max<int64_t>(c.to_fill(c.operands[2]), 0));
    std::vector<int> numbers(count, 0);
    if (!any) {
        return numbers;
    }
    using Args = spark_dequantize_args;
    const int64_t bytes = up(c.operands[2].view.span(), 2);
    c.as<Args>().x.quant.zero_dtype = SPARK_DTYPE_U4;
    c.as<Args>().x.quant.zero_bytes = static_cast<uint64_t>(bytes);
    c.add_array("x.quant.zero_point", offsetof(Args, x.quant.zero_point), packed(ref::Type::u8, {bytes}), 1, false);
    const Operand& zeros = c.operands.back();
    for (int64_t i = 0; i < c.to_fill(zeros); ++i) {
        *c.element(zeros, i) = static_cast<uint8_t>(random.next());
    }
    for (size_t i = 0; i < count; ++i) {
        const int64_t at = c.operands[2].view.offset(static_cast<int64_t>(i));
        numbers[i] = *c.element(zeros, at / 2) >> at % 2 * 4 & 15;
    }
    return numbers;
}

Case build(const Shape& s, const Form& form, ref::Type type, const std::string& name, const Seed& seed) {
    using Args = spark_dequantize_args;
    Case c = make_case<Args>("dequantize", name, SPARK_OP_DEQUANTIZE, seed);
    Random random(seed, name);
    const Scales place{s.rows1, s.rows0, s.n, s.scale_columns, s.scale_pad, s.tiled, s.scale};
    const View scales = view_of(place, form);
    c.add("x", offsetof(Args, x),
          rows_view(ref::Type::u8, s.rows1, s.rows0, code_bytes(form, s.n), pad_of(form, s.n, s.x_pad), 0),
          static_cast<size_t>(16 + s.x_misalign), false);
    describe(c.as<Args>().x, form, place);
    c.add("y", offsetof(Args, y), rows_view(type, s.rows1, s.rows0, s.n, s.y_pad, 0),
          static_cast<size_t>(16 + s.y_misalign * static_cast<int64_t>(ref::size_of(type))), true);
    c.add_array("x.quant.scale", offsetof(Args, x.quant.scale), scales, 4, false);
    for (int64_t i = 0; i < c.to_fill(c.operands[2]); ++i) {
        const double scale = scale_for(random.chance(0.5) ? s.strange : Strange::none, random);
        const double stored = form & MX       ? ref::mx_scale_of(std::fabs(scale))
                              : form == NVFP4 ? ref::to_e4m3(scale) // the sign is not looked at
                                              : scale;
        ref::store(scales.type, stored, c.element(c.operands[2], i));
    }
    double whole = 1;
    if (form == NVFP4 && !s.no_whole) {
        c.add_array("x.quant.global_scale", offsetof(Args, x.quant.global_scale), packed(ref::Type::f32, {1}), 4,
                    false);
        whole = ref::rounded(ref::Type::f32, scale_for(random.chance(0.5) ? s.strange : Strange::none, random));
        ref::store(ref::Type::f32, whole, c.element(c.operands[3], 0));
    }
    const std::vector<int> zeros = add_zeros(c, s.zeros && is_int4(form), random);
    const std::vector<double> factors = c.values(c.operands[2]);
    std::vector<double> exact;
    for (int64_t i = 0; i < c.to_fill(c.operands[0]); ++i) {
        *c.element(c.operands[0], i) = static_cast<uint8_t>(random.next());
    }
    for (int64_t i = 0, width = code_bytes(form, s.n); i < c.to_fill(c.operands[1]); ++i) {
        const uint8_t code = code_at(form, c.element(c.operands[0], i / s.n * width), i % s.n);
        const auto block = static_cast<size_t>(scale_number(place, form, i));
        const double number =
            is_int4(form) ? ref::of_int4(code, form.codes == ref::Type::i8) - zeros[block] : of_code(form, code);
        exact.push_back(number * whole * number_of(form, factors[block]));
    }
    c.exact = true;
    c.large = s.tier == Tier::card;
    c.note = std::string(in_tiles(place, form) ? "scales in tiles, " : "") + "codes, a scale for each " +
             name_of(form) + ", rows " + std::to_string(s.rows1) + "x" + std::to_string(s.rows0) + ", N " +
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

Entry entry(const Shape& s, const Form& form, ref::Type type, const std::string& name) {
    return {"dequantize", name, s.tier, [=](const Seed& seed) { return build(s, form, type, name, seed); }};
}

} // namespace

void named(std::vector<Entry>& out) {
    for (const Shape& s : SHAPES) {
        for (const Form& form : forms_of(s.forms, s.codes)) {
            for (ref::Type type : types_of(s.types)) {
                out.push_back(entry(s, form, type,
                                    std::string("scaled_") + s.name + "." + name_of(form) + "." + ref::name_of(type)));
            }
        }
    }
}

Entry worded(Words& words, int64_t rows, int64_t n) {
    Shape s{.rows0 = rows, .n = n};
    const Form form = worded_form(words);
    s.tiled = in_bytes(form) && words.take("tiled");
    words.one_of({"to"});
    return entry(s, form, words.type(ALL), words.name());
}

Entry random(Random& r, const std::string& name) {
    Shape s;
    s.rows1 = r.chance(0.3) ? r.between(2, 3) : 1;
    s.rows0 = r.between(1, 6);
    s.n = r.chance(0.5) ? 4 * r.between(1, 160) : r.between(1, 600);
    s.x_pad = r.chance(0.3) ? r.pick<int64_t>({1, 4, 16}) : 0;
    s.y_pad = r.chance(0.3) ? r.pick<int64_t>({1, 4, 16}) : 0;
    s.x_misalign = r.chance(0.2) ? r.between(1, 15) : 0;
    s.y_misalign = r.chance(0.2) ? r.between(1, 7) : 0;
    s.scale_columns = r.chance(0.3);
    s.scale_pad = s.rows1 == 1 && r.chance(0.3) ? r.between(1, 5) : 0;
    s.tiled = r.chance(0.3);
    s.no_whole = r.chance(0.2);
    s.scale = r.pick(types_of(ALL));
    s.zeros = r.chance(0.7);
    s.strange = static_cast<Strange>(r.between(0, static_cast<int64_t>(Strange::midpoint)));
    const Form form = r.pick(forms_of(ALL_FORMS | B128X128 | B32X32 | FOURS, E4M3 | E5M2 | I8));
    return entry(s, form, r.pick(types_of(ALL)), name);
}

} // namespace check::dequantize_scaled
