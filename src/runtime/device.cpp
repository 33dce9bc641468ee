// SPDX-License-Identifier: Apache-2.0
// Facts about a device, and which devices are supported.
#include <cstdio>

#include "runtime/context.h"
#include "runtime/image.h"

namespace spark {
namespace {

// Numbers of CUdevice_attribute.
enum : int { SM_COUNT = 16, L2_BYTES = 38, CC_MAJOR = 75, CC_MINOR = 76, SMEM_OPTIN = 97 };

} // namespace

bool arch_supported(uint32_t arch) { return arch == 120 || arch == 121 || arch == ARCH_FOR_TESTING; }

bool device_supported(const spark_device_info& info, char* why, size_t size) {
    uint32_t arch = arch_of(info);
    if (!arch_supported(arch)) {
        snprintf(why, size, "compute capability %u.%u; 12.0 or 12.1 wanted (9.0 for testing)", info.cc_major,
                 info.cc_minor);
        return false;
    }
    return arch != ARCH_FOR_TESTING || testing_images(why, size);
}

spark_status device_info(const Driver& d, int32_t ordinal, spark_device_info& info, Report& report) {
    int count = 0, device = 0;
    if (int rc = d.device_count(&count)) return driver_failed(d, rc, "counting devices", report);
    if (ordinal < 0 || ordinal >= count) {
        return report.fail(SPARK_ERR_INVALID_DEVICE, "device is %d; this machine has %d, counted from 0", ordinal,
                           count);
    }
    if (int rc = d.device_get(&device, ordinal)) return driver_failed(d, rc, "opening the device", report);
    auto read = [&](int attribute) {
        int value = 0;
        return d.device_attribute(&value, attribute, device) == DRIVER_OK ? static_cast<uint32_t>(value) : 0u;
    };
    info.device = ordinal;
    info.cc_major = read(CC_MAJOR);
    info.cc_minor = read(CC_MINOR);
    info.sm_count = read(SM_COUNT);
    info.smem_optin = read(SMEM_OPTIN);
    info.l2_bytes = read(L2_BYTES);
    info.driver_version = static_cast<uint32_t>(d.version_number);
    size_t bytes = 0;
    if (int rc = d.device_memory(&bytes, device)) return driver_failed(d, rc, "reading the memory size", report);
    info.memory_bytes = bytes;
    info.emulated = d.emulated;
    if (int rc = d.device_name(info.name, sizeof info.name, device))
        return driver_failed(d, rc, "reading the name", report);
    info.name[sizeof info.name - 1] = 0;
    info.supported = device_supported(info, info.reason, sizeof info.reason);
    return SPARK_OK;
}

} // namespace spark
