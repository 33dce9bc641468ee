// SPDX-License-Identifier: Apache-2.0
// cp.async.bulk.tensor and cp.reduce.async.bulk.tensor: boxes of a tensor to shared memory and back. How a box is cut
// into pieces is tensor_box.cpp's affair, when they move bulk_engine.cpp's. im2col and scatters have no row.
//
// Inst: r = operands in the order of the text, coordinates after the tensor map; the addresses as space.h says.
//       target = coordinates, imm = the operation of a reduction, GATHER or PLAIN; vec = the Reach of a load.
#include "bulk_issue.h"
#include "run.h"
#include "space.h"
#include "tensor_box.h"
#include "tensor_map.h"

namespace emu::EMU_LEVEL {
namespace {

constexpr int64_t PLAIN = -1, GATHER = -2;
constexpr uint16_t NAN_FILL = 0x7ff7; // a NaN of each floating type, as cards are said to fill

// The tensor map that is operand `nth` among the addresses, and the coordinates behind it. False after a report.
bool read_box(Warp& w, const Inst& in, unsigned nth, int l, TensorMap& map, int32_t* corner) {
    if (!read_tensor_map(w, l, nth_address(w, in, nth, nth, l), map)) return false;
    for (unsigned d = 0; d < in.target; ++d) corner[d] = w.reg<int32_t>(in.r[nth + 1 + d])[l];
    const unsigned rank = in.imm == GATHER ? 2 : in.target;
    if (map.rank != rank)
        report(w, "tensormap", l,
               "the tensor has " + std::to_string(map.rank) + " dimensions, the instruction " + std::to_string(rank));
    else if (in.imm == GATHER && map.box[1] != 1)
        report(w, "tensormap", l, "a gather of rows takes a box of one row, not " + std::to_string(map.box[1]));
    else return true;
    return false;
}

uint64_t copied_bytes(const Inst& in, const TensorMap& map) {
    return in.imm == GATHER ? 4 * map.row_bytes() : map.box_bytes();
}

bool check_shared_place(Warp& w, int l, uint64_t bytes, uint64_t shared, bool write) {
    const uint64_t most = w.cta->shared_end - SHARED_BASE;
    if (shared % 128)
        report_access(w, "misaligned", l, Space::shared, shared, unsigned(bytes), write,
                      "a tensor copy takes a shared address that is a multiple of 128");
    else if (bytes > most)
        report(w, "smem-budget", l,
               "a box has " + std::to_string(bytes) + " bytes, the block's shared memory " + std::to_string(most));
    else return true;
    return false;
}

std::string element_at(const TensorMap& map, const BoxRow& r, uint64_t address) {
    std::string text =
        "element (" + std::to_string(r.at[0] + int64_t(address - r.global) / int64_t(map.element_bytes()));
    for (unsigned d = 1; d < map.rank; ++d) text += ", " + std::to_string(r.at[d]);
    return text + ") of the tensor: ";
}

// What lies in the tensor lies in the allocation that the tensor begins in.
bool check_row(Warp& w, int l, const TensorMap& map, const BoxRow& r, bool write) {
    const Memory& memory = *w.launch->memory;
    const uint64_t from = r.global + r.first, end = r.global + r.last;
    const Allocation* a = memory.lookup(map.address);
    if (from == end || (a && from >= a->start && end <= a->end())) return true;
    const uint64_t wrong = a && from >= a->start && from < a->end() ? a->end() : from;
    report_access(w, "bounds", l, Space::global, wrong, map.element_bytes(), write,
                  element_at(map, r, wrong) + memory.describe(wrong));
    return false;
}

void count_row(Counters& c, const BoxRow& r, bool write) {
    const uint64_t from = r.global + r.first, end = r.global + r.last;
    if (from == end) return;
    c.global_requests++;
    c.global_sectors += (end - 1) / 32 - from / 32 + 1;
    (write ? c.global_write_bytes : c.global_read_bytes) += end - from;
}

// The pieces of a copy, after the checks of both sides. False after a report.
bool lay_out(Warp& w, const TensorMap& map, const TensorBox& box, BulkCopy& copy, bool write) {
    const int l = int(copy.lane);
    for (const BoxRow& r : box.rows()) {
        if (!check_row(w, l, map, r, write)) return false;
        count_row(*w.cta->counters, r, write);
    }
    copy.pieces = box.pieces(copy.shared);
    if (map.fill == TensorMap::nans) copy.fill = NAN_FILL;
    return true;
}

// An H200 ends with an illegal instruction where a load begins elsewhere.
bool check_first_coordinate(Warp& w, int l, const TensorMap& map, int32_t first) {
    constexpr int64_t UNIT = 16; // bytes
    if (first * int64_t(map.element_bytes()) % UNIT == 0) return true;
    report(w, "misaligned", l,
           "the first coordinate is " + std::to_string(first) + ": with elements of " +
               std::to_string(map.element_bytes()) + " bytes no multiple of 16 bytes");
    return false;
}

Flow load(Warp& w, const Inst& in) {
    Destination to[32];
    const Reach reach = Reach(in.vec);
    std::vector<BulkCopy> copies;
    for (uint32_t m = w.mask; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        TensorMap map;
        int32_t corner[TensorMap::DIMS];
        const uint64_t shared = nth_address(w, in, 0, 0, l), told = nth_address(w, in, 2, 2 + in.target, l);
        const uint32_t mask = reach == Reach::mask ? w.reg<uint32_t>(in.r[3 + in.target])[l] : 0;
        if (!find_destination(w, l, reach, shared, told, mask, to[l])) return Flow::failed;
        if (!read_box(w, in, 1, l, map, corner)) return Flow::failed;
        if (!check_first_coordinate(w, l, map, corner[0])) return Flow::failed;
        const uint64_t bytes = copied_bytes(in, map);
        if (!check_shared_place(w, l, bytes, shared, true)) return Flow::failed;
        const TensorBox box = in.imm == GATHER ? TensorBox::gather4(map, corner) : TensorBox(map, corner);
        copies.push_back(bulk_copy(w, l, to[l].shared, uint32_t(bytes)));
        if (!lay_out(w, map, box, copies.back(), false)) return Flow::failed;
    }
    return issue_loads(w, std::move(copies), to);
}

// A reduction reads what it changes.
bool check_reduction(Warp& w, const BulkCopy& copy, const TensorMap& map) {
    if (!copy.reduce) {
        report(w, "tensormap", int(copy.lane), std::string(map.type_name()) + " has no such reduction");
        return false;
    }
    for (const BulkPiece& p : copy.pieces)
        if (!check_reduced(w, int(copy.lane), p.global + p.first, p.last - p.first)) return false;
    return true;
}

void define(Memory& memory, const BulkPiece& p, unsigned element) {
    for (uint64_t at = p.global + p.first, end = p.global + p.last; at < end;) {
        const unsigned bytes = at % 16 == 0 && end - at >= 16 ? 16 : element;
        memory.define_small(at, bytes);
        at += bytes;
    }
}

Flow store(Warp& w, const Inst& in) {
    for (uint32_t m = w.mask; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        TensorMap map;
        int32_t corner[TensorMap::DIMS];
        const uint64_t from = nth_address(w, in, 1, 1 + in.target, l);
        if (!read_box(w, in, 0, l, map, corner)) return Flow::failed;
        if (!check_shared_place(w, l, map.box_bytes(), from, false)) return Flow::failed;
        BulkCopy copy = bulk_copy(w, l, from, uint32_t(map.box_bytes()));
        if (!lay_out(w, map, TensorBox(map, corner), copy, true)) return Flow::failed;
        if (in.imm != PLAIN) {
            copy.reduce = bulk_reduction(unsigned(in.imm), map.type);
            if (!check_reduction(w, copy, map)) return Flow::failed;
        }
        for (const BulkPiece& p : copy.pieces) define(*w.launch->memory, p, map.element_bytes());
        if (issue_store(w, std::move(copy)) == Flow::failed) return Flow::failed;
    }
    return Flow::next;
}

Flow prefetch(Warp& w, const Inst& in) {
    for (uint32_t m = w.mask; m; m &= m - 1) {
        TensorMap map;
        int32_t corner[TensorMap::DIMS];
        if (!read_box(w, in, 0, __builtin_ctz(m), map, corner)) return Flow::failed;
    }
    return Flow::next;
}
} // namespace

Handler pick_tensor(const Form& form, Inst& in) {
    keep_addresses(form, in);
    const bool gather = form.has("tile::gather4");
    in.target = gather ? 5 : form.count;
    in.imm = gather ? GATHER : form.has("reduce") ? int64_t(bulk_operation(form)) : PLAIN;
    if (form.has("prefetch")) return &prefetch;
    if (form.has("bulk_group")) return &store;
    in.vec = uint8_t(reach_of(form));
    return &load;
}

} // namespace emu::EMU_LEVEL
