// SPDX-License-Identifier: Apache-2.0
// Measures the emulator: warp instructions per second of processor time (all threads together) of a GEMM main loop
// (cp.async, ldmatrix, mma, address arithmetic) with every check on; one host thread unless --options says otherwise.
// The loop is frozen: figures of two builds may be compared. `--json` prints one line for programs; `--against PROGRAM`
// runs another build's emu-speed in turn with this one and prints the ratio; `--values normal` multiplies numbers of
// many magnitudes, where the loop's own are of one; `--accesses` times loads, stores and atomics of shared memory
// instead, by the addresses of a warp's lanes, and approximate functions.
#include <algorithm>
#include <cmath>
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
const char* const NUMBER = "mov.u32 x, 0x3f000000;"; // no place: with the address of shared memory a float of about 0.5
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
    {"sin.approx.f32", NUMBER, "sin.approx.f32 v, at;"},
    {"ex2.approx.f32", NUMBER, "ex2.approx.f32 v, at;"},
    {"ex2.approx.ftz.f32", NUMBER, "ex2.approx.ftz.f32 v, at;"},
    {"lg2.approx.f32", NUMBER, "lg2.approx.f32 v, at;"},
    {"tanh.approx.f32", NUMBER, "tanh.approx.f32 v, at;"},
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

// bf16 of one binade and either sign, or normally distributed.
std::vector<uint16_t> values(size_t count, bool normal) {
    std::vector<uint16_t> data(count);
    uint32_t x = 1;
    const auto next = [&] { return x = x * 1664525u + 1013904223u; };
    for (auto& v : data) {
        if (!normal) {
            v = uint16_t(0x3f00 | (next() >> 25) | (x >> 31 << 15));
            continue;
        }
        float sum = -6;
        for (int i = 0; i < 12; i++) sum += float(next() >> 8) * 0x1p-24f;
        uint32_t bits;
        memcpy(&bits, &sum, 4);
        v = uint16_t(bits >> 16);
    }
    return data;
}

struct Gemm {
    emu::Options options;
    uint32_t blocks = 8;
    bool normal = false;
};

// Warp instructions a second, the best of three; false after a message.
bool time_gemm(const Gemm& how, double& best, emu::Counters& counters) {
    const uint32_t k = 2048;
    emu::Memory memory(DEVICE.memory_bytes);
    emu::LoadResult loaded = emu::load_module(gemm(), DEVICE, &memory);
    if (!loaded.module) return fprintf(stderr, "%s", loaded.log.c_str()), false;
    struct {
        uint64_t a, b, c;
        uint32_t k;
    } params = {memory.alloc(64 * k * 2), memory.alloc(64 * k * 2), memory.alloc(uint64_t(how.blocks) * 128 * 128), k};
    const std::vector<uint16_t> data = values(64 * k, how.normal);
    memory.write(params.a, data.data(), data.size() * 2);
    memory.write(params.b, data.data(), data.size() * 2);
    emu::LaunchRequest request;
    request.kernel = emu::kernels_of(*loaded.module)[0];
    request.grid = {how.blocks, 1, 1};
    request.block = {128, 1, 1};
    request.dynamic_smem = 20480;
    request.params = &params;
    request.param_bytes = 28;
    best = 0;
    for (int i = 0; i < 3; i++) {
        const double from = processor_seconds();
        emu::LaunchResult result = emu::run(memory, request, DEVICE, how.options);
        const double took = processor_seconds() - from;
        if (!result.completed) return fprintf(stderr, "%s", result.reports[0].text.c_str()), false;
        best = std::max(best, double(result.counters.warp_instructions) / took);
        counters = std::move(result.counters);
    }
    return true;
}

void print_histogram(const emu::Counters& n) {
    auto by_count = n.by_opcode;
    std::stable_sort(by_count.begin(), by_count.end(), [](auto& x, auto& y) { return x.second > y.second; });
    for (const auto& [name, count] : by_count)
        if (count * 1000 >= n.warp_instructions)
            printf("  %5.1f %%  %s\n", 100 * double(count) / double(n.warp_instructions), name.c_str());
}

// What another build's emu-speed says with --json; 0: nothing.
double ask(const std::string& program) {
    FILE* const out = popen((program + " --json").c_str(), "r");
    double rate = 0;
    if (!out || fscanf(out, "{\"warp_instructions_per_second\": %lf", &rate) != 1) rate = 0;
    char rest[256];
    while (out && fgets(rest, sizeof rest, out)) {}
    if (out) pclose(out);
    return rate;
}

// In turn, so that what else the machine does meets both; the median of the ratios.
int compare(const Gemm& how, const std::string& program) {
    std::vector<double> ratios;
    double best = 0, other = 0;
    for (int i = 0; i < 9; i++) {
        double rate = 0;
        emu::Counters counters;
        const double theirs = ask(program);
        if (theirs <= 0) return fprintf(stderr, "%s --json says no rate\n", program.c_str()), 1;
        if (!time_gemm(how, rate, counters)) return 1;
        ratios.push_back(rate / theirs);
        best = std::max(best, rate);
        other = std::max(other, theirs);
    }
    std::sort(ratios.begin(), ratios.end());
    printf("%.2f times as fast (median of %zu turns, %.2f to %.2f; at best %.1f and %.1f million a second)\n",
           ratios[ratios.size() / 2], ratios.size(), ratios.front(), ratios.back(), best / 1e6, other / 1e6);
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    bool json = false, accesses = false;
    Gemm how;
    how.options.threads = 1;
    std::string against;
    for (int i = 1; i < argc; i++) {
        const std::string a = argv[i];
        const bool more = i + 1 < argc;
        if (a == "--json") json = true;
        else if (a == "--accesses") accesses = true;
        else if (a == "--options" && more) {
            std::string wrong = emu::parse_options(argv[++i], how.options);
            if (!wrong.empty()) return fprintf(stderr, "%s\n", wrong.c_str()), 2;
        } else if (a == "--blocks" && more) how.blocks = uint32_t(atoi(argv[++i]));
        else if (a == "--against" && more) against = argv[++i];
        else if (a == "--values" && more && argv[i + 1] == std::string("normal")) how.normal = true, i++;
        else
            return fprintf(stderr, "usage: emu-speed [--json] [--accesses] [--options seed=1,threads=2,...] "
                                   "[--blocks N] [--values normal] [--against PROGRAM]\n"),
                   2;
    }
    if (accesses) return time_accesses(how.options);
    if (!against.empty()) return compare(how, against);
    double best = 0;
    emu::Counters n;
    if (!time_gemm(how, best, n)) return 1;
    if (json)
        printf("{\"warp_instructions_per_second\": %.0f, \"warp_instructions\": %llu, \"mma\": %llu, "
               "\"threads\": %u}\n",
               best, (unsigned long long)n.warp_instructions, (unsigned long long)n.mma, how.options.threads);
    else {
        printf("%.1f million warp instructions a second (GEMM loop, one mma in %.1f, %llu instructions, "
               "%u thread(s))\n",
               best / 1e6, double(n.warp_instructions) / double(n.mma), (unsigned long long)n.warp_instructions,
               how.options.threads);
        print_histogram(n);
    }
    return 0;
}
