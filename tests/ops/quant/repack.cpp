// SPDX-License-Identifier: Apache-2.0
// Cases of repack: from a row of repack.inc (or a random one) to arguments, memory and right results.
// Called by spark-check through families.cpp; results come from tests/ref. Codes are moved: there is one right result.
#include "ref/repack.h"

#include "ops/families.h"

#include <algorithm>
#include <cstddef>

namespace check::repack {
namespace {

struct Shape {
    const char* name = "";
    int64_t rows = 1, words = 1;
    int64_t x_pad = 0;      // words after each row
    bool x_turned = false;  // neighbours along the rows
    int64_t y_pad = 0;      // bytes after each line
    int64_t y_misalign = 0; // bytes off the 16-byte boundary
    unsigned plus = 0;
    bool is_signed = false;
    Tier tier = Tier::quick;
};
struct Way {
    bool interleaved, across;
};

const Shape SHAPES[] = {
#include "ops/quant/repack.inc"
};

View view_of_x(const Shape& s) {
    const int64_t near = s.x_turned ? s.rows : s.words, pitch = std::max<int64_t>(near + s.x_pad, 1);
    return {ref::Type::i32, {s.rows, s.words}, {s.x_turned ? 1 : pitch, s.x_turned ? pitch : 1}};
}

Case build(const Shape& s, Way way, const std::string& name, const Seed& seed) {
    using Args = spark_repack_args;
    Case c = make_case<Args>("repack", name, SPARK_OP_REPACK, seed);
    Random random(seed, name);
    const Operand x = c.add("x", offsetof(Args, x), view_of_x(s), 16, false);
    for (int64_t i = 0; i < c.to_fill(x); ++i) {
        ref::store_bits(ref::Type::i32, static_cast<uint32_t>(random.next()), c.element(x, i));
    }
    const int64_t n = 8 * s.words, lines = way.across ? n : s.rows, codes = way.across ? s.rows : n;
    c.add("y", offsetof(Args, y), rows_view(ref::Type::u8, 1, lines, (codes + 1) / 2, s.y_pad, 0),
          static_cast<size_t>(16 + s.y_misalign), true);
    auto& args = c.as<Args>();
    const int64_t pitch = 2 * args.y.stride[0];
    args.y.dtype = s.is_signed ? SPARK_DTYPE_I4 : SPARK_DTYPE_U4;
    args.y.ndim = 3;
    args.y.shape[0] = s.rows, args.y.shape[1] = s.words, args.y.shape[2] = 8;
    args.y.stride[0] = way.across ? 1 : pitch;
    args.y.stride[1] = way.across ? 8 * pitch : 8, args.y.stride[2] = way.across ? pitch : 1;
    args.order = way.interleaved ? SPARK_WORD_ORDER_INTERLEAVED : SPARK_WORD_ORDER_LINEAR;
    args.plus = s.plus;
    std::vector<uint32_t> right;
    for (int64_t i = 0; i < lines * codes && !c.outline; ++i) {
        const int64_t line = i / codes, at = i % codes, r = way.across ? at : line, column = way.across ? line : at;
        const auto word = static_cast<uint32_t>(ref::load_bits(ref::Type::i32, c.element(x, r * s.words + column / 8)));
        const uint32_t code = ref::repacked(word, static_cast<int>(column % 8), way.interleaved, s.plus);
        at % 2 == 0 ? right.push_back(code) : static_cast<void>(right.back() |= code << 4);
    }
    c.exact = true;
    c.large = s.tier == Tier::card;
    c.note =
        "rows " + std::to_string(s.rows) + ", words " + std::to_string(s.words) + ", plus " + std::to_string(s.plus);
    c.kind = any_kernel;
    c.expect = [right = std::move(right)](size_t, const std::string&) {
        std::vector<Allowed> out;
        for (uint32_t byte : right) {
            Allowed allowed;
            allowed.kind = Allowed::bits, allowed.pattern = byte;
            out.push_back(allowed);
        }
        return out;
    };
    return c;
}

Entry entry(const Shape& s, Way way, const std::string& name) {
    return {"repack", name, s.tier, [=](const Seed& seed) { return build(s, way, name, seed); }};
}

void entries(const Shape& s, const std::string& name, std::vector<Entry>& out) {
    for (const bool interleaved : {false, true}) {
        for (const bool across : {false, true}) {
            out.push_back(entry(s, {interleaved, across},
                                name + (interleaved ? ".interleaved" : ".linear") + (across ? ".across" : ".along")));
        }
    }
}

void named(std::vector<Entry>& out) { add_table("repack", SHAPES, entries, out); }

Entry random(uint64_t seed, int64_t index) {
    const std::string name = "random_" + std::to_string(index);
    Random r(seed, "repack." + name);
    Shape s;
    s.rows = r.chance(0.5) ? 8 * r.between(1, 12) : r.between(1, 90);
    s.words = r.between(1, 20);
    s.x_pad = r.chance(0.3) ? r.between(1, 5) : 0;
    s.x_turned = r.chance(0.3);
    s.y_pad = r.chance(0.3) ? r.between(1, 8) : 0;
    s.y_misalign = r.chance(0.2) ? r.between(1, 7) : 0;
    s.plus = static_cast<unsigned>(r.between(0, 15));
    s.is_signed = r.chance(0.3);
    const bool interleaved = r.chance(0.5);
    return entry(s, {interleaved, r.chance(0.5)}, name);
}

void sized(const std::vector<int64_t>& dims, std::vector<Entry>& out) {
    if (dims.size() == 2) {
        entries({.rows = dims[0], .words = dims[1]}, dims_name(dims), out);
    }
}

Entry worded(Words& words) {
    const Shape s{.rows = words.number("rows"), .words = words.number("words")};
    const bool interleaved = words.take("interleaved");
    const bool across = words.take("across");
    return entry(s, {interleaved, across}, words.name());
}

constexpr OpCases CASES{"repack", named, random, sized, "rows,words", worded};

} // namespace
} // namespace check::repack

const check::OpCases check::REPACK = check::repack::CASES;
