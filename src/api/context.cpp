// SPDX-License-Identifier: Apache-2.0
// extern "C": devices and contexts.
#include <algorithm>

#include "api/guard.h"
#include "core/knobs.h"
#include "ops/operator.h"
#include "runtime/module.h"

using namespace spark;

namespace {

// Where spark_context_desc ended in the release that introduced it.
constexpr uint32_t FIRST_CONTEXT_DESC = offsetof(spark_context_desc, tuning_path);

// Loads the operator's kernels that lie in this bundle; `last` is raised to the last bundle that one lies in.
spark_status preload(Context& ctx, const Operator& op, uint32_t bundle, Code& code, uint32_t& last, Report& report) {
    for (const Row& row : op.table.rows) {
        if (ctx.target.resident[row.kernel->index] == 0) continue; // it is not chosen here either
        const uint32_t place = bundle_of(ctx, *row.kernel);
        last = std::max(last, place);
        void* ignored = nullptr;
        if (place != bundle) continue;
        if (spark_status s = load(ctx, *row.kernel, code, ignored, report)) return s;
    }
    return SPARK_OK;
}

// The kernels of an operator, or of all: bundle by bundle, so that each is decompressed once.
spark_status preload(Context& ctx, uint32_t op, Report& report) {
    Code code;
    for (uint32_t bundle = 0, last = 0; bundle <= last; ++bundle) {
        for (const OpSpec* spec : op_specs()) {
            if (op != SPARK_OP_NONE && spec->desc->op != op) continue;
            if (spark_status s = preload(ctx, *find_operator(spec->desc->op), bundle, code, last, report)) return s;
        }
    }
    return SPARK_OK;
}

} // namespace

extern "C" {

spark_status spark_device_count(int32_t* count, spark_error* err) {
    return guarded(err, [&](Report& report) {
        const Driver* d = nullptr;
        if (spark_status s = need_pointer(count, "count", report)) return s;
        if (spark_status s = driver(d, report)) return s;
        int found = 0;
        if (int rc = d->device_count(&found)) return driver_failed(*d, rc, "counting devices", report);
        *count = found;
        return SPARK_OK;
    });
}

spark_status spark_device_query(int32_t device, spark_device_info* info, spark_error* err) {
    return guarded(err, [&](Report& report) {
        const Driver* d = nullptr;
        spark_device_info found{};
        if (spark_status s = check_out(info, "info", report)) return s;
        if (spark_status s = driver(d, report)) return s;
        if (spark_status s = device_info(*d, device, found, report)) return s;
        write_out(info, found);
        return SPARK_OK;
    });
}

spark_status spark_context_create(const spark_context_desc* desc, spark_context** out, spark_error* err) {
    return guarded(err, [&](Report& report) {
        knobs();
        spark_context_desc copy;
        if (spark_status s = read_struct(desc, &copy, sizeof copy, FIRST_CONTEXT_DESC, "desc", report)) return s;
        if (spark_status s = need_pointer(out, "out", report)) return s;
        return context_create(copy, *out, report);
    });
}

void spark_context_destroy(spark_context* ctx) { context_destroy(ctx); }

spark_status spark_context_device(spark_context* ctx, spark_device_info* info, spark_error* err) {
    return in_context(ctx, false, err, [&](Context& c, Report& report) {
        if (spark_status s = check_out(info, "info", report)) return s;
        write_out(info, c.info);
        return SPARK_OK;
    });
}

spark_status spark_context_preload(spark_context* ctx, uint32_t op, spark_error* err) {
    return on_device(ctx, err, [&](Context& c, Report& report) {
        if (op != SPARK_OP_NONE && find_operator(op) == nullptr) {
            return report.fail(SPARK_ERR_UNSUPPORTED_OP, "op is %u; this library has %zu operators, see spark_op_at",
                               op, op_specs().size());
        }
        return preload(c, op, report);
    });
}

} // extern "C"
