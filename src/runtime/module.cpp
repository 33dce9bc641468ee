// SPDX-License-Identifier: Apache-2.0
// Loads the image of a kernel that fits the device: cubins first, then PTX. A wrong image is found late by some
// drivers (loading succeeds, fetching the kernel does not), so loading and fetching are one step.
// The driver copies what it is given: what is decompressed lives no longer than the call that loads.
#include "runtime/module.h"

#include "core/locked.h"
#include "core/log.h"
#include "spark_kernels.h"

namespace spark {
namespace {

enum : int { ATTRIBUTE_MAX_DYNAMIC_SMEM = 8, JIT_ERROR_LOG = 5, JIT_ERROR_LOG_SIZE = 6 };
constexpr uint32_t SMEM_WITHOUT_ATTRIBUTE = 48 * 1024;

// The emulator runs PTX alone.
bool fits(const Image& image, uint32_t arch, bool emulated) {
    if (emulated && image.kind == ImageKind::cubin) return false;
    return image.arch == arch || (arch / 10 == 12 && image.arch / 10 == 12 && image.arch <= arch);
}

// Order of trial: cubins, the most exact first; then PTX.
int rank(const Image& image, uint32_t arch) { return (image.kind == ImageKind::ptx ? 2 : 0) + (image.arch != arch); }

bool may_try_next(int code) {
    return code == DRIVER_NO_BINARY || code == DRIVER_INVALID_IMAGE || code == DRIVER_UNSUPPORTED_PTX ||
           code == DRIVER_INVALID_PTX;
}

int load_image(const Driver& d, const Image& image, const void* bytes, const char* name, void*& library, void*& kernel,
               char* log, size_t log_size) {
    int jit_options[] = {JIT_ERROR_LOG, JIT_ERROR_LOG_SIZE};
    void* jit_values[] = {log, reinterpret_cast<void*>(log_size)};
    unsigned num_jit = image.kind == ImageKind::ptx ? 2 : 0;
    library = nullptr;
    int code = d.library_load(&library, bytes, jit_options, jit_values, num_jit, nullptr, nullptr, 0);
    if (code != DRIVER_OK) return code;
    code = d.library_kernel(&kernel, library, name);
    if (code == DRIVER_OK) return code;
    d.library_unload(library);
    library = nullptr;
    return code;
}

// Everything a first launch would otherwise do late.
int finish(const Context& ctx, const Kernel& kernel, void* handle) {
    const Driver& d = *ctx.driver;
    if (kernel.smem > SMEM_WITHOUT_ATTRIBUTE) {
        int smem = static_cast<int>(kernel.smem);
        if (int code = d.kernel_set_attribute(ATTRIBUTE_MAX_DYNAMIC_SMEM, smem, handle, ctx.device)) return code;
    }
    if (d.kernel_function == nullptr || d.function_load == nullptr) return DRIVER_OK;
    void* function = nullptr;
    int code = d.kernel_function(&function, handle);
    return code != DRIVER_OK ? code : d.function_load(function);
}

spark_status load_locked(Context& ctx, const Kernel& kernel, Code& unpacked, void*& out, Report& report) {
    const Driver& d = *ctx.driver;
    Current current(ctx);
    if (current.code() != DRIVER_OK) return driver_failed(d, current.code(), "entering the context", report);
    uint32_t arch = arch_of(ctx.info);
    int code = DRIVER_NO_BINARY;
    char log[1024] = "";
    for (int step = 0; step < 4; ++step) {
        for (const Image& image : kernels::images_of(kernel)) {
            if (!fits(image, arch, d.emulated) || rank(image, arch) != step) continue;
            const void* bytes = nullptr;
            if (spark_status s = unpacked.read(image, kernel.name, bytes, report)) return s;
            code = load_image(d, image, bytes, kernel.name, ctx.libraries[kernel.index], out, log, sizeof log);
            if (code == DRIVER_OK) code = finish(ctx, kernel, out);
            if (code == DRIVER_OK) {
                bool slow = image.kind == ImageKind::ptx && !d.emulated;
                log_line(slow ? SPARK_LOG_WARN : SPARK_LOG_INFO, "load", "%s from %s for %u", kernel.name,
                         image.kind == ImageKind::ptx ? "PTX" : "cubin", image.arch);
                return SPARK_OK;
            }
            if (!may_try_next(code)) return driver_failed(d, code, kernel.name, report);
        }
    }
    report.set_driver_code(code);
    return report.fail(SPARK_ERR_DRIVER, "%s cannot be loaded on compute capability %u.%u: driver error %d%s%.120s",
                       kernel.name, ctx.info.cc_major, ctx.info.cc_minor, code, log[0] != 0 ? ": " : "", log);
}

} // namespace

spark_status load(Context& ctx, const Kernel& kernel, void*& out, Report& report) {
    Code code;
    return load(ctx, kernel, code, out, report);
}

spark_status load(Context& ctx, const Kernel& kernel, Code& code, void*& out, Report& report) {
    out = loaded(ctx, kernel);
    if (out != nullptr) return SPARK_OK;
    const Locked lock(ctx.load_mutex);
    out = loaded(ctx, kernel);
    if (out != nullptr) return SPARK_OK;
    const spark_status status = load_locked(ctx, kernel, code, out, report);
    if (status == SPARK_OK) ctx.kernels[kernel.index].store(out, std::memory_order_release);
    return status;
}

uint32_t bundle_of(const Context& ctx, const Kernel& kernel) {
    const Image* first = nullptr;
    const uint32_t arch = arch_of(ctx.info);
    for (const Image& image : kernels::images_of(kernel)) {
        if (!fits(image, arch, ctx.driver->emulated)) continue;
        if (first == nullptr || rank(image, arch) < rank(*first, arch)) first = &image;
    }
    return first == nullptr ? 0 : first->bundle;
}

} // namespace spark
