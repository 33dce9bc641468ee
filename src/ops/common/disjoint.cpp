// SPDX-License-Identifier: Apache-2.0
// Do two strided tensors share a byte? Answered from address ranges, for column slices of one matrix (q, k, v of a
// packed projection) from their common pitch, and for other slices of one tensor from the steps between them.
//
//     address    0        P        2P       3P          P: greatest common divisor of all row strides, in bytes
//     a          ####.... ####.... ####....             a covers [0, 4) of each pitch
//     b          ....##.. ....##.. ....##..             b covers [4, 6): never the same byte
#include <algorithm>
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

bool in_columns(const View& a, const View& b) {
    uint64_t common = pitch(b, pitch(a, 0)), wide_a = row_bytes(a), wide_b = row_bytes(b);
    if (wide_a > common || wide_b > common) return false;
    uint64_t shift = b.data >= a.data ? (b.data - a.data) % common : (common - (a.data - b.data) % common) % common;
    return shift >= wide_a && shift + wide_b <= common;
}

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

// What lies between a byte of one tensor and a byte of the other, in bytes: one multiple of each stride, and a place in
// each of two runs of neighbours. Dimensions of one stride in both tensors are one, whose multiples go both ways.
//
//     k and v of [page, 2, token, head, d]     pages + tokens + heads: ever the way from k's first byte to v's?
class Distances {
public:
    // Whether all of a keeps away from b; false too where that would take too long to tell.
    bool apart(const View& a, const View& b) {
        const auto between = static_cast<int64_t>(b.data - a.data);
        if (!add(a, 1, run_a_) || !add(b, -1, run_b_)) return false;
        std::sort(step_, step_ + count_, [](const Step& x, const Step& y) { return x.stride > y.stride; });
        for (uint32_t i = count_; i-- > 0;) {
            least_[i] = least_[i + 1] + step_[i].least * step_[i].stride;
            most_[i] = most_[i + 1] + step_[i].most * step_[i].stride;
        }
        return !meets(0, between - run_a_ + 1, between + run_b_ - 1);
    }

private:
    static constexpr uint32_t MOST_STEPS = 2 * SPARK_MAX_NDIM;
    static constexpr int MOST_TRIES = 1024;
    struct Step {
        int64_t stride, least, most;
    };
    Step step_[MOST_STEPS];
    int64_t least_[MOST_STEPS + 1]{}, most_[MOST_STEPS + 1]{}; // what the steps from one on reach
    uint32_t count_ = 0;
    int64_t run_a_ = 0, run_b_ = 0;
    int tries_ = MOST_TRIES;

    // False if its elements do not begin on whole bytes.
    bool add(const View& v, int64_t sign, int64_t& run) {
        int64_t neighbours = 1;
        for (uint32_t d = 0; d < v.ndim; ++d) {
            if (v.shape[d] <= 1 || v.stride[d] == 0) continue;
            if (d + 1 == v.ndim && v.stride[d] == 1) {
                neighbours = v.shape[d];
                continue;
            }
            const int64_t bits = v.stride[d] * v.elem_bits;
            if (bits % 8 != 0) return false;
            add(bits / 8, sign * (v.shape[d] - 1));
        }
        run = (neighbours * v.elem_bits + 7) / 8;
        return true;
    }

    void add(int64_t stride, int64_t farthest) {
        Step* known = std::find_if(step_, step_ + count_, [=](const Step& s) { return s.stride == stride; });
        if (known == step_ + count_) step_[count_++] = {stride, 0, 0};
        (farthest < 0 ? known->least : known->most) += farthest;
    }

    // Whether the steps from one on can add up to something from low to high.
    bool meets(uint32_t at, int64_t low, int64_t high) {
        if (at == count_) return low <= 0 && high >= 0;
        const Step& step = step_[at];
        const int64_t first = std::max(step.least, -floor_div(most_[at + 1] - low, step.stride));
        const int64_t last = std::min(step.most, floor_div(high - least_[at + 1], step.stride));
        for (int64_t x = first; x <= last; ++x) {
            if (--tries_ < 0 || meets(at + 1, low - x * step.stride, high - x * step.stride)) return true;
        }
        return false;
    }
};

} // namespace

bool disjoint(const View& a, const View& b) {
    if (a.data + a.bytes <= b.data || b.data + b.bytes <= a.data) return true;
    return in_columns(a, b) || Distances().apart(a, b);
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
