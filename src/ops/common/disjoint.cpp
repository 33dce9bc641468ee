// SPDX-License-Identifier: Apache-2.0
// Do two strided tensors share a byte? Answered from address ranges, and for column slices of one matrix
// (q, k, v of a packed projection) from their common pitch:
//
//     address    0        P        2P       3P          P: greatest common divisor of all row strides, in bytes
//     a          ####.... ####.... ####....             a covers [0, 4) of each pitch
//     b          ....##.. ....##.. ....##..             b covers [4, 6): never the same byte
#include <numeric>

#include "ops/common/validate.h"

namespace spark {
namespace {

uint64_t row_bytes(const View& v) {
    if (v.last(0) > 1 && v.last_stride(0) != 1) return v.bytes;
    return (static_cast<uint64_t>(v.last(0)) * v.elem_bits + 7) / 8;
}

uint64_t pitch(const View& v, uint64_t common) {
    for (uint32_t i = 0; i + 1 < v.ndim; ++i) {
        if (v.shape[i] > 1) common = std::gcd(common, static_cast<uint64_t>(v.stride[i]) * v.elem_bits / 8);
    }
    return common;
}

} // namespace

bool disjoint(const View& a, const View& b) {
    if (a.data + a.bytes <= b.data || b.data + b.bytes <= a.data) return true;
    uint64_t common = pitch(b, pitch(a, 0)), wide_a = row_bytes(a), wide_b = row_bytes(b);
    if (wide_a > common || wide_b > common) return false;
    uint64_t shift = b.data >= a.data ? (b.data - a.data) % common : (common - (a.data - b.data) % common) % common;
    return shift >= wide_a && shift + wide_b <= common;
}

uint32_t overlapping_dim(const int64_t* shape, const int64_t* stride, uint32_t ndim, int64_t& reach) {
    uint32_t done = 0;
    reach = 0;
    for (uint32_t step = 0; step < ndim; ++step) {
        uint32_t best = ndim;
        for (uint32_t d = 0; d < ndim; ++d) {
            bool open = shape[d] > 1 && (done >> d & 1) == 0;
            if (open && (best == ndim || stride[d] < stride[best])) best = d;
        }
        if (best == ndim) return best;
        if (stride[best] <= reach) return best;
        reach += stride[best] * (shape[best] - 1);
        done |= 1u << best;
    }
    return ndim;
}

} // namespace spark
