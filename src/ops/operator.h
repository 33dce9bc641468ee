// SPDX-License-Identifier: Apache-2.0
// What a family gives for each of its operators, and the path every call takes:
//
//   spark_args --read, validate--> ValidatedArgs --check--> CheckedOp --pick--> Row --plan--> Plan
//
// Called by api/op.cpp. The families' files know their own problem; this file knows none.
#pragma once

#include "dispatch/pick.h"
#include "ops/common/validate.h"
#include "runtime/launch.h"

namespace spark {

// What is to be computed: the left half of a kernel's name. Hashed while compiling.
struct Contract {
    const char* name;
    uint64_t id;

    Contract() = default;
    consteval Contract(const char* text) : name(text), id(hash(text)) {}
};

// A checked problem, ready for the choice of a kernel.
struct CheckedOp {
    const Target* target; // the device. The one thing here that check finds filled
    Contract contract;
    bool empty;               // nothing to launch
    bool exact_sums;          // in any order, so that SPARK_FLAG_BATCH_INVARIANT asks for none
    int64_t facts[MAX_FACTS]; // in the order of Operator::fact_names
    uint64_t flops, bytes;
    alignas(16) std::byte problem[1024];

    template <class Problem> Problem& as() {
        static_assert(sizeof(Problem) <= sizeof problem);
        return *reinterpret_cast<Problem*>(problem);
    }
    template <class Problem> const Problem& as() const { return *reinterpret_cast<const Problem*>(problem); }
};

// In the place of a factor of 0 that scores are multiplied with before a softmax: all finite ones vanish beside 1, and
// -infinity, which marks what is hidden, stays.
constexpr float SMALLEST_SCALE = 0x1p-149f;

struct Operator {
    uint32_t op;
    Table table;
    std::span<const char* const> fact_names;
    spark_status (*check)(const ValidatedArgs& bound, CheckedOp& work, Report& report);
    // What those launches would do, for the choice among rows; nullptr: the first legal row is taken.
    void (*load)(const CheckedOp& work, const Row& row, Load& load);
    // load looks at facts, contract, flags and CheckedOp::bytes alone, so that the choice can be remembered.
    bool by_facts = false;
    // Calls without SPARK_FLAG_BATCH_INVARIANT keep to one order of sums too: a row's bits are no matter of how many
    // rows there are.
    bool one_order = false;
    // The fact that counts the rows whose bits SPARK_FLAG_BATCH_INVARIANT keeps, where kernels for few of them add in
    // an order of their own; else -1.
    int32_t rows_fact = -1;
};

const Operator* find_operator(uint32_t op);

// One call's state, on the stack of the API function.
struct Call {
    alignas(16) std::byte args[MAX_ARGS_SIZE];
    const Operator* op;
    ValidatedArgs bound;
    CheckedOp work;
    Request request;
    const Row* row; // nullptr if the work is empty
};

// Everything up to the choice of the kernel. kernel_id 0 = the library's choice.
spark_status prepare_call(const Context& ctx, const Arguments& args, bool at_launch, uint64_t kernel_id, Call& call,
                          Report& report);

// What the row's kernel would enqueue for this call; nothing if row is nullptr. encoder: of tensor maps; nullptr where
// nothing will be launched.
void make_plan(const Call& call, const Row* row, spark_devptr workspace, const Context* encoder, Plan& plan);

// Fills all of info but struct_size.
void fill_info(const Call& call, const Plan& plan, const Row* row, bool is_loaded, spark_op_info& info);

} // namespace spark
