// SPDX-License-Identifier: Apache-2.0
// Oracle of cast; see the header for the definition.
#include "ref/cast.h"

#include "ref/call.h"

namespace ref {

uint64_t cast(Type from, Type to, uint64_t bits) { return from == to ? bits : encode(to, decode(from, bits)); }

static Results compute_cast(const Call& call) {
    const Tensor& x = call["x"];
    Results out;
    for (const auto& [name, y] : call.tensors) {
        for (uint64_t bits : name == "x" ? std::vector<uint64_t>() : x.bits) {
            const uint64_t got = cast(x.type, y.type, bits);
            // Of a NaN that changes its type nothing is said but that it is one.
            x.type == y.type ? out[name].bits.push_back(got) : out[name].values.push_back(decode(y.type, got));
        }
    }
    return out;
}

extern const Oracle CAST{"cast", compute_cast};

} // namespace ref
