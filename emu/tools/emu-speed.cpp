// SPDX-License-Identifier: Apache-2.0
// Measures the emulator: warp instructions per second of processor time (all threads together) of a GEMM main loop
// (cp.async, ldmatrix, mma, address arithmetic) with every check on; one host thread unless --options says otherwise.
// `--json` prints one line for programs; `--accesses` times loads, stores and atomics of shared memory instead, by the
// addresses of a warp's lanes.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <time.h>

#include "engine.h"
#include "mem/memory.h"

namespace {

const emu::DeviceProfile DEVICE = {"gb10", "emulated", 12,    1,        48,          101376,  102400, 1024,
                                   48,     24,         65536, 25165824, 16ull << 30, 2418000, true};

// A 64 x 64 tile by 4 warps, K in steps of 32, two stages; each warp a 32 x 32 quarter.
std::string gemm() {
    std::string s = R"(.version 8.8
.target sm_120f
.address_size 64
.extern .shared .align 128 .b8 smem[];
.visible .entry gemm(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u32 pk) .maxntid 128,1,1 {
  .reg .b64 a, b, c, ga, gb, t64; .reg .b32 tid, lane, warp, k, kk, n, s, st, sa, sb, row, col, x, y, pa_, pb_, off;
  .reg .b32 a<8>; .reg .b32 b<8>; .reg .f32 d<32>; .reg .pred p, q;
  ld.param.u64 a, [pa]; ld.param.u64 b, [pb]; ld.param.u64 c, [pc]; ld.param.u32 n, [pk];
  mov.u32 tid, %tid.x; and.b32 lane, tid, 31; shr.u32 warp, tid, 5;
  mov.u32 s, smem;
  shr.u32 row, tid, 1; and.b32 col, tid, 1; shl.b32 col, col, 5;
  mad.lo.u32 x, row, n, 0; shl.b32 x, x, 1; add.u32 x, x, col; cvt.u64.u32 t64, x; add.u64 ga, a, t64;
  add.u64 gb, b, t64;
  mad.lo.u32 st, row, 80, s; add.u32 st, st, col;
  and.b32 x, lane, 15; shr.u32 y, lane, 4; shl.b32 y, y, 4; mad.lo.u32 x, x, 80, y;
  and.b32 y, warp, 1; mad.lo.u32 sa, y, 2560, x; shr.u32 y, warp, 1; mad.lo.u32 sb, y, 2560, x; add.u32 sa, sa, s;
  add.u32 sb, sb, s;
)";
    for (int i = 0; i < 32; i++) s += "  mov.f32 d" + std::to_string(i) + ", 0f00000000;\n";
    auto load = [&](const char* stage) {
        std::string t;
        t += std::string("  add.u32 x, st, ") + stage + ";\n";
        t += "  cp.async.cg.shared.global [x], [ga], 16; cp.async.cg.shared.global [x+16], [ga+16], 16;\n";
        t += "  cp.async.cg.shared.global [x+5120], [gb], 16; cp.async.cg.shared.global [x+5136], [gb+16], 16;\n";
        t += "  cp.async.commit_group; add.u64 ga, ga, 64; add.u64 gb, gb, 64;\n";
        return t;
    };
    s += load("0");
    s += "  mov.u32 k, 0; mov.u32 off, 0;\nLOOP:\n  add.u32 kk, k, 32; setp.lt.u32 p, kk, n; xor.b32 y, off, 10240;\n";
    s += "  @!p bra LAST;\n" + load("y") +
         "  cp.async.wait_group 1; bra GO;\nLAST:\n  cp.async.wait_group 0;\nGO:\n  bar.sync 0;\n";
    s += "  add.u32 pa_, sa, off; add.u32 pb_, sb, off;\n";
    for (int kk = 0; kk < 2; kk++) {
        std::string o = std::to_string(kk * 32), o2 = std::to_string(kk * 32 + 1280),
                    o3 = std::to_string(kk * 32 + 5120), o4 = std::to_string(kk * 32 + 6400);
        s += "  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {a0,a1,a2,a3}, [pa_+" + o + "];\n";
        s += "  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {a4,a5,a6,a7}, [pa_+" + o2 + "];\n";
        s += "  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {b0,b1,b2,b3}, [pb_+" + o3 + "];\n";
        s += "  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {b4,b5,b6,b7}, [pb_+" + o4 + "];\n";
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 4; j++) {
                int d = (i * 4 + j) * 4;
                auto r = [](const char* n, int v) { return n + std::to_string(v); };
                std::string acc =
                    "{" + r("d", d) + "," + r("d", d + 1) + "," + r("d", d + 2) + "," + r("d", d + 3) + "}";
                int b0 = (j / 2) * 4 + (j & 1);
                s += "  mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 " + acc + ",{" + r("a", i * 4) + "," +
                     r("a", i * 4 + 1) + "," + r("a", i * 4 + 2) + "," + r("a", i * 4 + 3) + "},{" + r("b", b0) + "," +
                     r("b", b0 + 2) + "}," + acc + ";\n";
            }
        // Address arithmetic, as swizzled kernels do between their loads: the share of mma becomes about one in six.
        for (int i = 0; i < 12; i++)
            s += "  shr.u32 x, pa_, 3; and.b32 x, x, 112; xor.b32 x, x, pb_; add.u32 x, x, " + std::to_string(16 * i) +
                 "; mad.lo.u32 x, x, 3, k;\n";
    }
    s += "  bar.sync 0; mov.u32 off, y; mov.u32 k, kk; @p bra LOOP;\n";
    s += "  mov.u32 y, %ctaid.x; shl.b32 y, y, 7; add.u32 x, tid, y; mul.wide.u32 t64, x, 128; add.u64 c, c, t64;\n";
    for (int i = 0; i < 8; i++)
        s += "  st.global.v4.f32 [c+" + std::to_string(i * 16) + "], {d" + std::to_string(4 * i) + ",d" +
             std::to_string(4 * i + 1) + ",d" + std::to_string(4 * i + 2) + ",d" + std::to_string(4 * i + 3) + "};\n";
    return s + "  ret;\n}\n";
}

// Not wall time: a busy machine must not change the figure.
double processor_seconds() {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

struct Access {
    const char *name, *place, *text; // place: of lane t, in bytes, as instructions that leave it in x
};
const char* const UNIT = "shl.b32 x, t, 2;";
const char* const STRIDED = "shl.b32 x, t, 3;";
const char* const CONFLICT = "shl.b32 x, t, 7;";
const char* const RANDOM = "mul.lo.u32 x, t, 0x9e5; xor.b32 x, x, 0x155; and.b32 x, x, 1023; shl.b32 x, x, 2;";
const char* const BYTES = "mov.u32 x, t;";
const char* const SAME = "mov.u32 x, 64;";
const Access ACCESSES[] = {
    {"ld.shared.u32 unit", UNIT, "ld.shared.u32 v, [at];"},
    {"ld.shared.u32 stride 2", STRIDED, "ld.shared.u32 v, [at];"},
    {"ld.shared.u32 one bank", CONFLICT, "ld.shared.u32 v, [at];"},
    {"ld.shared.u32 random", RANDOM, "ld.shared.u32 v, [at];"},
    {"ld.shared.u32 broadcast", SAME, "ld.shared.u32 v, [at];"},
    {"ld.shared.u8 unit", BYTES, "ld.shared.u8 v, [at];"},
    {"st.shared.u32 unit", UNIT, "st.shared.u32 [at], t;"},
    {"st.shared.u32 stride 2", STRIDED, "st.shared.u32 [at], t;"},
    {"st.shared.u32 one bank", CONFLICT, "st.shared.u32 [at], t;"},
    {"st.shared.u32 random", RANDOM, "st.shared.u32 [at], t;"},
    {"st.shared.u8 unit", BYTES, "st.shared.u8 [at], t;"},
    {"atom.shared.add unit", UNIT, "atom.shared.add.u32 v, [at], 1;"},
    {"atom.shared.add random", RANDOM, "atom.shared.add.u32 v, [at], 1;"},
    {"atom.shared.add one word", SAME, "atom.shared.add.u32 v, [at], 1;"},
};
constexpr int ROUNDS = 4000, COPIES = 16;

std::string access_kernel(const Access& access) {
    std::string s = R"(.version 8.8
.target sm_120f
.address_size 64
.extern .shared .align 128 .b8 smem[];
.visible .entry k() {
  .reg .b32 t, x, at, v, n; .reg .pred p;
  mov.u32 t, %tid.x; mov.u32 n, 0; shl.b32 x, t, 2; mov.u32 at, smem; add.u32 at, at, x;
FILL:
  st.shared.u32 [at], n; add.u32 at, at, 128; add.u32 n, n, 1; setp.lt.u32 p, n, 32; @p bra FILL;
  bar.sync 0; mov.u32 n, 0;
  )";
    s += std::string(access.place) + " mov.u32 at, smem; add.u32 at, at, x;\nLOOP:\n";
    for (int i = 0; i < COPIES; i++) s += std::string("  ") + access.text + "\n";
    return s + "  add.u32 n, n, 1; setp.lt.u32 p, n, " + std::to_string(ROUNDS) + "; @p bra LOOP;\n  ret;\n}\n";
}

// Nanoseconds of each kind of access, the best of three.
int time_accesses(const emu::Options& options) {
    for (const Access& access : ACCESSES) {
        emu::Memory memory(DEVICE.memory_bytes);
        emu::LoadResult loaded = emu::load_module(access_kernel(access), DEVICE, &memory);
        if (!loaded.module) return fprintf(stderr, "%s", loaded.log.c_str()), 1;
        emu::LaunchRequest request;
        request.kernel = emu::kernels_of(*loaded.module)[0];
        request.block = {32, 1, 1};
        request.dynamic_smem = 4096;
        double best = 1e9;
        for (int i = 0; i < 3; i++) {
            const double from = processor_seconds();
            const emu::LaunchResult result = emu::run(memory, request, DEVICE, options);
            if (!result.completed) return fprintf(stderr, "%s", result.reports[0].text.c_str()), 1;
            best = std::min(best, processor_seconds() - from);
        }
        printf("%-26s %5.0f ns\n", access.name, best * 1e9 / (double(ROUNDS) * COPIES));
    }
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    bool json = false, accesses = false;
    emu::Options options;
    options.threads = 1;
    uint32_t k = 2048, blocks = 8;
    for (int i = 1; i < argc; i++) {
        std::string a = argv[i];
        if (a == "--json") json = true;
        else if (a == "--accesses") accesses = true;
        else if (a == "--options" && i + 1 < argc) {
            std::string wrong = emu::parse_options(argv[++i], options);
            if (!wrong.empty()) return fprintf(stderr, "%s\n", wrong.c_str()), 2;
        } else if (a == "--blocks" && i + 1 < argc) blocks = uint32_t(atoi(argv[++i]));
        else
            return fprintf(stderr,
                           "usage: emu-speed [--json] [--accesses] [--options seed=1,threads=2,...] [--blocks N]\n"),
                   2;
    }
    if (accesses) return time_accesses(options);
    emu::Memory memory(DEVICE.memory_bytes);
    emu::LoadResult loaded = emu::load_module(gemm(), DEVICE, &memory);
    if (!loaded.module) return fprintf(stderr, "%s", loaded.log.c_str()), 1;
    uint64_t a = memory.alloc(64 * k * 2), b = memory.alloc(64 * k * 2), c = memory.alloc(uint64_t(blocks) * 128 * 128);
    std::vector<uint16_t> data(64 * k);
    uint32_t x = 1;
    for (auto& v : data) x = x * 1664525u + 1013904223u, v = uint16_t(0x3f00 | (x >> 25) | (x >> 31 << 15));
    memory.write(a, data.data(), data.size() * 2);
    memory.write(b, data.data(), data.size() * 2);
    struct {
        uint64_t a, b, c;
        uint32_t k;
    } params = {a, b, c, k};
    emu::LaunchRequest request;
    request.kernel = emu::kernels_of(*loaded.module)[0];
    request.grid = {blocks, 1, 1};
    request.block = {128, 1, 1};
    request.dynamic_smem = 20480;
    request.params = &params;
    request.param_bytes = 28;
    double best = 0;
    emu::LaunchResult result;
    for (int i = 0; i < 3; i++) {
        double t0 = processor_seconds();
        result = emu::run(memory, request, DEVICE, options);
        double s = processor_seconds() - t0;
        if (!result.completed) return fprintf(stderr, "%s", result.reports[0].text.c_str()), 1;
        best = std::max(best, double(result.counters.warp_instructions) / s);
    }
    const emu::Counters& n = result.counters;
    if (json)
        printf("{\"warp_instructions_per_second\": %.0f, \"warp_instructions\": %llu, \"mma\": %llu, "
               "\"threads\": %u}\n",
               best, (unsigned long long)n.warp_instructions, (unsigned long long)n.mma, options.threads);
    else
        printf("%.1f million warp instructions a second (GEMM loop, one mma in %.1f, %llu instructions, %u thread(s), "
               "all checks)\n",
               best / 1e6, double(n.warp_instructions) / double(n.mma), (unsigned long long)n.warp_instructions,
               options.threads);
    return 0;
}
