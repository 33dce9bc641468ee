// SPDX-License-Identifier: Apache-2.0
// What the engine's smoke tests share: a profile, a frame around a kernel's body, and a launch.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "engine.h"
#include "mem/memory.h"

// cmocka.h comes last: it needs these four, and its macro `fail` is a word of <iostream>.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

extern "C" {
#include <cmocka.h>
}

inline const emu::DeviceProfile PROFILE = {"gb10", "emulated", 12,    1,        48,         101376,  102400, 1024,
                                           48,     24,         65536, 24 << 20, 1ull << 30, 2418000, true};

// A kernel `k` with parameters `out` and `in` (addresses) and registers r0..r9, d0..d9, f0..f9, p0..p9.
inline std::string kernel(const std::string& body) {
    return ".version 8.8\n.target sm_120f\n.address_size 64\n.extern .shared .align 16 .b8 smem[];\n"
           ".visible .entry k(.param .u64 out, .param .u64 in) .maxntid 1024,1,1 {\n"
           ".reg .b32 r<10>; .reg .b64 d<10>; .reg .f32 f<10>; .reg .b16 h<10>; .reg .pred p<10>;\n"
           "ld.param.u64 d0, [out]; ld.param.u64 d1, [in]; mov.u32 r0, %tid.x;\n"
           "mul.wide.u32 d2, r0, 4; add.u64 d3, d0, d2; add.u64 d4, d1, d2;\n" +
           body + "\n}\n";
}

struct Run {
    emu::Memory memory{1ull << 30};
    uint64_t out = 0, in = 0;
    std::string log;
    emu::LaunchResult result;
    std::vector<uint32_t> words;

    // `threads` input words 0, 1, 2, ... and as many output words.
    void go(const std::string& text, uint32_t threads, const std::string& options = "", uint32_t smem = 0,
            uint32_t blocks = 1, uint32_t cluster = 1) {
        emu::LoadResult loaded = emu::load_module(text, PROFILE, &memory);
        log = loaded.log;
        if (!loaded.module) return;
        std::vector<uint32_t> data(threads);
        for (uint32_t i = 0; i < threads; i++) data[i] = i;
        in = memory.alloc(threads * 4);
        out = memory.alloc(threads * 4 * blocks);
        memory.write(in, data.data(), threads * 4);
        uint64_t params[2] = {out, in};
        emu::LaunchRequest request;
        request.kernel = emu::kernels_of(*loaded.module)[0];
        request.grid = {blocks, 1, 1};
        request.block = {threads, 1, 1};
        request.cluster = {cluster, 1, 1};
        request.dynamic_smem = smem;
        request.params = params;
        request.param_bytes = sizeof params;
        emu::Options o;
        assert_string_equal(emu::parse_options(options, o).c_str(), "");
        result = emu::run(memory, request, PROFILE, o);
        words.resize(threads * (cluster > 1 ? blocks : 1));
        memory.read(words.data(), out, words.size() * 4);
    }
    std::string kind() const { return result.reports.empty() ? "" : result.reports[0].kind; }
    std::string text() const { return result.reports.empty() ? log : result.reports[0].text; }
};
