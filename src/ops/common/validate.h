// SPDX-License-Identifier: Apache-2.0
// The generic validator: everything that follows from an operator's description alone, for every operator.
// Called by ops/operator.cpp before the operator's own check. Knows no operator by name.
//
//   caller's struct --read_args--> copy of known size --validate--> ValidatedArgs { views, sizes by letter }
#pragma once

#include "ops/common/quant.h"

namespace spark {

// Where a tensor without elements lies, whatever address its descriptor holds. Kernels take address 0 for an absent
// tensor; one that is present and empty must not look like it.
constexpr spark_devptr NOWHERE = 256;

// A tensor whose description has been proven sound, with its strides resolved. One that is absent has no address, no
// elements and no form of scales, and nothing else.
struct View {
    bool present;
    bool has_optional; // the optional leading dimension is there
    uint32_t dtype;
    uint32_t ndim;
    uint32_t elem_bits;
    spark_devptr data; // 0 only if the caller has not told it: never at launch, never without elements (NOWHERE)
    int64_t shape[SPARK_MAX_NDIM];
    int64_t stride[SPARK_MAX_NDIM]; // elements; that of a packed tensor where the caller's has no meaning
    int64_t count;                  // elements
    uint64_t bytes;                 // from data to the end of the last element; 0 if count is 0
    QuantView quant;                // how the numbers are scaled, if they are

    int64_t last(uint32_t back) const { return shape[ndim - 1 - back]; }
    int64_t last_stride(uint32_t back) const { return stride[ndim - 1 - back]; }
    // The largest power of two, at most 256, that divides the address; 256 while the address is not told.
    int64_t alignment() const;
};

struct ValidatedArgs {
    const OpSpec* spec;
    const std::byte* args; // the copy; scalars that are left to their default hold it, where it is a number
    uint32_t flags;
    uint64_t defaulted; // bit i: field i is left to its default
    bool at_launch;
    View view[MAX_FIELDS];
    int64_t symbol[MAX_SYMBOLS]; // -1 = no present tensor has it

    template <class Args> const Args& arguments() const { return *reinterpret_cast<const Args*>(args); }
    bool is_default(uint32_t field) const { return (defaulted >> field & 1) != 0; }
};

// The rule of sized structs: copies min(struct_size, known) bytes of *from over a zeroed *to.
spark_status read_struct(const void* from, void* to, uint32_t known, uint32_t first, const char* what, Report& report);

// What a caller passed: its struct, and the operator whose own call it is (NONE: the generic one, hdr.op says).
struct Arguments {
    const spark_args* from;
    uint32_t op = SPARK_OP_NONE;
};

// Finds the operator and copies the arguments into a buffer of MAX_ARGS_SIZE bytes.
spark_status read_args(const Arguments& args, std::byte* to, const OpSpec*& spec, Report& report);

// Checks every field of the copy, in struct order, then pairs of fields; writes the defaults that are numbers into it.
spark_status validate(const OpSpec& spec, std::byte* args, bool at_launch, ValidatedArgs& out, Report& report);

// That no output shares memory with another tensor, but where it may and both are the same. Views are sound.
spark_status check_overlaps(const ValidatedArgs& bound, Report& report);

// True if no byte of one is a byte of the other. Both are present and not empty. May answer false for layouts that are
// apart where their strides have little in common, or elements do not begin on whole bytes.
bool disjoint(const View& a, const View& b);

// Where the scales of a present tensor stand, as one of bytes without gaps: bytes is 0 if there are none.
View memory_of_scales(const View& v);

} // namespace spark
