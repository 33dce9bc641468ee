// SPDX-License-Identifier: Apache-2.0
// The functions of a text: which one a name means, what its address is, and whose address is taken anywhere.
#include <algorithm>

#include "builder.h"

namespace emu {
namespace {

// What a text may declare and call without defining it; forms of `call` that are decoded here alone.
constexpr std::string_view KNOWN = R"(
.version 1.0
.target sm_10
.func __assertfail(.reg .b64 message, .reg .b64 file, .reg .b32 line, .reg .b64 function, .reg .b64 size) {
    call.assertfail message, file, line, function;
}
.func (.reg .b32 printed) vprintf(.reg .b64 format, .reg .b64 values) {
    mov.b32 printed, 0;
}
.func (.reg .b64 at) malloc(.reg .b64 bytes) {
    call.malloc at, bytes;
}
.func free(.reg .b64 at) {
    call.free at;
}
)";
const text::Ast& known() {
    static const text::Ast ast = text::parse(KNOWN);
    return ast;
}

// Addresses of functions: far from any memory, so that a load from one is out of bounds.
constexpr uint64_t FUNCTIONS = 1ull << 56, FUNCTION_BYTES = 16;

} // namespace

Subroutines::Subroutines(const text::Ast& ast) : ast_(ast) {
    for (const text::Function& f : ast.subroutines) {
        const text::Function*& kept = by_name_[f.name];
        if (!kept || f.has_body) kept = &f;
        addresses_.emplace(f.name, FUNCTIONS + FUNCTION_BYTES * addresses_.size());
    }
    for (const auto& [other, name] : ast.aliases)
        if (const text::Function* f = find(name)) {
            by_name_[other] = f;
            addresses_[other] = address(name);
        }
    for (const text::Function& f : known().subroutines)
        if (auto it = by_name_.find(f.name); it != by_name_.end() && !it->second->has_body) it->second = &f;
    find_taken(ast);
}

const text::Function* Subroutines::find(std::string_view name) const {
    const auto it = by_name_.find(name);
    return it == by_name_.end() ? nullptr : it->second;
}

uint64_t Subroutines::address(std::string_view name) const {
    const auto it = addresses_.find(name);
    return it == addresses_.end() ? 0 : it->second;
}

std::string Subroutines::unknown(std::string_view name) const {
    for (const text::Function& kernel : ast_.functions)
        if (kernel.name == name) return text::quoted(name) + " is a kernel: the host starts it, and it has no address";
    return text::quoted(name) + " is not declared";
}

bool Subroutines::is_known(const text::Function& function) {
    const auto& all = known().subroutines;
    return &function >= all.data() && &function < all.data() + all.size();
}

bool Subroutines::table(std::string_view variable, std::vector<std::string_view>& names) const {
    for (const text::Variable& v : ast_.globals)
        if (v.name == variable)
            for (const text::Link& link : v.links) names.push_back(link.name);
    return !names.empty();
}

void Subroutines::take(std::string_view name) {
    if (by_name_.count(name) && is_taken_.insert(name).second) taken_.push_back(name);
}

// Initial values, and what instructions name that do not call it.
void Subroutines::find_taken(const text::Ast& ast) {
    for (const text::Variable& v : ast.globals)
        for (const text::Link& link : v.links) take(link.name);
    for (const auto* functions : {&ast.functions, &ast.subroutines})
        for (const text::Function& f : *functions)
            for (const text::Instruction& in : f.instructions)
                if (!in.opcode.starts_with("call"))
                    for (const text::Operand& o : in.operands) take(o.id);
}

} // namespace emu
