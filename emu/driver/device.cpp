// SPDX-License-Identifier: Apache-2.0
// cuDevice*: one device, number 0, answered for from its profile.
#include "emu/driver/call.h"
#include "emu/driver/profiles.h"

#include <cstdio>
#include <cstring>

using namespace emu;
using namespace emu::driver;

namespace {

constexpr const char* PCI_BUS_ID = "0000:0E:00.0";

bool is_graphics_attribute(int number) { // textures and surfaces: known numbers, no support
    return (number >= 21 && number <= 29) || (number >= 42 && number <= 49) || (number >= 52 && number <= 74) ||
           number == 77;
}

CUresult uuid_of(CUuuid* uuid, CUdevice device) {
    if (!uuid) return CUDA_ERROR_INVALID_VALUE;
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    memset(uuid->bytes, 0, sizeof uuid->bytes);
    snprintf(uuid->bytes, sizeof uuid->bytes, "emu-%s", state().profile->key);
    return CUDA_SUCCESS;
}

} // namespace

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    ENTER(cuDeviceGet, NEED_INIT);
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    if (ordinal != 0) return CUDA_ERROR_INVALID_DEVICE;
    *device = 0;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
    ENTER(cuDeviceGetCount, NEED_INIT);
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    *count = 1;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int bytes, CUdevice device) {
    ENTER(cuDeviceGetName, NEED_INIT);
    if (!name || bytes <= 0) return CUDA_ERROR_INVALID_VALUE;
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    snprintf(name, static_cast<size_t>(bytes), "%s", s.profile->name);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
    ENTER(cuDeviceGetUuid, NEED_INIT);
    return uuid_of(uuid, device);
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
    ENTER(cuDeviceGetUuid_v2, NEED_INIT);
    return uuid_of(uuid, device);
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
    ENTER(cuDeviceTotalMem_v2, NEED_INIT);
    if (!bytes) return CUDA_ERROR_INVALID_VALUE;
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    *bytes = s.profile->memory_bytes;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
    ENTER(cuDeviceGetAttribute, NEED_INIT);
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    const DeviceProfile& p = *s.profile;
    const Extra& x = extra_of(p);
    switch (attribute) {
#define ATTRIBUTE(name, number, answer) \
    case CU_DEVICE_ATTRIBUTE_##name:    \
        *value = answer;                \
        return CUDA_SUCCESS;
#include "emu/driver/attributes.inc"
#undef ATTRIBUTE
    }
    if (!is_graphics_attribute(attribute)) return CUDA_ERROR_INVALID_VALUE;
    *value = 0;
    return CUDA_SUCCESS;
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
    ENTER(cuDeviceComputeCapability, NEED_INIT);
    if (!major || !minor) return CUDA_ERROR_INVALID_VALUE;
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    *major = s.profile->cc_major;
    *minor = s.profile->cc_minor;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char* text, int bytes, CUdevice device) {
    ENTER(cuDeviceGetPCIBusId, NEED_INIT);
    if (!text || bytes <= 0) return CUDA_ERROR_INVALID_VALUE;
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    snprintf(text, static_cast<size_t>(bytes), "%s", PCI_BUS_ID);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* text) {
    ENTER(cuDeviceGetByPCIBusId, NEED_INIT);
    if (!device || !text) return CUDA_ERROR_INVALID_VALUE;
    if (strcasecmp(text, PCI_BUS_ID) != 0) return CUDA_ERROR_INVALID_DEVICE;
    *device = 0;
    return CUDA_SUCCESS;
}
