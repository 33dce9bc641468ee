// SPDX-License-Identifier: Apache-2.0
// Values and C-like expressions of the `//!` lines of test files. Used by ptx-run alone; knows nothing of any driver.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ptxrun {

enum class Elem { u8, s8, u16, s16, u32, s32, u64, s64, f16, bf16, f32, f64 };
bool elem_named(const std::string& name, Elem& out);
unsigned bytes_of(Elem elem);
bool is_float(Elem elem);

// An integer or a double; arithmetic as in C, with 64-bit integers that wrap.
struct Value {
    bool real = false;
    int64_t i = 0;
    double d = 0;
    double as_double() const { return real ? d : double(i); }
    int64_t as_int() const { return real ? int64_t(d) : i; }
    bool truth() const { return real ? d != 0 : i != 0; }
};

struct Array {
    Elem elem = Elem::u32;
    std::vector<uint8_t> bytes;
    size_t count() const { return bytes.size() / bytes_of(elem); }
    Value get(size_t index) const;
    void set(size_t index, const Value& value); // rounds to nearest even
    uint64_t bits(size_t index) const;
    void set_bits(size_t index, uint64_t bits);
};

double f16_to_double(uint32_t bits);
double bf16_to_double(uint32_t bits);
uint32_t double_to_f16(double v);
uint32_t double_to_bf16(double v);

// Evaluates `text` with i = index and the arrays by name. Throws std::string with what is wrong.
Value evaluate(const std::string& text, int64_t index, const std::map<std::string, const Array*>& arrays);

} // namespace ptxrun
