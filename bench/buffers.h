// SPDX-License-Identifier: Apache-2.0
// Device memory filled with random numbers of ordinary size, since zeros run faster. Used by the rows of spark-bench.
#pragma once

#include "spark.h"

#include <cstdint>
#include <vector>

namespace bench {

// Gives addresses, and frees all of it at the end of the run. With a pool, tensors are cut from that one piece of
// memory in turn, again and again: what one holds may be another's by then, so that only one row at a time is measured.
// Tensors that are only asked about have no memory.
class Buffers {
public:
    enum class Source { own, pool, none };
    explicit Buffers(spark_context* ctx, Source source = Source::own, uint64_t pool_bytes = 0);
    ~Buffers();
    Buffers(const Buffers&) = delete;
    Buffers& operator=(const Buffers&) = delete;
    uint64_t random(spark_dtype dtype, uint64_t bytes); // F32, BF16, F16: +-0.5 to 1 (of a pool: to 2)
    uint64_t result(spark_dtype dtype, uint64_t bytes); // to be written
    uint64_t copied(const std::vector<uint8_t>& bytes); // what the host knows
    spark_context* context() const { return ctx_; }

private:
    struct Pool {
        uint64_t data = 0, bytes = 0, used = 0;
    };
    uint64_t allocate(uint64_t bytes);
    void fill(uint64_t device, uint64_t total, const void* data, uint64_t bytes);
    uint64_t cut(Pool& pool, uint64_t bytes);
    spark_context* ctx_;
    Source source_;
    std::vector<uint64_t> all_;
    Pool inputs_, results_;
};

} // namespace bench
