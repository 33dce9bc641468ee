// SPDX-License-Identifier: Apache-2.0
// A place in the tokens of a text, the first error, and the constant expressions of PTX. The parser's base; knows no
// directive and no instruction.
#pragma once

#include <string>

#include "lexer.h"

namespace emu::text {

class Cursor {
protected:
    explicit Cursor(std::string_view ptx) : lexer_(ptx, ast_), now_(lexer_.next()), then_(lexer_.next()) {}

    const Token& peek(size_t n = 0) const { return n ? then_ : now_; } // n: 0 or 1
    Token take() {
        const Token t = now_;
        now_ = then_;
        then_ = lexer_.next();
        return t;
    }
    bool is(const char* s) const { return peek().kind != Token::string && peek().text == s; }
    bool accept(const char* s) {
        if (!is(s) || peek().kind == Token::end) return false;
        take();
        return true;
    }
    // The first error is the one that counts; no token follows it.
    void fail(Place place, const std::string& what) {
        if (ast_.errors.empty()) ast_.errors.push_back(ast_.complaint(place, what));
        now_ = then_ = Token{Token::end, {}, 0, place};
    }
    void fail(const std::string& what) { fail(peek().place, what); }
    bool expect(const char* s) {
        if (accept(s)) return true;
        fail(std::string("'") + s + "' is missing before " + found());
        return false;
    }
    bool ok() const { return ast_.errors.empty(); }
    std::string found() const { return peek().kind == Token::end ? "the end of the text" : quoted(peek().text); }

    // One more brace, parenthesis or operator around what follows, as long as it lives. Each is a call here, so their
    // number is limited.
    class Nested {
    public:
        explicit Nested(Cursor& cursor);
        ~Nested() { cursor_.depth_--; }
        Nested(const Nested&) = delete;
        Nested& operator=(const Nested&) = delete;

    private:
        Cursor& cursor_;
    };
    void too_deep(); // the error of nesting beyond the limit

    // Constants are 64-bit integers with C's operators.
    uint64_t expression();
    uint64_t primary(); // one without operators between
    uint64_t terms();   // what follows a name: + 4 - 2; nothing is 0

    Ast ast_;

private:
    uint64_t binary(int least);
    uint64_t apply(std::string_view op, uint64_t a, uint64_t b);

    Lexer lexer_; // after ast_, which it writes
    Token now_, then_;
    unsigned depth_ = 0;
};

} // namespace emu::text
