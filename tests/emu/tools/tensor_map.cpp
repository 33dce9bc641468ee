// SPDX-License-Identifier: Apache-2.0
// Reads the words of a tensor map.
#include "tensor_map.h"

#include <algorithm>
#include <iterator>

namespace ptxrun {

// "4,8" to an array of at most five.
template <class T> static unsigned read_list(const std::string& text, T* out) {
    std::istringstream in(text);
    unsigned count = 0;
    for (std::string part; std::getline(in, part, ','); ++count) {
        if (count == 5) throw "more than 5 numbers in " + text;
        out[count] = T(std::stoull(part, nullptr, 0));
    }
    return count;
}

TensorMapSpec read_tensor_map(std::istringstream& in) {
    static const char* const TYPES[] = {"u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16"};
    TensorMapSpec map;
    std::string word, value;
    in >> map.buffer >> word;
    map.type = unsigned(std::find(std::begin(TYPES), std::end(TYPES), word) - std::begin(TYPES));
    if (map.type == std::size(TYPES)) throw "unknown type " + word + " of a tensor map";
    while (in >> word >> value) {
        if (word == "dim") map.rank = read_list(value, map.dim);
        else if (word == "stride") read_list(value, map.stride);
        else if (word == "box") read_list(value, map.box);
        else if (word == "step") read_list(value, map.step);
        else if (word == "offset") map.offset = std::stoull(value, nullptr, 0);
        else if (word == "swizzle") map.swizzle = value == "32" ? 1 : value == "64" ? 2 : 3;
        else if (word == "fill") map.fill = value == "nan";
        else throw "unknown word " + word + " of a tensor map";
    }
    return map;
}

} // namespace ptxrun
