// SPDX-License-Identifier: Apache-2.0
// Loads and launches the ceiling loops. The one place outside the library's runtime that calls the driver by name: the
// loops are no operators, so the public API cannot run them.
#include "ceilings.h"

#include <cstdlib>
#include <dlfcn.h>
#include <stdexcept>

extern "C" const char spark_bench_ceilings_ptx[]; // ceilings.S

namespace bench {
namespace {

using Result = int;
constexpr uint32_t LOOP_ITERATIONS = 4096, LOOP_BLOCK = 128, LOOP_BLOCKS_PER_SM = 4; // 16 warps an SM
constexpr uint64_t STREAM_BYTES = uint64_t{1} << 30;                                 // far beyond any L2
constexpr uint32_t CHUNK_BYTES = 256 * 4 * 16;                                       // of a block
constexpr uint32_t SMALL = 256;                                                      // the divisor of a small run

struct Driver {
    Result (*init)(unsigned);
    Result (*device_get)(int*, int);
    Result (*attribute)(int*, int, int);
    Result (*retain)(void**, int);
    Result (*set_current)(void*);
    Result (*load)(void**, const void*);
    Result (*function)(void**, void*, const char*);
    Result (*alloc)(uint64_t*, size_t);
    Result (*free)(uint64_t);
    Result (*set32)(uint64_t, unsigned, size_t);
    Result (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                     void**);
    Result (*unload)(void*);
    Result (*set_attribute)(void*, int, int); // of a function
};
Driver driver;

template <class Function> bool find(void* library, Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
}

bool open_driver(std::string& error) {
    const char* chosen = std::getenv("LIBSPARK_DRIVER");
    const bool path = chosen && std::string(chosen).find('/') != std::string::npos;
    void* library = dlopen(path ? chosen : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        error = std::string("no driver for the ceilings: ") + dlerror();
        return false;
    }
    const bool complete =
        find(library, driver.init, "cuInit") && find(library, driver.device_get, "cuDeviceGet") &&
        find(library, driver.attribute, "cuDeviceGetAttribute") &&
        find(library, driver.retain, "cuDevicePrimaryCtxRetain") &&
        find(library, driver.set_current, "cuCtxSetCurrent") && find(library, driver.load, "cuModuleLoadData") &&
        find(library, driver.function, "cuModuleGetFunction") && find(library, driver.alloc, "cuMemAlloc_v2") &&
        find(library, driver.free, "cuMemFree_v2") && find(library, driver.set32, "cuMemsetD32_v2") &&
        find(library, driver.launch, "cuLaunchKernel") && find(library, driver.unload, "cuModuleUnload") &&
        find(library, driver.set_attribute, "cuFuncSetAttribute");
    if (!complete) error = "the driver lacks a function that the ceilings need";
    return complete;
}

} // namespace

Ceilings::Ceilings(int device, bool small, std::string& error)
    : iterations_(LOOP_ITERATIONS / (small ? SMALL : 1)), bytes_(STREAM_BYTES / (small ? SMALL : 1)) {
    constexpr int SM_COUNT = 16; // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
    if (!open_driver(error)) return;
    int handle = 0, sms = 0;
    void* context = nullptr;
    void* module = nullptr;
    const bool ok = !driver.init(0) && !driver.device_get(&handle, device) &&
                    !driver.attribute(&sms, SM_COUNT, handle) && !driver.retain(&context, handle) &&
                    !driver.set_current(context) && !driver.load(&module, spark_bench_ceilings_ptx) &&
                    !driver.function(&mma_bf16_, module, "mma_bf16") && !driver.function(&mma_s8_, module, "mma_s8") &&
                    !driver.function(&fma_f32_, module, "fma_f32") && !driver.function(&read_, module, "read") &&
                    !driver.alloc(&source_, bytes_) && !driver.alloc(&target_, bytes_) &&
                    !driver.set32(source_, 0x5bd1e995, bytes_ / 4);
    sm_count_ = static_cast<uint32_t>(sms);
    if (ok) module_ = module;
    else error = "the ceiling loops could not be loaded";
}

Ceilings::~Ceilings() {
    if (source_) driver.free(source_);
    if (target_) driver.free(target_);
    for (const Twin& twin : twins_) driver.unload(twin.module);
    if (module_) driver.unload(module_);
}

size_t Ceilings::load_twin(const char* text, const std::string& kernel, int smem) {
    constexpr int DYNAMIC_SMEM = 8; // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    Twin twin = {nullptr, nullptr, static_cast<unsigned>(smem)};
    if (driver.load(&twin.module, text)) throw std::runtime_error(kernel + " could not be loaded");
    twins_.push_back(twin);
    void*& function = twins_.back().function;
    if (driver.function(&function, twin.module, kernel.c_str()) || driver.set_attribute(function, DYNAMIC_SMEM, smem))
        throw std::runtime_error(kernel + " could not be made ready");
    return twins_.size() - 1;
}

void Ceilings::twin(size_t which, const void* params, size_t bytes, uint32_t grid, uint32_t block,
                    uint64_t stream) const {
    void* extra[] = {reinterpret_cast<void*>(uintptr_t{1}), const_cast<void*>(params), // buffer
                     reinterpret_cast<void*>(uintptr_t{2}), &bytes,                    // its size
                     nullptr};
    const Twin& twin = twins_[which];
    const int said = driver.launch(twin.function, grid, 1, 1, block, 1, 1, twin.smem, reinterpret_cast<void*>(stream),
                                   nullptr, extra);
    if (said) throw std::runtime_error("the twin could not be launched: CUDA error " + std::to_string(said));
}

void Ceilings::launch(void* function, uint32_t grid, uint32_t block, void** params, uint64_t stream) const {
    const int said =
        driver.launch(function, grid, 1, 1, block, 1, 1, 0, reinterpret_cast<void*>(stream), params, nullptr);
    if (said) throw std::runtime_error("a ceiling loop could not be launched: CUDA error " + std::to_string(said));
}

void Ceilings::loop(void* function, uint64_t stream) const {
    uint64_t out = target_;
    uint32_t iterations = iterations_;
    void* params[] = {&out, &iterations};
    launch(function, sm_count_ * LOOP_BLOCKS_PER_SM, LOOP_BLOCK, params, stream);
}

double Ceilings::mma_flops(uint32_t element) const {
    const double warps = double(sm_count_) * LOOP_BLOCKS_PER_SM * LOOP_BLOCK / 32;
    return warps * iterations_ * 16 * (2.0 * 16 * 8 * 32 / element);
}

double Ceilings::fma_flops() const {
    return double(sm_count_) * LOOP_BLOCKS_PER_SM * LOOP_BLOCK * iterations_ * 16 * 4 * 2;
}

void Ceilings::read(uint64_t stream) const {
    uint64_t to = target_, from = source_;
    void* params[] = {&to, &from};
    launch(read_, static_cast<uint32_t>(bytes_ / CHUNK_BYTES), 256, params, stream);
}

double Ceilings::read_bytes() const { return static_cast<double>(bytes_); }

} // namespace bench
