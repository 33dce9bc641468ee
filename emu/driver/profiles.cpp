// SPDX-License-Identifier: Apache-2.0
// The cards that can be imitated. Engine and façade take every limit from here; a new card is a new row.
// Sources: NVIDIA's architecture white papers, the CUDA 13.0 occupancy header, and device listings of the cards.
#include "emu/driver/profiles.h"

namespace emu {
namespace {

constexpr uint32_t KIB = 1024, MIB = 1024 * KIB;

//   key, name, cc, SMs, smem per block / SM / reserved, warps, CTAs, registers, L2, memory, clock, integrated
constexpr DeviceProfile PROFILES[] = {
    {"gb10", "NVIDIA GB10 (emulated)", 12, 1, 48, 99 * KIB, 100 * KIB, KIB, 48, 24, 65536, 24 * MIB,
     uint64_t{119} << 30, 2'418'000, true},
    {"rtx5090", "NVIDIA GeForce RTX 5090 (emulated)", 12, 0, 170, 99 * KIB, 100 * KIB, KIB, 48, 24, 65536, 96 * MIB,
     uint64_t{32607} << 20, 2'407'000, false},
    {"rtxpro6000", "NVIDIA RTX PRO 6000 Blackwell (emulated)", 12, 0, 188, 99 * KIB, 100 * KIB, KIB, 48, 24, 65536,
     128 * MIB, uint64_t{97887} << 20, 2'617'000, false},
    {"h200", "NVIDIA H200 (emulated)", 9, 0, 132, 227 * KIB, 228 * KIB, KIB, 64, 32, 65536, 60 * MIB,
     uint64_t{143771} << 20, 1'980'000, false},
    {"h100", "NVIDIA H100 80GB HBM3 (emulated)", 9, 0, 132, 227 * KIB, 228 * KIB, KIB, 64, 32, 65536, 50 * MIB,
     uint64_t{81559} << 20, 1'980'000, false},
};
constexpr driver::Extra EXTRAS[] = {
    // in the same order
    {4'266'000, 256, true},   // 273 GB/s
    {14'001'000, 512, false}, // 1,792 GB/s
    {14'001'000, 512, false}, // 1,792 GB/s
    {3'201'000, 6144, false}, // 4,917 GB/s
    {2'619'000, 5120, false}, // 3,352 GB/s
};
static_assert(std::size(PROFILES) == std::size(EXTRAS));

} // namespace

const DeviceProfile* find_profile(std::string_view key) {
    for (const DeviceProfile& profile : PROFILES)
        if (key == profile.key) return &profile;
    return nullptr;
}

std::vector<const DeviceProfile*> all_profiles() {
    std::vector<const DeviceProfile*> all;
    for (const DeviceProfile& profile : PROFILES) all.push_back(&profile);
    return all;
}

namespace driver {
const Extra& extra_of(const DeviceProfile& profile) { return EXTRAS[find_profile(profile.key) - PROFILES]; }
} // namespace driver

} // namespace emu
