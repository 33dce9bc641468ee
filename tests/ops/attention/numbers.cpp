// SPDX-License-Identifier: Apache-2.0
// Numbers of attention that are not as the queries': codes with scales beside them, results of other types, biases.
#include "ref/quantize.h"

#include "ops/attention/shape.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

namespace check::attention {

namespace {

constexpr size_t OFFSETS[] = {offsetof(spark_attention_args, q), offsetof(spark_attention_args, k),
                              offsetof(spark_attention_args, v)};
constexpr int64_t BLOCK = 16; // of NVFP4

spark_tensor& tensor_at(Case& c, size_t offset) { return *reinterpret_cast<spark_tensor*>(&c.args[offset]); }

// The scales of q, k or v (index 0, 1, 2).
Scales kind_of(const Shape& s, size_t index) {
    if (index == 2 && s.queries == Codes::i8 && s.values == Out::as_q) {
        return Scales::none;
    }
    return index == 0 ? s.query_scales : s.caches == Caches::scaled ? Scales::whole : s.scales;
}

double some_scale(Random& random, double parts = 128) {
    const auto least = static_cast<int64_t>(LEAST_SCALE * 128), most = static_cast<int64_t>(MOST_SCALE * 128);
    return (random.chance(0.3) ? -1 : 1) * static_cast<double>(random.between(least, most)) / parts;
}

int64_t blocks_of(int64_t tokens, int64_t block) { return (tokens + block - 1) / block; }

// One F32 for each of the rows, tokens or blocks of these, and heads, or for all of some; in half of the cases heads
// outermost.
View view_of(Scales kind, const View& tensor, int64_t block, Random& random) {
    const bool of_blocks = kind == Scales::blocks, of_rows = kind == Scales::rows;
    const bool of_each = of_rows || of_blocks || kind == Scales::batch_heads;
    View view = packed(ref::Type::f32, {of_each ? tensor.shape[0] : 1,
                                        of_rows     ? tensor.shape[1]
                                        : of_blocks ? blocks_of(tensor.shape[1], block)
                                                    : 1,
                                        of_each || kind == Scales::heads ? tensor.shape[2] : 1});
    if (random.chance(0.5)) {
        const int64_t tokens = std::max<int64_t>(view.shape[1], 1), rows = std::max<int64_t>(view.shape[0], 1);
        view.stride = {tokens, 1, rows * tokens};
    }
    return view;
}

// The place of the scale of element `index` of the tensor, in a view of [rows, blocks of `tokens`, heads, further].
int64_t place_of(const View& scales, const View& tensor, int64_t index, int64_t further, int64_t block,
                 int64_t tokens = 1) {
    const int64_t column = index % tensor.shape[3], head = index / tensor.shape[3] % tensor.shape[2];
    const int64_t token = index / tensor.shape[3] / tensor.shape[2] % tensor.shape[1];
    const int64_t row = index / tensor.shape[3] / tensor.shape[2] / tensor.shape[1];
    const auto in = [&](size_t d, int64_t place) { return scales.shape[d] == 1 ? 0 : place; };
    const int64_t before = (in(0, row) * scales.shape[1] + in(1, token / tokens)) * scales.shape[2] + in(2, head);
    return before * further + column / block;
}

void describe(spark_quant& quant, Scales kind, int64_t block, const View& view) {
    quant.scheme = kind == Scales::whole  ? SPARK_QUANT_PER_TENSOR
                   : kind == Scales::rows ? SPARK_QUANT_PER_ROW
                                          : SPARK_QUANT_BLOCK;
    quant.scale_dtype = SPARK_DTYPE_F32;
    quant.scale_bytes = static_cast<uint64_t>(view.span()) * sizeof(float);
    if (kind == Scales::heads || kind == Scales::batch_heads || kind == Scales::blocks) {
        quant.block[0] = kind != Scales::heads, quant.block[2] = 1;
        quant.block[1] = static_cast<uint16_t>(kind == Scales::blocks ? block : 0);
    }
    for (size_t d = 0; d < 3 && kind != Scales::whole; ++d) {
        quant.scale_stride[d] = view.stride[d];
    }
}

size_t address_of(size_t index, size_t member) { return OFFSETS[index] + offsetof(spark_tensor, quant) + member; }

// NVFP4: bytes become numbers, by scales of blocks and one of all.
std::vector<double> add_blocks(Case& c, const Shape& s, size_t index, const std::vector<bool>& used, Random& random) {
    const std::string name = c.operands[index].field;
    spark_quant& quant = tensor_at(c, OFFSETS[index]).quant;
    View all = c.operands[index].view; // of numbers
    const int64_t blocks = (s.d + BLOCK - 1) / BLOCK;
    const View view = packed(ref::Type::u8, {all.shape[0], all.shape[1], all.shape[2], blocks});
    quant.scheme = SPARK_QUANT_BLOCK, quant.scale_dtype = SPARK_DTYPE_UE4M3;
    quant.block[0] = quant.block[1] = quant.block[2] = 1, quant.block[3] = BLOCK;
    quant.scale_bytes = static_cast<uint64_t>(view.span());
    const size_t base = s.k_misalign == 0 && s.v_misalign == 0 ? 16 : 1;
    const Operand scales =
        c.add_array(name + ".scale", address_of(index, offsetof(spark_quant, scale)), view, base, false);
    for (int64_t i = 0; i < c.to_fill(scales); ++i) {
        const auto token = static_cast<size_t>(i / blocks / all.shape[2]);
        *c.element(scales, i) = used[token] ? static_cast<uint8_t>(random.between(0x28, 0x40)) : 0x7f;
    }
    const Operand whole = c.add_array(name + ".global", address_of(index, offsetof(spark_quant, global_scale)),
                                      packed(ref::Type::f32, {1}), 4, false);
    const double factor = some_scale(random);
    ref::store(ref::Type::f32, factor, c.element(whole, 0));
    std::vector<double> numbers;
    const Operand pairs = c.operands[index];
    const int64_t bytes = all.shape[3];
    all.shape[3] = s.d;
    for (int64_t i = 0; i < (c.to_fill(pairs) == 0 ? 0 : all.count()); ++i) {
        const uint8_t pair = *c.element(pairs, i / s.d * bytes + i % s.d / 2);
        const uint8_t scale = *c.element(scales, place_of(view, all, i, blocks, BLOCK));
        numbers.push_back(ref::of_e2m1(pair >> i % s.d % 2 * 4 & 15) * ref::of_ue4m3(scale) * factor);
    }
    return numbers;
}

} // namespace

ref::Type type_of_queries(const Shape& s, ref::Type type) {
    switch (s.queries) {
    case Codes::none: return type;
    case Codes::e4m3: return ref::Type::e4m3;
    case Codes::e5m2: return ref::Type::e5m2;
    case Codes::i8: return ref::Type::i8;
    case Codes::nvfp4: return ref::Type::u8;
    }
    return type;
}

ref::Type type_of_caches(const Shape& s, ref::Type type) {
    switch (s.caches) {
    case Caches::as_q: return type_of_queries(s, type);
    case Caches::e5m2: return ref::Type::e5m2;
    case Caches::nvfp4: return ref::Type::u8;
    default: return ref::Type::e4m3;
    }
}

ref::Type type_of_values(const Shape& s, ref::Type type) {
    Shape results = s;
    results.out = s.values;
    return s.queries == Codes::i8 ? type_of_results(results, type) : type_of_caches(s, type);
}

bool is_pairs(const Shape& s, size_t index) {
    return index == 0 ? s.queries == Codes::nvfp4 : s.caches == Caches::nvfp4;
}

ref::Type type_of_results(const Shape& s, ref::Type type) {
    switch (s.out) {
    case Out::as_q: return type;
    case Out::bf16: return ref::Type::bf16;
    case Out::f16: return ref::Type::f16;
    case Out::f32: return ref::Type::f32;
    case Out::e4m3: return ref::Type::e4m3;
    case Out::e5m2: return ref::Type::e5m2;
    }
    return type;
}

void fill_tensors(Case& c, const Shape& s, Random& random) {
    constexpr double INTEGERS = 28, BYTES = 60; // so that codes have most of their values
    const double integers = s.queries == Codes::i8 ? INTEGERS : 1;
    fill(c, c.operands[0], random, s.queries == Codes::nvfp4 ? BYTES : integers * s.spread);
    fill(c, c.operands[1], random, integers);
    fill(c, c.operands[2], random);
    if (s.strange != Strange::none) {
        const size_t index = s.strange == Strange::q ? 0 : s.strange == Strange::k ? 1 : 2;
        const int64_t d = index == 2 ? s.width_of_values() : s.d;
        make_special(c, c.operands[index], s.special, c.operands[index].view.count() / d * 2 / 3, d, random);
    }
}

void describe_pairs(Case& c, const Shape& s) {
    for (size_t index = 0; index < 3; ++index) {
        if (!is_pairs(s, index)) {
            continue;
        }
        spark_tensor& tensor = tensor_at(c, OFFSETS[index]);
        tensor.dtype = SPARK_DTYPE_E2M1;
        tensor.shape[3] = s.d;
        for (size_t d = 0; d < 3; ++d) {
            tensor.stride[d] *= 2;
        }
    }
}

namespace {

// Whether a token that is used has the i-th scale of a view of [rows, blocks of `block` tokens, heads].
bool is_used(const std::vector<bool>& used, int64_t i, const View& scales, int64_t tokens, int64_t block) {
    const int64_t place = i / scales.shape[2], row = place / scales.shape[1] * tokens;
    const int64_t first = place % scales.shape[1] * block;
    const auto begin = used.begin() + row;
    const auto end = begin + std::min(first + block, tokens);
    return std::find(begin + first, end, true) != end;
}

} // namespace

std::vector<double> add_scales(Case& c, const Shape& s, size_t index, const std::vector<bool>& used, Random& random) {
    if (is_pairs(s, index)) {
        return add_blocks(c, s, index, used, random);
    }
    const Scales kind = kind_of(s, index);
    std::vector<double> numbers = c.values(c.operands[index]);
    if (kind == Scales::none) {
        return numbers;
    }
    const Operand tensor = c.operands[index];
    const View view = view_of(kind, tensor.view, s.block, random);
    describe(tensor_at(c, OFFSETS[index]).quant, kind, s.block, view);
    const size_t at = address_of(index, offsetof(spark_quant, scale));
    const Operand scales = c.add_array(tensor.field + ".scale", at, view, 4, false);
    const int64_t count = kind == Scales::whole ? 1 : c.to_fill(scales); // the bench's outlines have that one
    const bool of_tokens = kind == Scales::rows || kind == Scales::blocks;
    const int64_t tokens = kind == Scales::blocks ? s.block : 1;
    for (int64_t i = 0; i < count; ++i) {
        const bool there = !of_tokens || is_used(used, i, view, tensor.view.shape[1], tokens);
        const double parts = tensor.view.type == ref::Type::i8 ? 4096 : 128; // codes of I8 are that much larger
        ref::store(ref::Type::f32, there ? some_scale(random, parts) : NAN, c.element(scales, i));
    }
    const std::vector<double> factors = c.values(scales);
    for (size_t i = 0; i < numbers.size(); ++i) {
        const int64_t place = place_of(view, tensor.view, static_cast<int64_t>(i), 1, s.d, tokens);
        numbers[i] *= factors[static_cast<size_t>(place)];
    }
    return numbers;
}

bool by_tokens(const Shape& s, Scales scales, int64_t tokens, bool paged) {
    return scales == Scales::rows || (scales == Scales::batch_heads && paged) ||
           (scales == Scales::blocks && (paged || tokens > s.block));
}

ref::Type type_of_numbers(const Shape& s, ref::Type type) {
    if (s.queries != Codes::e4m3 && s.queries != Codes::e5m2) {
        return type;
    }
    return type_of_results(s, type) == ref::Type::f16 ? ref::Type::f16 : ref::Type::bf16;
}

double add_result_scale(Case& c, const Shape& s, Random& random) {
    if (!s.out_scale) {
        return 1;
    }
    constexpr size_t O = offsetof(spark_attention_args, o);
    spark_quant& quant = tensor_at(c, O).quant;
    quant.scheme = SPARK_QUANT_PER_TENSOR;
    quant.scale_dtype = SPARK_DTYPE_F32;
    quant.scale_bytes = sizeof(float);
    const size_t address = O + offsetof(spark_tensor, quant) + offsetof(spark_quant, scale);
    const Operand added = c.add_array("o.scale", address, packed(ref::Type::f32, {1}), 4, false);
    const double scale = some_scale(random) / (random.chance(0.2) ? 4096 : 16); // of the former o leaves E4M3
    ref::store(ref::Type::f32, scale, c.element(added, 0));
    return scale;
}

void add_bias(Case& c, const Shape& s, Problem& p, Random& random) {
    if (s.bias == Bias::none) {
        return;
    }
    const int64_t rows = s.list_q ? 1 : s.seqs, room = std::max<int64_t>(s.sk, 1);
    p.bias_keys = s.bias == Bias::few ? random.between(1, room) : room;
    View view = packed(types_of(s.bias_type)[0], {rows, s.h, p.s, p.bias_keys});
    if (s.bias == Bias::sequences && rows > 1) {
        view.stride[0] = 0;
    } else if (s.bias == Bias::keys) {
        view.stride[1] = view.stride[2] = 0, view.stride[0] = p.bias_keys;
    }
    const Operand added = c.add("bias", offsetof(spark_attention_args, bias), view, 4, false);
    for (int64_t i = 0; i < c.to_fill(added); ++i) {
        const double number = random.chance(0.05) ? -INFINITY : 2 * random.normal();
        ref::store(view.type, number, c.element(added, i));
    }
    p.bias = c.values(added);
}

Allowed allow_result(ref::Type type, double value, double error) {
    const double largest = type == ref::Type::e4m3 ? 448 : type == ref::Type::e5m2 ? 57344 : INFINITY;
    if (largest == INFINITY || std::isnan(value) || !std::isfinite(error)) {
        return allow(type, value, error);
    }
    Allowed allowed;
    allowed.low = static_cast<float>(ref::rounded(type, std::clamp(value - error, -largest, largest)));
    allowed.high = static_cast<float>(ref::rounded(type, std::clamp(value + error, -largest, largest)));
    return allowed;
}

void draw_numbers(Shape& s, Random& r) {
    if (s.layout == Layout::qkv || !r.chance(0.25)) {
        return;
    }
    s.sq = std::min<int64_t>(s.sq, r.chance(0.05) ? 40 : 7); // a key takes the kernel for any of these long
    s.max_q = s.max_q == 0 ? 0 : s.sq;
    const std::vector<Scales> kinds = {Scales::none,  Scales::whole,       Scales::rows,
                                       Scales::heads, Scales::batch_heads, Scales::blocks};
    s.block = r.pick<int64_t>({16, 32, 64, 128, 256});
    const std::vector<Out> outs = {Out::as_q, Out::as_q, Out::bf16, Out::f16, Out::f32, Out::e4m3, Out::e5m2};
    s.queries = r.chance(0.3) ? r.pick<Codes>({Codes::e4m3, Codes::e5m2}) : Codes::none;
    s.query_scales = s.queries == Codes::none ? Scales::none : r.pick(kinds);
    s.caches = r.pick<Caches>({Caches::as_q, Caches::e4m3, Caches::e5m2, Caches::nvfp4});
    if (s.caches == Caches::nvfp4 && s.strange != Strange::none) {
        s.caches = Caches::e5m2;
    }
    s.d = s.caches == Caches::nvfp4 && r.chance(0.6) ? r.pick<int64_t>({64, 96, 128, 256}) : s.d;
    s.d += s.caches == Caches::nvfp4 && s.sk == 0 ? s.d % 2 : 0; // without keys no stride makes rows whole bytes
    s.scales = s.caches == Caches::nvfp4 || (s.caches == Caches::as_q && s.queries == Codes::none) ? Scales::none
                                                                                                   : r.pick(kinds);
    s.out = r.pick(outs);
    s.out_scale = (s.out == Out::e4m3 || s.out == Out::e5m2) && r.chance(0.7);
    s.amax = s.out_scale && r.chance(0.5);
    s.bias = r.chance(0.4) ? r.pick<Bias>({Bias::each, Bias::sequences, Bias::keys, Bias::few}) : Bias::none;
    s.bias_type = r.pick<unsigned>({F32, BF16, F16});
}

namespace {

// Few of the others have all that tiles ask for which multiply codes of queries as such.
void draw_codes(Shape& s, Random& r) {
    if (s.layout == Layout::qkv || !r.chance(0.03)) {
        return;
    }
    constexpr int64_t CHUNK = 16;
    const std::vector<Scales> kinds = {Scales::none, Scales::whole, Scales::heads, Scales::batch_heads};
    s.queries = Codes::e4m3, s.caches = Caches::as_q;
    s.query_scales = r.pick(kinds), s.scales = s.page != 0 ? Scales::heads : r.pick(kinds);
    s.d = CHUNK * r.between(1, 8), s.dv = 0;
    s.pad = s.pad / CHUNK * CHUNK, s.q_misalign = s.k_misalign = s.v_misalign = s.o_misalign = 0;
    s.out = r.pick<Out>({Out::bf16, Out::f16, Out::e4m3}), s.out_scale = s.out == Out::e4m3;
    s.amax = s.out_scale && r.chance(0.5);
    s.bias = Bias::none, s.ranges = Ranges::none, s.bits = Bits::none, s.slopes = Slopes::none;
}

// Codes whose keys have the same type.
void draw_alone(Shape& s, Random& r) {
    if (s.layout == Layout::qkv || !r.chance(0.05)) {
        return;
    }
    const std::vector<Scales> kinds = {Scales::none,  Scales::whole,       Scales::rows,
                                       Scales::heads, Scales::batch_heads, Scales::blocks};
    s.block = r.pick<int64_t>({16, 32, 64, 128, 256});
    const bool integers = r.chance(0.6);
    s.queries = integers ? Codes::i8 : Codes::nvfp4, s.caches = integers ? Caches::as_q : Caches::nvfp4;
    s.query_scales = integers ? r.pick(kinds) : Scales::none, s.scales = integers ? r.pick(kinds) : Scales::none;
    s.values = r.pick<Out>({Out::as_q, Out::as_q, Out::as_q, Out::e4m3, Out::e5m2});
    s.out = r.pick<Out>({Out::bf16, Out::f16, Out::f32, Out::e4m3}), s.out_scale = s.out == Out::e4m3;
    s.amax = s.out_scale && r.chance(0.5);
    s.sq = std::min<int64_t>(s.sq, 6), s.max_q = s.max_q == 0 ? 0 : s.sq;
    s.d = std::min<int64_t>(s.d, 256), s.dv = 0;
    s.special = Special::none, s.strange = Strange::none;
}

// Of 16-bit types alone: values of a width of their own, where they are no halves of a page; heads above 256.
void draw_widths(Shape& s, Random& r) {
    const bool plain = s.caches == Caches::as_q && s.queries == Codes::none && s.out == Out::as_q;
    if (!plain || s.bias != Bias::none || s.layout == Layout::qkv) {
        return;
    }
    if (r.chance(0.06)) {
        s.d = r.chance(0.7) ? 8 * r.between(33, 64) : r.between(257, 512);
    } else if (s.pages != Pages::torn && r.chance(0.1)) {
        s.d = r.chance(0.7) ? 8 * r.between(1, 24) : r.between(1, 576);
        s.dv = r.chance(0.7) ? 8 * r.between(1, 16) : r.between(1, 200);
    }
}

} // namespace

void draw_kinds(Shape& s, Random& r) {
    draw_widths(s, r);
    draw_codes(s, r);
    draw_alone(s, r);
}

} // namespace check::attention
