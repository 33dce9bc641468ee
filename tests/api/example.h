// SPDX-License-Identifier: Apache-2.0
// A right call of any operator, made from the reflection table alone: the starting point from which the API tests
// damage one field at a time. It knows no operator by name, so a new one is covered the moment it is listed.
#pragma once

#include "spark.h"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace api {

// Device memory of a test, or made-up addresses when there is no device. Blocks are far apart and 256-byte aligned.
class Arena {
public:
    explicit Arena(spark_context* ctx) : ctx_(ctx) {}
    ~Arena();
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    uint64_t take(uint64_t bytes); // filled with the poison byte when there is a device
    bool untouched() const;        // every byte of every block is still the poison byte
    static constexpr unsigned char poison = 0xa5;

private:
    struct Block {
        uint64_t address, bytes;
    };
    spark_context* ctx_; // null: addresses only
    uint64_t next_ = 0x7000'0000'0000;
    std::vector<Block> blocks_;
};

// A context on device 0, or an offline one; null, and the library's sentence on stderr, when it cannot be made.
spark_context* make_context(uint32_t offline_arch = 0);

struct Shape {
    bool ellipsis = false;          // "..." stands first
    std::vector<std::string> names; // "B?" keeps its mark
};
Shape parse_shape(const char* text);

inline const spark_field& field(const spark_op_desc& desc, uint32_t index) { return *spark_op_field(desc.op, index); }

struct Options {
    bool optional_fields = true; // fill optional tensors too
    bool optional_dims = false;  // include the dimensions marked "?"
    bool real_memory = true;
};

class Example {
public:
    Example(const spark_op_desc& desc, Arena& arena, const Options& options = {});

    spark_args* head() { return reinterpret_cast<spark_args*>(bytes_.data()); }
    const spark_args* head() const { return reinterpret_cast<const spark_args*>(bytes_.data()); }
    spark_tensor& tensor(uint32_t field) { return *reinterpret_cast<spark_tensor*>(at(field)); }
    const spark_tensor& tensor(uint32_t field) const {
        return *reinterpret_cast<const spark_tensor*>(bytes_.data() + api::field(*desc_, field).offset);
    }
    std::byte* at(uint32_t field) { return bytes_.data() + api::field(*desc_, field).offset; }
    std::vector<std::byte>& bytes() { return bytes_; }
    const spark_op_desc& desc() const { return *desc_; }
    uint64_t allocated(uint32_t field) const { return allocated_.at(field); } // bytes behind a tensor

private:
    void fill(uint32_t field, Arena& arena, const Options& options);
    static void add_scales(spark_tensor& tensor, const spark_quant_form& form, Arena& arena);

    const spark_op_desc* desc_;
    std::vector<std::byte> bytes_;
    std::map<uint32_t, uint64_t> allocated_;
    std::map<std::string, int64_t> sizes_;
};

// What a tensor's bytes hold, from its address to size_bytes, and back; a test ends where the library refuses.
std::vector<unsigned char> fetch(spark_context* ctx, const spark_tensor& t);
void store(spark_context* ctx, const spark_tensor& t, const std::vector<unsigned char>& bytes);
// Small finite numbers in every tensor, different in every element and from one `seed` to the next; outputs get the
// same whatever the seed.
void fill_tensors(spark_context* ctx, Example& e, uint32_t seed);
std::vector<std::vector<unsigned char>> outputs(spark_context* ctx, const Example& e);

} // namespace api
