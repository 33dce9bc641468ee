// SPDX-License-Identifier: Apache-2.0
// extern "C": the generic operator calls. The typed ones are generated forwards to launch_operator (forwards.cpp).
#include "api/op.h"

#include <algorithm>

#include "api/guard.h"
#include "ops/operator.h"

using namespace spark;

namespace {

unsigned long long ull(uint64_t value) { return value; }

spark_status read_exec(const spark_exec* exec, spark_exec& out, Report& report) {
    if (exec == nullptr) {
        out = {};
        return SPARK_OK;
    }
    if (spark_status s = read_struct(exec, &out, sizeof out, sizeof out, "exec", report)) return s;
    if (out.flags != 0) return report.fail(SPARK_ERR_INVALID_RESERVED, "exec.flags is %u; 0 wanted", out.flags);
    if (out.workspace % 256 != 0) {
        return report.fail(SPARK_ERR_INVALID_ALIGNMENT, "exec.workspace is 0x%llx; a multiple of 256 wanted",
                           ull(out.workspace));
    }
    return SPARK_OK;
}

// The bytes of the workspace that the launches use; what lies behind them is free to be anything else.
View workspace_view(const spark_exec& exec, uint64_t needed) {
    View v{};
    v.present = true;
    v.ndim = 1, v.elem_bits = 8;
    v.data = exec.workspace, v.bytes = needed;
    v.shape[0] = v.count = static_cast<int64_t>(needed);
    v.stride[0] = 1;
    return v;
}

spark_status check_workspace(const spark_exec& exec, uint64_t needed, const ValidatedArgs& bound, Report& report) {
    if (needed == 0) return SPARK_OK;
    if (exec.workspace_size < needed) {
        return report.fail(SPARK_ERR_WORKSPACE_TOO_SMALL, "exec.workspace_size is %llu; %llu wanted, %llu more",
                           ull(exec.workspace_size), ull(needed), ull(needed - exec.workspace_size));
    }
    if (exec.workspace == 0) {
        return report.fail(SPARK_ERR_INVALID_NULL, "exec.workspace is 0; %llu bytes wanted", ull(needed));
    }
    if (needed > UINT64_MAX - exec.workspace) {
        return report.fail(SPARK_ERR_INVALID_BOUNDS,
                           "exec.workspace is 0x%llx and its %llu bytes pass the end of the address space",
                           ull(exec.workspace), ull(needed));
    }
    const View workspace = workspace_view(exec, needed);
    const auto apart = [&](uint32_t i, const char* part, const View& v) {
        if (v.bytes == 0 || disjoint(workspace, v)) return SPARK_OK;
        return report.fail_field(SPARK_ERR_INVALID_OVERLAP, i,
                                 "%s%s at 0x%llx (%llu bytes) overlaps exec.workspace at 0x%llx (%llu bytes needed); "
                                 "it must not",
                                 bound.spec->fields[i].name, part, ull(v.data), ull(v.bytes), ull(workspace.data),
                                 ull(needed));
    };
    for (uint32_t i = 0; i < bound.spec->desc->num_fields; ++i) {
        const View& v = bound.view[i];
        if (!v.present) continue;
        if (spark_status s = apart(i, "", v)) return s;
        if (v.quant.form == nullptr) continue;
        if (spark_status s = apart(i, ".quant.scale", memory_of_scales(v))) return s;
    }
    return SPARK_OK;
}

// While it lives, the emulator's findings name the tensors of the call. On a GPU it does nothing.
class Named {
public:
    Named(const Driver& d, const ValidatedArgs& bound, const spark_exec& exec, uint64_t workspace) : driver_(d) {
        if (driver_.name_memory != nullptr) say(bound, exec, workspace);
    }
    ~Named() {
        if (driver_.name_memory != nullptr) driver_.name_memory(nullptr, 0);
    }
    Named(const Named&) = delete;
    Named& operator=(const Named&) = delete;

private:
    // Apart, so that its array is no part of every launch's stack.
    [[gnu::noinline]] void say(const ValidatedArgs& bound, const spark_exec& exec, uint64_t workspace) {
        NamedRange ranges[MAX_FIELDS + 1];
        size_t count = 0;
        for (uint32_t i = 0; i < bound.spec->desc->num_fields; ++i) {
            const View& v = bound.view[i];
            if (v.present && v.bytes != 0) ranges[count++] = {bound.spec->fields[i].name, v.data, v.bytes};
        }
        if (workspace != 0) ranges[count++] = {"exec.workspace", exec.workspace, workspace};
        driver_.name_memory(ranges, count);
    }

    const Driver& driver_;
};

// query and prepare differ only in loading.
spark_status look(Context& ctx, const spark_args* args, bool loading, spark_op_info* info, Report& report) {
    if (info != nullptr) {
        if (spark_status s = check_out(info, "info", report)) return s;
    }
    Call call;
    if (spark_status s = prepare_call(ctx, {args}, false, 0, call, report)) return s;
    Plan plan;
    make_plan(call, call.row, 0, nullptr, plan);
    if (loading) {
        if (spark_status s = load(ctx, plan, report)) return s;
    }
    if (info == nullptr) return SPARK_OK;
    spark_op_info found;
    fill_info(call, plan, call.row, loaded(ctx, plan), found);
    write_out(info, found);
    return SPARK_OK;
}

spark_status run(Context& ctx, const Arguments& args, const spark_exec* exec, Report& report) {
    spark_exec where;
    if (spark_status s = read_exec(exec, where, report)) return s;
    Call call;
    if (spark_status s = prepare_call(ctx, args, true, where.kernel_id, call, report)) return s;
    Plan plan;
    make_plan(call, call.row, where.workspace, &ctx, plan);
    if (spark_status s = check_workspace(where, plan.workspace_size, call.bound, report)) return s;
    Stream stream;
    if (spark_status s = stream.find(ctx, where.stream, "exec.stream", report)) return s;
    if (call.row == nullptr) return SPARK_OK;
    const Named named(*ctx.driver, call.bound, where, plan.workspace_size);
    return launch(ctx, stream, plan, report);
}

spark_status list(Context& ctx, const spark_args* args, uint64_t workspace_limit, spark_op_info* infos,
                  uint32_t capacity, uint32_t* count, Report& report) {
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
    if (spark_status s = prepare_call(ctx, {args}, false, 0, call, report)) return s;
    const Row* ranked[MAX_ROWS];
    const uint32_t legal = call.row == nullptr ? 0 : rank(call.request, ranked);
    uint32_t found = 0;
    for (const Row* row : std::span(ranked, legal)) {
        Plan plan;
        make_plan(call, row, 0, nullptr, plan);
        if (plan.workspace_size > workspace_limit || found++ >= capacity) continue;
        spark_op_info info;
        fill_info(call, plan, row, loaded(ctx, plan), info);
        write_out(&infos[found - 1], info);
    }
    *count = found;
    return SPARK_OK;
}

spark_status tell(Context& ctx, const spark_args* args, char* text, size_t capacity, size_t* needed, Report& report) {
    if (capacity != 0) {
        if (spark_status s = need_pointer(text, "text", report)) return s;
    }
    Call call;
    if (spark_status s = prepare_call(ctx, {args}, false, 0, call, report)) return s;
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

spark_status spark::launch_operator(spark_context* ctx, const spark_args* args, uint32_t op, const spark_exec* exec,
                                    spark_error* err) {
    return on_device(ctx, err, [&](Context& c, Report& report) { return run(c, {args, op}, exec, report); });
}

extern "C" {

spark_status spark_op_query(spark_context* ctx, const spark_args* args, spark_op_info* info, spark_error* err) {
    return in_context(ctx, false, err, [&](Context& c, Report& report) { return look(c, args, false, info, report); });
}

spark_status spark_op_prepare(spark_context* ctx, const spark_args* args, spark_op_info* info, spark_error* err) {
    return on_device(ctx, err, [&](Context& c, Report& report) { return look(c, args, true, info, report); });
}

spark_status spark_op_launch(spark_context* ctx, const spark_args* args, const spark_exec* exec, spark_error* err) {
    return launch_operator(ctx, args, SPARK_OP_NONE, exec, err);
}

spark_status spark_op_explain(spark_context* ctx, const spark_args* args, char* text, size_t capacity, size_t* needed,
                              spark_error* err) {
    return in_context(ctx, false, err,
                      [&](Context& c, Report& report) { return tell(c, args, text, capacity, needed, report); });
}

spark_status spark_op_kernels(spark_context* ctx, const spark_args* args, uint64_t workspace_limit,
                              spark_op_info* infos, uint32_t capacity, uint32_t* count, spark_error* err) {
    return in_context(ctx, false, err, [&](Context& c, Report& report) {
        return list(c, args, workspace_limit, infos, capacity, count, report);
    });
}

} // extern "C"
