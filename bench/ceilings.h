// SPDX-License-Identifier: Apache-2.0
// The rulers: loops that show what this card can do at most (ceilings/ceilings.ptx), launched through the driver.
// Used by spark-bench. Knows nothing of operators.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

class Ceilings {
public:
    // Opens the driver that the library uses and loads the loops; on failure `error` says why and ready() is false.
    // small: short loops, for the emulator.
    Ceilings(int device, bool small, std::string& error);
    ~Ceilings();
    Ceilings(const Ceilings&) = delete;
    Ceilings& operator=(const Ceilings&) = delete;
    bool ready() const { return module_ != nullptr; }

    void mma_bf16(uint64_t stream) const { loop(mma_bf16_, stream); }
    void mma_s8(uint64_t stream) const { loop(mma_s8_, stream); }
    void fma_f32(uint64_t stream) const { loop(fma_f32_, stream); }
    double mma_flops(uint32_t element) const; // of elements of so many bytes
    double fma_flops() const;
    void read(uint64_t stream) const;
    double read_bytes() const;

    // A kernel of ceilings/attention.twin.ptx (twin.h), and which one it is; both throw std::runtime_error.
    size_t load_twin(const char* text, const std::string& kernel, int smem);
    void twin(size_t which, const void* params, size_t bytes, uint32_t grid, uint32_t block, uint64_t stream) const;

private:
    struct Twin {
        void* module;
        void* function;
        unsigned smem;
    };
    void loop(void* function, uint64_t stream) const;
    void launch(void* function, uint32_t grid, uint32_t block, void** params, uint64_t stream) const;

    std::vector<Twin> twins_;
    void* module_ = nullptr;
    void* mma_bf16_ = nullptr;
    void* mma_s8_ = nullptr;
    void* fma_f32_ = nullptr;
    void* read_ = nullptr;
    uint64_t source_ = 0, target_ = 0;
    uint32_t sm_count_ = 0, iterations_;
    uint64_t bytes_;
};

} // namespace bench
