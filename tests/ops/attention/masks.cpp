// SPDX-License-Identifier: Apache-2.0
// What queries see, told by lists beside them: ranges and bits.
#include "ops/attention/shape.h"

#include <algorithm>
#include <cstddef>

namespace check::attention {

// Ranges of the queries, of keys that the sequences have by now. Queries of no sequence have strange ones.
void add_ranges(Case& c, const Shape& s, Problem& p, Random& random) {
    if (s.ranges == Ranges::none) {
        return;
    }
    constexpr int64_t CHUNK = 50;
    p.starts.assign(static_cast<size_t>(p.tokens), -3);
    p.ends.assign(static_cast<size_t>(p.tokens), INT32_MAX);
    for (size_t b = 0; b < p.q_len.size(); ++b) {
        const int64_t keys = p.k_len[b], most = std::max<int64_t>(keys, 1), prefix = random.between(0, most);
        int64_t document = 0, next = random.between(1, most);
        for (int64_t i = 0; i < p.q_len[b]; ++i) {
            const int64_t own = i + keys - p.q_len[b]; // negative: a query without a key
            while (own >= next) {
                document = next;
                next += random.between(1, most);
            }
            auto &start = p.starts[static_cast<size_t>(p.q_first[b] + i)],
                 &end = p.ends[static_cast<size_t>(p.q_first[b] + i)];
            switch (s.ranges) {
            case Ranges::none: break;
            case Ranges::chunks: start = own - own % CHUNK; break;
            case Ranges::both_ends: end = next; [[fallthrough]];
            case Ranges::documents: start = document; break;
            case Ranges::prefix: end = std::max(prefix, own + 1); break;
            case Ranges::any:
                start = random.chance(0.1) ? random.pick<int64_t>({INT32_MIN, INT32_MAX}) : random.between(-5, keys);
                end = random.chance(0.1) ? random.pick<int64_t>({INT32_MIN, INT32_MAX}) : random.between(-5, keys + 9);
            }
        }
    }
    using Args = spark_attention_args;
    const View view = packed(ref::Type::i32, {s.list_q ? 1 : s.seqs, p.s});
    const auto add = [&](const char* field, size_t offset, const std::vector<int64_t>& numbers) {
        const Operand& list = c.add(field, offset, view, 4, false);
        for (size_t i = 0; i < numbers.size(); ++i) {
            ref::store_bits(ref::Type::i32, static_cast<uint64_t>(numbers[i]),
                            c.element(list, static_cast<int64_t>(i)));
        }
    };
    if (s.ranges != Ranges::prefix) {
        add("key_starts", offsetof(Args, key_starts), p.starts);
    }
    if (s.ranges == Ranges::prefix || s.ranges == Ranges::both_ends || s.ranges == Ranges::any) {
        add("key_ends", offsetof(Args, key_ends), p.ends);
    }
}

// Bits of the queries. A tree: each draft hangs on one before it, or on none.
void add_bits(Case& c, const Shape& s, Problem& p, Random& random) {
    if (s.bits == Bits::none) {
        return;
    }
    const int64_t most_q = *std::max_element(p.q_len.begin(), p.q_len.end());
    p.mask_first = s.bits == Bits::tree ? -1 : s.bits == Bits::full ? 0 : random.between(0, s.sk);
    p.words = s.bits == Bits::tree   ? (most_q + 63) / 64
              : s.bits == Bits::full ? (s.sk + 63) / 64
                                     : random.between(1, 3);
    const auto words = static_cast<size_t>(p.words);
    p.mask.assign(static_cast<size_t>(p.tokens) * words, 0);
    for (uint64_t& word : p.mask) {
        word = random.chance(0.1) ? 0 : random.next();
    }
    for (size_t b = 0; s.bits == Bits::tree && b < p.q_len.size(); ++b) {
        uint64_t* mask = p.mask.data() + static_cast<size_t>(p.q_first[b]) * words;
        for (int64_t i = 0; i < p.q_len[b]; ++i) {
            const auto at = static_cast<size_t>(i);
            const int64_t parent = random.between(-1, i - 1);
            for (size_t w = 0; w < words; ++w) {
                mask[at * words + w] = parent < 0 ? 0 : mask[static_cast<size_t>(parent) * words + w];
            }
            mask[at * words + at / 64] |= uint64_t{1} << (at % 64);
        }
    }
    const Operand& mask = c.add("key_mask", offsetof(spark_attention_args, key_mask),
                                packed(ref::Type::i64, {s.list_q ? 1 : s.seqs, p.s, p.words}), 8, false);
    for (size_t i = 0; i < p.mask.size(); ++i) {
        ref::store_bits(ref::Type::i64, p.mask[i], c.element(mask, static_cast<int64_t>(i)));
    }
    auto& args = c.as<spark_attention_args>();
    args.mask_first = std::max<int64_t>(p.mask_first, 0);
    args.hdr.given |= p.mask_first == 0 ? SPARK_ATTENTION_GIVEN_MASK_FIRST : 0;
}

} // namespace check::attention
