// SPDX-License-Identifier: Apache-2.0
// Splits PTX text into tokens, each with its place (line markers of the C preprocessor are followed). One token at a
// time: a text costs no memory before it means something. Called by the cursor only; gives no meaning to anything.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "ast.h"

namespace emu::text {

struct Token {
    enum Kind : uint8_t { end, word, dotted, integer, f32, f64, string, punct } kind = end;
    std::string_view text; // dotted: with its dot
    uint64_t value = 0;    // numbers
    Place place;
};

class Lexer {
public:
    Lexer(std::string_view text, Ast& ast); // ast.files receives the names that the markers mention
    Token next();                           // `end` after the last one, and after an error, which goes to ast.errors

private:
    char at(size_t i) const { return p_ + i < end_ ? p_[i] : '\0'; }
    void error(const std::string& what);
    void new_line();
    void line_marker();
    void block_comment();
    bool skip_blank();
    void scan(Token& t);
    void number(Token& t);
    void decimal(Token& t);
    void string();
    void digits(Token& t, int base);
    uint32_t file_named(std::string_view name);

    const char* p_;
    const char* end_;
    const char* line_start_;
    Ast& ast_;
    Place place_{0, 1, 1};
    bool start_of_line_ = true;
    std::unordered_map<std::string_view, uint32_t> files_;
};

} // namespace emu::text
