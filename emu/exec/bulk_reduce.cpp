// SPDX-License-Identifier: Apache-2.0
// Reductions of bulk copies: which types have which, and the loop over the elements.
#include "bulk_reduce.h"

#include "atomic_step.h"

namespace emu {
namespace EMU_LEVEL {
namespace {

template <class T, Do OP> void each(void* to, const void* from, uint32_t bytes) {
    using Word = WordOf<sizeof(T)>;
    for (uint32_t i = 0; i < bytes; i += sizeof(T)) {
        T a;
        std::memcpy(&a, static_cast<const uint8_t*>(from) + i, sizeof a);
        update<Word>(static_cast<uint8_t*>(to) + i,
                     [a](Word old) { return bits_as<Word>(step<T>(OP, bits_as<T>(old), a, a)); });
    }
}

template <bool BF, Do OP> void each_half(void* to, const void* from, uint32_t bytes) {
    for (uint32_t i = 0; i < bytes; i += 2) {
        uint16_t a;
        std::memcpy(&a, static_cast<const uint8_t*>(from) + i, sizeof a);
        update<uint16_t>(static_cast<uint8_t*>(to) + i,
                         [a](uint16_t old) { return uint16_t(step_half<BF>(OP, old, a)); });
    }
}

template <class T> BulkReduction of_integer(Do op) {
    switch (op) {
    case Do::add: return &each<T, Do::add>;
    case Do::min: return &each<T, Do::min>;
    case Do::max: return &each<T, Do::max>;
    case Do::and_: return &each<T, Do::and_>;
    case Do::or_: return &each<T, Do::or_>;
    case Do::xor_: return &each<T, Do::xor_>;
    default: break;
    }
    if constexpr (std::is_same_v<T, uint32_t>) {
        if (op == Do::inc) return &each<T, Do::inc>;
        if (op == Do::dec) return &each<T, Do::dec>;
    }
    return nullptr;
}
template <bool BF> BulkReduction of_half(Do op) {
    return op == Do::add   ? &each_half<BF, Do::add>
           : op == Do::min ? &each_half<BF, Do::min>
           : op == Do::max ? &each_half<BF, Do::max>
                           : nullptr;
}
} // namespace
} // namespace EMU_LEVEL

TensorMap::Type element_of(Type type) {
    switch (type) {
    case Type::s32: return TensorMap::s32;
    case Type::u64:
    case Type::b64: return TensorMap::u64;
    case Type::s64: return TensorMap::s64;
    case Type::f16: return TensorMap::f16;
    case Type::bf16: return TensorMap::bf16;
    case Type::f32: return TensorMap::f32;
    case Type::f64: return TensorMap::f64;
    default: return TensorMap::u32;
    }
}

unsigned bulk_operation(const Form& form) { return unsigned(EMU_LEVEL::named_in(form)); }

BulkReduction bulk_reduction(unsigned operation, uint8_t type) {
    using namespace EMU_LEVEL;
    const Do op = Do(operation);
    switch (type) {
    case TensorMap::u32: return of_integer<uint32_t>(op);
    case TensorMap::s32: return of_integer<int32_t>(op);
    case TensorMap::u64: return of_integer<uint64_t>(op);
    case TensorMap::s64: return of_integer<int64_t>(op);
    case TensorMap::f16: return of_half<false>(op);
    case TensorMap::bf16: return of_half<true>(op);
    case TensorMap::f32: return op == Do::add ? &each<float, Do::add> : nullptr;
    case TensorMap::f64: return op == Do::add ? &each<double, Do::add> : nullptr;
    default: return nullptr;
    }
}

} // namespace emu
