// SPDX-License-Identifier: Apache-2.0
// Kernels of a few lines: results, divergence, barriers, counters, and the words of a report.
#include "engine_test.h"

namespace {

const char* const EVERY[] = {
    "", "sched=random,seed=3", "merge=late", "merge=random,seed=5", "sched=starve_low", "late_reads=1"};

void adds(void**) {
    Run r;
    r.go(kernel("ld.global.u32 r1, [d4]; add.u32 r1, r1, 5; st.global.u32 [d3], r1; ret;"), 100);
    assert_string_equal(r.text().c_str(), "");
    for (uint32_t i = 0; i < 100; i++) assert_int_equal(r.words[i], i + 5);
    assert_int_equal(r.result.counters.global_requests, 8);
    assert_int_equal(r.result.counters.global_sectors, 2 * 13);
}
// Lanes loop as often as their number says, then exchange: they must be together again, whatever the policy.
void divergence(void**) {
    for (const char* options : EVERY) {
        Run r;
        r.go(kernel("mov.u32 r1, 0; mov.u32 r2, 0;\nL: add.u32 r1, r1, r2; add.u32 r2, r2, 1; "
                    "setp.le.u32 p0, r2, r0; @p0 bra L;\n"
                    "shfl.sync.down.b32 r3, r1, 1, 31, 0xffffffff; st.global.u32 [d3], r3; ret;"),
             32, options);
        assert_string_equal(r.text().c_str(), "");
        for (uint32_t i = 0; i < 31; i++) assert_int_equal(r.words[i], (i + 1) * (i + 2) / 2);
    }
}
// Reverses through shared memory; half the lanes leave early in the second part.
void shared(void**) {
    for (const char* options : EVERY) {
        Run r;
        r.go(kernel("mov.u32 r1, smem; shl.b32 r2, r0, 2; add.u32 r1, r1, r2; st.shared.u32 [r1], r0; bar.sync 0;\n"
                    "mov.u32 r3, smem; sub.u32 r4, 508, r2; add.u32 r3, r3, r4; ld.shared.u32 r5, [r3]; "
                    "st.global.u32 [d3], r5;\n"
                    "setp.lt.u32 p0, r0, 70; @p0 exit; bar.sync 0; ret;"),
             128, options, 512);
        assert_string_equal(r.text().c_str(), "");
        for (uint32_t i = 0; i < 128; i++) assert_int_equal(r.words[i], 127 - i);
    }
}
void conflicts(void**) {
    Run r; // a stride of two words: two wavefronts instead of one
    r.go(kernel("mov.u32 r1, smem; shl.b32 r2, r0, 3; add.u32 r1, r1, r2; st.shared.u32 [r1], r0; "
                "st.global.u32 [d3], r0; ret;"),
         32, "", 256);
    assert_int_equal(r.result.counters.shared_wavefronts, 2);
    assert_int_equal(r.result.counters.shared_conflicts, 1);
}
void finds(const std::string& body, const char* kind, const char* words, const char* options = "") {
    Run r;
    r.go(kernel(body), 64, options, 64);
    assert_string_equal(r.kind().c_str(), kind);
    if (r.text().find(words) == std::string::npos) fail_msg("'%s' is not in:\n%s", words, r.text().c_str());
}
void findings(void**) {
    finds("st.global.u32 [d3+16], r0; ret;", "bounds", "0 bytes past the end of allocation 2");
    finds("st.global.u32 [d3+2], r0; ret;", "misaligned", "is not aligned to its 4 bytes");
    finds("mov.u64 d5, 1024; st.global.u32 [d5], r0; ret;", "space", "looks like a shared address");
    finds("ld.shared.u32 r1, [smem]; st.global.u32 [d3], r1; ret;", "undefined",
          "'r1' is used here but was never given a value");
    finds("setp.eq.u32 p0, r0, 99; @p0 mov.u32 r1, 1; st.global.u32 [d3], r1; ret;", "undefined", "'r1'");
    finds("mov.u32 r1, smem; st.shared.u32 [r1+64], r0; ret;", "smem-budget", "ends 4 bytes past the block's 64 bytes");
    finds("setp.lt.u32 p0, r0, 32; @p0 bar.sync 1; @!p0 bar.sync 2; ret;", "deadlock", "barrier 1, 32 of 64 threads");
    finds("setp.lt.u32 p0, r0, 7; @p0 bar.sync 0; ret;", "barrier", "the guard is false in this lane");
    finds("setp.lt.u32 p0, r0, 7; @p0 bra A; bar.sync 0; ret;\nA: bar.sync 0; ret;", "barrier",
          "needs lanes that never come");
    finds("L: bra L;", "limit", "warp instructions ran", "limit=1000");
    finds("trap;", "trap", "the kernel executed trap");
}
void report_text(void**) {
    Run r;
    r.go(kernel("# 7 \"x.ptx\"\nst.global.u32 [d3+16], r0; ret;"), 64, "seed=9,threads=1");
    const emu::Report& report = r.result.reports.at(0);
    assert_string_equal(report.file.c_str(), "x.ptx");
    assert_int_equal(report.line, 7);
    assert_non_null(strstr(report.text.c_str(),
                           "spark-emu: bounds in k, cta (0,0,0)\n  store  x.ptx:7   st.global.u32   warp 1 lane 28"));
    assert_non_null(strstr(report.text.c_str(), "seed 9"));
    assert_false(r.result.completed);
}
void same_counters(void**) {
    std::string text = kernel("ld.global.u32 r1, [d4]; mov.u32 r3, 0;\nL: add.u32 r3, r3, 1; "
                              "setp.lt.u32 p0, r3, r0; @p0 bra L;\n"
                              "mov.u32 r4, %ctaid.x; mul.wide.u32 d5, r4, 384; add.u64 d3, d3, d5; "
                              "st.global.u32 [d3], r3; ret;");
    Run a, b;
    a.go(text, 96, "threads=1", 0, 20);
    b.go(text, 96, "threads=3,sched=random,seed=77", 0, 20);
    assert_int_equal(a.result.counters.warp_instructions, b.result.counters.warp_instructions);
    assert_int_equal(a.result.counters.lane_instructions, b.result.counters.lane_instructions);
    assert_true(a.result.counters.by_opcode == b.result.counters.by_opcode);
}
void wrong_words(void**) {
    emu::Options o;
    assert_non_null(strstr(emu::parse_options("sched=fast", o).c_str(), "round_robin"));
    assert_non_null(strstr(emu::parse_options("speed=9", o).c_str(), "'speed' is not known"));
    assert_string_equal(emu::parse_options("seed=0x10,threads=2", o).c_str(), "");
    assert_int_equal(o.seed, 16);
}
} // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(adds),          cmocka_unit_test(divergence),
                                cmocka_unit_test(shared),        cmocka_unit_test(conflicts),
                                cmocka_unit_test(findings),      cmocka_unit_test(report_text),
                                cmocka_unit_test(same_counters), cmocka_unit_test(wrong_words)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
