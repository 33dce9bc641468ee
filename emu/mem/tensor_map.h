// SPDX-License-Identifier: Apache-2.0
// The 128 bytes that describe a tensor to bulk copies: made by the driver's face, changed and read by kernels. A card's
// own are opaque; ours carry a mark and a sum, so that any other bytes are told from a map.
// Knows the rules that maps obey; knows nothing of memory, warps or CUDA's types.
#pragma once

#include <cstdint>
#include <string>

namespace emu {

// Values are those of the CUDA driver API's enumerations. Dimension 0 is the one whose elements follow each other.
struct TensorMap {
    static constexpr unsigned BYTES = 128, ALIGN = 64, DIMS = 5;
    enum Type : uint8_t {
        u8,
        u16,
        u32,
        s32,
        u64,
        s64,
        f16,
        f32,
        f64,
        bf16,
        f32_ftz,
        tf32,
        tf32_ftz,
        u4_align8,
        u4_align16,
        u6_align16,
        TYPES
    };
    enum Interleave : uint8_t { linear, interleave_16, interleave_32, INTERLEAVES };
    enum Swizzle : uint8_t { none, swizzle_32, swizzle_64, swizzle_128, atom_32, atom_32_flip_8, atom_64, SWIZZLES };
    enum Fill : uint8_t { zeros, nans, FILLS };
    static constexpr uint8_t PROMOTIONS = 4;

    uint64_t address = 0;
    uint64_t dim[DIMS] = {};        // elements
    uint64_t stride[DIMS - 1] = {}; // bytes: of dimension 1, 2, ...
    uint16_t box[DIMS] = {};        // elements that a copy passes over
    uint16_t step[DIMS] = {};       // of them every so-manyeth is copied, but in dimension 0
    uint8_t rank = 0, type = u8, interleave = linear, swizzle = none, promotion = 0, fill = zeros;
    uint8_t unused[6] = {};

    const char* type_name() const;
    unsigned element_bytes() const;
    uint32_t row_bytes() const { return box[0] * element_bytes(); } // of the box, in shared memory
    uint32_t copied(unsigned d) const { return d ? (box[d] + step[d] - 1u) / step[d] : box[0]; }
    uint64_t box_bytes() const; // in shared memory, whatever of them lies inside the tensor
};
static_assert(sizeof(TensorMap) == TensorMap::BYTES - 16);

// Each is empty, or a sentence: a rule of the CUDA driver API that the map breaks; what is not emulated.
std::string broken_rule(const TensorMap& map);
std::string not_emulated(const TensorMap& map);

void encode(const TensorMap& map, void* bytes);
// The same, or 128 bytes of zeros: a map of which nothing has been said yet, as kernels begin one.
bool decode_begun(const void* bytes, TensorMap& map);
bool decode(const void* bytes, TensorMap& map); // false: the bytes are no map that encode() made

} // namespace emu
