// SPDX-License-Identifier: Apache-2.0
// Splits PTX text into tokens, each with its file and line (line markers of the C preprocessor are followed).
// Called by the parser only; gives no meaning to anything.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ast.h"

namespace emu::text {

struct Token {
    enum Kind : uint8_t { end, word, dotted, integer, f32, f64, string, punct } kind = end;
    std::string_view text; // dotted: with its dot
    uint64_t value = 0;    // numbers
    Place place;
};

// Errors go to ast.errors; ast.files receives the names that the markers mention.
std::vector<Token> tokenize(std::string_view ptx, Ast& ast);

} // namespace emu::text
