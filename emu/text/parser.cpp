// SPDX-License-Identifier: Apache-2.0
// PTX text to Ast: directives, declarations, labels, instructions. Whatever it does not know it refuses with file and
// line; what a mnemonic or a type means is decided later, in ir/.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "cursor.h"

namespace emu::text {
namespace {

class Parser : Cursor {
public:
    explicit Parser(std::string_view ptx) : Cursor(ptx) {}

    Ast run() {
        while (ast_.errors.empty() && peek().kind != Token::end) module_item();
        if (ast_.errors.empty() && ast_.version == 0) fail("the text has no .version");
        if (ast_.errors.empty() && ast_.target.empty()) fail("the text has no .target");
        return std::move(ast_);
    }

private:
    // --- operands ---
    std::string_view name() {
        if (peek().kind != Token::word) {
            fail("a name is expected, not '" + std::string(peek().text) + "'");
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
    Operand address() {
        Operand o;
        o.kind = Operand::address;
        if (peek().kind == Token::word) {
            o.id = name();
            o.value = terms();
        } else {
            o.value = expression();
        }
        expect("]");
        return o;
    }
    Operand simple_operand() {
        Operand o;
        const Token& t = peek();
        if (accept("[")) return address();
        if (accept("{")) {
            o.kind = Operand::vector;
            do o.parts.push_back(operand());
            while (accept(","));
            expect("}");
            return o;
        }
        if (is("!") && peek(1).kind == Token::word) {
            take();
            o = simple_operand();
            o.negated = true;
            return o;
        }
        if (t.kind == Token::word) {
            if (t.text == "_") {
                take();
                return o;
            }
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
    Operand operand() {
        Operand first = simple_operand();
        if (!is("|") || (first.kind != Operand::name && first.kind != Operand::sink)) return first;
        take();
        Operand pair;
        pair.kind = Operand::pair;
        pair.parts.push_back(first);
        pair.parts.push_back(simple_operand());
        return pair;
    }

    // --- declarations ---
    uint64_t one_constant(std::vector<bool>* is_float) {
        bool minus = false;
        if (is("-") && peek(1).kind == Token::f64) {
            take();
            minus = true;
        }
        if (peek().kind == Token::f64 || peek().kind == Token::f32) {
            if (is_float) is_float->push_back(peek().kind == Token::f64);
            return take().value ^ (minus ? 1ull << 63 : 0);
        }
        if (is_float) is_float->push_back(false);
        return expression();
    }
    void initialiser(Variable& v) {
        if (accept("{")) {
            if (accept("}")) return;
            do {
                if (is("{")) {
                    initialiser(v);
                } else {
                    v.init.push_back(one_constant(&v.init_float));
                }
            } while (ok() && accept(","));
            expect("}");
        } else {
            v.init.push_back(one_constant(&v.init_float));
        }
    }
    // After the state space: .align n .v4 .type name[n] = init {, name}
    void variables(std::string_view space, bool is_extern, std::vector<Variable>& out, const char* stop) {
        Variable base;
        base.space = space;
        base.is_extern = is_extern;
        while (ok() && peek().kind == Token::dotted) {
            std::string_view word = take().text;
            if (word == ".align") base.align = primary();
            else if (word == ".v2") base.vec = 2;
            else if (word == ".v4") base.vec = 4;
            else if (word == ".ptr") { /* .ptr .global .align n: says what a pointer points to; checked at run time */
                while (peek().kind == Token::dotted) {
                    std::string_view attr = take().text;
                    if (attr == ".align") primary();
                }
            } else base.type = word.substr(1);
        }
        do {
            Variable v = base;
            v.place = peek().place;
            v.name = name();
            if (accept("<")) {
                v.count = primary();
                expect(">");
            }
            while (ok() && accept("[")) {
                v.is_array = true;
                if (is("]")) v.elements = 0;
                else v.elements *= expression();
                expect("]");
            }
            if (ok() && accept("=")) initialiser(v);
            out.push_back(v);
        } while (ok() && !std::strchr(stop, ',') && accept(","));
    }
    static bool is_space(std::string_view t) {
        return t == ".reg" || t == ".shared" || t == ".global" || t == ".const" || t == ".local" || t == ".param";
    }

    // --- functions ---
    void bounds(uint32_t (&out)[3]) {
        out[0] = uint32_t(expression());
        out[1] = accept(",") ? uint32_t(expression()) : 1;
        out[2] = accept(",") ? uint32_t(expression()) : 1;
    }
    void function(bool is_entry) {
        Function f;
        f.is_entry = is_entry;
        if (!is_entry && is("(")) return fail(".func is not supported: write a macro");
        f.place = peek().place;
        f.name = name();
        if (accept("(") && !accept(")")) {
            do {
                if (!accept(".param")) return fail("a .param is expected, not '" + std::string(peek().text) + "'");
                variables(".param", false, f.params, ",)");
            } while (ok() && accept(","));
            expect(")");
        }
        while (ok() && peek().kind == Token::dotted) {
            std::string_view d = take().text;
            if (d == ".maxntid") bounds(f.maxntid);
            else if (d == ".reqntid") bounds(f.reqntid);
            else if (d == ".maxnreg") f.maxnreg = uint32_t(expression());
            else if (d == ".minnctapersm") f.minnctapersm = uint32_t(expression());
            else if (d == ".pragma") {
                take();
                accept(";");
            } else if (d != ".noreturn") return fail("'" + std::string(d) + "' is not known here");
        }
        if (accept(";")) return; // a declaration only
        if (!is_entry) return fail(".func is not supported: write a macro");
        expect("{");
        f.has_body = true;
        body(f);
        ast_.functions.push_back(std::move(f));
    }
    void body(Function& f) {
        int depth = 1;
        while (ok()) {
            Item item;
            item.place = peek().place;
            if (accept("{")) {
                item.kind = Item::open;
                depth++;
            } else if (accept("}")) {
                if (--depth == 0) return;
                item.kind = Item::close;
            } else if (peek().kind == Token::end) {
                return fail("the kernel has no closing brace");
            } else if (accept(";")) {
                continue;
            } else if (peek().kind == Token::dotted) {
                body_directive(f);
                continue;
            } else if (peek().kind == Token::word && peek(1).text == ":") {
                item.kind = Item::label;
                item.name = take().text;
                take();
            } else {
                item.index = uint32_t(f.instructions.size());
                instruction(f);
            }
            f.items.push_back(item);
        }
    }
    void body_directive(Function& f) {
        std::string_view d = take().text;
        bool is_extern = d == ".extern";
        if (is_extern) d = take().text;
        if (is_space(d)) {
            size_t from = f.variables.size();
            variables(d, is_extern, f.variables, ";");
            expect(";");
            for (size_t i = from; i < f.variables.size(); i++)
                f.items.push_back({Item::variable, f.variables[i].place, {}, uint32_t(i)});
        } else if (d == ".loc") {
            for (int i = 0; i < 3 && peek().kind == Token::integer; i++) take();
        } else if (d == ".pragma") {
            take();
            expect(";");
        } else {
            fail("'" + std::string(d) + "' is not supported");
        }
    }
    void instruction(Function& f) {
        Instruction in;
        if (accept("@")) {
            in.guard_not = accept("!");
            in.guard = name();
        }
        if (peek().kind != Token::word)
            return fail("an instruction is expected, not '" + std::string(peek().text) + "'");
        in.opcode = take().text;
        for (;;) { // modifiers; the preprocessor may leave blanks around a substituted one
            if (peek().kind == Token::dotted) {
                in.opcode += take().text;
            } else if (is(".") && (peek(1).kind == Token::word || peek(1).kind == Token::integer)) {
                take();
                in.opcode += '.';
                in.opcode += take().text;
            } else {
                break;
            }
        }
        while (ok() && !is(";")) {
            in.operands.push_back(operand());
            if (!accept(",") && !is(";"))
                return fail("';' is missing after '" + in.opcode + "', before '" + std::string(peek().text) + "'");
        }
        expect(";");
        f.instructions.push_back(std::move(in));
    }

    void module_item() {
        if (accept(";")) return;
        if (peek().kind != Token::dotted)
            return fail("a directive is expected, not '" + std::string(peek().text) + "'");
        std::string_view d = take().text;
        bool is_extern = false;
        while (d == ".visible" || d == ".extern" || d == ".weak" || d == ".common") {
            is_extern |= d == ".extern";
            d = take().text;
        }
        if (d == ".version") {
            std::string v(take().text); // 8.8 is lexed as a float
            if (accept(".")) v += "." + std::string(take().text);
            size_t dot = v.find('.');
            ast_.version = unsigned(atoi(v.c_str()) * 10 + (dot == std::string::npos ? 0 : atoi(v.c_str() + dot + 1)));
        } else if (d == ".target") {
            ast_.target = std::string(take().text);
            while (accept(",")) take();
        } else if (d == ".address_size") {
            if (primary() != 64) fail(".address_size must be 64");
        } else if (d == ".entry" || d == ".func") {
            function(d == ".entry");
        } else if (is_space(d) && d != ".reg" && d != ".param") {
            variables(d, is_extern, ast_.globals, ";");
            expect(";");
        } else if (d == ".file") {
            while (ok() && (peek().kind == Token::integer || peek().kind == Token::string || is(","))) take();
        } else {
            fail("'" + std::string(d) + "' is not supported");
        }
    }
};

} // namespace

Ast parse(std::string_view ptx) { return Parser(ptx).run(); }

} // namespace emu::text
