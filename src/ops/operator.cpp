// SPDX-License-Identifier: Apache-2.0
// The common path of every operator call, and the list of operators.
#include "ops/operator.h"

#include <cstring>

#include "core/knobs.h"

namespace spark {

#define OPERATOR(name) extern const Operator name;
#include "ops/operators.inc"
#undef OPERATOR

namespace {

constexpr const Operator* OPERATORS[] = {
#define OPERATOR(name) &name,
#include "ops/operators.inc"
#undef OPERATOR
};

// Nothing was legal: say which kernels there are and why the last of them, the generic one, refused.
spark_status nothing_fits(const Call& call, Report& report) {
    const Row* asked = nullptr;
    for (const Row& row : call.request.rows) {
        if (row.kernel->id == call.request.kernel_id) asked = &row;
    }
    char why[160];
    if (call.request.kernel_id != 0) {
        if (asked == nullptr) {
            return report.fail(SPARK_ERR_INVALID_VALUE,
                               "exec.kernel_id is 0x%llx; no kernel of %s has it, see spark_op_kernels",
                               static_cast<unsigned long long>(call.request.kernel_id), call.work.contract.name);
        }
        describe(call.request, *asked, judge(call.request, *asked), why, sizeof why);
        return report.fail(SPARK_ERR_INVALID_VALUE, "exec.kernel_id asks for %s, but %s", asked->kernel->name, why);
    }
    if (call.request.rows.empty()) {
        return report.fail(SPARK_ERR_UNSUPPORTED, "no kernel %s in this build; it was built without that family",
                           call.work.contract.name);
    }
    const Row& last = call.request.rows.back();
    describe(call.request, last, judge(call.request, last), why, sizeof why);
    return report.fail(SPARK_ERR_UNSUPPORTED_SHAPE, "no kernel takes it; %s: %s", last.kernel->name, why);
}

// As pick says, which is asked once for each problem as long as its answer is remembered.
const Row* choose(const Context& ctx, const Call& call) {
    if (!call.op->by_facts) return pick(call.request);
    const Memo::Problem problem = Memo::problem_of(call.request, call.work.bytes);
    if (const Row* row = ctx.memo->find(problem)) return row;
    const Row* row = pick(call.request);
    if (row != nullptr) ctx.memo->keep(problem, *row);
    return row;
}

} // namespace

const Operator* find_operator(uint32_t op) {
    for (const Operator* o : OPERATORS) {
        if (o->op == op) return o;
    }
    return nullptr;
}

spark_status prepare_call(const Context& ctx, const Arguments& args, bool at_launch, uint64_t kernel_id, Call& call,
                          Report& report) {
    const OpSpec* spec = nullptr;
    if (spark_status s = read_args(args, call.args, spec, report)) return s;
    if (spark_status s = validate(*spec, call.args, at_launch, call.bound, report)) return s;
    call.op = find_operator(spec->desc->op);
    CheckedOp& work = call.work;
    work.target = &ctx.target;
    work.empty = work.exact_sums = false;
    work.flops = work.bytes = 0;
    if (spark_status s = call.op->check(call.bound, work, report)) return s;
    const char* pattern = knobs().kernel;
    if (pattern != nullptr && *pattern == 0) pattern = nullptr;
    call.request = {work.empty ? std::span<const Row>() : rows_of(call.op->table.rows, work.contract.id),
                    call.op->table,
                    call.op->fact_names,
                    work.facts,
                    work.target,
                    call.op->load,
                    &work,
                    (call.bound.flags & SPARK_FLAG_DETERMINISTIC) != 0,
                    !work.exact_sums && (call.op->one_order || (call.bound.flags & SPARK_FLAG_BATCH_INVARIANT) != 0),
                    pattern,
                    kernel_id,
                    call.bound.flags,
                    &ctx.tuning,
                    call.op->rows_fact};
    call.row = work.empty ? nullptr : choose(ctx, call);
    return work.empty || call.row != nullptr ? SPARK_OK : nothing_fits(call, report);
}

void make_plan(const Call& call, const Row* row, spark_devptr workspace, const Context* encoder, Plan& plan) {
    plan.encoder = encoder;
    plan.encoding = DRIVER_OK;
    plan.workspace = workspace;
    plan.workspace_size = 0;
    plan.count = 0;
    if (row != nullptr) call.op->table.plan(call.work, *row, plan);
}

void fill_info(const Call& call, const Plan& plan, const Row* row, bool is_loaded, spark_op_info& info) {
    const Kernel* kernel = row != nullptr ? row->kernel : nullptr;
    info = {};
    info.workspace_align = 256;
    if (kernel == nullptr) {
        info.flags = SPARK_OP_INFO_EMPTY | SPARK_OP_INFO_DETERMINISTIC;
        return;
    }
    info.flags = (kernel->deterministic ? static_cast<uint32_t>(SPARK_OP_INFO_DETERMINISTIC) : 0u) |
                 (is_loaded ? static_cast<uint32_t>(SPARK_OP_INFO_LOADED) : 0u);
    info.workspace_size = plan.workspace_size;
    info.kernel_id = kernel->id;
    info.flops = call.work.flops;
    info.bytes = call.work.bytes;
    info.launches = plan.count;
    memcpy(info.kernel, kernel->name, strnlen(kernel->name, sizeof info.kernel - 1)); // the rest is 0
}

} // namespace spark
