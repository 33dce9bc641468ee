// SPDX-License-Identifier: Apache-2.0
// ldmatrix, stmatrix and movmatrix. Called through the handlers that pick_* choose; always a whole warp.
// Accesses go through the checked paths of access.cpp. Knows nothing of scheduling.
//
// Lane = 4g + t. A register of an 8x8 matrix of 16-bit elements holds, for lane (g, t): row g, columns 2t (low half)
// and 2t + 1 (high half). Rows of matrix m are named by lanes 8m .. 8m + 7.
#include "handlers.h"

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

constexpr uint8_t WIDE = 1; // Inst::sub: the address is a 64-bit register

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
    row_addresses(w, in, N, addr, in.sub & WIDE);
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
        const uint32_t lanes = undefined ? spread_rows(undefined >> (8 * m), TRANS) : 0;
        w.set_undefined(in.r[m], lanes);
        w.set_defined(in.r[m], ~lanes);
    }
    return Flow::next;
}

template <unsigned N, bool TRANS> Flow stmatrix(Warp& w, const Inst& in) {
    uint32_t addr[32];
    row_addresses(w, in, 0, addr, in.sub & WIDE);
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

bool names_m8n8_b16(const Form& form) {
    return form.has("sync") && form.has("aligned") && form.has("m8n8") && form.has("b16");
}

// A shared address may sit in a 64-bit register only as the low half of a wider computation; both widths are taken.
void note_width(const Form& form, unsigned operand, Inst& in) {
    if (operand < form.operands.size() && bytes_of(form.operands[operand].type) == 8) in.sub |= WIDE;
}

} // namespace

Handler pick_ldmatrix(const Form& form, Inst& in) {
    note_width(form, 1, in);
    return names_m8n8_b16(form) ? by_shape<Load>(form) : nullptr;
}

Handler pick_stmatrix(const Form& form, Inst& in) {
    note_width(form, 0, in);
    return names_m8n8_b16(form) ? by_shape<Store>(form) : nullptr;
}

Handler pick_movmatrix(const Form& form, Inst&) {
    return names_m8n8_b16(form) && form.has("trans") ? movmatrix : nullptr;
}

} // namespace emu::EMU_LEVEL
