// SPDX-License-Identifier: Apache-2.0
// What the cases of operators on caches share: memory of random bits, indices that are wrong, the counter of these.
#pragma once

#include "ops/families.h"

#include <algorithm>
#include <limits>

namespace check {

// What is wrong with every third index; all: with each. wraps: right in its lower 32 bits.
enum class Bad { none, negative, beyond, smallest, largest, wraps, mixed, all };

constexpr unsigned KINDS = ALL | E4M3; // types of elements
constexpr int32_t COUNT_BEFORE = 40;   // invalid_count is counted up, not set

inline int64_t bad_index(Bad bad, int64_t limit, bool wide, Random& r) {
    switch (bad) {
    case Bad::negative: return -r.between(1, 5);
    case Bad::beyond: return limit;
    case Bad::smallest: return wide ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int32_t>::min();
    case Bad::largest: return wide ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int32_t>::max();
    case Bad::wraps: return wide ? (r.between(1, 1000) << 32) + (limit > 0 ? r.below(limit) : 0) : limit;
    default: break;
    }
    return bad_index(r.pick<Bad>({Bad::negative, Bad::beyond, Bad::smallest, Bad::largest, Bad::wraps}), limit, wide,
                     r);
}

// Random bits, so that NaNs with payloads, infinities and subnormals are among what is copied.
inline void fill_bits(Case& c, const Operand& operand, Random& r) {
    for (int64_t i = 0; i < c.to_fill(operand); ++i) {
        ref::store_bits(operand.view.type, r.next(), c.element(operand, i));
    }
}

inline void add_bits(Case& c, const char* field, size_t at, const View& view, int64_t misalign, bool written,
                     Random& r) {
    Operand& operand = c.add(field, at, view, 16 + static_cast<size_t>(misalign) * ref::size_of(view.type), written);
    operand.input = true;
    fill_bits(c, operand, r);
}

// `values`, of `width` to each entry where they are more than one.
inline void add_indices(Case& c, const char* field, size_t at, const std::vector<int64_t>& values, bool wide,
                        int64_t width = 0) {
    const ref::Type type = wide ? ref::Type::i64 : ref::Type::i32;
    const auto count = static_cast<int64_t>(values.size());
    const View view = width == 0 ? packed(type, {count}) : packed(type, {count / width, width});
    const Operand& operand = c.add(field, at, view, 16 + ref::size_of(type), false);
    for (size_t i = 0; i < values.size(); ++i) {
        ref::store_bits(type, static_cast<uint64_t>(values[i]), c.element(operand, static_cast<int64_t>(i)));
    }
}

inline void add_counter(Case& c, size_t at) {
    Operand& counter = c.add("invalid_count", at, packed(ref::Type::i32, {1}), 20, true);
    counter.input = true;
    ref::store_bits(ref::Type::i32, COUNT_BEFORE, c.element(counter, 0));
}

inline std::vector<Allowed> counted(int64_t refused) {
    return {{Allowed::bits, 0, 0, static_cast<uint32_t>(COUNT_BEFORE + refused)}};
}

inline const Operand& operand_of(const Case& c, const std::string& field) {
    return *std::find_if(c.operands.begin(), c.operands.end(),
                         [&](const Operand& operand) { return operand.field == field; });
}

// The bits of element `i` of an operand of the case.
inline Allowed as_in(const Case& c, const Operand& from, int64_t i) {
    const auto at = static_cast<size_t>(from.view.offset(i)) * ref::size_of(from.view.type);
    return {Allowed::bits, 0, 0,
            static_cast<uint32_t>(ref::load_bits(from.view.type, c.storages[from.storage].bytes.data() + at))};
}

// What elements of one byte are said to be: numbers of their type, pairs of E2M1, scales.
enum class Said { as_type, e2m1, ue4m3 };

inline void recode(Case& c, Said coded, std::initializer_list<size_t> tensors) {
    for (size_t at : tensors) {
        auto& tensor = *reinterpret_cast<spark_tensor*>(&c.args[at]);
        if (tensor.ndim == 0 || coded == Said::as_type) {
            continue;
        }
        tensor.dtype = coded == Said::e2m1 ? SPARK_DTYPE_E2M1 : SPARK_DTYPE_UE4M3;
        tensor.shape[tensor.ndim - 1] *= coded == Said::e2m1 ? 2 : 1;
        for (uint32_t d = 0; d + 1 < tensor.ndim; ++d) {
            tensor.stride[d] *= coded == Said::e2m1 ? 2 : 1;
        }
    }
}

// Of [B, S, H, D]: `head_pad` elements after each head, `row_pad` after each row; or, where heads are outside,
// [B, H, S, D] in memory.
inline View cache_view(View packed, int64_t head_pad, int64_t row_pad, bool heads_outside) {
    const auto some = [](int64_t v) { return std::max<int64_t>(v, 1); };
    const int64_t s = packed.shape[1], h = packed.shape[2], d = packed.shape[3];
    int64_t head = some(d + head_pad), row = some(h * head + row_pad), batch = some(s * row);
    if (heads_outside) {
        row = some(d + row_pad), head = some(s * row + head_pad), batch = some(h * head);
    }
    packed.stride = {batch, row, head, 1};
    return packed;
}

} // namespace check
