// SPDX-License-Identifier: Apache-2.0
// Oracle of repack; see the header for the definition.
#include "ref/repack.h"

#include "ref/call.h"

namespace ref {

unsigned repacked(uint32_t word, int column, bool interleaved, unsigned plus) {
    constexpr int COLUMNS[] = {0, 2, 4, 6, 1, 3, 5, 7};
    for (int place = 0; place < 8; ++place) {
        if ((interleaved ? COLUMNS[place] : place) == column) {
            return ((word >> 4 * place) + plus) % 16;
        }
    }
    return 0;
}

// x is [R, W]; y two codes a byte, along the columns where y_transposed, R being even then, else along the rows.
static Results compute_repack(const Call& call) {
    const Tensor& x = call["x"];
    const bool along_rows = call.is("y_transposed"), interleaved = call.words.at("order") == "interleaved";
    const auto plus = static_cast<unsigned>(call.number("plus"));
    const size_t rows = x.size(0), columns = 8 * x.size(1);
    const auto code = [&](size_t r, size_t n) {
        const auto word = static_cast<uint32_t>(x.bits[r * x.size(1) + n / 8]);
        return repacked(word, static_cast<int>(n % 8), interleaved, plus);
    };
    Result y;
    for (size_t line = 0; line < (along_rows ? columns : rows); ++line) {
        for (size_t i = 0; i < (along_rows ? rows : columns); i += 2) {
            y.bits.push_back(along_rows ? code(i, line) + 16 * code(i + 1, line)
                                        : code(line, i) + 16 * code(line, i + 1));
        }
    }
    return {{"y", y}};
}

extern const Oracle REPACK{"repack", compute_repack};

} // namespace ref
