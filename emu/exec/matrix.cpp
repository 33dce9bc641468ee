// SPDX-License-Identifier: Apache-2.0
// ldmatrix, stmatrix and movmatrix. Called through the handlers that pick_* choose; always a whole warp.
// Accesses go through the checked paths of access.cpp. Knows nothing of scheduling.
//
// Lane = 4g + t. A register of an 8x8 matrix of 16-bit elements holds, for lane (g, t): row g, columns 2t (low half)
// and 2t + 1 (high half). Rows of matrix m are named by lanes 8m .. 8m + 7.
#include "handlers.h"
#include "matrix_bytes.h"

namespace emu::EMU_LEVEL {
namespace {

// Shared addresses that the lanes name: register + immediate, 32 bits.
EMU_INLINE void row_addresses(const Warp& w, const Inst& in, unsigned operand, uint32_t* out, bool wide) {
    if (wide) {
        const uint64_t* base = w.reg<uint64_t>(in.r[operand]);
        for (int l = 0; l < 32; ++l) out[l] = uint32_t(base[l] + uint64_t(in.imm));
    } else {
        const uint32_t* base = w.reg<uint32_t>(in.r[operand]);
        for (int l = 0; l < 32; ++l) out[l] = base[l] + uint32_t(in.imm);
    }
}

constexpr uint32_t rows_mask(unsigned matrices) { return matrices == 4 ? FULL : (1u << (8 * matrices)) - 1; }

// Lanes whose register of matrix m is undefined, from the undefined rows: row g reaches lanes 4g..4g+3;
// transposed, row r reaches the lanes with t == r / 2.
uint32_t spread_rows(uint32_t rows, bool trans) {
    uint32_t lanes = 0;
    for (uint32_t m = rows & 0xff; m; m &= m - 1) {
        const unsigned r = unsigned(__builtin_ctz(m));
        lanes |= trans ? 0x11111111u << (r >> 1) : 0xfu << (4 * r);
    }
    return lanes;
}

template <unsigned N, bool TRANS> Flow ldmatrix(Warp& w, const Inst& in) {
    uint32_t addr[32], undefined = 0;
    row_addresses(w, in, N, addr, in.sub & matrix_wide);
    if (!check_shared(w, addr, rows_mask(N), 16, false, &undefined)) return Flow::failed;
    const uint8_t* shared = w.cta->shared;
    for (unsigned m = 0; m < N; ++m) {
        uint32_t* d = w.reg<uint32_t>(in.r[m]);
        if constexpr (!TRANS) {
            for (unsigned g = 0; g < 8; ++g) std::memcpy(d + 4 * g, shared + addr[8 * m + g], 16);
        } else {
            alignas(16) uint16_t rows[8][8];
            for (unsigned r = 0; r < 8; ++r) std::memcpy(rows[r], shared + addr[8 * m + r], 16);
            for (unsigned g = 0; g < 8; ++g)
                for (unsigned t = 0; t < 4; ++t) d[4 * g + t] = rows[2 * t][g] | uint32_t(rows[2 * t + 1][g]) << 16;
        }
        if (!(undefined | w.tainted)) continue;
        const uint32_t lanes = spread_rows(undefined >> (8 * m), TRANS);
        w.set_undefined(in.r[m], lanes);
        w.set_defined(in.r[m], ~lanes);
    }
    return Flow::next;
}

// Bytes and packed elements: a row of a matrix is 16 elements, which lie in 16 bytes of memory, b6 in the first 12 of
// them and b4 in the first 8. Each becomes a byte.
enum class Packing : uint8_t { b8, b6, b4 };
constexpr unsigned row_bytes(Packing packing) { return packing == Packing::b8 ? 16 : packing == Packing::b6 ? 12 : 8; }

template <Packing P> EMU_INLINE void expand_row(const uint8_t* row, uint8_t* out) {
    if constexpr (P == Packing::b8) {
        std::memcpy(out, row, 16);
    } else {
        constexpr unsigned BITS = P == Packing::b6 ? 6 : 4;
        for (unsigned e = 0; e < 16; ++e) {
            const unsigned at = e * BITS;
            const unsigned two = row[at / 8] | (at / 8 + 1 < row_bytes(P) ? row[at / 8 + 1] << 8 : 0);
            out[e] = uint8_t(two >> at % 8 & ((1u << BITS) - 1));
        }
    }
}

// m8n16: register m, byte j of lane (g, t) is element 4t + j of row g. m16n16, transposed: registers 2m and 2m + 1,
// byte j of register 2m + i is row 4t + j, element g + 8i.
template <unsigned N, bool TALL, Packing P> Flow load_bytes(Warp& w, const Inst& in) {
    constexpr unsigned ROWS = TALL ? 16 : 8, REGISTERS = TALL ? 2 * N : N;
    constexpr uint32_t LANES = ROWS * N == 32 ? FULL : (1u << (ROWS * N)) - 1;
    uint32_t addr[32], undefined = 0;
    row_addresses(w, in, REGISTERS, addr, in.sub & matrix_wide);
    if (!check_shared(w, addr, LANES, 16, false, &undefined)) return Flow::failed;
    for (uint32_t m = undefined; m; m &= m - 1) // what only fills a row up need not be defined
        if (w.cta->shared_is_defined(addr[__builtin_ctz(m)], row_bytes(P))) undefined &= ~(m & -m);
    for (unsigned m = 0; m < N; ++m) {
        uint8_t rows[ROWS][16];
        for (unsigned r = 0; r < ROWS; ++r) expand_row<P>(w.cta->shared + addr[ROWS * m + r], rows[r]);
        uint32_t lanes = 0;
        for (uint32_t u = undefined >> (ROWS * m) & ((1u << ROWS) - 1); u; u &= u - 1)
            lanes |= TALL ? 0x11111111u << (__builtin_ctz(u) / 4) : 0xfu << (4 * __builtin_ctz(u));
        for (unsigned i = 0; i < REGISTERS / N; ++i) {
            const uint16_t slot = in.r[REGISTERS / N * m + i];
            uint32_t* d = w.reg<uint32_t>(slot);
            for (unsigned l = 0; l < 32; ++l) {
                const unsigned g = l / 4, t = l % 4;
                d[l] = 0;
                for (unsigned j = 0; j < 4; ++j)
                    d[l] |= uint32_t(TALL ? rows[(4 * t + j) % ROWS][g + 8 * i] : rows[g][4 * t + j]) << 8 * j;
            }
            w.set_undefined(slot, lanes);
            w.set_defined(slot, ~lanes);
        }
    }
    return Flow::next;
}

// m16n8, transposed.
template <unsigned N> Flow store_bytes(Warp& w, const Inst& in) {
    uint32_t addr[32];
    row_addresses(w, in, 0, addr, in.sub & matrix_wide);
    if (!check_shared(w, addr, rows_mask(N), 16, true, nullptr)) return Flow::failed;
    for (unsigned row = 0; row < 8 * N; ++row)
        for (unsigned i = 0; i < 16; ++i) {
            const MatrixByte from = matrix_byte(in, row, i);
            w.cta->shared[addr[row] + i] = uint8_t(w.reg<uint32_t>(from.slot)[from.lane] >> 8 * from.byte);
        }
    define_shared(w, addr, rows_mask(N), 16);
    return Flow::next;
}

template <unsigned N, bool TRANS> Flow stmatrix(Warp& w, const Inst& in) {
    uint32_t addr[32];
    row_addresses(w, in, 0, addr, in.sub & matrix_wide);
    if (!check_shared(w, addr, rows_mask(N), 16, true, nullptr)) return Flow::failed;
    uint8_t* shared = w.cta->shared;
    for (unsigned m = 0; m < N; ++m) {
        const uint32_t* s = w.reg<uint32_t>(in.r[1 + m]);
        if constexpr (!TRANS) {
            for (unsigned g = 0; g < 8; ++g) std::memcpy(shared + addr[8 * m + g], s + 4 * g, 16);
        } else {
            alignas(16) uint16_t rows[8][8];
            for (unsigned g = 0; g < 8; ++g)
                for (unsigned t = 0; t < 4; ++t) {
                    rows[2 * t][g] = uint16_t(s[4 * g + t]);
                    rows[2 * t + 1][g] = uint16_t(s[4 * g + t] >> 16);
                }
            for (unsigned r = 0; r < 8; ++r) std::memcpy(shared + addr[8 * m + r], rows[r], 16);
        }
    }
    define_shared(w, addr, rows_mask(N), 16);
    return Flow::next;
}

Flow movmatrix(Warp& w, const Inst& in) {
    const uint32_t* a = w.reg<uint32_t>(in.r[1]);
    uint16_t m[8][8];
    for (unsigned l = 0; l < 32; ++l)
        m[l / 4][2 * (l % 4)] = uint16_t(a[l]), m[l / 4][2 * (l % 4) + 1] = uint16_t(a[l] >> 16);
    uint32_t* d = w.reg<uint32_t>(in.r[0]);
    for (unsigned l = 0; l < 32; ++l) d[l] = m[2 * (l % 4)][l / 4] | uint32_t(m[2 * (l % 4) + 1][l / 4]) << 16;
    return Flow::next;
}

template <template <unsigned, bool> class Choice> Handler by_shape(const Form& form) {
    const bool trans = form.has("trans");
    if (form.has("x1")) return trans ? Choice<1, true>::fn : Choice<1, false>::fn;
    if (form.has("x2")) return trans ? Choice<2, true>::fn : Choice<2, false>::fn;
    if (form.has("x4")) return trans ? Choice<4, true>::fn : Choice<4, false>::fn;
    return nullptr;
}
template <unsigned N, bool T> struct Load { static constexpr Handler fn = ldmatrix<N, T>; };
template <unsigned N, bool T> struct Store { static constexpr Handler fn = stmatrix<N, T>; };

template <unsigned N, bool TALL> Handler by_packing(const Form& form) {
    if (form.has("b6x16_p32")) return load_bytes<N, TALL, Packing::b6>;
    if (form.has("b4x16_p64")) return load_bytes<N, TALL, Packing::b4>;
    if constexpr (TALL) return load_bytes<N, TALL, Packing::b8>;
    else return nullptr;
}

// A shared address may sit in a 64-bit register only as the low half of a wider computation; both widths are taken.
void note_width(const Form& form, unsigned operand, Inst& in) {
    if (operand < form.operands.size() && bytes_of(form.operands[operand].type) == 8) in.sub |= matrix_wide;
}

} // namespace

Handler pick_ldmatrix(const Form& form, Inst& in) {
    note_width(form, 1, in);
    if (form.has("m16n16")) return form.count == 2 ? by_packing<2, true>(form) : by_packing<1, true>(form);
    if (!form.has("m8n16")) return by_shape<Load>(form);
    return form.count == 4   ? by_packing<4, false>(form)
           : form.count == 2 ? by_packing<2, false>(form)
                             : by_packing<1, false>(form);
}

Handler pick_stmatrix(const Form& form, Inst& in) {
    note_width(form, 0, in);
    in.sub |= form.has("m16n8") ? matrix_bytes : form.has("trans") ? matrix_transposed : 0;
    if (!form.has("m16n8")) return by_shape<Store>(form);
    return form.count == 4 ? store_bytes<4> : form.count == 2 ? store_bytes<2> : store_bytes<1>;
}

Handler pick_movmatrix(const Form&, Inst&) { return movmatrix; }

} // namespace emu::EMU_LEVEL
