// SPDX-License-Identifier: Apache-2.0
// PTX text to Ast: directives, declarations, labels, instructions. Whatever it does not know it refuses with file and
// line; what a mnemonic or a type means is decided later, in ir/.
#include <charconv>
#include <cstring>

#include "../engine_limits.h"
#include "operands.h"

namespace emu::text {
namespace {

class Parser : Operands {
public:
    explicit Parser(std::string_view ptx) : Operands(ptx) {}

    Ast run() {
        while (ast_.errors.empty() && peek().kind != Token::end) module_item();
        if (ast_.errors.empty() && ast_.version == 0) fail("the text has no .version");
        if (ast_.errors.empty() && ast_.target.empty()) fail("the text has no .target");
        return std::move(ast_);
    }

private:
    // --- declarations ---
    // A constant from least to most; `what` begins the sentence about any other.
    uint64_t number(uint64_t value, Place place, const std::string& what, uint64_t least, uint64_t most) {
        if (ok() && (value < least || value > most))
            fail(place, what + " is " + std::to_string(value) + "; it is " + std::to_string(least) + " to " +
                            std::to_string(most));
        return value;
    }
    uint64_t alignment() {
        const Place place = peek().place;
        const uint64_t value = number(primary(), place, "an alignment", 1, limits::ALIGNMENT);
        if (ok() && (value & (value - 1))) fail(place, "an alignment is a power of two, not " + std::to_string(value));
        return value;
    }
    // Everything that is kept counts: its memory is what hostile texts are after.
    void statement() {
        if (++statements_ > limits::STATEMENTS)
            fail("the text has more than " + std::to_string(limits::STATEMENTS) +
                 " instructions, labels, declarations and braces");
    }
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
    // A constant, or generic(symbol) or symbol, with or without an offset.
    void initial_value(Variable& v) {
        if (peek().kind != Token::word || (v.space != ".global" && v.space != ".const"))
            return v.init.push_back(one_constant(&v.init_float));
        Link link{peek().place, name(), v.init.size()};
        if (link.name == "generic" && accept("(")) {
            link.name = name();
            expect(")");
        }
        statement();
        v.links.push_back(link);
        v.init.push_back(terms());
        v.init_float.push_back(false);
    }
    void initialiser(Variable& v) {
        const Nested nested(*this);
        if (!accept("{")) return initial_value(v);
        if (accept("}")) return;
        do {
            if (is("{")) initialiser(v);
            else initial_value(v);
        } while (ok() && accept(","));
        expect("}");
    }
    // .attribute(.managed): who else may reach the variable; here everybody can.
    void attributes() {
        expect("(");
        while (ok() && !is(")")) {
            if (peek().kind == Token::end) return fail("the attributes have no closing parenthesis");
            take();
        }
        expect(")");
    }
    static bool is_of_textures(std::string_view word) {
        return word == ".tex" || word == ".texref" || word == ".samplerref" || word == ".surfref";
    }
    static std::string unsupported(std::string_view word) {
        return quoted(word) + " is not supported" + (is_of_textures(word) ? ": " + std::string(NO_TEXTURES) : "");
    }
    // After the state space: .align n .v4 .type name[n] = init {, name}
    void variables(std::string_view space, bool is_extern, std::vector<Variable>& out, const char* stop) {
        Variable base;
        base.space = space;
        base.is_extern = is_extern;
        while (ok() && peek().kind == Token::dotted) {
            const Place place = peek().place;
            const std::string_view word = take().text;
            if (is_of_textures(word)) fail(place, unsupported(word));
            else if (word == ".align") base.align = alignment();
            else if (word == ".v2") base.vec = 2;
            else if (word == ".v4") base.vec = 4;
            else if (word == ".attribute") attributes();
            else if (word == ".ptr") { /* .ptr .global .align n: says what a pointer points to; checked at run time */
                while (peek().kind == Token::dotted) {
                    std::string_view attr = take().text;
                    if (attr == ".align") alignment();
                }
            } else base.type = word.substr(1);
        }
        do {
            Variable v = base;
            v.place = peek().place;
            v.name = name();
            if (accept("<")) many(v);
            while (ok() && accept("[")) {
                v.is_array = true;
                if (is("]")) v.elements = 0;
                else dimension(v);
                expect("]");
            }
            if (ok() && accept("=")) initialiser(v);
            statement();
            out.push_back(std::move(v));
        } while (ok() && !std::strchr(stop, ',') && accept(","));
    }
    // name<n>: n registers.
    void many(Variable& v) {
        const Place place = peek().place;
        v.count = number(primary(), place, "the number of registers " + quoted(v.name), 1, limits::REGISTERS);
        if (ok() && v.space != ".reg") fail(place, "only registers are declared by their number");
        if (ok() && v.name.size() > limits::REGISTER_BYTES)
            fail(place, quoted(v.name) + " has " + std::to_string(v.name.size()) +
                            " bytes; registers that share a name have " + std::to_string(limits::REGISTER_BYTES) +
                            " at most");
        registers_ += v.count;
        if (ok() && registers_ > limits::TEXT_REGISTERS)
            fail(place, "the text has more than " + std::to_string(limits::TEXT_REGISTERS) + " registers");
        expect(">");
    }
    // One [n] of an array. What the elements take together is limited where their type is known.
    void dimension(Variable& v) {
        const Place place = peek().place;
        const uint64_t count = number(expression(), place, "a dimension of " + quoted(v.name), 0, limits::GLOBAL_BYTES);
        v.elements = ok() ? v.elements * count : 0;
        number(v.elements, place, "the number of elements of " + quoted(v.name), 0, limits::GLOBAL_BYTES);
    }
    static bool is_space(std::string_view t) {
        return t == ".reg" || t == ".shared" || t == ".global" || t == ".const" || t == ".local" || t == ".param";
    }

    // --- functions ---
    void bounds(const char* what, uint32_t most, uint32_t (&out)[3]) {
        for (int i = 0; i < 3; i++) {
            const Place place = peek().place;
            const bool given = i == 0 || accept(",");
            out[i] = given ? uint32_t(number(expression(), place, what, 1, most)) : 1;
        }
    }
    uint32_t count(std::string_view directive) {
        const Place place = peek().place;
        return uint32_t(number(expression(), place, std::string(directive), 1, UINT32_MAX));
    }
    // A directive of a kernel. False: it is none.
    bool directive(std::string_view d, Place place, Function& f) {
        const bool of_clusters = d == ".reqnctapercluster" || d == ".maxclusterrank" || d == ".explicitcluster";
        if (of_clusters && !f.cluster_place.line) f.cluster_place = place;
        if (d == ".maxntid") bounds("a block's width", limits::BLOCK_THREADS, f.maxntid);
        else if (d == ".reqntid") bounds("a block's width", limits::BLOCK_THREADS, f.reqntid);
        else if (d == ".reqnctapercluster") bounds("a cluster's width", limits::CLUSTER_BLOCKS, f.reqnctapercluster);
        else if (d == ".maxclusterrank") f.maxclusterrank = count(d);
        else if (d == ".explicitcluster") f.explicitcluster = true;
        else if (d == ".maxnreg") f.maxnreg = count(d);
        else if (d == ".minnctapersm") f.minnctapersm = count(d);
        else return d == ".noreturn";
        return true;
    }
    // (.param .b32 a, .param .b64 b), or nothing; a .func may have .reg as well.
    void parameters(bool is_entry, std::vector<Variable>& out) {
        if (!accept("(") || accept(")")) return;
        do {
            const bool in_register = !is_entry && accept(".reg");
            if (!in_register && !accept(".param")) return fail("a .param is expected, not " + found());
            variables(in_register ? ".reg" : ".param", false, out, ",)");
            if (ok() && out.back().count) fail(out.back().place, "a parameter is declared by its name");
        } while (ok() && accept(","));
        expect(")");
    }
    void keep(Function f) {
        std::vector<Function>& all = f.is_entry ? ast_.functions : ast_.subroutines;
        if (ok() && all.size() >= limits::KERNELS)
            return fail(f.place, "the text has more than " + std::to_string(limits::KERNELS) +
                                     (f.is_entry ? " kernels" : " functions"));
        all.push_back(std::move(f));
    }
    void function(bool is_entry) {
        Function f;
        f.is_entry = is_entry;
        if (!is_entry) parameters(is_entry, f.results);
        f.place = peek().place;
        f.name = name();
        parameters(is_entry, f.params);
        while (ok() && peek().kind == Token::dotted) {
            const Place place = peek().place;
            std::string_view d = take().text;
            if (d == ".pragma") {
                pragma();
            } else if (!directive(d, place, f)) {
                return fail(quoted(d) + " is not known here");
            }
        }
        f.has_body = !accept(";");
        if (f.has_body) {
            expect("{");
            body(f);
        }
        if (f.has_body || !is_entry) keep(std::move(f));
    }
    void body(Function& f) {
        unsigned depth = 1;
        while (ok()) {
            Item item;
            item.place = peek().place;
            if (accept("{")) {
                item.kind = Item::open;
                if (++depth > limits::NESTING) return too_deep();
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
                if (is_table(peek().text)) {
                    table(f, item);
                    continue;
                }
            } else {
                item.index = uint32_t(f.instructions.size());
                instruction(f);
            }
            statement();
            f.items.push_back(item);
        }
    }
    // .loc file line column, function_name label + offset, inlined_at file line column: read and left out.
    void location() {
        auto place = [&] {
            for (int i = 0; i < 3 && peek().kind == Token::integer; i++) take();
        };
        place();
        while (ok() && accept(",")) {
            const std::string_view what = name();
            if (what == "inlined_at") place();
            else if (what != "function_name") fail(quoted(what) + " is not known in a .loc");
            else if (name(); accept("+")) primary();
        }
    }
    // .section name { ... }: what debuggers read.
    void section() {
        take();
        expect("{");
        while (ok() && !is("}")) {
            if (peek().kind == Token::end) return fail("the section has no closing brace");
            take();
        }
        expect("}");
    }
    static bool is_table(std::string_view t) {
        return t == ".branchtargets" || t == ".calltargets" || t == ".callprototype";
    }
    // name: .branchtargets a, b;  name: .calltargets f, g;  name: .callprototype (results) _ (parameters);
    void table(Function& f, const Item& label) {
        const std::string_view kind = take().text;
        Table t;
        t.kind = kind == ".branchtargets" ? Table::branches : kind == ".calltargets" ? Table::calls : Table::prototype;
        if (t.kind == Table::prototype) {
            parameters(false, t.results);
            name();
            parameters(false, t.params);
            accept(".noreturn");
        } else {
            do {
                statement();
                t.names.push_back(name());
            } while (ok() && accept(","));
        }
        expect(";");
        statement();
        if (ok() && !f.tables.emplace(label.name, std::move(t)).second)
            fail(label.place, "the list " + quoted(label.name) + " is declared twice in its function");
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
            location();
        } else if (d == ".pragma") {
            pragma();
        } else {
            fail(unsupported(d));
        }
    }
    // .pragma "nounroll", "used_bytes_mask 255": hints.
    void pragma() {
        do take();
        while (ok() && accept(","));
        expect(";");
    }
    void instruction(Function& f) {
        Instruction in;
        if (accept("@")) {
            in.guard_not = accept("!");
            in.guard = name();
        }
        if (peek().kind != Token::word) return fail("an instruction is expected, not " + found());
        const Place place = peek().place;
        in.opcode = take().text;
        while (in.opcode.size() <=
               limits::OPCODE_BYTES) { // modifiers; the preprocessor may leave blanks around a substituted one
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
        if (in.opcode.size() > limits::OPCODE_BYTES)
            return fail(place, quoted(in.opcode) + " is longer than the " + std::to_string(limits::OPCODE_BYTES) +
                                   " bytes of an instruction");
        const bool call = in.opcode == "call" || in.opcode.starts_with("call.");
        while (ok() && !is(";")) {
            add(in.operands, call ? call_operand() : operand(), "an instruction");
            if (ok() && !accept(",") && !is(";"))
                return fail("';' is missing after '" + in.opcode + "', before " + found());
        }
        expect(";");
        f.instructions.push_back(std::move(in));
    }

    void version() {
        const Place place = peek().place;
        std::string text(take().text); // 8.8 is lexed as a float
        if (accept(".")) text += "." + std::string(take().text);
        unsigned major = 0, minor = 0;
        const char* const end = text.data() + text.size();
        auto [dot, wrong] = std::from_chars(text.data(), end, major);
        const bool good = wrong == std::errc() && major <= 99 && end - dot == 2 && *dot == '.';
        if (!good || std::from_chars(dot + 1, end, minor).ptr != end)
            return fail(place, quoted(text) + " is not a version of PTX, such as 8.8");
        ast_.version = major * 10 + minor;
    }
    void module_item() {
        if (accept(";")) return;
        if (peek().kind != Token::dotted) return fail("a directive is expected, not " + found());
        std::string_view d = take().text;
        bool is_extern = false;
        while (d == ".visible" || d == ".extern" || d == ".weak" || d == ".common") {
            is_extern |= d == ".extern";
            d = take().text;
        }
        if (d == ".version") {
            version();
        } else if (d == ".target") {
            ast_.target = std::string(take().text);
            while (ok() && accept(",")) take();
        } else if (d == ".address_size") {
            if (primary() != 64) fail(".address_size must be 64");
        } else if (d == ".entry" || d == ".func") {
            function(d == ".entry");
        } else if (is_space(d) && d != ".reg" && d != ".param") {
            variables(d, is_extern, ast_.globals, ";");
            expect(";");
            if (ast_.globals.size() > limits::VARIABLES)
                fail("the text has more than " + std::to_string(limits::VARIABLES) + " variables at module scope");
        } else if (d == ".alias") {
            const std::string_view other = name();
            expect(",");
            ast_.aliases.push_back({other, name()});
            statement();
            expect(";");
        } else if (d == ".pragma") {
            pragma();
        } else if (d == ".section") {
            section();
        } else if (d == ".file") {
            while (ok() && (peek().kind == Token::integer || peek().kind == Token::string || is(","))) take();
        } else {
            fail(unsupported(d));
        }
    }

    size_t statements_ = 0, registers_ = 0;
};

} // namespace

Ast parse(std::string_view ptx) { return Parser(ptx).run(); }

} // namespace emu::text
