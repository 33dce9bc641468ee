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
    dynamic_smem_size,
    cluster_zero,
    cluster_one,
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
    bool wide;
};
constexpr SpecialName SPECIALS[] = {
    {"%tid.x", Special::tid_x, false},
    {"%tid.y", Special::tid_y, false},
    {"%tid.z", Special::tid_z, false},
    {"%ntid.x", Special::ntid_x, false},
    {"%ntid.y", Special::ntid_y, false},
    {"%ntid.z", Special::ntid_z, false},
    {"%ctaid.x", Special::ctaid_x, false},
    {"%ctaid.y", Special::ctaid_y, false},
    {"%ctaid.z", Special::ctaid_z, false},
    {"%nctaid.x", Special::nctaid_x, false},
    {"%nctaid.y", Special::nctaid_y, false},
    {"%nctaid.z", Special::nctaid_z, false},
    {"%laneid", Special::laneid, false},
    {"%warpid", Special::warpid, false},
    {"%nwarpid", Special::nwarpid, false},
    {"%smid", Special::smid, false},
    {"%nsmid", Special::nsmid, false},
    {"%gridid", Special::gridid, true},
    {"%lanemask_eq", Special::lanemask_eq, false},
    {"%lanemask_le", Special::lanemask_le, false},
    {"%lanemask_lt", Special::lanemask_lt, false},
    {"%lanemask_ge", Special::lanemask_ge, false},
    {"%lanemask_gt", Special::lanemask_gt, false},
    {"%total_smem_size", Special::total_smem_size, false},
    {"%dynamic_smem_size", Special::dynamic_smem_size, false},
    {"%clusterid.x", Special::ctaid_x, false},
    {"%nclusterid.x", Special::nctaid_x, false},
    {"%cluster_ctaid.x", Special::cluster_zero, false},
    {"%cluster_ctarank", Special::cluster_zero, false},
    {"%cluster_nctaid.x", Special::cluster_one, false},
    {"%cluster_nctarank", Special::cluster_one, false},
    {"%clock", Special::clock, false},
    {"%clock_hi", Special::clock_hi, false},
    {"%clock64", Special::clock64, true},
    {"%globaltimer", Special::globaltimer, true},
    {"%globaltimer_lo", Special::globaltimer_lo, false},
    {"%globaltimer_hi", Special::globaltimer_hi, false},
};
constexpr bool is_clock(Special s) { return s >= Special::clock; }

} // namespace emu
