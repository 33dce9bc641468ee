// SPDX-License-Identifier: Apache-2.0
// What the checker keeps of everyday accesses must say what its records say. Random kernels, each twice: as it is, and
// with a bulk copy that nobody reaches, for whose sake records are kept from the start.
#include <cstdio>
#include <cstdlib>
#include <random>

#include "engine_test.h"

namespace {

std::mt19937 rng(7);
unsigned below(unsigned n) { return rng() % n; }
bool chance(unsigned one_in) { return below(one_in) == 0; }
std::string num(unsigned n) { return std::to_string(n); }

// Leaves in r1 the address of a lane's `bytes`. Of few kinds, so that instructions meet again.
std::string place(unsigned bytes) {
    const std::string b = num(bytes), from = chance(3) ? num(16 * below(16)) : num(512 * below(4));
    std::string index;
    switch (below(7)) {
    case 0: index = "mov.u32 r1, r5;"; break;                                // each warp the same
    case 1: index = "mul.lo.u32 r1, r5, 5; and.b32 r1, r1, 31;"; break;      // the same in another order
    case 2: index = "xor.b32 r1, r5, " + num(1 + below(3)) + ";"; break;     // lanes exchange
    case 3: index = chance(4) ? "mov.u32 r1, 1;" : "mov.u32 r1, r0;"; break; // one place; each thread its own
    case 4: index = "mul.lo.u32 r1, r0, 7; rem.u32 r1, r1, 96;"; break;      // scattered
    default: index = "mov.u32 r1, r0;"; break;                               // each thread its own
    }
    return index + " mad.lo.u32 r1, r1, " + b + ", r4; add.u32 r1, r1, " + from + ";";
}

std::string guard() { return chance(4) ? "@p" + num(below(3)) + " " : ""; }

struct Kind {
    const char *type, *sink, *source;
    unsigned bytes;
};
constexpr Kind KINDS[] = {{"u8", "r7", "r0", 1},
                          {"u16", "r7", "r0", 2},
                          {"u32", "r7", "r0", 4},
                          {"u32", "r7", "r0", 4},
                          {"u32", "r7", "r0", 4},
                          {"v2.u32", "{r7,r8}", "{r0,r5}", 8},
                          {"v4.u32", "{r7,r8,r9,r3}", "{r0,r5,r0,r5}", 16},
                          {"v4.u32", "{r7,r8,r9,r3}", "{r0,r5,r0,r5}", 16}};
unsigned kinds = 8; // the first ones, of which a kernel has

std::string touch(const Kind& kind) {
    const std::string on = guard(), what = std::string(chance(8) ? "volatile." : "") + "shared." + kind.type;
    if (chance(3)) return on + "st." + what + " [r1], " + kind.source + ";";
    return on + "ld." + what + " " + kind.sink + ", [r1];";
}

std::string access() {
    if (chance(6)) {
        const bool wide = chance(3);
        return place(wide ? 8 : 4) + guard() +
               (wide ? "atom.shared.exch.b64 d2, [r1], d2;" : "atom.shared.add.u32 r7, [r1], 1;");
    }
    const Kind& kind = KINDS[below(kinds)];
    std::string s = place(kind.bytes) + touch(kind);
    while (chance(3)) s += touch(kind); // the same place again
    return s;
}

std::string step() {
    switch (below(10)) {
    case 0:
    case 1: return "bar.sync 0;";
    case 2: return chance(2) ? "bar.warp.sync 0xffffffff;" : "bar.sync 0;";
    case 3: {
        const unsigned bytes = 4u << below(3);
        return place(bytes) + "cp.async.ca.shared.global [r1], [d1], " + num(bytes) + "; cp.async.commit_group;";
    }
    case 4: return chance(2) ? "cp.async.wait_all;" : "cp.async.wait_group 1;";
    case 5: return place(16) + "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {r7,r8,r9,r3}, [r1];";
    case 6: return chance(4) ? place(16) + "stmatrix.sync.aligned.m8n8.x1.shared.b16 [r1], {r0};" : "bar.sync 0;";
    default: return access();
    }
}

std::string random_kernel() {
    std::string s = "and.b32 r5, r0, 31; shr.u32 r6, r0, 5; mov.u32 r4, smem; setp.eq.u32 p0, r6, 1;\n"
                    "setp.lt.u32 p1, r5, 9; setp.ne.u32 p2, r6, 0; mov.u32 r2, 0;\nL:\n";
    const unsigned care = 1 + below(4);
    kinds = chance(3) ? 2 : 8;
    for (unsigned i = 0, count = 2 + below(20); i < count; ++i) {
        s += step() + "\n";
        if (chance(care)) s += chance(4) ? "bar.sync 0;\n" : "cp.async.wait_all; bar.sync 0;\n";
    }
    s += "bar.sync 0;\nadd.u32 r2, r2, 1; setp.lt.u32 p3, r2, ";
    return s + num(chance(12) ? 300 : 1 + below(3)) + "; @p3 bra L;\nret;";
}

unsigned rounds = 1500;

void agree_with_records(void**) {
    const std::string unreached =
        "\ncp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [r1], [d1], 16, [r1];";
    unsigned faults = 0, clean = 0;
    for (unsigned i = 0; i < rounds; ++i) {
        const std::string body = random_kernel(), options = i % 3 ? "seed=" + num(i) + ",sched=random" : "";
        Run quick, records;
        quick.go(kernel(body), 96, options, 4096);
        records.go(kernel(body + unreached), 96, options, 4096);
        assert_string_equal(quick.log.c_str(), "");
        assert_string_equal(records.log.c_str(), "");
        const bool found = !quick.result.reports.empty();
        const int line = found ? quick.result.reports[0].line : 0;
        const int other = records.result.reports.empty() ? 0 : records.result.reports[0].line;
        if (quick.kind() != records.kind() || line != other)
            std::printf("%s\n%s\n%s\n", body.c_str(), quick.text().c_str(), records.text().c_str());
        assert_string_equal(quick.kind().c_str(), records.kind().c_str());
        assert_int_equal(line, other);
        ++(found ? faults : clean);
    }
    std::printf("%u kernels with a finding, %u without\n", faults, clean);
    assert_true(faults > rounds / 8 && clean > rounds / 8);
}

} // namespace

int main(int argc, char** argv) { // [rounds [seed]]
    if (argc > 1) rounds = unsigned(atoi(argv[1]));
    if (argc > 2) rng.seed(unsigned(atoi(argv[2])));
    const CMUnitTest tests[] = {cmocka_unit_test(agree_with_records)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
