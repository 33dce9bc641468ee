// SPDX-License-Identifier: Apache-2.0
// Tensor maps in the hands of kernels: tensormap.replace, tensormap.cp_fenceproxy, prefetch.tensormap. A map may be
// wrong between two replacements: its rules are asked when a copy uses it.
//
// Inst: r = operands in the order of the text, the new value last. target = space of the first address; imm = Field,
//       and its number of a dimension << 8.
#include "run.h"
#include "space.h"
#include "tensor_map.h"

namespace emu::EMU_LEVEL {
namespace {

enum Field : uint8_t {
    address,
    rank,
    box_dim,
    global_dim,
    global_stride,
    element_stride,
    elemtype,
    interleave,
    swizzle,
    atomicity,
    fill,
    FIELDS
};
constexpr std::string_view NAMES[] = {
    "global_address", "rank",     "box_dim",           "global_dim",   "global_stride",
    "element_stride", "elemtype", "interleave_layout", "swizzle_mode", "swizzle_atomicity",
    "fill_mode"};
static_assert(std::size(NAMES) == FIELDS);
// Element types have other numbers here than in the driver's interface.
constexpr uint8_t TYPES[] = {TensorMap::u8,       TensorMap::u16,       TensorMap::u32,        TensorMap::s32,
                             TensorMap::u64,      TensorMap::s64,       TensorMap::f16,        TensorMap::f32,
                             TensorMap::f32_ftz,  TensorMap::f64,       TensorMap::bf16,       TensorMap::tf32,
                             TensorMap::tf32_ftz, TensorMap::u4_align8, TensorMap::u4_align16, TensorMap::u6_align16};

// What does not fit becomes what no rule allows.
template <class T> T saturated(uint64_t value) { return value > T(~T(0)) ? T(~T(0)) : T(value); }

// False: there is no such dimension.
bool set(TensorMap& map, Field field, unsigned d, uint64_t value) {
    const bool of_dimension = field >= box_dim && field <= element_stride;
    if (of_dimension && d >= (field == global_stride ? TensorMap::DIMS - 1 : TensorMap::DIMS)) return false;
    switch (field) {
    case address: map.address = value; break;
    case rank: map.rank = saturated<uint8_t>(value + 1); break; // counts from 0
    case box_dim: map.box[d] = saturated<uint16_t>(value); break;
    case global_dim: map.dim[d] = value; break;
    case global_stride: map.stride[d] = value; break;
    case element_stride: map.step[d] = saturated<uint16_t>(value); break;
    case elemtype: map.type = value < std::size(TYPES) ? TYPES[value] : uint8_t(TensorMap::TYPES); break;
    case interleave: map.interleave = saturated<uint8_t>(value); break;
    case swizzle: // 4 is one of 96 bytes, which the driver's interface does not have
        map.swizzle = value <= TensorMap::swizzle_128 ? uint8_t(value) : uint8_t(TensorMap::SWIZZLES);
        break;
    case atomicity: map.swizzle = value ? saturated<uint8_t>(TensorMap::swizzle_128 + value) : map.swizzle; break;
    default: map.fill = saturated<uint8_t>(value);
    }
    return true;
}

// 16 bytes of shared memory at a time, as one lane accesses them. False after a report.
bool check_shared_map(Warp& w, int l, uint64_t at, bool write) {
    uint32_t addr[32], undefined = 0;
    for (unsigned i = 0; i < TensorMap::BYTES; i += 16) {
        addr[l] = at > UINT32_MAX - i ? 0 : uint32_t(at) + i;
        const bool good = check_shared(w, addr, 1u << l, 16, write, &undefined);
        if (good && w.cta->shared_is_defined(addr[l], 16)) continue;
        if (good)
            report_access(w, "undefined", l, Space::shared, at, TensorMap::BYTES, false,
                          "nobody wrote all bytes of this tensor map");
        return false;
    }
    return true;
}

// Where the map lies that a lane edits. nullptr after a report.
uint8_t* edited(Warp& w, const Inst& in, int l) {
    uint64_t at = nth_address(w, in, 0, 0, l);
    const bool window = Space(in.target) == Space::generic && at - SHARED_WINDOW < WINDOW_BYTES;
    if (window) at -= SHARED_WINDOW;
    if (window || Space(in.target) == Space::shared)
        return check_shared_map(w, l, at, true) ? w.cta->shared + at : nullptr;
    w.cta->changes++;
    return static_cast<uint8_t*>(const_cast<void*>(tensor_map_in_memory(w, l, at)));
}

Flow replace(Warp& w, const Inst& in) {
    const Field field = Field(in.imm & 0xff);
    const uint16_t slot = in.r[in.nregs - 1];
    for (uint32_t m = w.mask; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        uint8_t* const bytes = edited(w, in, l);
        TensorMap map;
        if (!bytes) return Flow::failed;
        if (!decode_begun(bytes, map)) return report(w, "tensormap", l, "what is edited there is no tensor map");
        const bool wide = field == address || field == global_stride;
        const uint64_t value = wide ? w.reg<uint64_t>(slot)[l] : w.reg<uint32_t>(slot)[l];
        if (!set(map, field, unsigned(in.imm >> 8), value))
            return report(w, "tensormap", l, "a tensor map has no such dimension");
        encode(map, bytes);
    }
    return Flow::next;
}

// By all lanes together: one copy.
Flow copy(Warp& w, const Inst& in) {
    const int l = __builtin_ctz(w.mask);
    const uint64_t to = nth_address(w, in, 0, 0, l), from = nth_address(w, in, 1, 1, l);
    uint64_t addr[32] = {};
    uint32_t none = 0;
    if (!check_shared_map(w, l, from, false)) return Flow::failed;
    for (unsigned i = 0; i < TensorMap::BYTES; i += 16) {
        addr[l] = to + i;
        if (!check_global(w, addr, 1u << l, 16, true, &none)) return Flow::failed;
    }
    memcpy(reinterpret_cast<void*>(to), w.cta->shared + from, TensorMap::BYTES);
    return Flow::next;
}

Flow prefetch(Warp& w, const Inst& in) {
    const uint64_t window = Space(in.target) == Space::param ? PARAM_WINDOW : 0;
    for (uint32_t m = w.mask; m; m &= m - 1) {
        TensorMap map;
        const int l = __builtin_ctz(m);
        if (!read_tensor_map(w, l, nth_address(w, in, 0, 0, l) + window, map)) return Flow::failed;
    }
    return Flow::next;
}
} // namespace

Handler pick_tensormap(const Form& form, Inst& in) {
    keep_addresses(form, in);
    in.target = uint32_t(form.space);
    if (form.mnemonic == "prefetch") return &prefetch;
    if (form.has("cp_fenceproxy")) return &copy;
    for (unsigned i = 0; i < FIELDS; ++i)
        if (form.has(NAMES[i])) in.imm = i;
    if (form.operands.size() == 3) in.imm |= int64_t(form.operands[1].value) << 8;
    return &replace;
}

} // namespace emu::EMU_LEVEL
