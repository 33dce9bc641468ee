// SPDX-License-Identifier: Apache-2.0
// Calls through a register: each function that it may hold is put in the place of the call, behind a test of the
// address. What that may be the text says: a list of targets, a table of functions, or a prototype, which every
// function fits whose address is taken and whose parameters have the same sizes.
#include <algorithm>

#include "calls.h"

namespace emu {
namespace {

constexpr const char* OTHER = "the next function";
constexpr const char* TEST = "is it another function";

uint64_t bytes_of(const text::Variable& v) {
    return uint64_t(emu::bytes_of(type_named(v.type))) * v.vec * (v.is_array ? v.elements : 1);
}
bool same_sizes(const std::vector<text::Variable>& a, const std::vector<text::Variable>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const auto& x, const auto& y) { return bytes_of(x) == bytes_of(y); });
}

} // namespace

bool Builder::is_inside(const text::Function& function) const {
    return std::find(inside_.begin(), inside_.end(), &function) != inside_.end();
}

bool Builder::find_candidates(const Call& call, std::vector<const text::Function*>& out) {
    std::vector<std::string_view> names;
    const auto& tables = inside_.empty() ? function_.tables : inside_.back()->tables;
    const auto table = tables.find(call.candidates);
    const bool listed = table != tables.end() && table->second.kind == text::Table::calls;
    const bool typed = table != tables.end() && table->second.kind == text::Table::prototype;
    if (listed) names = table->second.names;
    else if (typed) names = calls_.taken();
    else if (!calls_.table(call.candidates, names))
        return refuse(text::quoted(call.candidates) + " is no prototype, list of targets or table of functions");
    for (std::string_view name : names) {
        const text::Function* f = calls_.find(name);
        if (!f) return refuse(calls_.unknown(name));
        if (typed && !(f->has_body && same_sizes(f->params, table->second.params) &&
                       same_sizes(f->results, table->second.results)))
            continue;
        if (std::find(out.begin(), out.end(), f) == out.end()) out.push_back(f);
    }
    return true;
}

void Builder::dispatch(const Call& call, text::Place place) {
    std::vector<const text::Function*> candidates;
    if (!find_candidates(call, candidates)) return;
    scopes_[size_t(scope_)].regs[TEST] = add_reg({TEST, Type::pred, 0, VirtualReg::declared, 0});
    const int around = scope_;
    const size_t errors = errors_.size();
    for (const text::Function* f : candidates) {
        scope_ = open_scope(around);
        const int one = scope_;
        promise_label(one, OTHER);
        instruction(made("setp.ne.b64", {named(TEST), call.callee, constant_operand(calls_.address(f->name))}), place);
        text::Instruction skip = branch_to(OTHER);
        skip.guard = TEST;
        instruction(skip, place);
        Call here = call;
        here.function = f;
        expand(here, place);
        if (errors_.size() != errors || full_) return;
        scope_ = one;
        instruction(branch_to(AFTER), place);
        set_label(one, OTHER);
        scope_ = around;
        scopes_.resize(size_t(one));
    }
    instruction(made("call.nowhere", {call.callee}), place);
}

} // namespace emu
