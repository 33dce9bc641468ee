// SPDX-License-Identifier: Apache-2.0
// extern "C": the generic operator calls. The typed ones are generated forwards to these (forwards.cpp).
#include "api/guard.h"
#include "ops/operator.h"

using namespace spark;

namespace {

spark_status read_exec(const spark_exec* exec, spark_exec& out, Report& report) {
    if (exec == nullptr) {
        out = {};
        return SPARK_OK;
    }
    if (spark_status s = read_struct(exec, &out, sizeof out, sizeof out, "exec", report)) return s;
    if (out.flags != 0) return report.fail(SPARK_ERR_INVALID_RESERVED, "exec.flags is %u; 0 wanted", out.flags);
    if (out.workspace % 256 != 0) {
        return report.fail(SPARK_ERR_INVALID_ALIGNMENT, "exec.workspace is 0x%llx; a multiple of 256 wanted",
                           static_cast<unsigned long long>(out.workspace));
    }
    return SPARK_OK;
}

spark_status check_workspace(const spark_exec& exec, uint64_t needed, Report& report) {
    if (needed == 0) return SPARK_OK;
    if (exec.workspace_size >= needed) {
        if (exec.workspace != 0) return SPARK_OK;
        return report.fail(SPARK_ERR_INVALID_NULL, "exec.workspace is 0; %llu bytes wanted",
                           static_cast<unsigned long long>(needed));
    }
    return report.fail(SPARK_ERR_WORKSPACE_TOO_SMALL, "exec.workspace_size is %llu; %llu wanted, %llu more",
                       static_cast<unsigned long long>(exec.workspace_size), static_cast<unsigned long long>(needed),
                       static_cast<unsigned long long>(needed - exec.workspace_size));
}

// query and prepare differ only in loading.
spark_status look(spark_context* ctx, const spark_args* args, bool loading, spark_op_info* info, Report& report) {
    if (spark_status s = context_check(ctx, loading, report)) return s;
    if (info != nullptr) {
        if (spark_status s = check_out(info, "info", report)) return s;
    }
    Call call;
    if (spark_status s = prepare_call(*ctx, args, false, 0, call, report)) return s;
    Plan plan;
    if (spark_status s = make_plan(call, call.row, 0, plan, report)) return s;
    if (loading) {
        if (spark_status s = load(*ctx, plan, report)) return s;
    }
    if (info == nullptr) return SPARK_OK;
    spark_op_info found;
    fill_info(call, plan, call.row, loaded(*ctx, plan), found);
    write_out(info, found);
    return SPARK_OK;
}

spark_status run(spark_context* ctx, const spark_args* args, const spark_exec* exec, Report& report) {
    if (spark_status s = context_check(ctx, true, report)) return s;
    spark_exec where;
    if (spark_status s = read_exec(exec, where, report)) return s;
    Call call;
    if (spark_status s = prepare_call(*ctx, args, true, where.kernel_id, call, report)) return s;
    Plan plan;
    if (spark_status s = make_plan(call, call.row, where.workspace, plan, report)) return s;
    if (spark_status s = check_workspace(where, plan.workspace_size, report)) return s;
    return call.row == nullptr ? SPARK_OK : launch(*ctx, where.stream, plan, report);
}

spark_status list(spark_context* ctx, const spark_args* args, spark_op_info* infos, uint32_t capacity, uint32_t* count,
                  Report& report) {
    if (spark_status s = context_check(ctx, false, report)) return s;
    if (spark_status s = need_pointer(count, "count", report)) return s;
    if (capacity != 0) {
        if (spark_status s = need_pointer(infos, "infos", report)) return s;
    }
    for (uint32_t i = 0; i < capacity; ++i) {
        if (infos[i].struct_size == sizeof *infos) continue;
        return report.fail(SPARK_ERR_INVALID_STRUCT_SIZE, "infos[%u].struct_size is %u; %zu wanted", i,
                           infos[i].struct_size, sizeof *infos);
    }
    Call call;
    if (spark_status s = prepare_call(*ctx, args, false, 0, call, report)) return s;
    uint32_t found = 0;
    auto add = [&](const Row& row) -> spark_status {
        Plan plan;
        if (spark_status s = make_plan(call, &row, 0, plan, report)) return s;
        spark_op_info info;
        fill_info(call, plan, &row, loaded(*ctx, plan), info);
        if (found < capacity) write_out(&infos[found], info);
        ++found;
        return SPARK_OK;
    };
    if (call.row != nullptr) {
        if (spark_status s = add(*call.row)) return s;
    }
    for (const Row& row : call.request.rows) {
        if (call.row == nullptr || &row == call.row || row.contract != call.request.contract) continue;
        Verdict verdict = judge(call.request, row);
        if (verdict.kind != Verdict::chosen && verdict.kind != Verdict::legal) continue;
        if (spark_status s = add(row)) return s;
    }
    *count = found;
    return SPARK_OK;
}

spark_status tell(spark_context* ctx, const spark_args* args, char* text, size_t capacity, size_t* needed,
                  Report& report) {
    if (spark_status s = context_check(ctx, false, report)) return s;
    if (capacity != 0) {
        if (spark_status s = need_pointer(text, "text", report)) return s;
    }
    Call call;
    if (spark_status s = prepare_call(*ctx, args, false, 0, call, report)) return s;
    constexpr char EMPTY[] = "nothing to do: a dimension is 0\n";
    size_t size = (call.row == nullptr ? sizeof EMPTY - 1 : explain(call.request, nullptr, 0)) + 1;
    if (needed != nullptr) *needed = size;
    if (capacity < size) {
        return report.fail(SPARK_ERR_BUFFER_TOO_SMALL, "capacity is %zu; %zu wanted", capacity, size);
    }
    if (call.row == nullptr) {
        memcpy(text, EMPTY, sizeof EMPTY);
    } else {
        explain(call.request, text, capacity);
    }
    return SPARK_OK;
}

} // namespace

extern "C" {

spark_status spark_op_query(spark_context* ctx, const spark_args* args, spark_op_info* info, spark_error* err) {
    return guarded(err, [&](Report& report) { return look(ctx, args, false, info, report); });
}

spark_status spark_op_prepare(spark_context* ctx, const spark_args* args, spark_op_info* info, spark_error* err) {
    return guarded(err, [&](Report& report) { return look(ctx, args, true, info, report); });
}

spark_status spark_op_launch(spark_context* ctx, const spark_args* args, const spark_exec* exec, spark_error* err) {
    return guarded(err, [&](Report& report) { return run(ctx, args, exec, report); });
}

spark_status spark_op_explain(spark_context* ctx, const spark_args* args, char* text, size_t capacity, size_t* needed,
                              spark_error* err) {
    return guarded(err, [&](Report& report) { return tell(ctx, args, text, capacity, needed, report); });
}

spark_status spark_op_kernels(spark_context* ctx, const spark_args* args, spark_op_info* infos, uint32_t capacity,
                              uint32_t* count, spark_error* err) {
    return guarded(err, [&](Report& report) { return list(ctx, args, infos, capacity, count, report); });
}

} // extern "C"
