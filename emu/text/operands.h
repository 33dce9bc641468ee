// SPDX-License-Identifier: Apache-2.0
// Names and operands as they are written: registers, constants, {}, [], and () of a call. The parser's base, upon the
// cursor; knows no instruction.
#pragma once

#include "cursor.h"

namespace emu::text {

class Operands : protected Cursor {
protected:
    explicit Operands(std::string_view ptx) : Cursor(ptx) {}

    std::string_view name();
    Operand operand();
    Operand call_operand(); // of a call: an operand, or () of parameters
    void add(std::vector<Operand>& to, Operand operand, const char* where);

private:
    Operand address();
    Operand simple_operand();
};

} // namespace emu::text
