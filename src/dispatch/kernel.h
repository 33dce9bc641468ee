// SPDX-License-Identifier: Apache-2.0
// What the library knows about one kernel: the vocabulary of the generated table (spark_kernels.h, written by
// tools/ptxc from the //! blocks of ptx/), read by dispatch, plan and runtime.
// Knows nothing of operators, arguments or the driver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace spark {

// A limit is a fact of the problem, a relation and a number: "k%8" is {"k", multiple_of, 8}.
enum class Rel : uint8_t { multiple_of, at_most, at_least, equal };

struct Limit {
    const char* fact;
    Rel rel;
    int64_t value;
};

// A compile-time constant of a variant, such as TM=128.
struct Constant {
    const char* name;
    int64_t value;
};

enum class ImageKind : uint8_t { cubin, ptx };

// Code for one target. PTX is NUL-terminated; data is 64-byte aligned and lives as long as the library.
struct Image {
    ImageKind kind;
    uint16_t arch; // 120, 121 or 90
    const void* data;
    size_t size;
};

struct Kernel {
    const char* name;     // contract__variant, also the entry symbol
    const char* contract; // what it computes: interchangeable with every kernel of the same contract
    const char* file;
    const char* maths;
    uint64_t id;    // FNV-1a of the name, never 0
    uint32_t index; // position in kernels::all()
    uint32_t block, smem, regs, ctas_per_sm, param_bytes;
    bool deterministic;
    std::span<const Limit> limits;
    std::span<const Constant> constants;
    std::span<const Image> images;

    // The variant's constant of that name, or 0 if it has none.
    constexpr int64_t constant(const char* wanted) const {
        for (const Constant& c : constants) {
            const char *a = c.name, *b = wanted;
            while (*a != 0 && *a == *b) ++a, ++b;
            if (*a == *b) return c.value;
        }
        return 0;
    }
};

} // namespace spark
