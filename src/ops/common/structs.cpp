// SPDX-License-Identifier: Apache-2.0
// The rule of sized structs, in one place: see "Structures" at the head of spark.h.
#include <cstring>

#include "ops/common/validate.h"

namespace spark {
namespace {

// Sizes only: the caller's memory is not read beyond struct_size.
spark_status check_size(const void* from, uint32_t size, uint32_t known, uint32_t first, const char* what,
                        Report& report) {
    if (size < first) {
        return report.fail(SPARK_ERR_INVALID_STRUCT_SIZE, "%s struct_size is %u; at least %u wanted%s", what, size,
                           first, size == 0 ? " (it is not set)" : "");
    }
    if (size > MAX_ARGS_SIZE) {
        return report.fail(SPARK_ERR_INVALID_STRUCT_SIZE, "%s struct_size is %u; at most %u wanted", what, size,
                           MAX_ARGS_SIZE);
    }
    const auto* bytes = static_cast<const unsigned char*>(from);
    for (uint32_t i = known; i < size; ++i) {
        if (bytes[i] == 0) continue;
        return report.fail(
            SPARK_ERR_INVALID_STRUCT_SIZE,
            "%s struct_size is %u, this library knows %u bytes, and byte %u is not 0: a field of a newer "
            "version is set",
            what, size, known, i);
    }
    return SPARK_OK;
}

// The operator of a struct that names `told`, in the call of the operator `own` (NONE: in a generic call).
spark_status choose_spec(uint32_t told, uint32_t own, const OpSpec*& spec, Report& report) {
    if (told == SPARK_OP_NONE && own == SPARK_OP_NONE) {
        return report.fail(SPARK_ERR_UNSUPPORTED_OP,
                           "args op is 0; the number of an operator wanted (0 only in an operator's own call)");
    }
    spec = find_spec(told != SPARK_OP_NONE ? told : own);
    if (spec == nullptr) {
        return report.fail(SPARK_ERR_UNSUPPORTED_OP, "args op is %u; this library has %zu operators, see spark_op_at",
                           told, op_specs().size());
    }
    if (own == SPARK_OP_NONE || spec->desc->op == own) return SPARK_OK;
    const char* wanted = find_spec(own)->desc->name;
    return report.fail(SPARK_ERR_INVALID_VALUE, "args op is %u (%s) in spark_%s; %u (%s) wanted, or 0", told,
                       spec->desc->name, wanted, own, wanted);
}

} // namespace

spark_status read_struct(const void* from, void* to, uint32_t known, uint32_t first, const char* what, Report& report) {
    if (from == nullptr) return report.fail(SPARK_ERR_INVALID_NULL, "%s is NULL", what);
    uint32_t size;
    memcpy(&size, from, sizeof size);
    if (spark_status s = check_size(from, size, known, first, what, report)) return s;
    uint32_t copied = size < known ? size : known;
    memcpy(to, from, copied);
    memset(static_cast<char*>(to) + copied, 0, known - copied);
    return SPARK_OK;
}

spark_status read_args(const Arguments& args, std::byte* to, const OpSpec*& spec, Report& report) {
    if (args.from == nullptr) return report.fail(SPARK_ERR_INVALID_NULL, "args is NULL");
    uint32_t size;
    memcpy(&size, args.from, sizeof size);
    if (size < sizeof(spark_args)) {
        return report.fail(SPARK_ERR_INVALID_STRUCT_SIZE, "args struct_size is %u; at least %zu wanted%s", size,
                           sizeof(spark_args), size == 0 ? " (it is not set)" : "");
    }
    spark_args head;
    memcpy(&head, args.from, sizeof head);
    if (spark_status s = choose_spec(head.op, args.op, spec, report)) return s;
    report.set_op(spec->desc->op, spec->desc->name);
    return read_struct(args.from, to, spec->desc->args_size, spec->desc->first_size, "args", report);
}

} // namespace spark
