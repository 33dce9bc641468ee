// SPDX-License-Identifier: Apache-2.0
// cuOccupancy*: how many blocks fit on a multiprocessor, from the profile. Registers are an upper bound (function.h),
// so
// the answers are never higher than a card's.
#include "emu/driver/call.h"
#include "emu/driver/function.h"
#include "emu/driver/launch.h"

#include <algorithm>

using namespace emu::driver;

namespace emu::driver {
namespace {

constexpr uint32_t REGISTER_UNIT = 256; // registers are given to a warp in this unit

uint32_t round_up(uint64_t value, uint32_t unit) { return static_cast<uint32_t>((value + unit - 1) / unit * unit); }

} // namespace

int resident_blocks(const Function& function, uint32_t block_threads, size_t dynamic_smem) {
    const DeviceProfile& p = *state().profile;
    if (block_threads == 0 || block_threads > static_cast<uint32_t>(max_threads_of(function))) return 0;
    const uint64_t smem = function.info->static_smem + dynamic_smem;
    if (smem > p.smem_optin) return 0;
    const uint32_t warps = (block_threads + 31) / 32;
    const uint32_t warp_registers = round_up(uint64_t(registers_of(function)) * 32, REGISTER_UNIT);
    return static_cast<int>(std::min(blocks_per_sm(p, block_threads, smem), p.regs_per_sm / (warp_registers * warps)));
}

namespace {

CUresult active_blocks(int* blocks, CUfunction handle, int block, size_t smem) {
    const std::shared_ptr<Function> function = state().functions.find(handle);
    if (!function) return CUDA_ERROR_INVALID_HANDLE;
    if (!blocks || block <= 0) return CUDA_ERROR_INVALID_VALUE;
    *blocks = resident_blocks(*function, static_cast<uint32_t>(block), smem);
    return CUDA_SUCCESS;
}

// Blocks of this shape that the whole card takes. How its multiprocessors are grouped, which bounds clusters further,
// is not known.
int blocks_of_card(const Function& function, const CUlaunchConfig& c) {
    const uint32_t threads = c.blockDimX * c.blockDimY * c.blockDimZ;
    return resident_blocks(function, threads, c.sharedMemBytes) * static_cast<int>(state().profile->sm_count);
}

} // namespace
} // namespace emu::driver

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction handle, int block, size_t smem) {
    ENTER(cuOccupancyMaxActiveBlocksPerMultiprocessor, NEED_CONTEXT);
    return active_blocks(blocks, handle, block, smem);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction handle, int block, size_t smem,
                                                              unsigned flags) {
    ENTER(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, NEED_CONTEXT);
    if (flags > 1) return CUDA_ERROR_INVALID_VALUE;
    return active_blocks(blocks, handle, block, smem);
}

CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction handle, CUoccupancyB2DSize smem_of,
                                          size_t smem, int limit) {
    ENTER(cuOccupancyMaxPotentialBlockSize, NEED_CONTEXT);
    const std::shared_ptr<Function> function = s.functions.find(handle);
    if (!function) return CUDA_ERROR_INVALID_HANDLE;
    if (!grid || !block) return CUDA_ERROR_INVALID_VALUE;
    const int most = limit > 0 ? std::min(limit, max_threads_of(*function)) : max_threads_of(*function);
    int best_threads = 0, best_block = 0, best_blocks = 0;
    for (int threads = most / 32 * 32; threads > 0; threads -= 32) { // the largest block wins a tie
        const int blocks =
            resident_blocks(*function, static_cast<uint32_t>(threads), smem_of ? smem_of(threads) : smem);
        if (blocks * threads <= best_threads) continue;
        best_threads = blocks * threads, best_block = threads, best_blocks = blocks;
    }
    *block = best_block;
    *grid = best_blocks * static_cast<int>(s.profile->sm_count);
    return CUDA_SUCCESS;
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, CUfunction handle, int blocks, int block) {
    ENTER(cuOccupancyAvailableDynamicSMemPerBlock, NEED_CONTEXT);
    const std::shared_ptr<Function> function = s.functions.find(handle);
    if (!function) return CUDA_ERROR_INVALID_HANDLE;
    if (!bytes || blocks <= 0 || block <= 0) return CUDA_ERROR_INVALID_VALUE;
    if (resident_blocks(*function, static_cast<uint32_t>(block), 0) < blocks) return CUDA_ERROR_INVALID_VALUE;
    const uint32_t share = s.profile->smem_per_sm / static_cast<uint32_t>(blocks) / emu::SMEM_UNIT * emu::SMEM_UNIT;
    const uint32_t usable = std::min(share - s.profile->smem_reserved, s.profile->smem_optin);
    *bytes = usable - std::min(usable, function->info->static_smem);
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction handle, const CUlaunchConfig* config) {
    ENTER(cuOccupancyMaxActiveClusters, NEED_CONTEXT);
    const std::shared_ptr<Function> function = s.functions.find(handle);
    if (!function) return CUDA_ERROR_INVALID_HANDLE;
    if (!clusters || !config) return CUDA_ERROR_INVALID_VALUE;
    LaunchArguments arguments;
    if (CUresult refusal = read_attributes(*config, arguments)) return refusal;
    const emu::Dim3 required = required_cluster(*function),
                    cluster = arguments.cluster.x ? arguments.cluster : required;
    const uint64_t size = std::max<uint64_t>(1, uint64_t{cluster.x} * cluster.y * cluster.z);
    if (size > most_of_cluster(*function)) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    *clusters = blocks_of_card(*function, *config) / static_cast<int>(size);
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialClusterSize(int* blocks, CUfunction handle, const CUlaunchConfig* config) {
    ENTER(cuOccupancyMaxPotentialClusterSize, NEED_CONTEXT);
    const std::shared_ptr<Function> function = s.functions.find(handle);
    if (!function) return CUDA_ERROR_INVALID_HANDLE;
    if (!blocks || !config) return CUDA_ERROR_INVALID_VALUE;
    const emu::Dim3 required = required_cluster(*function);
    *blocks = required.x ? static_cast<int>(required.x * required.y * required.z)
                         : std::min(static_cast<int>(most_of_cluster(*function)), blocks_of_card(*function, *config));
    return CUDA_SUCCESS;
}
