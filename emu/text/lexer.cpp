// SPDX-License-Identifier: Apache-2.0
// The tokens of PTX. Words are names, mnemonics and registers; a dotted word is a directive or a modifier (".v4",
// ".L2::128B"); numbers carry their bits.
#include "lexer.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace emu::text {
namespace {

bool is_word_start(char c) { return isalpha((unsigned char)c) || c == '_' || c == '$' || c == '%'; }
bool is_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$'; }

class Lexer {
public:
    Lexer(std::string_view text, Ast& ast) : p_(text.data()), end_(text.data() + text.size()), ast_(ast) {
        ast_.files.push_back("<ptx>");
    }

    std::vector<Token> run() {
        while (skip_blank()) {
            Token t;
            t.place = place_;
            scan(t);
            tokens_.push_back(t);
        }
        Token t;
        t.place = place_;
        tokens_.push_back(t);
        return std::move(tokens_);
    }

private:
    char at(size_t i) const { return p_ + i < end_ ? p_[i] : '\0'; }

    void error(const std::string& what) {
        ast_.errors.push_back(ast_.files[place_.file] + ":" + std::to_string(place_.line) + ": " + what);
    }

    // # 12 "file" flags: the next line is line 12 of file.
    void line_marker() {
        const char* q = p_ + 1;
        while (q < end_ && (*q == ' ' || *q == '\t')) q++;
        if (end_ - q > 4 && !strncmp(q, "line", 4)) q += 4;
        char* after = nullptr;
        unsigned long line = strtoul(std::string(q, std::min(end_, q + 32)).c_str(), &after, 10);
        while (q < end_ && (*q == ' ' || isdigit((unsigned char)*q))) q++;
        if (q < end_ && *q == '"') {
            const char* close = std::find(q + 1, end_, '"');
            std::string name(q + 1, close);
            auto it = std::find(ast_.files.begin(), ast_.files.end(), name);
            place_.file = uint32_t(it - ast_.files.begin());
            if (it == ast_.files.end()) ast_.files.push_back(name);
        }
        p_ = std::find(p_, end_, '\n');
        place_.line = line ? uint32_t(line) - 1 : 0; // the newline itself counts up
    }

    bool skip_blank() {
        for (; p_ < end_; p_++) {
            if (*p_ == '\n') {
                place_.line++;
                start_of_line_ = true;
            } else if (*p_ == '/' && at(1) == '/') {
                p_ = std::find(p_, end_, '\n') - 1;
            } else if (*p_ == '/' && at(1) == '*') {
                for (p_ += 2; p_ < end_ && !(*p_ == '*' && at(1) == '/'); p_++) place_.line += *p_ == '\n';
                p_++;
            } else if (*p_ == '#' && start_of_line_) {
                line_marker();
                p_--;
            } else if (*p_ == '\0' && p_ + 1 == end_) {
                continue;
            } else if (!isspace((unsigned char)*p_)) {
                start_of_line_ = false;
                return true;
            }
        }
        return false;
    }

    void scan(Token& t) {
        const char* from = p_;
        if (is_word_start(*p_)) {
            t.kind = Token::word;
            for (p_++; p_ < end_ && is_word(*p_); p_++) {}
        } else if (*p_ == '.' && is_word(at(1))) {
            t.kind = Token::dotted;
            for (p_++; p_ < end_ && (is_word(*p_) || (*p_ == ':' && at(1) == ':')); p_++)
                if (*p_ == ':') p_++;
        } else if (isdigit((unsigned char)*p_)) {
            number(t);
        } else if (*p_ == '"') {
            t.kind = Token::string;
            p_ = std::find(p_ + 1, end_, '"');
            if (p_ < end_) p_++;
        } else {
            t.kind = Token::punct;
            bool two = (*p_ == '<' && at(1) == '<') || (*p_ == '>' && at(1) == '>') || (*p_ == '=' && at(1) == '=') ||
                       (*p_ == '!' && at(1) == '=') || (*p_ == '&' && at(1) == '&') || (*p_ == '<' && at(1) == '=') ||
                       (*p_ == '>' && at(1) == '=');
            p_ += two ? 2 : 1;
        }
        t.text = std::string_view(from, size_t(p_ - from));
    }

    void number(Token& t) {
        t.kind = Token::integer;
        std::string s(p_, std::min(end_, p_ + 64));
        char kind = s.size() > 1 && s[0] == '0' ? char(tolower(s[1])) : ' ';
        char* stop = nullptr;
        if (kind == 'f' || kind == 'd') {
            t.kind = kind == 'f' ? Token::f32 : Token::f64;
            t.value = strtoull(s.c_str() + 2, &stop, 16);
            if (stop - s.c_str() != (kind == 'f' ? 10 : 18))
                error("'" + s.substr(0, size_t(stop - s.c_str())) +
                      "' is not a float: 0f takes 8 hexadecimal digits and 0d takes 16");
        } else if (kind == 'b') {
            t.value = strtoull(s.c_str() + 2, &stop, 2);
        } else {
            t.value = strtoull(s.c_str(), &stop, 0);
            if (kind != 'x' && (*stop == '.' || *stop == 'e' || *stop == 'E')) {
                double d = strtod(s.c_str(), &stop);
                memcpy(&t.value, &d, 8);
                t.kind = Token::f64;
            } else if (*stop == 'U' || *stop == 'u') {
                stop++;
            }
        }
        p_ += stop - s.c_str();
        if (p_ < end_ && is_word(*p_)) {
            error("a number runs into '" + std::string(1, *p_) + "'");
            p_++;
        }
    }

    const char* p_;
    const char* end_;
    Ast& ast_;
    Place place_{0, 1};
    bool start_of_line_ = true;
    std::vector<Token> tokens_;
};

} // namespace

std::vector<Token> tokenize(std::string_view ptx, Ast& ast) { return Lexer(ptx, ast).run(); }

} // namespace emu::text
