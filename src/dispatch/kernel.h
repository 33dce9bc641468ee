// SPDX-License-Identifier: Apache-2.0
// What the library knows about one kernel: the vocabulary of the generated table (spark_kernels.h, written by
// tools/ptxc from the //! blocks of ptx/), read by dispatch, plan and runtime.
// Knows nothing of operators, arguments or the driver.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/divide.h"
#include "core/place_of.h"

namespace spark {

// FNV-1a, as Kernel::id.
constexpr uint64_t hash(std::string_view text) {
    uint64_t value = 0xcbf29ce484222325u;
    for (char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return value;
}

// What a contract is: kernels of the same one are interchangeable.
constexpr std::string_view contract_of(std::string_view name) { return name.substr(0, place_of(name, "__")); }

// A limit is a fact of the problem, a relation and a number: "k%8" is {"k", multiple_of, 8}. Those of a kernel are
// kernels::limits::NAME, and are read while compiling.
enum class Rel : uint8_t { multiple_of, at_most, at_least, equal };

struct Limit {
    const char* fact;
    Rel rel;
    int64_t value;
};

enum class ImageKind : uint8_t { cubin, ptx };

// Code for one target.
struct Image {
    uint32_t first16 : 18; // 16 bytes of these before it in what its bundle holds
    uint32_t end1024 : 13; // 1024 bytes of these until it has ended, there
    ImageKind kind : 1;
    uint16_t bundle;
    uint8_t arch; // 120, or 90
    uint8_t regs; // of a thread, as ptxas gave them; 0 in PTX
};
static_assert(sizeof(Image) == 8); // there are three of a kernel

// Images that are alike are stored together, one behind the other, compressed (zstd's format). A NUL stands behind
// each, and each begins at a multiple of 16.
struct Bundle {
    bool testing;      // in kernels::testing_file; else in the library
    uint32_t place;    // of the first byte, there
    uint32_t packed;   // bytes stored
    uint32_t unpacked; // bytes of all of that
    uint64_t check;    // XXH64 of what is stored
};

// Images that are not in the library, but in a file beside it.
struct ImageFile {
    const char* name;      // "": this build has none
    std::string_view head; // its first line, with a digest of all that follows
    size_t bytes;
};

// Blocks of a launch. Kernels step over what a grid cannot count, or their limits leave nothing over.
struct Grid {
    uint32_t x, y, z;
};

constexpr Grid MOST_BLOCKS = {INT32_MAX, 65535, 65535};

constexpr Grid make_grid(int64_t x, int64_t y = 1, int64_t z = 1) {
    return {static_cast<uint32_t>(std::clamp<int64_t>(x, 1, MOST_BLOCKS.x)),
            static_cast<uint32_t>(std::clamp<int64_t>(y, 1, MOST_BLOCKS.y)),
            static_cast<uint32_t>(std::clamp<int64_t>(z, 1, MOST_BLOCKS.z))};
}

// The grid with the blocks that its last clusters lack, or as many whole clusters as there can be.
constexpr Grid whole_clusters(const Grid& grid, const Grid& cluster) {
    const auto whole = [](uint32_t blocks, uint32_t size, uint32_t most) {
        return static_cast<uint32_t>(std::min(ceil_div(int64_t{blocks}, size), int64_t{most / size})) * size;
    };
    return {whole(grid.x, cluster.x, MOST_BLOCKS.x), whole(grid.y, cluster.y, MOST_BLOCKS.y),
            whole(grid.z, cluster.z, MOST_BLOCKS.z)};
}

// A parameter that describes a tensor to bulk copies, as the driver encodes it (runtime/tensor_map.h).
struct alignas(64) TensorMap {
    uint64_t words[16];
};

// Each file of ptx/ has a type of its own derived from this one: its constants by name, its parameters, its grid.
// A name stands in place and images have numbers: an address would be a relocation too, 32 bytes for each kernel.
struct Kernel {
    char name[48];  // contract__variant, also the entry symbol
    uint64_t id;    // FNV-1a of the name, never 0
    uint32_t index; // position in kernels::all()
    uint32_t block, smem, regs, ctas_per_sm, param_bytes;
    bool deterministic;
    uint64_t order; // kernels of a contract with the same one add alike: the same bits; 0: its sums follow the launch
    uint16_t first_image, num_images; // kernels::images_of
    Grid cluster = {};                // blocks that see each other's shared memory; 0: a launch without clusters
    bool dependent = false; // waits in the kernel for the launch before it on the stream, and may begin before its end
    // Offsets of the parameters in Params, where some are tensor maps: their place in the code is the assembler's.
    std::span<const uint16_t> apart = {};
};

} // namespace spark
