// SPDX-License-Identifier: Apache-2.0
// What spark-bench measures: one Item per row of its table, each able to enqueue its work once. Used by main.cpp.
#pragma once

#include "spark.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace bench {

class Ceilings;

enum class Unit { flops, bytes };

struct Item {
    std::string name;    // "gemm"
    std::string shape;   // "m=4096 n=4096 k=4096 bf16 tn"
    std::string kernel;  // empty for a ceiling
    std::string ceiling; // the item whose rate is 100 %; empty for a ceiling
    Unit unit = Unit::bytes;
    double work = 0; // FLOPs or bytes of one run
    std::function<void(spark_stream)> run;
    std::vector<double> milliseconds; // one sample per round, filled by main.cpp
};

// Device memory filled with random numbers of ordinary size, freed at the end of the run.
class Buffers {
public:
    explicit Buffers(spark_context* ctx) : ctx_(ctx) {}
    ~Buffers();
    Buffers(const Buffers&) = delete;
    Buffers& operator=(const Buffers&) = delete;
    spark_tensor random(spark_dtype dtype, std::vector<int64_t> shape); // F32, BF16, F16: +-0.5 to 1
    spark_tensor indices(int64_t count, int64_t limit);                 // I32 below limit
    spark_context* context() const { return ctx_; }

private:
    uint64_t upload(const void* data, uint64_t bytes, uint64_t total);
    spark_context* ctx_;
    std::vector<uint64_t> all_;
};

// The loops, and the driver's own copy from device to device: the faster of what one can hold a streaming kernel
// against.
std::vector<Item> ceiling_items(const Ceilings& ceilings, Buffers& buffers, bool small);
// Every operator's rows whose name or shape contains `only`; throws std::runtime_error with the library's sentence.
std::vector<Item> operator_items(Buffers& buffers, bool small, const std::string& only);

} // namespace bench
