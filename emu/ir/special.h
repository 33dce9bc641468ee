// SPDX-License-Identifier: Apache-2.0
// Special registers: those that stay the same during a block get a slot filled when it starts; clocks are read by mov.
#pragma once

#include "module.h"

namespace emu {

enum class Special : uint8_t {
    tid_x,
    tid_y,
    tid_z,
    ntid_x,
    ntid_y,
    ntid_z,
    ctaid_x,
    ctaid_y,
    ctaid_z,
    nctaid_x,
    nctaid_y,
    nctaid_z,
    laneid,
    warpid,
    nwarpid,
    smid,
    nsmid,
    gridid,
    lanemask_eq,
    lanemask_le,
    lanemask_lt,
    lanemask_ge,
    lanemask_gt,
    total_smem_size,
    aggr_smem_size,
    dynamic_smem_size,
    clusterid_x,
    clusterid_y,
    clusterid_z,
    nclusterid_x,
    nclusterid_y,
    nclusterid_z,
    cluster_ctaid_x,
    cluster_ctaid_y,
    cluster_ctaid_z,
    cluster_nctaid_x,
    cluster_nctaid_y,
    cluster_nctaid_z,
    cluster_ctarank,
    cluster_nctarank,
    is_explicit_cluster,
    grid_barrier_high, // where the blocks of a cooperative launch meet: the driver's word, or 0
    grid_barrier_low,
    envreg, // any other of 32 that the driver may set: 0
    clock,
    clock_hi,
    clock64,
    globaltimer,
    globaltimer_lo,
    globaltimer_hi,
    none
};
struct SpecialName {
    std::string_view name;
    Special which;
    Type type;
};
constexpr SpecialName SPECIALS[] = {
    {"%tid.x", Special::tid_x, Type::u32},
    {"%tid.y", Special::tid_y, Type::u32},
    {"%tid.z", Special::tid_z, Type::u32},
    {"%ntid.x", Special::ntid_x, Type::u32},
    {"%ntid.y", Special::ntid_y, Type::u32},
    {"%ntid.z", Special::ntid_z, Type::u32},
    {"%ctaid.x", Special::ctaid_x, Type::u32},
    {"%ctaid.y", Special::ctaid_y, Type::u32},
    {"%ctaid.z", Special::ctaid_z, Type::u32},
    {"%nctaid.x", Special::nctaid_x, Type::u32},
    {"%nctaid.y", Special::nctaid_y, Type::u32},
    {"%nctaid.z", Special::nctaid_z, Type::u32},
    {"%laneid", Special::laneid, Type::u32},
    {"%warpid", Special::warpid, Type::u32},
    {"%nwarpid", Special::nwarpid, Type::u32},
    {"%smid", Special::smid, Type::u32},
    {"%nsmid", Special::nsmid, Type::u32},
    {"%gridid", Special::gridid, Type::u64},
    {"%lanemask_eq", Special::lanemask_eq, Type::u32},
    {"%lanemask_le", Special::lanemask_le, Type::u32},
    {"%lanemask_lt", Special::lanemask_lt, Type::u32},
    {"%lanemask_ge", Special::lanemask_ge, Type::u32},
    {"%lanemask_gt", Special::lanemask_gt, Type::u32},
    {"%total_smem_size", Special::total_smem_size, Type::u32},
    {"%aggr_smem_size", Special::aggr_smem_size, Type::u32},
    {"%dynamic_smem_size", Special::dynamic_smem_size, Type::u32},
    {"%clusterid.x", Special::clusterid_x, Type::u32},
    {"%clusterid.y", Special::clusterid_y, Type::u32},
    {"%clusterid.z", Special::clusterid_z, Type::u32},
    {"%nclusterid.x", Special::nclusterid_x, Type::u32},
    {"%nclusterid.y", Special::nclusterid_y, Type::u32},
    {"%nclusterid.z", Special::nclusterid_z, Type::u32},
    {"%cluster_ctaid.x", Special::cluster_ctaid_x, Type::u32},
    {"%cluster_ctaid.y", Special::cluster_ctaid_y, Type::u32},
    {"%cluster_ctaid.z", Special::cluster_ctaid_z, Type::u32},
    {"%cluster_nctaid.x", Special::cluster_nctaid_x, Type::u32},
    {"%cluster_nctaid.y", Special::cluster_nctaid_y, Type::u32},
    {"%cluster_nctaid.z", Special::cluster_nctaid_z, Type::u32},
    {"%cluster_ctarank", Special::cluster_ctarank, Type::u32},
    {"%cluster_nctarank", Special::cluster_nctarank, Type::u32},
    {"%is_explicit_cluster", Special::is_explicit_cluster, Type::pred},
    {"%envreg1", Special::grid_barrier_high, Type::u32},
    {"%envreg2", Special::grid_barrier_low, Type::u32},
    {"%envreg", Special::envreg, Type::u32},
    {"%clock", Special::clock, Type::u32},
    {"%clock_hi", Special::clock_hi, Type::u32},
    {"%clock64", Special::clock64, Type::u64},
    {"%globaltimer", Special::globaltimer, Type::u64},
    {"%globaltimer_lo", Special::globaltimer_lo, Type::u32},
    {"%globaltimer_hi", Special::globaltimer_hi, Type::u32},
};
// Is it the text's name of this one? Those of %envreg have a number, 0 to 31.
constexpr bool is_named(const SpecialName& s, std::string_view text) {
    if (s.which != Special::envreg || !text.starts_with(s.name)) return s.name == text;
    const std::string_view number = text.substr(s.name.size());
    if (number.size() == 1) return number[0] >= '0' && number[0] <= '9';
    return number.size() == 2 && number >= "10" && number <= "31" && number[1] >= '0' && number[1] <= '9';
}
constexpr bool is_clock(Special s) { return s >= Special::clock; }
constexpr bool differs_by_lane(Special s) {
    return s <= Special::tid_z || s == Special::laneid || (s >= Special::lanemask_eq && s <= Special::lanemask_gt);
}
constexpr bool differs_by_block(Special s) {
    switch (s) {
    case Special::ctaid_x:
    case Special::ctaid_y:
    case Special::ctaid_z:
    case Special::smid:
    case Special::clusterid_x:
    case Special::clusterid_y:
    case Special::clusterid_z:
    case Special::cluster_ctaid_x:
    case Special::cluster_ctaid_y:
    case Special::cluster_ctaid_z:
    case Special::cluster_ctarank: return true;
    default: return false;
    }
}

} // namespace emu
