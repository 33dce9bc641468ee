// SPDX-License-Identifier: Apache-2.0
// Cases of lora: from a row of lora.inc (or a random one) to arguments, memory and right results.
// Called by spark-check through families.cpp; results come from tests/ref.
#include "ops/families.h"
#include "ref/oracles.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace check::lora {
namespace {

// Which adapters rows have: any, some rows none; all the first; none; any number, many of them no adapter; each the
// next, in neighbours as many as there are rows for an adapter.
enum class Index { mixed, one, none, strange, segments };
enum class Addend { none, other, in_place };

struct Shape {
    const char* name = "";
    int64_t m = 1, n = 1, k = 1, rank = 1, adapters = 3;
    int64_t x_pad = 0, a_pad = 0, b_pad = 0, y_pad = 0, gap = 0; // elements after each row, and after each adapter
    int64_t x_misalign = 0, a_misalign = 0, b_misalign = 0, y_misalign = 0; // elements off the 16-byte boundary
    unsigned types = BF16 | F16;
    Index index = Index::mixed;
    Addend addend = Addend::none;
    float scale = 1;
    bool scale_given = false; // a 0 is 0, not the default
    Special special = Special::none;
    unsigned flags = 0;
    Tier tier = Tier::quick;
};

const Shape SHAPES[] = {
#include "ops/gemm/lora.inc"
};

View rows(ref::Type type, int64_t count, int64_t length, int64_t pad) {
    return {type, {count, length}, {std::max<int64_t>(length + pad, 1), 1}};
}
View matrices(ref::Type type, int64_t count, int64_t height, int64_t length, int64_t pad, int64_t gap) {
    const int64_t pitch = std::max<int64_t>(length + pad, 1);
    return {type, {count, height, length}, {std::max<int64_t>(height * pitch + gap, 1), pitch, 1}};
}

int64_t index_of(const Shape& s, int64_t row, Random& random) {
    const int64_t any = random.below(std::max<int64_t>(s.adapters, 1)); // one draw a line: operands have no order
    const bool nobody = random.chance(0.2);
    switch (s.index) {
    case Index::mixed: return nobody ? -1 : any;
    case Index::one: return 0;
    case Index::none: return -1;
    case Index::segments: return row * s.adapters / s.m;
    case Index::strange: break;
    }
    constexpr std::numeric_limits<int32_t> INT;
    return row % 2 == 0 ? any : random.pick<int64_t>({-1, s.adapters, s.adapters + 1, INT.min(), INT.max(), 1 << 24});
}

// What FP32 may make of a row, u = 2^-24. A sum of so many products meets at most a tensor core's steps of 16, which
// truncate by 2u of the magnitudes' sum, and 16 more for its parts; products one by one, over lanes and blocks, meet
// fewer roundings than that. Of h, whose errors b carries on; of the sum over r; then scale and c, one fma:
//   steps(K) 2u sum_r |b| sum_k |x a|  +  steps(R) 2u sum_r |h b|, times scale; u |y|
// Products below the smallest normal number lose up to 2^-148 each. Where magnitudes are beyond FP32, so may sums be.
std::vector<Allowed> allow_all(ref::Type type, const ref::Call& call) {
    constexpr double u = 0x1p-24, least = 0x1p-148, more = 1 + 0x1p-10, largest = 0x1.fffffep127;
    const ref::Results right = ref::LORA.compute(call);
    ref::Call of_sizes = call; // |x|, |a| and |b|: what the magnitudes add up to
    for (const char* name : {"x", "a", "b"}) {
        for (double& value : of_sizes.tensors[name].values) {
            value = std::fabs(value);
        }
    }
    of_sizes.tensors["c"].values.clear();
    of_sizes.numbers["scale"] = 1;
    const std::vector<double> sizes = ref::LORA.compute(of_sizes).at("y").values;
    const auto k = static_cast<double>(call["x"].shape[1]), rank = static_cast<double>(call["a"].shape[1]);
    const double steps = std::ceil(k / 16) + std::ceil(rank / 16) + 32, scale = std::fabs(call.number("scale"));
    std::vector<Allowed> out;
    for (size_t i = 0; i < sizes.size(); ++i) {
        const double y = right.at("y").values[i];
        if (!std::isfinite(y)) {
            out.push_back(allow(type, y, 0));
            continue;
        }
        const double of_sums = steps * 2 * u * sizes[i] + (k + 1) * (rank + 1) * least;
        const double error = (of_sums * scale + u * std::fabs(y)) * more;
        const bool empty = sizes[i] == 0; // c alone
        out.push_back(sizes[i] * more > largest ? Allowed{Allowed::any} : allow(type, y, empty ? 0 : error));
    }
    return out;
}

ref::Tensor tensor_of(const Case& c, const std::string& field) {
    for (const Operand& o : c.operands) {
        if (o.field != field) {
            continue;
        }
        ref::Tensor tensor{o.view.type, o.view.shape, c.values(o), {}};
        for (double value : tensor.values) {
            tensor.bits.push_back(ref::encode(o.view.type, value));
        }
        return tensor;
    }
    return {};
}

void add_operands(Case& c, const Shape& s, ref::Type type, Random& random) {
    using Args = spark_lora_args;
    const auto base = [&](int64_t misalign) { return 16 + static_cast<size_t>(misalign) * ref::size_of(type); };
    fill(c, c.add("x", offsetof(Args, x), rows(type, s.m, s.k, s.x_pad), base(s.x_misalign), false), random);
    make_special(c, c.operands[0], s.special, s.m / 2, s.k, random);
    const View a = matrices(type, s.adapters, s.rank, s.k, s.a_pad, s.gap);
    fill(c, c.add("a", offsetof(Args, a), a, base(s.a_misalign), false), random, 0.25);
    const View b = matrices(type, s.adapters, s.n, s.rank, s.b_pad, s.gap);
    fill(c, c.add("b", offsetof(Args, b), b, base(s.b_misalign), false), random, 0.25);
    const Operand index = c.add("index", offsetof(Args, index), packed(ref::Type::i32, {s.m}), 20, false);
    for (int64_t i = 0; i < s.m; ++i) {
        ref::store_bits(ref::Type::i32, static_cast<uint64_t>(index_of(s, i, random)), c.element(index, i));
    }
    const View y = rows(type, s.m, s.n, s.y_pad);
    if (s.addend != Addend::none) {
        fill(c, c.add("c", offsetof(Args, c), y, base(s.y_misalign), false), random, 2);
    }
    if (s.addend == Addend::in_place) {
        c.add_in_place("y", offsetof(Args, y), c.operands.size() - 1);
    } else {
        c.add("y", offsetof(Args, y), y, base(s.y_misalign), true);
    }
}

Case build(const Shape& s, ref::Type type, const std::string& name, const Seed& seed) {
    Case c = make_case<spark_lora_args>("lora", name, SPARK_OP_LORA, seed);
    Random random(seed, name);
    add_operands(c, s, type, random);
    auto& args = c.as<spark_lora_args>();
    args.scale = s.scale;
    args.hdr.flags = s.flags;
    args.hdr.given = s.scale_given ? SPARK_LORA_GIVEN_SCALE : 0;
    c.large = s.tier == Tier::card;
    c.note = "M " + std::to_string(s.m) + ", N " + std::to_string(s.n) + ", K " + std::to_string(s.k) + ", R " +
             std::to_string(s.rank) + " of " + std::to_string(s.adapters);
    ref::Call call;
    for (const char* field : {"x", "a", "b", "index", "c"}) {
        call.tensors[field] = tensor_of(c, field);
    }
    call.numbers["scale"] = s.scale == 0 && !s.scale_given ? 1 : s.scale;
    c.kind = any_kernel;
    c.expect = [call = std::move(call), type](size_t, const std::string&) { return allow_all(type, call); };
    return c;
}

Entry entry(const Shape& s, ref::Type type, const std::string& name) {
    return {"lora", name, s.tier, [s, type, name](const Seed& seed) { return build(s, type, name, seed); }};
}

void expand(const Shape& s, const std::string& name, std::vector<Entry>& out) {
    for (ref::Type type : types_of(s.types)) {
        out.push_back(entry(s, type, name + "." + ref::name_of(type)));
    }
}

void named(std::vector<Entry>& out) { add_table("lora", SHAPES, expand, out); }

Entry random(uint64_t seed, int64_t number) {
    const std::string name = "random_" + std::to_string(number);
    Random r(seed, "lora." + name);
    Shape s;
    const bool aligned = r.chance(0.6);
    const int64_t unit = aligned ? 8 : 1;
    s.m = r.chance(0.03) ? r.between(15, 18) : r.between(1, 2); // few: the emulator runs 64 warps for each
    s.n = r.chance(0.1) ? r.between(200, 600) : r.between(1, 90);
    s.k = unit * (aligned ? r.between(1, 40) : r.between(1, 200));
    s.rank = unit * r.between(1, aligned ? 10 : 50);
    s.adapters = r.between(1, 5);
    const std::vector<int64_t> pads = {0, 0, 8, 16, aligned ? 24 : 3};
    s.x_pad = r.pick(pads);
    s.a_pad = r.pick(pads);
    s.b_pad = r.pick(pads);
    s.y_pad = r.pick<int64_t>({0, 0, 1, 8});
    s.gap = r.pick(pads);
    s.x_misalign = r.chance(0.1) ? r.between(1, 7) : 0;
    s.y_misalign = r.chance(0.2) ? r.between(1, 7) : 0;
    s.index = r.pick<Index>({Index::mixed, Index::mixed, Index::one, Index::strange, Index::segments});
    s.addend = r.pick<Addend>({Addend::none, Addend::other, Addend::in_place});
    s.scale = r.pick<float>({0, 1, 0.5f, -2});
    s.scale_given = r.chance(0.5);
    s.special = r.chance(0.15) ? r.pick<Special>({Special::nan_row, Special::inf_row}) : Special::none;
    s.flags = r.pick<unsigned>({0, 0, SPARK_FLAG_DETERMINISTIC, SPARK_FLAG_BATCH_INVARIANT});
    return entry(s, r.pick(types_of(BF16 | F16)), name);
}

void sized(const std::vector<int64_t>& dims, std::vector<Entry>& out) {
    if (dims.size() == 4) {
        expand({.m = dims[0], .n = dims[1], .k = dims[2], .rank = dims[3]}, dims_name(dims), out);
    }
}

// Rows of an adapter are neighbours, and y is what they are added to.
Entry worded(Words& words) {
    Shape s{.index = Index::segments, .addend = Addend::in_place};
    s.m = words.number("m");
    s.n = words.number("n");
    s.k = words.number("k");
    s.rank = words.number("rank");
    s.adapters = words.number("adapters");
    return entry(s, words.type(BF16 | F16), words.name());
}

constexpr OpCases CASES{"lora", named, random, sized, "M,N,K,R", worded};

} // namespace
} // namespace check::lora

const check::OpCases check::LORA = check::lora::CASES;
