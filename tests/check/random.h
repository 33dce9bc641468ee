// SPDX-License-Identifier: Apache-2.0
// Random numbers that are the same everywhere: splitmix64 (Steele, Lea, Flood 2014). Used to fill inputs and to draw
// cases.
#pragma once

#include "ref/formats.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace check {

class Random {
public:
    explicit Random(uint64_t seed) : state_(seed) {}
    Random(uint64_t seed, std::string_view name) : state_(seed) {
        for (char c : name) {
            state_ =
                (state_ ^ static_cast<uint8_t>(c)) * 0x100000001b3u; // FNV-1a, so that each case has its own stream
        }
    }
    uint64_t next() {
        uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    int64_t below(int64_t limit) { return static_cast<int64_t>(next() % static_cast<uint64_t>(limit)); }
    int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
    bool chance(double p) { return unit() < p; }
    double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
    // Near enough to a normal distribution of variance 1: the sum of four uniform numbers, from one draw.
    double normal() {
        const uint64_t z = next();
        const double sum = static_cast<double>((z & 0xffff) + ((z >> 16) & 0xffff) + ((z >> 32) & 0xffff) + (z >> 48));
        return (sum / 65536 - 2) * 1.7320508;
    }
    template <class T> T pick(const std::vector<T>& from) {
        return from[static_cast<size_t>(below(static_cast<int64_t>(from.size())))];
    }

private:
    uint64_t state_;
};

} // namespace check
