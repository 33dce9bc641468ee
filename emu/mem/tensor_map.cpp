// SPDX-License-Identifier: Apache-2.0
// The rules of tensor maps, and their bytes.
#include "tensor_map.h"

#include <algorithm>
#include <cstring>

namespace emu {
namespace {

// What a table of element types says of each; the packed ones hold 16 elements in 8 or 12 bytes.
struct TypeRow {
    const char* name;
    uint8_t bytes; // 0: packed
    bool floating;
};
constexpr TypeRow TYPE_ROWS[] = {
    {"UINT8", 1, false},       {"UINT16", 2, false},       {"UINT32", 4, false},        {"INT32", 4, false},
    {"UINT64", 8, false},      {"INT64", 8, false},        {"FLOAT16", 2, true},        {"FLOAT32", 4, true},
    {"FLOAT64", 8, true},      {"BFLOAT16", 2, true},      {"FLOAT32_FTZ", 4, true},    {"TFLOAT32", 4, true},
    {"TFLOAT32_FTZ", 4, true}, {"16U4_ALIGN8B", 0, false}, {"16U4_ALIGN16B", 0, false}, {"16U6_ALIGN16B", 0, false},
};
static_assert(sizeof TYPE_ROWS / sizeof *TYPE_ROWS == TensorMap::TYPES);
constexpr const char* SWIZZLE_NAMES[] = {"NONE",         "32B", "64B", "128B", "128B_ATOM_32B", "128B_ATOM_32B_FLIP_8B",
                                         "128B_ATOM_64B"};
static_assert(sizeof SWIZZLE_NAMES / sizeof *SWIZZLE_NAMES == TensorMap::SWIZZLES);

std::string at(const char* array, unsigned i) { return std::string(array) + "[" + std::to_string(i) + "]"; }

std::string broken_enumeration(const TensorMap& m) {
    if (m.type >= TensorMap::TYPES) return "tensorDataType is none of CUtensorMapDataType";
    if (m.interleave >= TensorMap::INTERLEAVES) return "interleave is none of CUtensorMapInterleave";
    if (m.swizzle >= TensorMap::SWIZZLES) return "swizzle is none of CUtensorMapSwizzle";
    if (m.promotion >= TensorMap::PROMOTIONS) return "l2Promotion is none of CUtensorMapL2promotion";
    if (m.fill >= TensorMap::FILLS) return "oobFill is none of CUtensorMapFloatOOBfill";
    if (m.fill == TensorMap::nans && !TYPE_ROWS[m.type].floating)
        return std::string("oobFill asks for NaN, and ") + TYPE_ROWS[m.type].name + " has none";
    return "";
}

std::string broken_global(const TensorMap& m) {
    const uint64_t unit = m.interleave == TensorMap::interleave_32 ? 32 : 16;
    if (m.rank < 1 || m.rank > TensorMap::DIMS) return "tensorRank is not from 1 to 5";
    if (m.interleave && m.rank < 3) return "tensorRank is below 3 with an interleaved layout";
    if (m.address % unit) return "globalAddress is no multiple of " + std::to_string(unit);
    for (unsigned d = 0; d < m.rank; ++d)
        if (!m.dim[d] || m.dim[d] > 1ull << 32) return at("globalDim", d) + " is not from 1 to 2^32";
    for (unsigned d = 0; d + 1 < m.rank; ++d) {
        if (m.stride[d] % unit) return at("globalStrides", d) + " is no multiple of " + std::to_string(unit);
        if (m.stride[d] >= 1ull << 40) return at("globalStrides", d) + " is not below 2^40";
    }
    return "";
}

std::string broken_box(const TensorMap& m) {
    for (unsigned d = 0; d < m.rank; ++d)
        if (m.box[d] < 1 || m.box[d] > 256) return at("boxDim", d) + " is not from 1 to 256";
    for (unsigned d = m.interleave ? 0 : 1; d < m.rank; ++d) // without interleaving the first is ignored
        if (m.step[d] < 1 || m.step[d] > 8) return at("elementStrides", d) + " is not from 1 to 8";
    if (m.interleave == TensorMap::interleave_32 && m.swizzle != TensorMap::swizzle_32)
        return "swizzle is not 32B with an interleaved layout of 32 bytes";
    if (m.interleave || !TYPE_ROWS[m.type].bytes) return "";
    const std::string row = "a row of the box, boxDim[0] elements, has " + std::to_string(m.row_bytes()) + " bytes: ";
    if (m.row_bytes() % 16) return row + "no multiple of 16";
    const uint32_t span = m.swizzle ? 16u << (m.swizzle < TensorMap::swizzle_128 ? m.swizzle : 3u) : UINT32_MAX;
    if (m.row_bytes() > span) return row + "more than the " + std::to_string(span) + " that the swizzle spans";
    return "";
}

// The bytes of a map, with what tells them from others.
struct Encoded {
    uint64_t mark, sum;
    TensorMap map;
};
static_assert(sizeof(Encoded) == TensorMap::BYTES);
constexpr uint64_t MARK = 0x70616d726f736e74ull; // "tnsormap"

uint64_t sum_of(const TensorMap& map) { // FNV-1a
    uint8_t bytes[sizeof map];
    std::memcpy(bytes, &map, sizeof map);
    uint64_t sum = 0xcbf29ce484222325ull;
    for (uint8_t byte : bytes) sum = (sum ^ byte) * 0x100000001b3ull;
    return sum;
}
} // namespace

const char* TensorMap::type_name() const { return TYPE_ROWS[type].name; }
unsigned TensorMap::element_bytes() const { return TYPE_ROWS[type].bytes; }

uint64_t TensorMap::box_bytes() const {
    uint64_t bytes = element_bytes();
    for (unsigned d = 0; d < rank; ++d) bytes *= copied(d);
    return bytes;
}

std::string broken_rule(const TensorMap& map) {
    for (auto rule : {broken_enumeration, broken_global, broken_box})
        if (std::string broken = rule(map); !broken.empty()) return broken;
    return "";
}

std::string not_emulated(const TensorMap& map) {
    // Those convert what they copy, or pack it, in ways that no public text gives to the bit.
    if (map.type >= TensorMap::f32_ftz)
        return std::string("CU_TENSOR_MAP_DATA_TYPE_") + TYPE_ROWS[map.type].name + " is not emulated";
    if (map.interleave) return "interleaved layouts of tensor maps are not emulated; CU_TENSOR_MAP_INTERLEAVE_NONE is";
    if (map.swizzle > TensorMap::swizzle_128)
        return std::string("CU_TENSOR_MAP_SWIZZLE_") + SWIZZLE_NAMES[map.swizzle] + " is not emulated";
    return "";
}

void encode(const TensorMap& map, void* bytes) {
    const Encoded all{MARK, sum_of(map), map};
    std::memcpy(bytes, &all, sizeof all);
}

bool decode(const void* bytes, TensorMap& map) {
    Encoded all;
    std::memcpy(&all, bytes, sizeof all);
    map = all.map;
    return all.mark == MARK && all.sum == sum_of(map);
}

bool decode_begun(const void* bytes, TensorMap& map) {
    const uint8_t* const b = static_cast<const uint8_t*>(bytes);
    if (!std::all_of(b, b + TensorMap::BYTES, [](uint8_t byte) { return byte == 0; })) return decode(bytes, map);
    map = {};
    return true;
}

} // namespace emu
