// SPDX-License-Identifier: Apache-2.0
// Tensor maps: what a caller says of a tensor, held against the rules and encoded. Touches no memory of the device.
#include "emu/mem/tensor_map.h"
#include "emu/driver/call.h"

#include <algorithm>
#include <limits>

using namespace emu::driver;

namespace {

// A value that does not fit is none that a map may have, nor is the greatest that fits.
template <class T, class V> T saturated(V value) { return T(std::min<V>(value, std::numeric_limits<T>::max())); }

CUresult refuse(const char* function, CUresult code, const std::string& why) {
    remark(std::string(function) + ": " + why);
    return code;
}

CUresult put(const char* function, const emu::TensorMap& map, CUtensorMap* out) {
    if (const std::string broken = emu::broken_rule(map); !broken.empty())
        return refuse(function, CUDA_ERROR_INVALID_VALUE, broken);
    if (const std::string lacking = emu::not_emulated(map); !lacking.empty())
        return refuse(function, CUDA_ERROR_NOT_SUPPORTED, lacking);
    emu::encode(map, out);
    return CUDA_SUCCESS;
}

const char* bad_map(const CUtensorMap* map) {
    if (!map) return "tensorMap is null";
    return reinterpret_cast<uintptr_t>(map) % emu::TensorMap::ALIGN ? "tensorMap is not aligned to 64 bytes" : nullptr;
}

} // namespace

CUresult cuTensorMapEncodeTiled(CUtensorMap* out, unsigned type, cuuint32_t rank, void* address, const cuuint64_t* dim,
                                const cuuint64_t* strides, const cuuint32_t* box, const cuuint32_t* steps,
                                unsigned interleave, unsigned swizzle, unsigned promotion, unsigned fill) {
    ENTER(cuTensorMapEncodeTiled, NEED_CONTEXT);
    constexpr const char* NAME = "cuTensorMapEncodeTiled";
    if (const char* bad = bad_map(out)) return refuse(NAME, CUDA_ERROR_INVALID_VALUE, bad);
    emu::TensorMap map;
    map.address = reinterpret_cast<uintptr_t>(address);
    map.rank = saturated<uint8_t>(rank);
    map.type = saturated<uint8_t>(type);
    map.interleave = saturated<uint8_t>(interleave);
    map.swizzle = saturated<uint8_t>(swizzle);
    map.promotion = saturated<uint8_t>(promotion);
    map.fill = saturated<uint8_t>(fill);
    if (!dim || (!strides && rank > 1) || !box || !steps)
        return refuse(NAME, CUDA_ERROR_INVALID_VALUE, "globalDim, globalStrides, boxDim or elementStrides is null");
    for (unsigned d = 0; d < std::min(rank, emu::TensorMap::DIMS); d++) {
        map.dim[d] = dim[d];
        if (d) map.stride[d - 1] = strides[d - 1];
        map.box[d] = saturated<uint16_t>(box[d]);
        map.step[d] = saturated<uint16_t>(steps[d]);
    }
    return put(NAME, map, out);
}

CUresult cuTensorMapReplaceAddress(CUtensorMap* inout, void* address) {
    ENTER(cuTensorMapReplaceAddress, NEED_INIT);
    constexpr const char* NAME = "cuTensorMapReplaceAddress";
    if (const char* bad = bad_map(inout)) return refuse(NAME, CUDA_ERROR_INVALID_VALUE, bad);
    emu::TensorMap map;
    if (!emu::decode(inout, map)) return refuse(NAME, CUDA_ERROR_INVALID_VALUE, "tensorMap was never encoded");
    map.address = reinterpret_cast<uintptr_t>(address);
    return put(NAME, map, inout);
}
