// SPDX-License-Identifier: Apache-2.0
// What spark-bench measures: an Item per row of its table, with one Way or several to do the row's work.
#pragma once

#include "buffers.h"

#include <functional>
#include <string>
#include <vector>

namespace bench {

class Ceilings;

enum class Unit { flops, bytes };

// What one run has to do of a sort, and the item whose rate at that is 100 %; empty for a ceiling.
struct Work {
    Unit unit = Unit::bytes;
    double amount = 0;
    std::string ceiling;
};

// A kernel that does the work of a row, as the library's choice or asked for by its id.
struct Way {
    std::string kernel; // empty for a ceiling
    std::function<void(spark_stream)> run;
    uint32_t launches = 1;
    uint64_t workspace = 0;
    bool given_up = false;            // one look showed that it is far behind: its only sample is that look
    std::vector<double> milliseconds; // samples; sorted once all of them are there

    double median() const { return milliseconds[milliseconds.size() / 2]; }
};

struct Item {
    std::string name;                     // "gemm"
    std::string shape;                    // "m=4096 n=4096 k=4096 bf16 tn"
    std::vector<Work> works;              // of one run; the one that must take longest bounds it
    std::function<std::string()> explain; // spark_op_explain; empty for a ceiling
    std::function<void()> query;          // spark_op_query: what a launch does before the driver; likewise
    double host_ns = 0;                   // of one query, the least of many
    std::vector<Way> ways; // the library's choice, and behind it every other legal kernel where rivals are asked for
};

// The fastest way that has samples.
const Way& best(const Item& item);
// A rival beats the library's choice: by more than one part in twenty, and by more than the clock can mistake.
bool beaten(const Item& item);

// The loops, and the driver's own copy from device to device: the faster of what one can hold a streaming kernel
// against.
std::vector<Item> ceiling_items(const Ceilings& ceilings, Buffers& buffers, bool small);
// The rows of tier bench of tests/ops, or those of the shapes that are given in the words of the table (check/words.h),
// as far as name or shape contain `only`; throws std::runtime_error with the library's sentence, or says which text is
// wrong.
std::vector<Item> operator_items(Buffers& buffers, bool small, const std::string& only, bool rivals,
                                 const std::vector<std::string>& shapes);
// The texts of a file, a line each, without empty ones and those that begin with '#'. Throws if it cannot be read.
std::vector<std::string> read_shapes(const std::string& path);

} // namespace bench
