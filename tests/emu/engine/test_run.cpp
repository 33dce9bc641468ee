// SPDX-License-Identifier: Apache-2.0
// Kernels of a few lines: results, divergence, barriers, counters, and the words of a report.
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>

#include "engine_test.h"
#include "mem/tensor_map.h"

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
    finds("setp.eq.u32 p0, r0, 0; mov.u32 r1, smem;\n@p0 mbarrier.init.shared.b64 [r1], 2; bar.sync 0;\n"
          "@p0 mbarrier.arrive.expect_tx.shared.b64 _, [r1], 16;\n"
          "L: mbarrier.try_wait.parity.shared.b64 p1, [r1], 0; @!p1 bra L; ret;",
          "livelock",
          "waits for the mbarrier at shared 0x400, in phase 0 (modulo 8), lacks 1 of 2 arrivals and 16 bytes");
    finds("trap;", "trap", "the kernel executed trap");
}
// Lanes that are as far apart as in the lap before, but elsewhere: what was found out of them is not taken for where
// they are.
void moving(void**) {
    const std::string lap = "add.u32 r3, r3, 1; setp.lt.u32 p1, r3, 6; @p1 bra L; ret;";
    const std::string eight = "mov.u32 r1, smem; shl.b32 r2, r0, 2; add.u32 r1, r1, r2; mov.u32 r3, 0; "
                              "setp.lt.u32 p0, r0, 8;\nL: @p0 st.shared.u32 [r1], r0; ";
    finds(eight + "add.u32 r1, r1, 8; " + lap, "smem-budget", "ends 4 bytes past the block's 64 bytes", "race=0");
    finds(eight + "sub.u32 r1, r1, 8; " + lap, "bounds", "lies before the block's 64 bytes", "race=0");
    finds(eight + "add.u32 r1, r1, 2; " + lap, "misaligned", "warp 0 lane 0", "race=0");
    const std::string all = "mov.u32 r3, 0;\nL: st.global.u32 [d3], r0; ";
    finds(all + "add.u64 d3, d3, 8; " + lap, "bounds", "0 bytes past the end of allocation 2", "race=0");
    finds(all + "add.u64 d3, d3, 2; " + lap, "misaligned", "is not aligned to its 4 bytes", "race=0");
    finds(all + "sub.u64 d3, d3, 256; " + lap, "bounds", "allocation 2", "race=0");
    finds("mov.u32 r3, 0; setp.lt.u32 p0, r0, 16;\nL: @p0 ld.global.u32 r1, [d4]; add.u64 d4, d4, 64; " + lap, "bounds",
          "past the end of allocation 1", "race=0");
}
void sectors(void**) {
    Run r; // 16 lanes: two sectors, then three
    r.go(kernel("mov.u32 r3, 0; setp.lt.u32 p0, r0, 16;\nL: @p0 ld.global.u32 r1, [d4]; add.u64 d4, d4, 4; "
                "add.u32 r3, r3, 1; setp.lt.u32 p1, r3, 3; @p1 bra L; ret;"),
         32);
    assert_string_equal(r.text().c_str(), "");
    assert_int_equal(r.result.counters.global_requests, 3);
    assert_int_equal(r.result.counters.global_sectors, 2 + 3 + 3);
}
void report_text(void**) {
    Run r;
    r.go(kernel("# 7 \"x.ptx\"\nst.global.u32 [d3+16], r0; ret;"), 64, "seed=9,threads=1");
    const emu::Report& report = r.result.reports.at(0);
    assert_string_equal(report.file.c_str(), "x.ptx");
    assert_int_equal(report.line, 7);
    assert_non_null(strstr(report.text.c_str(),
                           "spark-emu: bounds in k, cta (0,0,0)\n  store  x.ptx:7   st.global.u32   warp 1 lane 28"));
    assert_non_null(strstr(report.text.c_str(), "replay: LIBSPARK_EMU=seed=9,sched=round_robin"));
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
// Two warps of about 200 instructions each in every block; what a launch needs is enough, one less is not.
void limits(void**) {
    const std::string text = kernel("mov.u32 r1, 0; mov.u32 r2, 100;\nL: add.u32 r1, r1, 1; setp.lt.u32 p0, r1, r2; "
                                    "@p0 bra L; bar.sync 0; mov.u32 r3, %ctaid.x; mul.wide.u32 d5, r3, 256; "
                                    "add.u64 d3, d3, d5; st.global.u32 [d3], r1; ret;"); // a place of its own for each
    Run free;
    free.go(text, 64, "", 0, 20);
    const uint64_t all = free.result.counters.warp_instructions, each = all / 40;
    for (const char* threads : {",threads=1", ",threads=3", ",threads=2,sched=random", ",threads=1,sched=starve_low"}) {
        for (const auto& [name, enough] : {std::pair{"limit", all}, {"warp_limit", each}}) {
            Run good, bad;
            good.go(text, 64, std::string(name) + "=" + std::to_string(enough) + threads, 0, 20);
            assert_string_equal(good.text().c_str(), "");
            bad.go(text, 64, std::string(name) + "=" + std::to_string(enough - 1) + threads, 0, 20);
            assert_string_equal(bad.kind().c_str(), "limit");
            assert_false(bad.result.completed);
            assert_true(bad.result.counters.warp_instructions < all);
            if (name[0] != 'l') continue;
            assert_int_equal(bad.result.counters.warp_instructions, all - 1);
            assert_int_equal(bad.result.reports.size(), 1);
        }
    }
}
void endless(void**) {
    const std::string text = kernel(
        "# 5 \"x.ptx\"\nsetp.lt.u32 p0, r0, 32; @p0 bra OUT;\nmov.u32 r1, 0;\nL: add.u32 r1, r1, 1; bra L;\nOUT: ret;");
    for (const char* options : {"limit=1000", "warp_limit=1000", "limit=5000,threads=3"}) {
        Run r;
        r.go(text, 64, options, 0, 4);
        assert_string_equal(r.kind().c_str(), "limit");
        assert_non_null(strstr(r.text().c_str(), "limit in k, cta ("));
        assert_non_null(strstr(r.text().c_str(), "x.ptx:7   "));
        assert_int_equal(r.result.reports[0].line, 7);
    }
    assert_int_equal(emu::Options().warp_limit, 1000000000); // there is one without being asked for
        // Nothing changes: that is seen without a limit. With one, whatever comes first.
    Run still;
    still.go(kernel("# 5 \"x.ptx\"\nL: bra L;"), 64, "limit=0,warp_limit=0", 0, 4);
    assert_string_equal(still.kind().c_str(), "livelock");
    assert_non_null(strstr(still.text().c_str(), "the loop of lines 5 to 5, which reads nothing that others change"));
    // One warp waits for ever for another: the launch's limit counts both, and neither is lost in a turn.
    Run r;
    r.go(kernel("L: bar.sync 0; bra L;"), 64, "limit=777,threads=1");
    assert_string_equal(r.kind().c_str(), "limit");
    assert_int_equal(r.result.counters.warp_instructions, 777);
}
std::string bytes(const std::string& text) {
    std::string list;
    for (char c : text) list += std::to_string(int(c)) + ", ";
    return list + "0";
}
// A finding inside a function names the function's line, the kernel, and what an assertion says.
void in_functions(void**) {
    const std::string head = ".version 8.8\n.target sm_120f\n.address_size 64\n";
    const std::string entry = ".entry k(.param .u64 a, .param .u64 b) { .reg .b64 d<4>;\n";
    Run r;
    r.go(
        head +
            "# 41 \"lib.ptx\"\n.func f(.param .b64 p) {\n.reg .b64 d; ld.param.b64 d, [p];\nst.global.u32 [d], 1; }\n" +
            "# 7 \"k.ptx\"\n" + entry + "call f, (64);\n}\n",
        32);
    assert_string_equal(r.kind().c_str(), "bounds");
    assert_string_equal(r.result.reports[0].file.c_str(), "lib.ptx");
    assert_int_equal(r.result.reports[0].line, 43);
    assert_string_equal(r.result.reports[0].kernel.c_str(), "k");
    const std::string strings = ".global .b8 what[] = {" + bytes("a < b") + "}; .global .b8 file[] = {" +
                                bytes("k.cu") + "}; .global .b8 who[] = {" + bytes("void f()") + "};\n";
    Run failed;
    failed.go(
        head + strings +
            ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);\n" +
            entry +
            "mov.u64 d1, what; mov.u64 d2, file; mov.u64 d3, who;\ncall __assertfail, (d1, d2, 12, d3, 1);\n}\n",
        32);
    assert_string_equal(failed.kind().c_str(), "trap");
    assert_int_equal(failed.result.reports[0].line, 8);
    const std::string text = failed.text();
    if (text.find("the assertion 'a < b' failed at k.cu:12, in void f()\n") == std::string::npos)
        fail_msg("%s", text.c_str());
    Run unreadable;
    unreadable.go(head +
                      ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, "
                      ".param .b64 e);\n" +
                      entry + "call __assertfail, (1, 2, 12, 3, 1);\n}\n",
                  32);
    assert_non_null(strstr(unreadable.text().c_str(), "the assertion '...' failed at ...:12, in ...\n"));
}
void wrong_words(void**) {
    const struct {
        const char *text, *word, *allowed;
    } wrong[] = {
        {"sched=randm", "sched=randm", "round_robin, random, starve_low or starve_high"},
        {"sched", "sched=", "round_robin"},
        {"sched=", "sched=", "round_robin"},
        {"async=Late", "async=Late", "late, early or random"},
        {"speed=9", "'speed' is not known", "warp_limit"},
        {" seed=1", "' seed' is not known", "seed"},
        {"=3", "'' is not known", "seed"},
        {"late_reads=yes", "late_reads=yes", "0 or 1"},
        {"race=2", "race=2", "0 or 1"},
        {"global_races=on", "global_races=on", "0 or 1"},
        {"approx=exact", "approx=exact", "card, nearest or fuzz"},
        {"fp4_sum=30", "fp4_sum=30", "35 or 25"},
        {"undefined=", "undefined=", "0 or 1"},
        {"bounds=0", "bounds=0", "always checked"},
        {"threads=1025", "threads=1025", "1024"},
        {"threads=-1", "threads=-1", "1024"},
        {"seed=", "seed=", "whole number"},
        {"seed=-1", "seed=-1", "whole number"},
        {"seed=+1", "seed=+1", "whole number"},
        {"seed= 1", "seed= 1", "whole number"},
        {"seed=0x", "seed=0x", "whole number"},
        {"seed=1.5", "seed=1.5", "whole number"},
        {"limit=1e9", "limit=1e9", "whole number"},
        {"limit=18446744073709551616", "limit=18446744073709551616", "18446744073709551615"},
        {"warp_limit=0x10000000000000000", "warp_limit=0x1", "18446744073709551615"},
        {"seed=1,sched=random,seed=2", "seed=2", "given twice"},
        {"race=1,race=1", "race=1", "given twice"},
    };
    for (const auto& w : wrong) {
        emu::Options o;
        o.seed = 77;
        const std::string said = emu::parse_options(std::string("merge=late,") + w.text, o);
        if (!strstr(said.c_str(), w.word) || !strstr(said.c_str(), w.allowed))
            fail_msg("'%s' gives '%s'", w.text, said.c_str());
        assert_true(o.seed == 77 && o.merge == emu::Merge::ipdom); // nothing was taken over
    }
    emu::Options o;
    assert_non_null(strstr(emu::parse_options("merge=never", o).c_str(), "ipdom, late or random"));
    assert_string_equal(emu::parse_options("seed=0x10,threads=2,,limit=18446744073709551615,", o).c_str(), "");
    assert_int_equal(o.seed, 16);
    assert_true(o.limit == UINT64_MAX);
    assert_string_equal(emu::parse_options("seed=010", o).c_str(), "");
    assert_int_equal(o.seed, 10);
}
// A matrix of 16 words and 8 rows of which its map says 9; `change` breaks the map further.
template <class F> void finds_in_tensor(const char* coordinates, const char* kind, const char* words, F change) {
    Run r;
    emu::TensorMap map;
    map.address = r.memory.alloc(8 * 64);
    map.rank = 2, map.type = emu::TensorMap::u32;
    map.dim[0] = 16, map.dim[1] = 9, map.stride[0] = 64, map.box[0] = 16, map.box[1] = 4, map.step[1] = 1;
    change(map);
    uint8_t bytes[emu::TensorMap::BYTES];
    emu::encode(map, bytes);
    const uint64_t at = r.memory.alloc(sizeof bytes);
    r.memory.write(at, bytes, sizeof bytes);
    r.go(kernel("mov.u64 d5, " + std::to_string(at) + "; mov.u32 r1, smem;\n" +
                "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [d5, {" + coordinates + "}], [r1]; ret;"),
         1, "", 256);
    assert_string_equal(r.kind().c_str(), kind);
    if (r.text().find(words) == std::string::npos) fail_msg("'%s' is not in:\n%s", words, r.text().c_str());
}
void tensor_findings(void**) {
    const auto sound = [](emu::TensorMap&) {};
    const char* const past = "element (0, 8) of the tensor: 0 bytes past the end of allocation";
    finds_in_tensor("0, 5", "bounds", past, sound);
    finds_in_tensor("-3, 7", "bounds", past, sound);
    finds_in_tensor("4, -1", "undefined", "bytes that nobody wrote are stored", sound);
    finds_in_tensor("0, 0", "tensormap", "boxDim[1] is not from 1 to 256", [](emu::TensorMap& m) { m.box[1] = 0; });
    finds_in_tensor("0, 0", "tensormap", "has 3 dimensions, the instruction 2",
                    [](emu::TensorMap& m) { m.rank = 3, m.dim[2] = m.box[2] = m.step[2] = 1; });
    finds_in_tensor("0, 2000000000", "bounds", "element (0, 2000000000) of the tensor", [](emu::TensorMap& m) {
        m.dim[1] = 1ull << 32, m.stride[0] = (1ull << 40) - 16; // beyond 64 bits
    });
}
// Who comes when to a word of the first block: by the seed alone, whatever host threads there are.
void cluster_turns(void**) {
    const std::string body =
        "mov.u32 r1, smem; mov.u32 r2, %cluster_ctarank; or.b32 r3, r0, r2; setp.eq.u32 p1, r3, 0;\n"
        "@p1 st.shared.u32 [r1], 0; barrier.cluster.arrive; barrier.cluster.wait;\n"
        "mapa.shared::cluster.u32 r4, r1, 0; mov.u32 r6, 40;\n"
        "again: atom.shared::cluster.add.u32 r5, [r4], 1; sub.u32 r6, r6, 1; setp.ne.u32 p2, r6, 0;\n"
        "@p2 bra again; barrier.cluster.arrive; barrier.cluster.wait;\n"
        "mov.u32 r7, %ctaid.x; mul.lo.u32 r7, r7, 256; mul.wide.u32 d5, r7, 1; add.u64 d3, d3, d5;\n"
        "st.global.u32 [d3], r5;";
    const auto order = [&](const std::string& options) {
        Run run;
        run.go(kernel(body), 64, "sched=random," + options, 16, 8, 4);
        assert_string_equal(run.text().c_str(), "");
        return run.words;
    };
    const auto first = order("seed=1,threads=1");
    assert_true(first == order("seed=1,threads=2"));
    assert_true(first != order("seed=2,threads=1"));
}
size_t host_threads() {
    const std::filesystem::directory_iterator all("/proc/self/task"), end;
    return size_t(std::distance(all, end));
}
// Ends a process that was forked off. The parent's threads are not in it, and what they kept looks lost there.
[[noreturn]] void leave(int status) {
#ifdef __SANITIZE_ADDRESS__
    _exit(status); // looks for nothing lost
#else
    exit(status);
#endif
}
// Host threads stay for the next launch; a process that was forked off, where they are not, makes its own.
void helpers(void**) {
    const auto go = [] {
        Run r;
        r.go(kernel("st.global.u32 [d3], r0; ret;"), 64, "threads=3", 0, 20);
        return r.text().empty();
    };
    assert_true(go());
    const size_t after_one = host_threads();
    assert_true(after_one > 1);
    assert_true(go());
    assert_int_equal(host_threads(), after_one);
#ifndef __SANITIZE_THREAD__ // allows no threads there
    const pid_t child = fork();
    if (child == 0) leave(go() && go() && host_threads() > 1 ? 0 : 1);
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
#endif
}
} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(adds),        cmocka_unit_test(divergence),      cmocka_unit_test(shared),
        cmocka_unit_test(conflicts),   cmocka_unit_test(findings),        cmocka_unit_test(moving),
        cmocka_unit_test(sectors),     cmocka_unit_test(report_text),     cmocka_unit_test(same_counters),
        cmocka_unit_test(wrong_words), cmocka_unit_test(in_functions),    cmocka_unit_test(limits),
        cmocka_unit_test(endless),     cmocka_unit_test(tensor_findings), cmocka_unit_test(cluster_turns),
        cmocka_unit_test(helpers)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
