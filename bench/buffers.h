// SPDX-License-Identifier: Apache-2.0
// Device memory filled with random numbers of ordinary size, since zeros run faster. Used by the rows of spark-bench.
#pragma once

#include "spark.h"

#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <vector>

namespace bench {

// The card has no room for a row.
struct NoMemory : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Gives addresses, and frees all of it at the end of the run. Rows share what they only read, and what they only write:
// each is cut from pieces of memory that the next row begins anew, so that a run takes the memory of its largest row.
// With a pool all tensors are cut from that one piece in turn, again and again: what one holds may be another's by
// then, so that only one row at a time is measured. Tensors that are only asked about have addresses without memory.
class Buffers {
public:
    enum class Source { shared, pool, none };
    explicit Buffers(spark_context* ctx, Source source = Source::shared, uint64_t pool_bytes = 0);
    ~Buffers();
    Buffers(const Buffers&) = delete;
    Buffers& operator=(const Buffers&) = delete;
    void next_row();                                     // what follows may lie where other rows' tensors are
    uint64_t random(spark_dtype dtype, uint64_t bytes);  // to be read; +-0.5 to 1, of a pool to 2
    uint64_t updated(spark_dtype dtype, uint64_t bytes); // as random, to be read and written
    uint64_t result(uint64_t bytes);                     // to be written
    uint64_t copied(const std::vector<uint8_t>& bytes);  // what the host knows, to be read
    spark_context* context() const { return ctx_; }

private:
    struct Pool {
        uint64_t data = 0, bytes = 0, used = 0;
    };
    struct Shared {
        std::vector<Pool> pieces;
        size_t at = 0; // the piece that is cut now; those before it are left as they are until the next row
    };
    uint64_t nowhere(uint64_t bytes);
    uint64_t allocate(uint64_t bytes);
    void fill(uint64_t device, uint64_t total, const void* data, uint64_t bytes);
    uint64_t filled(spark_dtype dtype, uint64_t bytes);
    uint64_t cut(Pool& pool, uint64_t bytes);
    uint64_t cut(Shared& shared, uint64_t bytes, const std::function<uint64_t(uint64_t)>& more);
    spark_context* ctx_;
    Source source_;
    uint64_t nowhere_ = uint64_t{1} << 32; // the next address without memory
    std::vector<uint64_t> all_;
    Pool inputs_, results_;
    std::map<spark_dtype, Shared> read_;
    Shared written_;
};

} // namespace bench
