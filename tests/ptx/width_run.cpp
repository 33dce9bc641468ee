// SPDX-License-Identifier: Apache-2.0
// Runs an attention kernel that is in no table, made of a file of ptx/ with another line in its header, and holds its
// results against the oracle. Called by width_test.py: DRIVER TEXT KERNEL D TILE BLOCK SMEM.
// Knows no kernel but by its parameters.
#include <dlfcn.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "ref/attention.h"
#include "ref/formats.h"
#include "spark_kernels.h"

namespace {

constexpr int64_t QUERIES = 70, KEYS = 150, HEADS = 2, KV_HEADS = 1;

[[noreturn]] void fail(const std::string& words) {
    std::fprintf(stderr, "%s\n", words.c_str());
    std::exit(1);
}

struct Driver {
    void* library;
    explicit Driver(const char* path) : library(dlopen(path, RTLD_NOW)) {
        if (!library) fail(dlerror());
        void* context = nullptr;
        int device = 0;
        call("cuInit", 0u);
        call("cuDeviceGet", &device, 0);
        call("cuDevicePrimaryCtxRetain", &context, device);
        call("cuCtxSetCurrent", context);
    }
    template <class... Words> void call(const char* name, Words... words) const {
        auto function = reinterpret_cast<int (*)(Words...)>(dlsym(library, name));
        int result = function ? function(words...) : -1;
        if (result) no_reports();
        if (result) fail(std::string(name) + ": error " + std::to_string(result));
    }
    uint64_t memory(size_t bytes, const void* content = nullptr) const {
        unsigned long long at = 0;
        call("cuMemAlloc_v2", &at, bytes);
        if (content) call("cuMemcpyHtoD_v2", at, content, bytes);
        return at;
    }
    void read(void* to, uint64_t from, size_t bytes) const {
        call("cuMemcpyDtoH_v2", to, static_cast<unsigned long long>(from), bytes);
    }
    void no_reports() const {
        auto count = reinterpret_cast<size_t (*)()>(dlsym(library, "spark_emu_report_count"));
        auto report = reinterpret_cast<size_t (*)(size_t, char*, size_t)>(dlsym(library, "spark_emu_report"));
        char text[2000] = "";
        if (!count || !report || count() == 0) return;
        report(0, text, sizeof text);
        fail(text);
    }
};

// Rows of d numbers in BF16, and the same in double precision.
struct Tensor {
    std::vector<uint16_t> bits;
    std::vector<double> values;
    Tensor(int64_t rows, int64_t d, uint32_t seed) {
        for (int64_t i = 0; i < rows * d; ++i) {
            seed = seed * 1664525u + 1013904223u;
            uint64_t code = ref::encode(ref::Type::bf16, static_cast<double>(seed >> 16) / 32768.0 - 1.0);
            bits.push_back(static_cast<uint16_t>(code));
            values.push_back(ref::decode(ref::Type::bf16, code));
        }
    }
    const double* row(int64_t i, int64_t d) const { return values.data() + i * d; }
};

// Every tensor is whole, one sequence; causal, no parts, no pages.
spark::kernels::attention_generic_params params_of(int64_t d, double scale) {
    spark::kernels::attention_generic_params p = {};
    p.q_token = p.o_token = HEADS * d;
    p.k_token = p.v_token = KV_HEADS * d;
    p.k_step = p.v_step = static_cast<uint32_t>(KV_HEADS * d / 8);
    p.q_head = p.k_head = p.v_head = p.o_head = d;
    p.lse_token = HEADS;
    p.lse_head = 1;
    p.s = p.sq = QUERIES;
    p.t = KEYS;
    p.seqs = 1;
    p.h = HEADS;
    p.hkv = KV_HEADS;
    p.d = static_cast<uint32_t>(d);
    p.scale = static_cast<float>(scale * 1.4426950408889634);
    p.left = KEYS;
    p.parts = p.blocks = 1;
    return p;
}

// Weights and the result are rounded to 8 bits each, all else to 24.
void compare(int64_t row, const ref::AttentionRow& expected, const uint16_t* o, float lse) {
    const std::string where = "row " + std::to_string(row);
    for (size_t i = 0; i < expected.o.size(); ++i) {
        const double got = ref::decode(ref::Type::bf16, o[i]);
        if (!(std::fabs(got - expected.o[i]) <= 0x1p-8 * expected.magnitude[i] * 1.01)) {
            fail(where + " column " + std::to_string(i) + ": " + std::to_string(got) + ", expected " +
                 std::to_string(expected.o[i]));
        }
    }
    if (!(std::fabs(static_cast<double>(lse) - expected.lse) <= 1e-4)) fail(where + ": lse " + std::to_string(lse));
}

} // namespace

int main(int count, char** words) {
    if (count != 8) fail("width_run DRIVER TEXT KERNEL D TILE BLOCK SMEM");
    const int64_t d = std::atoll(words[4]), tile = std::atoll(words[5]);
    const unsigned block = static_cast<unsigned>(std::atoi(words[6])),
                   smem = static_cast<unsigned>(std::atoi(words[7]));
    const Driver driver(words[1]);
    std::ifstream file(words[2]);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    void *module = nullptr, *function = nullptr;
    driver.call("cuModuleLoadData", &module, text.c_str());
    driver.call("cuModuleGetFunction", &function, module, words[3]);
    driver.call("cuFuncSetAttribute", function, 8, static_cast<int>(smem)); // dynamic shared memory

    const Tensor q(QUERIES * HEADS, d, 1), k(KEYS * KV_HEADS, d, 2), v(KEYS * KV_HEADS, d, 3);
    const double scale = 1 / std::sqrt(static_cast<double>(d));
    std::vector<uint16_t> o(q.bits.size());
    std::vector<float> lse(QUERIES * HEADS);
    auto p = params_of(d, scale);
    p.q = driver.memory(q.bits.size() * 2, q.bits.data());
    p.k = driver.memory(k.bits.size() * 2, k.bits.data());
    p.v = driver.memory(v.bits.size() * 2, v.bits.data());
    p.o = driver.memory(o.size() * 2);
    p.lse = driver.memory(lse.size() * 4);
    const auto blocks = static_cast<unsigned>(HEADS * ((QUERIES + tile - 1) / tile));
    // The last parameter: the struct is padded.
    size_t bytes = offsetof(decltype(p), sms) + sizeof p.sms;
    void* buffer[] = {reinterpret_cast<void*>(1), &p, reinterpret_cast<void*>(2), &bytes, nullptr};
    driver.call("cuLaunchKernel", function, blocks, 1u, 1u, block, 1u, 1u, smem, static_cast<void*>(nullptr),
                static_cast<void**>(nullptr), static_cast<void**>(buffer));
    driver.call("cuCtxSynchronize");
    driver.no_reports();
    driver.read(o.data(), p.o, o.size() * 2);
    driver.read(lse.data(), p.lse, lse.size() * 4);

    for (int64_t row = 0; row < QUERIES * HEADS; ++row) {
        compare(row,
                ref::attention_row(
                    q.row(row, d), static_cast<size_t>(d), static_cast<size_t>(d),
                    [&](int64_t j) { return k.row(j, d); }, [&](int64_t j) { return v.row(j, d); },
                    ref::visible_keys(row / HEADS, QUERIES, KEYS, true), scale, ref::NO_SINK),
                o.data() + row * d, lse[static_cast<size_t>(row)]);
    }
}
