// SPDX-License-Identifier: Apache-2.0
// wmma.load, wmma.store and wmma.mma. Called through the handlers that pick_wmma chooses; always a whole warp.
//
// Which lane holds which element is open to the implementation. Here a fragment is one of mma.sync's (num/mma.h), tile
// after tile: m16n16 has two tiles of B, m32n8 two of A. m8n32 is the transposed product, m32n8 of it: its A lies as a
// B would, its B as an A, its C as a transposed one. Of f16 the ISA gives A and B eight registers: what they have
// beyond their tiles holds copies, which no product reads.
#include "half.h"
#include "mma_words.h"
#include "space.h"

namespace emu::EMU_LEVEL {
namespace {

using num::MmaInput;
using num::MmaKind;
using num::MmaModel;
using num::MmaOutput;

// What an instruction says of its matrices: m, n and k in tiles of mma.sync.
struct Shape {
    MmaKind kind; // of a tile
    bool swapped = false;
    uint8_t row_tiles = 1, column_tiles = 1; // of the product that is computed
};

// A matrix in registers and in memory. Its indices, first and second: row and k of A, column and k of B, row and column
// of C; of the product that is computed.
struct WarpSplit {
    uint8_t bits = 32;         // of an element in memory
    uint8_t held = 32;         // what a register holds of a line: 32 or 64 bits of A and B, an element of a wide C
    uint8_t per_lane = 1;      // elements of a line next to each other in a lane; b1: words of 32
    uint8_t rows = 8;          // of a tile
    uint8_t each = 1;          // registers of a tile
    uint8_t registers = 1;     // that hold tiles
    uint8_t all_registers = 1; // in the text
    uint8_t first_step = 0, second_step = 0; // from tile to tile
    bool lines_first = true;                 // a line of memory goes along the second index
    bool strided = false;                    // from line to line: an operand, else `length`
    bool wide = true;                        // the address register
    Space space = Space::generic;
    uint32_t length = 0; // elements of a line

    unsigned elements() const { return held / (bits == 1 ? 32 : bits); } // of a register
    bool whole() const { return elements() == 1 || lines_first; }        // a register is one access
};

struct Product {
    Shape shape;
    const MmaModel* model = nullptr; // of floats
    uint8_t a = 1, b = 1;            // registers in the text
    bool half_c = false, half_d = false;
};

// --- loads and stores ---

// The place of element `e` of a register, in bits from the start of the matrix.
uint64_t place_of(const WarpSplit& f, unsigned reg, unsigned lane, unsigned e, uint64_t stride) {
    const unsigned tile = reg / f.each, in_tile = reg % f.each, beside = f.per_lane / f.elements();
    const unsigned j = in_tile / beside, part = e + in_tile % beside, halves = f.rows / 8u;
    const uint64_t first = f.first_step * tile + lane / 4 + 8 * (j % halves);
    uint64_t second = f.second_step * tile + f.per_lane * (lane % 4) + part + 4 * f.per_lane * (j / halves);
    if (f.bits == 1) second *= 32;
    return (f.lines_first ? first * stride + second : second * stride + first) * f.bits;
}

// Address and stride, the same for all lanes and aligned as the ISA demands: the matrix to its fragment, the lines to
// it too, or to 16 bytes.
struct Where {
    uint64_t base = 0, stride = 0;
};
bool find(Warp& w, const Inst& in, const WarpSplit& f, unsigned address, unsigned stride, Where& where) {
    uint64_t bases[32];
    read_addresses(w, in.r[address], in.imm, f.wide, bases);
    const uint32_t* strides = f.strided ? w.reg<uint32_t>(in.r[stride]) : nullptr;
    where = {bases[0], strides ? strides[0] : f.length};
    for (int lane = 1; lane < 32; ++lane) {
        if (bases[lane] == bases[0] && (!strides || strides[lane] == strides[0])) continue;
        report(w, "divergence", lane, "the lanes of a wmma give different addresses or strides");
        return false;
    }
    const unsigned bytes = f.all_registers * f.held / 8u, line = bytes < 16 ? bytes : 16;
    if (where.base % bytes == 0 && where.stride * f.bits % (8 * line) == 0) return true;
    report_access(w, "misaligned", 0, f.space, where.base, bytes, false,
                  "is not aligned to its fragment, or its stride of " + std::to_string(where.stride) +
                      " elements not to " + std::to_string(line) + " bytes");
    return false;
}

void copy_registers(Warp& w, const Inst& in, const WarpSplit& f) {
    for (unsigned i = f.registers; i < f.all_registers; ++i) {
        const uint16_t from = in.r[i % f.registers], to = in.r[i];
        std::memcpy(w.reg<uint32_t>(to), w.reg<uint32_t>(from), 128);
        w.set_undefined(to, w.undef[from]);
        w.set_defined(to, ~w.undef[from]);
    }
}

Flow wmma_load(Warp& w, const Inst& in) {
    const WarpSplit f = kept<WarpSplit>(w, in);
    Where where;
    if (!find(w, in, f, f.all_registers, f.all_registers + 1u, where)) return Flow::failed;
    const unsigned accesses = f.whole() ? 1 : f.elements(), bits = f.held / accesses;
    for (unsigned i = 0; i < f.registers; ++i) {
        uint64_t value[32] = {};
        uint32_t unknown = 0;
        for (unsigned e = 0; e < accesses; ++e) {
            uint64_t addr[32];
            uint32_t undefined = 0;
            for (unsigned l = 0; l < 32; ++l) addr[l] = where.base + place_of(f, i, l, e, where.stride) / 8;
            const bool ok = visit_any<false>(w, f.space, addr, bits / 8, &undefined, [&](int l, const uint8_t* from) {
                uint64_t v = 0;
                std::memcpy(&v, from, bits / 8);
                value[l] |= v << bits * e;
            });
            if (!ok) return Flow::failed;
            unknown |= undefined;
        }
        for (unsigned l = 0; l < 32; ++l)
            if (f.held == 64) w.reg<uint64_t>(in.r[i])[l] = value[l];
            else w.reg<uint32_t>(in.r[i])[l] = uint32_t(value[l]);
        w.set_undefined(in.r[i], unknown);
        w.set_defined(in.r[i], ~unknown);
    }
    copy_registers(w, in, f);
    return Flow::next;
}

Flow wmma_store(Warp& w, const Inst& in) {
    const WarpSplit f = kept<WarpSplit>(w, in);
    Where where;
    if (!find(w, in, f, 0, 1u + f.all_registers, where)) return Flow::failed;
    const unsigned accesses = f.whole() ? 1 : f.elements(), bits = f.held / accesses;
    for (unsigned i = 0; i < f.registers; ++i)
        for (unsigned e = 0; e < accesses; ++e) {
            uint64_t addr[32];
            uint32_t undefined = 0;
            const uint8_t* from = w.reg<uint8_t>(in.r[1 + i]) + bits / 8 * e;
            for (unsigned l = 0; l < 32; ++l) addr[l] = where.base + place_of(f, i, l, e, where.stride) / 8;
            const bool ok = visit_any<true>(w, f.space, addr, bits / 8, &undefined, [&](int l, uint8_t* to) {
                std::memcpy(to, from + f.held / 8 * l, bits / 8);
            });
            if (!ok) return Flow::failed;
        }
    return Flow::next;
}

// --- products ---

constexpr unsigned MOST = 8; // registers of an operand

// f16 pairs and the floats of them: register i holds what 2i and 2i + 1 hold of the wide fragment.
void widen_pairs(const uint32_t* const* halves, uint32_t (&floats)[MOST][64]) {
    for (unsigned i = 0; i < MOST; ++i)
        for (unsigned l = 0; l < 32; ++l)
            floats[i][l] = bits_as<uint32_t>(half_to_float(halves[i / 2][l] >> 16 * (i % 2) & 0xffff));
}
void narrow_pairs(const uint32_t (&floats)[MOST][64], uint32_t* const* halves) {
    for (unsigned i = 0; i < MOST / 2; ++i)
        for (unsigned l = 0; l < 32; ++l)
            halves[i][l] = float_to_half(bits_as<float>(floats[2 * i][l])) |
                           float_to_half(bits_as<float>(floats[2 * i + 1][l])) << 16;
}

Flow wmma_mma(Warp& w, const Inst& in) {
    const Product p = kept<Product>(w, in);
    const MmaKind& kind = p.shape.kind;
    const unsigned of_tile = num::registers_of_c(kind), wide = of_tile * p.shape.row_tiles * p.shape.column_tiles;
    const unsigned nc = p.half_c && kind.output == MmaOutput::f32 ? wide / 2 : wide;
    const unsigned nd = p.half_d && kind.output == MmaOutput::f32 ? wide / 2 : wide;
    const uint32_t *a[MOST], *b[MOST], *c[MOST];
    uint32_t *d[MOST], *result[MOST];
    const uint16_t* r = operands_of(*w.kernel, in);
    for (unsigned i = 0; i < nd; ++i) d[i] = w.reg<uint32_t>(*r++);
    for (unsigned i = 0; i < p.a; ++i) (p.shape.swapped ? b : a)[i] = w.reg<uint32_t>(*r++);
    for (unsigned i = 0; i < p.b; ++i) (p.shape.swapped ? a : b)[i] = w.reg<uint32_t>(*r++);
    for (unsigned i = 0; i < nc; ++i) c[i] = w.reg<uint32_t>(*r++);
    // Results go to the registers after the last tile: they may be operands of it. A plane of doubles has 64 words.
    alignas(64) uint32_t sum[MOST][64], floats[MOST][64];
    if (nc != wide) {
        widen_pairs(c, floats);
        for (unsigned i = 0; i < wide; ++i) c[i] = floats[i];
    }
    for (unsigned i = 0; i < wide; ++i) result[i] = sum[i];
    for (unsigned i = 0; i < p.shape.row_tiles; ++i)
        for (unsigned j = 0; j < p.shape.column_tiles; ++j) {
            const unsigned at = of_tile * (i + j); // one of them is 0: there are tiles in one direction only
            const auto rows = a + i * num::registers_of_a(kind), columns = b + j * num::registers_of_b(kind);
            if (kind.a <= MmaInput::f16)
                num::mma_m16n8(rows, columns, c + at, result + at, kind.k, kind.a, kind.output);
            else num::mma_any(kind, p.model, rows, columns, c + at, result + at, nullptr);
        }
    if (nd != wide) narrow_pairs(sum, d);
    for (unsigned i = 0; nd == wide && i < wide; ++i)
        std::memcpy(d[i], sum[i], kind.output == MmaOutput::f64 ? 256 : 128);
    return Flow::next;
}

// --- what the words mean ---

// m16n16k16
void read_shape(const Form& form, Shape& shape) {
    unsigned size[3] = {};
    for (auto mod : form.mods) {
        if (mod[0] != 'm' || mod.find('k') == std::string_view::npos) continue;
        int i = -1;
        for (char c : mod)
            if (c < '0' || c > '9') ++i;
            else size[i] = 10 * size[i] + unsigned(c - '0');
    }
    shape.swapped = size[0] < size[1];
    const unsigned rows = shape.swapped ? size[1] : size[0], columns = shape.swapped ? size[0] : size[1];
    shape.kind.rows = rows == 8 ? 8 : 16;
    shape.kind.k = uint16_t(size[2]);
    shape.row_tiles = uint8_t(rows / shape.kind.rows);
    shape.column_tiles = uint8_t(columns / 8);
}

WarpSplit fragment_of_input(const Shape& shape, bool is_a) {
    const bool rows = is_a != shape.swapped;
    const MmaKind& kind = shape.kind;
    WarpSplit f;
    f.bits = kind.a == MmaInput::b1 ? 1 : uint8_t(num::bits_of(kind, kind.a));
    f.held = kind.a == MmaInput::f64 ? 64 : 32;
    f.per_lane = uint8_t(f.elements());
    f.rows = rows ? kind.rows : 8;
    f.each = uint8_t(rows ? num::registers_of_a(kind) : num::registers_of_b(kind));
    f.registers = uint8_t(f.each * (rows ? shape.row_tiles : shape.column_tiles));
    f.first_step = f.rows;
    return f;
}

WarpSplit fragment_of_sum(const Shape& shape) {
    const MmaKind& kind = shape.kind;
    WarpSplit f;
    f.bits = kind.output == MmaOutput::f16 ? 16 : kind.output == MmaOutput::f64 ? 64 : 32;
    f.held = kind.output == MmaOutput::f64 ? 64 : 32;
    f.per_lane = 2;
    f.rows = kind.rows;
    f.each = uint8_t(num::registers_of_c(kind));
    f.registers = uint8_t(f.each * shape.row_tiles * shape.column_tiles);
    f.first_step = shape.row_tiles > 1 ? kind.rows : 0;
    f.second_step = shape.column_tiles > 1 ? 8 : 0;
    return f;
}

Handler pick_access(const Form& form, Inst& in) {
    const bool store = form.has("store"), input = form.has("a") || form.has("b");
    Shape shape;
    read_shape(form, shape);
    if (!input) shape.kind.output = output_of(form.type());
    else if (!input_of(form.type(), shape.kind.a)) return nullptr;
    shape.kind.b = shape.kind.a;
    WarpSplit f = input ? fragment_of_input(shape, form.has("a")) : fragment_of_sum(shape);
    const Operand& address = form.operands[store ? 0 : 1];
    f.all_registers = uint8_t(form.operands[store ? 1 : 0].parts.size());
    // Of A and of a C that is not transposed lines are rows.
    f.lines_first = form.has("row") == (input ? form.has("a") : !shape.swapped);
    f.strided = form.operands.size() > 2;
    f.wide = bytes_of(address.type) == 8;
    f.space = form.space;
    const unsigned across = input ? f.rows * f.registers / f.each : f.rows * shape.row_tiles;
    f.length = f.lines_first ? (input ? shape.kind.k : 8u * shape.column_tiles) : across;
    in.imm = int64_t(address.value);
    in.access = store ? Inst::writes : Inst::reads;
    keep(form, f);
    return store ? wmma_store : wmma_load;
}

// Types: D and C of f16; D, A, B and C of all others.
Handler pick_product(const Form& form) {
    Product p;
    const bool halves = form.types.size() == 2;
    const Type d = form.type(0), c = form.type(halves ? 1 : 3);
    read_shape(form, p.shape);
    MmaKind& kind = p.shape.kind;
    if (!input_of(halves ? Type::f16 : form.type(1), kind.a)) return nullptr;
    if (!input_of(halves ? Type::f16 : form.type(2), kind.b) || kind.a != kind.b) return nullptr;
    kind.output = output_of(d == Type::f16 ? c : d);
    kind.saturate = form.has("satfinite");
    kind.both = form.has("and");
    kind.round = round_of(form);
    p.half_c = c == Type::f16;
    p.half_d = d == Type::f16;
    p.a = uint8_t(form.operands[1].parts.size());
    p.b = uint8_t(form.operands[2].parts.size());
    const bool floats = kind.output == MmaOutput::f32 || kind.output == MmaOutput::f16;
    p.model = floats ? num::mma_model(kind, form.chip) : nullptr;
    if (floats && (!p.model || (kind.a <= MmaInput::f16 && !num::is_tile(*p.model)))) return nullptr;
    keep(form, p);
    return wmma_mma;
}

} // namespace

Handler pick_wmma(const Form& form, Inst& in) { return form.has("mma") ? pick_product(form) : pick_access(form, in); }

} // namespace emu::EMU_LEVEL
