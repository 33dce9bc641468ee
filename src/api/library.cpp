// SPDX-License-Identifier: Apache-2.0
// extern "C": version, names, log, reflection. None of these can fail.
#include <cstdio>

#include "core/dtype.h"
#include "core/knobs.h"
#include "core/log.h"
#include "core/once.h"
#include "core/status.h"
#include "ops/common/spec.h"
#include "spark_kernels.h"

using namespace spark;

namespace {

// The text is written once; whoever comes second waits.
char build_info[640];
constinit Once build_info_once;

void write_build_info() {
    snprintf(build_info, sizeof build_info,
             "{\"version\":\"%d.%d.%d\",\"abi\":%d,\"compiler\":\"%s\",\"ptxas\":\"%s\",\"archs\":\"%s\","
             "\"kernels\":%zu,\"operators\":%zu}",
             SPARK_VERSION_MAJOR, SPARK_VERSION_MINOR, SPARK_VERSION_PATCH, SPARK_ABI, __VERSION__, SPARK_PTXAS_VERSION,
             SPARK_ARCHS_TEXT, kernels::all().size(), op_specs().size());
}

} // namespace

extern "C" {

uint32_t spark_version(void) { return SPARK_VERSION_MAJOR * 10000 + SPARK_VERSION_MINOR * 100 + SPARK_VERSION_PATCH; }

const char* spark_build_info(void) {
    build_info_once(write_build_info);
    return build_info;
}

const char* spark_status_name(spark_status status) { return status_name(status); }

const char* spark_dtype_name(spark_dtype dtype) {
    uint32_t number = raw(dtype);
    if (number == SPARK_DTYPE_NONE) return "NONE";
    const char* name = dtype_info(number).name;
    return name != nullptr ? name : "UNKNOWN";
}

void spark_set_log(spark_log_fn fn, void* user, int32_t level) {
    log_set(fn, user, level);
    knobs(); // after it, so that fn hears of unknown variables
}

uint32_t spark_dtype_bits(spark_dtype dtype) { return dtype_info(raw(dtype)).bits; }

uint32_t spark_op_count(void) { return static_cast<uint32_t>(op_specs().size()); }

const spark_op_desc* spark_op_at(uint32_t index) {
    return index < op_specs().size() ? op_specs()[index]->desc : nullptr;
}

const spark_op_desc* spark_op_describe(uint32_t op) {
    const OpSpec* spec = find_spec(op);
    return spec != nullptr ? spec->desc : nullptr;
}

const spark_field* spark_op_field(uint32_t op, uint32_t field) {
    const OpSpec* spec = find_spec(op);
    return spec != nullptr && field < spec->fields.size() ? &spec->fields[field] : nullptr;
}

const spark_quant_form* spark_op_form(uint32_t op, uint32_t field, uint32_t form) {
    const OpSpec* spec = find_spec(op);
    if (spec == nullptr || field >= spec->fields.size()) return nullptr;
    return form < spec->forms[field].size() ? &spec->forms[field][form] : nullptr;
}

} // extern "C"
