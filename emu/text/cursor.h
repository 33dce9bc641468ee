// SPDX-License-Identifier: Apache-2.0
// A place in the tokens of a text, the first error, and the constant expressions of PTX. The parser's base; knows no
// directive and no instruction.
#pragma once

#include <algorithm>

#include "lexer.h"

namespace emu::text {

class Cursor {
protected:
    explicit Cursor(std::string_view ptx) { tokens_ = tokenize(ptx, ast_); }

    const Token& peek(size_t n = 0) const { return tokens_[std::min(at_ + n, tokens_.size() - 1)]; }
    const Token& take() {
        const Token& t = peek();
        if (at_ + 1 < tokens_.size()) at_++;
        return t;
    }
    bool is(const char* s) const { return peek().kind != Token::string && peek().text == s; }
    bool accept(const char* s) {
        if (!is(s) || peek().kind == Token::end) return false;
        take();
        return true;
    }
    void fail(const std::string& what) {
        if (!ast_.errors.empty()) return;
        Place p = peek().place;
        ast_.errors.push_back(ast_.files[p.file] + ":" + std::to_string(p.line) + ": " + what);
        at_ = tokens_.size() - 1;
    }
    bool expect(const char* s) {
        if (accept(s)) return true;
        fail(std::string("'") + s + "' is missing before '" + std::string(peek().text) + "'");
        return false;
    }
    bool ok() const { return ast_.errors.empty(); }

    // Constants are 64-bit integers with C's operators.
    uint64_t expression();
    uint64_t primary(); // one without operators between
    uint64_t terms();   // what follows a name: + 4 - 2; nothing is 0

    Ast ast_;

private:
    uint64_t binary(int least);
    uint64_t apply(std::string_view op, uint64_t a, uint64_t b);

    std::vector<Token> tokens_;
    size_t at_ = 0;
};

} // namespace emu::text
