// SPDX-License-Identifier: Apache-2.0
// A case: one call of one operator, the memory it works on, and the results that are right.
// tests/ops builds cases, the rest of spark-check runs and compares them. A case knows nothing of drivers or kernels.
#pragma once

#include "ref/formats.h"
#include "spark.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace check {

// What one element of an output may be. Numbers are given as the interval of results that some right implementation can
// give: the oracle's value moved down and up by the derived error, each end rounded to the element type.
struct Allowed {
    enum Kind : uint32_t { range, nan, bits, unchanged, any } kind = range;
    float low = 0, high = 0; // range: both are values of the element type (bf16, f16 and f32 fit a float)
    uint32_t pattern = 0;    // bits: up to four bytes of element
};
// Interval [value - error, value + error], ends rounded to `type`. A value that is not finite must be met exactly.
Allowed allow(ref::Type type, double value, double error);
// That value, rounded, and nothing else: of a zero the sign counts too, of a NaN nothing does.
Allowed exactly(ref::Type type, double value);

// Strided view of memory, as spark_tensor says it, with the packed default spelled out.
struct View {
    ref::Type type = ref::Type::f32;
    std::vector<int64_t> shape, stride; // in elements
    int64_t count() const;
    int64_t span() const;                // elements from the first to one beyond the last
    int64_t offset(int64_t index) const; // element offset of the index-th element in row-major order
};
View packed(ref::Type type, std::vector<int64_t> shape);

// One piece of device memory. In the guarded placement guard zones stand before and after it.
struct Storage {
    std::string name;
    std::vector<uint8_t> bytes; // as they are before the launch; outputs are poisoned by the runner
    size_t misalign = 0;        // address modulo 256
};

// The elements of a view in row-major order, each with its bytes from `offset`: for (const auto [index, at] : places).
// Those of a row follow each other without the divisions that finding one takes.
class Places {
public:
    struct Place {
        int64_t index;
        size_t at;
    };
    class Iterator {
    public:
        Iterator(const View& view, size_t offset, int64_t count) : view_(view), offset_(offset), count_(count) {
            enter_row();
        }
        Place operator*() const { return {index_, at_}; }
        Iterator& operator++() {
            at_ += step_;
            if (++index_ == row_end_) {
                enter_row();
            }
            return *this;
        }
        bool operator!=(int64_t end) const { return index_ != end; }

    private:
        void enter_row() {
            if (index_ == count_) {
                return;
            }
            at_ = offset_ + static_cast<size_t>(view_.offset(index_)) * ref::size_of(view_.type);
            step_ = static_cast<size_t>(view_.stride.empty() ? 0 : view_.stride.back()) * ref::size_of(view_.type);
            row_end_ = index_ + (view_.shape.empty() ? 1 : view_.shape.back());
        }
        const View& view_;
        size_t offset_, at_ = 0, step_ = 0;
        int64_t count_, index_ = 0, row_end_ = 0;
    };
    Places(const View& view, size_t offset, int64_t count) : view_(view), offset_(offset), count_(count) {}
    Iterator begin() const { return {view_, offset_, count_}; }
    int64_t end() const { return count_; }

private:
    const View& view_;
    size_t offset_;
    int64_t count_;
};

// A tensor argument: where its descriptor stands in the args struct, where its data lies.
struct Operand {
    std::string field;
    size_t args_offset = 0; // an address stands there, alone or as the first member of a descriptor
    size_t storage = 0;
    View view;
    bool output = false;
    bool input = true; // an output that is not an input is poisoned before the launch
    size_t offset = 0; // bytes from the start of the storage

    size_t at(int64_t index) const; // the same, of the index-th element in row-major order
    Places places() const { return {view, offset, view.count()}; }
};

struct Twin;

// What a case is built from. An outline has arguments, places and sizes, but numbers only where they say where to go or
// how many there are: for a caller who has no use for the others, of shapes too large for the host.
struct Seed {
    uint64_t number = 0;
    bool outline = false;

    Seed(uint64_t all) : number(all) {}
    Seed(uint64_t some, bool is_outline) : number(some), outline(is_outline) {}
    operator uint64_t() const { return number; }
};

struct Case {
    std::string op, name;
    bool outline = false;
    std::vector<uint8_t> args; // the operator's struct; tensor addresses are filled in by the runner
    std::vector<Storage> storages;
    std::vector<Operand> operands;
    bool exact = false; // only copies and exact instructions: the drivers must agree bit for bit
    bool large = false; // too much work for the emulator
    // Allowed results of operand `index`, row-major, for a kernel of that name (its name may tell how it accumulates).
    std::function<std::vector<Allowed>(size_t index, const std::string& kernel)> expect;
    // A word for all kernels that have the same allowed results, so that they are computed once; without it each kernel
    // has its own.
    std::function<std::string(const std::string& kernel)> kind;
    std::string note; // dims and flags in words, for reports
    // Calls that differ from this one in what must not matter to it, and kernels that must give its bits (or none).
    std::vector<Twin> twins;
    std::function<bool(const std::string& kernel)> alike;

    template <class Args> Args& as() { return *reinterpret_cast<Args*>(args.data()); }
    // Adds a tensor with its own storage, or in the storage of an earlier operand (in place).
    Operand& add(std::string field, size_t args_offset, View view, size_t misalign, bool output);
    // Adds an array whose address alone stands in the arguments: the scales of a quantised tensor.
    Operand& add_array(std::string field, size_t address_offset, View view, size_t misalign, bool output);
    // Adds an input that lies `offset` bytes into the storage of an earlier input, which grows to hold it: one slice of
    // a packed tensor.
    Operand& add_slice(std::string field, size_t args_offset, View view, size_t of_operand, size_t offset);
    Operand& add_in_place(std::string field, size_t args_offset, size_t of_operand);
    const std::vector<Allowed>& expected(size_t index, const std::string& kernel) const; // what expect() has said
    uint8_t* element(const Operand& operand, int64_t index);
    int64_t to_fill(const Operand& operand) const; // its elements; of an outline none
    Places places(const Operand& operand) const { return {operand.view, operand.offset, to_fill(operand)}; } // of those
    std::vector<double> values(const Operand& operand) const; // row-major, decoded; of an outline none
    size_t size_of(size_t storage) const;                     // bytes, where an outline has none of them yet too

private:
    mutable std::map<std::pair<size_t, std::string>, std::vector<Allowed>> expected_; // by operand and kind of kernel
};
// Another call, some of whose output elements are the case's, bit for bit: place(operand, index) says where element
// `index` of output `operand` stands in it, -1 if nowhere.
struct Twin {
    std::string change; // what is different, in words
    Case call;
    std::function<int64_t(size_t operand, int64_t index)> place;
};

template <class Args> Case make_case(std::string op, std::string name, uint32_t number, const Seed& seed) {
    Case c;
    c.outline = seed.outline;
    c.op = std::move(op);
    c.name = std::move(name);
    c.args.resize(sizeof(Args));
    c.as<Args>().hdr.struct_size = sizeof(Args);
    c.as<Args>().hdr.op = number;
    return c;
}

// Case::kind where results do not depend on the kernel.
inline std::string any_kernel(const std::string&) { return {}; }

spark_dtype dtype_of(ref::Type type);

// One entry of the list: the case is built only when it is its turn. Rows of the bench are no cases of the other tiers:
// a case of their shape has been looked at by then.
enum class Tier { quick, longer, card, bench };
struct Entry {
    std::string op, name;
    Tier tier = Tier::quick;
    std::function<Case(const Seed& seed)> build;
};
// Which elements a value generator should make strange.
enum class Special { none, nan_row, inf_row, denormal_row, zero_row, huge_row, largest };

class Words;

// A family of cases: its named situations, random ones, plain ones of given dimensions (none if their number is wrong),
// and one of the shape that words say, which are its name ("rows=3 n=64 BF16"): a row of the bench.
struct OpCases {
    const char* op;
    void (*named)(std::vector<Entry>& out);
    Entry (*random)(uint64_t seed, int64_t index);
    void (*sized)(const std::vector<int64_t>& dims, std::vector<Entry>& out);
    const char* dims; // what the dimensions are, as "rows,N"
    Entry (*worded)(Words& words);
};
const std::vector<OpCases>& families(); // tests/ops/families.cpp

} // namespace check
