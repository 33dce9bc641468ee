// SPDX-License-Identifier: Apache-2.0
// The tokens of PTX. Words are names, mnemonics and registers; a dotted word is a directive or a modifier (".v4",
// ".L2::128B"); numbers carry their bits.
#include "lexer.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "../engine_limits.h"

namespace emu::text {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_word_start(char c) { return is_letter(c) || c == '_' || c == '$' || c == '%'; }
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '$'; }
bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

} // namespace

Lexer::Lexer(std::string_view text, Ast& ast)
    : p_(text.data()), end_(text.data() + text.size()), line_start_(p_), ast_(ast) {
    ast_.files.push_back("<ptx>");
    files_.emplace("<ptx>", 0);
    if (text.size() > limits::TEXT_BYTES)
        error("the text has " + std::to_string(text.size()) + " bytes; " + std::to_string(limits::TEXT_BYTES) +
              " is the most");
}

void Lexer::error(const std::string& what) {
    if (ast_.errors.empty()) ast_.errors.push_back(ast_.complaint(place_, what));
    p_ = end_;
}

Token Lexer::next() {
    Token t;
    const bool more = skip_blank();
    place_.column = uint32_t(p_ - line_start_) + 1;
    t.place = place_;
    if (!more) return t;
    scan(t);
    return ast_.errors.empty() ? t : Token{Token::end, {}, 0, t.place};
}

void Lexer::new_line() {
    place_.line++;
    line_start_ = p_ + 1;
}

uint32_t Lexer::file_named(std::string_view name) {
    auto [it, fresh] = files_.emplace(name, uint32_t(ast_.files.size()));
    if (!fresh) return it->second;
    if (name.size() > limits::NAME_BYTES || ast_.files.size() >= limits::FILES) {
        error("line markers name " + std::to_string(limits::FILES) + " files of " + std::to_string(limits::NAME_BYTES) +
              " bytes at most");
        return 0;
    }
    ast_.files.emplace_back(name);
    return it->second;
}

// # 12 "file" flags: the next line is line 12 of file. Ends at the end of its line.
void Lexer::line_marker() {
    const char* stop = std::find(p_, end_, '\n');
    const char* q = p_ + 1;
    place_.column = uint32_t(p_ - line_start_) + 1;
    auto blanks = [&] {
        while (q < stop && is_blank(*q)) q++;
    };
    blanks();
    if (stop - q > 4 && !strncmp(q, "line", 4)) q += 4;
    blanks();
    uint32_t line = 0;
    auto [after, problem] = std::from_chars(q, stop, line);
    if (problem == std::errc::result_out_of_range) return error("a line marker's number does not fit 32 bits");
    q = after;
    blanks();
    if (q < stop && *q == '"') {
        const char* close = std::find(q + 1, stop, '"');
        place_.file = file_named(std::string_view(q + 1, size_t(close - q - 1)));
        if (!ast_.errors.empty()) return;
    }
    p_ = stop;
    place_.line = line ? line - 1 : 0; // the newline itself counts up
}

void Lexer::block_comment() {
    place_.column = uint32_t(p_ - line_start_) + 1;
    const Place begin = place_;
    for (p_ += 2; p_ < end_ && !(*p_ == '*' && at(1) == '/'); p_++)
        if (*p_ == '\n') new_line();
    if (p_ >= end_) {
        place_ = begin;
        return error("a comment does not end");
    }
    p_++; // the caller steps over the '/'
}

bool Lexer::skip_blank() {
    for (; p_ < end_; p_++) {
        if (*p_ == '\n') {
            new_line();
            start_of_line_ = true;
        } else if (*p_ == '/' && at(1) == '/') {
            p_ = std::find(p_, end_, '\n') - 1;
        } else if (*p_ == '/' && at(1) == '*') {
            block_comment();
        } else if (*p_ == '#' && start_of_line_) {
            line_marker();
            p_--;
        } else if (*p_ == '\0' && p_ + 1 == end_) {
            continue;
        } else if (!is_blank(*p_)) {
            start_of_line_ = false;
            return true;
        }
        if (!ast_.errors.empty()) break;
    }
    p_ = std::min(p_, end_);
    return false;
}

void Lexer::string() {
    const char* from = p_;
    for (p_++; p_ < end_ && *p_ != '"' && *p_ != '\n';) p_++;
    if (p_ < end_ && *p_ == '"') p_++;
    else error("a string does not end on its line: " + quoted(std::string_view(from, size_t(p_ - from))));
}

void Lexer::scan(Token& t) {
    const char* from = p_;
    if (is_word_start(*p_)) {
        t.kind = Token::word;
        for (p_++; p_ < end_ && is_word(*p_); p_++) {}
    } else if (*p_ == '.' && is_word(at(1))) {
        t.kind = Token::dotted;
        for (p_++; p_ < end_ && (is_word(*p_) || (*p_ == ':' && at(1) == ':')); p_++)
            if (*p_ == ':') p_++;
    } else if (is_digit(*p_)) {
        number(t);
    } else if (*p_ == '"') {
        t.kind = Token::string;
        string();
    } else {
        t.kind = Token::punct;
        bool two = (*p_ == '<' && at(1) == '<') || (*p_ == '>' && at(1) == '>') || (*p_ == '=' && at(1) == '=') ||
                   (*p_ == '!' && at(1) == '=') || (*p_ == '&' && at(1) == '&') || (*p_ == '<' && at(1) == '=') ||
                   (*p_ == '>' && at(1) == '=');
        p_ += two ? 2 : 1;
    }
    t.text = std::string_view(from, size_t(p_ - from));
    if (t.text.size() > limits::NAME_BYTES && ast_.errors.empty())
        error(quoted(t.text) + " has " + std::to_string(t.text.size()) + " bytes; " +
              std::to_string(limits::NAME_BYTES) + " is the most");
}

// The digits of an integer from here on.
void Lexer::digits(Token& t, int base) {
    auto [stop, problem] = std::from_chars(p_, end_, t.value, base);
    if (problem == std::errc::result_out_of_range)
        return error("the number " + quoted(std::string_view(p_, size_t(stop - p_))) + " does not fit 64 bits");
    if (stop == p_) return error("digits are expected, not " + quoted(std::string_view(p_, std::min(end_ - p_, 1l))));
    p_ = stop;
}

// An integer, octal if it begins with 0, or a double.
void Lexer::decimal(Token& t) {
    const char* q = std::find_if_not(p_, end_, is_digit);
    if (q == end_ || (*q != '.' && *q != 'e' && *q != 'E')) {
        digits(t, *p_ == '0' && q - p_ > 1 ? 8 : 10);
        return;
    }
    double d = 0;
    auto [stop, problem] = std::from_chars(p_, std::min(end_, p_ + limits::NAME_BYTES), d);
    if (problem != std::errc())
        return error("the number " + quoted(std::string_view(p_, size_t(stop - p_))) + " does not fit a double");
    memcpy(&t.value, &d, 8);
    t.kind = Token::f64;
    p_ = stop;
}

void Lexer::number(Token& t) {
    const char* from = p_;
    const char kind = *p_ == '0' ? char(at(1) | 0x20) : ' ';
    t.kind = Token::integer;
    if (kind == 'f' || kind == 'd') {
        const ptrdiff_t want = kind == 'f' ? 8 : 16;
        t.kind = kind == 'f' ? Token::f32 : Token::f64;
        p_ += 2;
        digits(t, 16);
        if (ast_.errors.empty() && p_ - from != 2 + want)
            error(quoted(std::string_view(from, size_t(p_ - from))) +
                  " is not a float: 0f takes 8 hexadecimal digits and 0d takes 16");
    } else if (kind == 'x' || kind == 'b') {
        p_ += 2;
        digits(t, kind == 'x' ? 16 : 2);
    } else {
        decimal(t);
    }
    if (t.kind == Token::integer && (at(0) == 'U' || at(0) == 'u')) p_++;
    if (ast_.errors.empty() && is_word(at(0))) error("a number runs into " + quoted(std::string_view(p_, 1)));
}

} // namespace emu::text
