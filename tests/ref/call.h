// SPDX-License-Identifier: Apache-2.0
// An oracle as others call it who know no operator: from the tensors and settings of one call, by name, to its results.
// Each operator has one, of its name in capitals: tests/golden holds them against vectors from elsewhere.
#pragma once

#include "ref/formats.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace ref {

struct Tensor {
    Type type = Type::f32;
    std::vector<int64_t> shape;
    std::vector<double> values; // row-major; empty where the call has no such tensor
    std::vector<uint64_t> bits; // the same, as they are stored

    size_t size(size_t dim) const { return static_cast<size_t>(shape[dim]); }
    std::vector<int64_t> integers() const;                         // of an integer type
    std::span<const double> row(size_t first, size_t count) const; // nothing where there is no such tensor
};

struct Call {
    std::map<std::string, Tensor> tensors;
    std::map<std::string, double> numbers; // a switch is 0 or 1
    std::map<std::string, std::string> words;

    const Tensor& operator[](const std::string& name) const;
    double number(const std::string& name) const { return numbers.at(name); }
    bool is(const std::string& name) const { return numbers.at(name) != 0; }
};

struct Result {
    std::vector<double> values = {};
    std::vector<uint64_t> bits = {}; // instead of values, where those would lose something: NaNs, stored codes
    bool rounded = false;            // the values are those of the element type
    bool any_zero = false;           // of a zero the sign says nothing
};

using Results = std::map<std::string, Result>;

struct Oracle {
    const char* op;
    Results (*compute)(const Call& call);
};

} // namespace ref
