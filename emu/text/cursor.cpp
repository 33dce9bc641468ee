// SPDX-License-Identifier: Apache-2.0
// Constant expressions: see cursor.h.
#include "cursor.h"

#include <algorithm>

#include "../engine_limits.h"

namespace emu::text {
namespace {

int precedence(std::string_view op) {
    static const char* const levels[] = {"|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -", "* / %"};
    for (int i = 0; i < 8; i++) {
        std::string_view all = levels[i];
        for (size_t at = 0; at < all.size();) {
            size_t stop = std::min(all.find(' ', at), all.size());
            if (all.substr(at, stop - at) == op) return i + 1;
            at = stop + 1;
        }
    }
    return 0;
}

} // namespace

std::string quoted(std::string_view found) {
    constexpr size_t SHOWN = 64;
    std::string out = "'";
    for (char c : found.substr(0, SHOWN)) out += c >= ' ' && c <= '~' ? c : '?';
    return out + (found.size() > SHOWN ? "...'" : "'");
}

std::string Ast::complaint(Place place, const std::string& sentence) const {
    return files[place.file] + ":" + std::to_string(place.line) + ":" + std::to_string(place.column) + ": " + sentence;
}

Cursor::Nested::Nested(Cursor& cursor) : cursor_(cursor) {
    if (++cursor.depth_ > limits::NESTING) cursor.too_deep();
}

void Cursor::too_deep() {
    fail("more than " + std::to_string(limits::NESTING) + " braces, parentheses or operators inside each other, at " +
         found());
}

uint64_t Cursor::primary() {
    const Nested nested(*this);
    if (accept("(")) {
        uint64_t v = expression();
        expect(")");
        return v;
    }
    if (accept("-")) return 0 - primary();
    if (accept("+")) return primary();
    if (accept("~")) return ~primary();
    if (accept("!")) return !primary();
    if (peek().kind == Token::integer) return take().value;
    fail("a constant is expected, not " + found());
    return 0;
}

uint64_t Cursor::apply(std::string_view op, uint64_t a, uint64_t b) {
    auto sa = int64_t(a), sb = int64_t(b);
    if ((op == "/" || op == "%") && b == 0) {
        fail("division by zero in a constant");
        return 0;
    }
    if (op == "+") return a + b;
    if (op == "-") return a - b;
    if (op == "*") return a * b;
    if (op == "/") return sb == -1 ? 0 - a : uint64_t(sa / sb);
    if (op == "%") return sb == -1 ? 0 : uint64_t(sa % sb);
    if (op == "<<") return a << (b & 63);
    if (op == ">>") return uint64_t(sa >> (b & 63));
    if (op == "&") return a & b;
    if (op == "|") return a | b;
    if (op == "^") return a ^ b;
    if (op == "==") return a == b;
    if (op == "!=") return a != b;
    if (op == "<") return sa < sb;
    if (op == ">") return sa > sb;
    if (op == "<=") return sa <= sb;
    return sa >= sb;
}

uint64_t Cursor::binary(int least) {
    uint64_t a = primary();
    for (;;) {
        std::string_view op = peek().kind == Token::punct ? peek().text : std::string_view();
        int level = precedence(op);
        if (level == 0 || level < least || !ok()) return a;
        take();
        a = apply(op, a, binary(level + 1));
    }
}

uint64_t Cursor::expression() {
    uint64_t a = binary(1);
    if (!accept("?")) return a;
    const Nested nested(*this); // a ? b : c ? d : ... nests to the right
    uint64_t yes = expression();
    expect(":");
    uint64_t no = expression();
    return a ? yes : no;
}

uint64_t Cursor::terms() {
    uint64_t sum = 0;
    while (ok() && (is("+") || is("-"))) {
        const bool less = take().text == "-";
        const uint64_t term = binary(1 + precedence("+"));
        sum = less ? sum - term : sum + term;
    }
    return sum;
}

} // namespace emu::text
