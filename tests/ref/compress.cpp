// SPDX-License-Identifier: Apache-2.0
// Oracle of compress; see the header for the definition.
#include "ref/compress.h"

#include "ref/call.h"

#include <algorithm>
#include <array>

namespace ref {

unsigned places_of_two(std::span<const uint64_t> four, size_t bytes) {
    std::array<unsigned, 4> places = {0, 1, 2, 3};
    const uint64_t below_sign = (uint64_t{1} << (8 * bytes - 1)) - 1;
    std::stable_sort(places.begin(), places.end(),
                     [&](unsigned a, unsigned b) { return (four[a] & below_sign) > (four[b] & below_sign); });
    return std::min(places[0], places[1]) + 4 * std::max(places[0], places[1]);
}

size_t kept_place(std::span<const uint8_t> kept, size_t i) {
    const unsigned places = kept[i / 4] >> (i / 2 % 2 * 4) & 15;
    return i / 2 * 4 + (i % 2 == 0 ? places & 3 : places >> 2);
}

static Results compute_compress(const Call& call) {
    const Tensor& x = call["x"];
    const size_t k = x.size(1);
    Result y, kept;
    for (size_t at = 0; at < x.bits.size(); at += 4) {
        const unsigned places = places_of_two(std::span(x.bits).subspan(at, 4), size_of(x.type));
        y.bits.push_back(x.bits[at + (places & 3)]);
        y.bits.push_back(x.bits[at + (places >> 2)]);
        if (at % k % 8 == 0) {
            kept.bits.push_back(places);
        } else {
            kept.bits.back() |= uint64_t{places} << 4;
        }
    }
    return {{"y", y}, {"kept", kept}};
}

extern const Oracle COMPRESS{"compress", compute_compress};

} // namespace ref
