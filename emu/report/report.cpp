// SPDX-License-Identifier: Apache-2.0
// Writes findings:
//   spark-emu: bounds in gemm_bf16_nn__128x128x32_s3, cta (0,3,0)
//     store  gemm_bf16_tn.ptx:214   st.global.b32   warp 5 lane 12   global 0x7f..   4 bytes
//     16 bytes past the end of allocation 3 (0x7f..0x7f.., 4096 bytes)
//     replay: LIBSPARK_EMU=seed=91,sched=random
#include "report.h"

#include <cstdio>

namespace emu {

std::string hex(uint64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%llx", (unsigned long long)value);
    return text;
}

std::string where(const Kernel& kernel, uint32_t pc) {
    const InstInfo& info = kernel.infos[pc];
    return kernel.module->files[info.file] + ":" + std::to_string(info.line);
}

namespace {
std::string header(const Cta& cta, const char* kind) {
    return std::string("spark-emu: ") + kind + " in " + cta.kernel->info.name + ", cta (" + std::to_string(cta.id.x) +
           "," + std::to_string(cta.id.y) + "," + std::to_string(cta.id.z) + ")\n";
}
std::string place(const Warp& w, const char* verb, int lane) {
    std::string text = std::string("  ") + verb + "  " + where(*w.kernel, w.pc) + "   " + w.info().text + "   warp " +
                       std::to_string(w.index);
    return lane < 0 ? text : text + " lane " + std::to_string(lane);
}

} // namespace

const char* name_of(Space space) {
    switch (space) {
    case Space::shared:
    case Space::cluster: return "shared";
    case Space::local: return "local";
    case Space::param: return "param";
    default: return "global";
    }
}

std::string replay(const Launch& launch) {
    static const char* const SCHEDULES[] = {"round_robin", "random", "starve_low", "starve_high"};
    static const char* const MERGES[] = {"ipdom", "late", "random"};
    static const char* const TIMINGS[] = {"late", "early", "random"};
    static const char* const APPROX[] = {"card", "nearest", "fuzz"};
    const Options& o = launch.options;
    std::string text =
        "  replay: LIBSPARK_EMU=seed=" + std::to_string(o.seed) + ",sched=" + SCHEDULES[unsigned(o.schedule) % 4];
    if (o.merge != Merge::ipdom) text += std::string(",merge=") + MERGES[unsigned(o.merge) % 3];
    if (o.async != AsyncTiming::late) text += std::string(",async=") + TIMINGS[unsigned(o.async) % 3];
    if (o.approx != Approx::card) text += std::string(",approx=") + APPROX[unsigned(o.approx) % 3];
    if (o.global_races) text += ",global_races=1";
    return text + (o.late_reads ? ",late_reads=1" : "") + "\n";
}

void report_raw(Cta& cta, const char* kind, uint32_t pc, const std::string& body) {
    Launch::State& state = *cta.launch->state;
    const InstInfo& info = cta.kernel->infos[pc];
    Report r;
    r.kind = kind;
    r.kernel = cta.kernel->info.name;
    r.file = cta.kernel->module->files[info.file];
    r.line = int(info.line);
    r.text = header(cta, kind) + body;
    if (!r.text.empty() && r.text.back() != '\n') r.text += '\n';
    std::lock_guard<std::mutex> lock(state.mutex);
    state.stop = true;
    if (state.reports.size() < 16) state.reports.push_back(std::move(r));
}

Flow report(Warp& w, const char* kind, int lane, const std::string& what) {
    report_raw(*w.own, kind, w.pc, place(w, "at", lane) + "\n  " + what + "\n" + replay(*w.launch));
    return Flow::failed;
}

Flow report_access(Warp& w, const char* kind, int lane, Space space, uint64_t address, unsigned bytes, bool write,
                   const std::string& what) {
    const std::string peer = w.cta == w.own ? "" : " of block " + std::to_string(w.cta->rank) + " of the cluster";
    std::string text = place(w, write ? "store" : "load", lane) + "   " + name_of(space) + " 0x" + hex(address) + peer +
                       "   " + std::to_string(bytes) + " bytes\n  " + what + "\n" + replay(*w.launch);
    report_raw(*w.own, kind, w.pc, text);
    return Flow::failed;
}

} // namespace emu
