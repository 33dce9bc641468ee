// SPDX-License-Identifier: Apache-2.0
// Twins of a batch-invariant case of attention: for each thing that must not change a token's bits, a call in which it
// is different, and that has the case's queries, keys and values in it. Called by attention.cpp.
#include "ops/attention/shape.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace check::attention {
namespace {

// Sequence `seq` of the call is the case's, with `keys` keys; its query i + offset is the case's query i; its last
// heads are the case's. `wild`: all that is beside it is NaN, infinite, or huge.
struct Setting {
    std::string change;
    Shape s;
    int64_t keys, offset = 0, seq = 0;
    bool wild = false;
};

void make_wild(Case& c, const Operand& operand) {
    constexpr double VALUES[] = {NAN, INFINITY, 3e4, -INFINITY, -3e4};
    for (int64_t i = 0; i < operand.view.count(); ++i) {
        ref::store(operand.view.type, VALUES[i / operand.view.shape[3] % 5], c.element(operand, i));
    }
}

// Where token `token` of a tensor of `heads` heads begins, from head `head` on, in elements of `width`.
int64_t place_of(int64_t token, int64_t head, int64_t heads, int64_t width) { return (token * heads + head) * width; }

Twin make_twin(const Case& c, const Shape& base, const Setting& setting, ref::Type type, const Seed& seed) {
    const Shape& s = setting.s;
    Twin twin{setting.change, build(s, type, setting.change, seed), {}};
    Random random(seed, setting.change);
    const Problem p = numbers(s, type, random);
    const auto seq = static_cast<size_t>(setting.seq);
    const int64_t q_first = p.q_first[seq], q_len = p.q_len[seq], offset = setting.offset;
    const int64_t from = std::max<int64_t>(0, -offset), to = std::min(base.sq, q_len - offset);
    Case source = c;
    for (size_t index = 0; index < 3; ++index) {
        const Operand &operand = twin.call.operands[index], &original = source.operands[index];
        if (setting.wild) {
            make_wild(twin.call, operand);
        }
        const bool is_q = index == 0;
        const int64_t heads = is_q ? base.h : base.hkv, all = is_q ? s.h : s.hkv;
        const int64_t end = is_q ? to : std::min(setting.keys, base.sk), d = index == 2 ? p.dv : p.d;
        for (int64_t token = is_q ? from : 0; token < end; ++token) {
            const int64_t row = is_q ? q_first + offset + token : p.key(seq, token);
            for (int64_t i = 0; i < heads * d; ++i) {
                std::memcpy(twin.call.element(operand, place_of(row, all - heads, all, d) + i),
                            source.element(original, place_of(token, 0, heads, d) + i),
                            ref::size_of(operand.view.type));
            }
        }
    }
    for (const Operand& operand : twin.call.operands) {
        if (operand.field == "seq_lens") {
            ref::store_bits(ref::Type::i32, static_cast<uint64_t>(setting.keys),
                            twin.call.element(operand, setting.seq));
        }
        for (const Operand& original : source.operands) {
            if (operand.field.ends_with(".scale") && original.field == operand.field) {
                std::memcpy(twin.call.element(operand, 0), source.element(original, 0), sizeof(float));
            }
        }
    }
    const int64_t h = base.h, all = s.h, d = p.dv;
    twin.place = [=](size_t index, int64_t element) -> int64_t {
        const int64_t width = index == 3 ? d : 1, token = element / (h * width), rest = element % (h * width);
        return token < from || token >= to ? -1 : place_of(q_first + token + offset, all - h, all, width) + rest;
    };
    return twin;
}

// Another number of queries, and other keys behind the case's.
void add_queries(const Shape& s, std::vector<Setting>& all) {
    Setting last{"the last query alone", s, s.sk, 1 - s.sq};
    last.s.sq = 1;
    Setting middle{"a query alone", s, s.causal ? s.sk - s.sq + s.sq / 2 + 1 : s.sk, -(s.sq / 2)};
    middle.s.sq = 1, middle.s.sk = middle.keys;
    Setting before{"more queries before", s, s.sk, 70};
    before.s.sq += 70;
    Setting wild = before;
    wild.change = "wild queries before", wild.wild = true;
    all.insert(all.end(), {last, middle, before, wild});
    if (s.causal) {
        Setting chunk{"queries and keys after", s, s.sk + 70};
        chunk.s.sq += 70, chunk.s.sk += 70;
        all.push_back(chunk);
    }
}

// Another room for keys, other bounds of lengths.
void add_bounds(const Shape& s, std::vector<Setting>& all) {
    Setting capacity{"more room in the cache", s, s.sk};
    capacity.s.sk += 1100, capacity.s.lens = Lens::full;
    Setting pages{"pages", s, s.sk};
    pages.s.page = 16, pages.s.lens = Lens::full;
    pages.s.listed = s.causal ? Listed::rest : Listed::none; // of one kind or the other
    Setting least{"max_seqlen_k of one part", s, s.sk};
    least.s.max_k = 900;
    Setting less{"max_seqlen_k too small", s, s.sk};
    less.s.max_k = 1300;
    Setting queries{"max_seqlen_q", s, s.sk, 20};
    queries.s.sq += 20, queries.s.max_q = s.sq + 20;
    all.insert(all.end(), {least, less, queries});
    if (s.dv == 0) { // else the kernel for any problem
        all.push_back(pages);
    }
    if (s.ranges == Ranges::none) { // which follow from the keys of the cache that it is built for
        all.push_back(capacity);
    }
}

// Other sequences and other heads, of any values.
void add_others(const Shape& s, std::vector<Setting>& all) {
    Setting batch{"ragged sequences beside it", s, s.sk, 0, 2};
    batch.s.seqs = 3, batch.s.longest = 2, batch.s.lens = Lens::ragged;
    Setting packed = batch;
    packed.change = "sequences one after the other", packed.s.list_q = packed.s.list_k = true,
    packed.s.lens = Lens::none;
    Setting bounded = packed;
    bounded.change = "the same, of bounded length", bounded.s.max_q = s.sq, bounded.s.max_k = s.sk;
    Setting heads{"more heads", s, s.sk};
    heads.s.h *= 3, heads.s.hkv *= 3;
    all.insert(all.end(), {batch, packed, bounded, heads});
    for (Setting wild : {batch, packed, heads}) {
        wild.change += ", wild", wild.wild = true;
        all.push_back(wild);
    }
}

} // namespace

void add_twins(Case& c, const Shape& s, ref::Type type, const Seed& seed) {
    std::vector<Setting> all;
    add_queries(s, all);
    add_bounds(s, all);
    add_others(s, all);
    for (const Setting& setting : all) {
        c.twins.push_back(make_twin(c, s, setting, type, seed));
    }
    const std::vector<const char*> ways = s.dv != 0 || s.d > 256 ? std::vector{"__d192_", "__parts_d512"}
                                          : s.d > 128
                                              ? std::vector{"__parts_d256", "__d256_"}
                                              : std::vector{"__parts_d64", "__parts_d128", "_128x64", "__d96_64x64"};
    c.alike = [=](const std::string& kernel) {
        return kernel.find("rows__") == kernel.npos && // those of widened codes add in another order
               std::any_of(ways.begin(), ways.end(), [&](const char* way) { return kernel.find(way) != kernel.npos; });
    };
}

} // namespace check::attention
