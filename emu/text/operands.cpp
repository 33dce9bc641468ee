// SPDX-License-Identifier: Apache-2.0
// Operands of an instruction: see operands.h.
#include "operands.h"

#include "../engine_limits.h"

namespace emu::text {

std::string_view Operands::name() {
    if (peek().kind != Token::word) {
        fail("a name is expected, not " + found());
        return {};
    }
    std::string_view first = take().text;
    // %tid.x: the dotted part belongs to the name.
    if (first[0] == '%' && peek().kind == Token::dotted && peek().text.size() == 2 &&
        peek().text.data() == first.data() + first.size()) {
        std::string_view rest = take().text;
        return std::string_view(first.data(), first.size() + rest.size());
    }
    return first;
}

Operand Operands::address() {
    Operand o;
    o.kind = Operand::address;
    if (peek().kind == Token::word) {
        o.id = name();
        o.value = terms();
    } else {
        o.value = expression();
    }
    while (ok() && accept(",")) add(o.parts, operand(), "an address");
    expect("]");
    return o;
}

Operand Operands::simple_operand() {
    const Nested nested(*this);
    Operand o;
    if (accept("[")) return address();
    if (accept("{")) {
        o.kind = Operand::vector;
        do add(o.parts, operand(), "a {}");
        while (ok() && accept(","));
        expect("}");
        return o;
    }
    if (is("!") && peek(1).kind == Token::word) {
        take();
        o = simple_operand();
        o.negated = true;
        return o;
    }
    if (peek().kind == Token::word) {
        if (accept("_")) return o;
        o.kind = Operand::name;
        o.id = name();
        o.value = terms();
        return o;
    }
    bool minus = is("-") && (peek(1).kind == Token::f64 || peek(1).kind == Token::f32);
    if (minus) take();
    if (peek().kind == Token::f32 || peek().kind == Token::f64) {
        o.kind = peek().kind == Token::f32 ? Operand::f32 : Operand::f64;
        o.value = take().value;
        if (minus) o.value ^= o.kind == Operand::f32 ? 1ull << 31 : 1ull << 63;
        return o;
    }
    o.kind = Operand::integer;
    o.value = expression();
    return o;
}

Operand Operands::operand() {
    Operand first = simple_operand();
    if (!is("|") || (first.kind != Operand::name && first.kind != Operand::sink)) return first;
    take();
    Operand pair;
    pair.kind = Operand::pair;
    pair.parts.push_back(first);
    pair.parts.push_back(simple_operand());
    return pair;
}

Operand Operands::call_operand() {
    if (!accept("(")) return operand();
    Operand list;
    list.kind = Operand::list;
    if (accept(")")) return list;
    do add(list.parts, simple_operand(), "a call");
    while (ok() && accept(","));
    expect(")");
    return list;
}

void Operands::add(std::vector<Operand>& to, Operand operand, const char* where) {
    if (to.size() >= limits::OPERANDS)
        return fail(std::string(where) + " has more than " + std::to_string(limits::OPERANDS) + " operands");
    to.push_back(std::move(operand));
}

} // namespace emu::text
