// SPDX-License-Identifier: Apache-2.0
// Hostile texts: each ends soon, in a refusal that says where, what was found and what the limit is, or is accepted
// for what it is. The sizes here would end the process, or take minutes, if a limit of engine_limits.h were not kept.
#include "engine_limits.h"
#include "engine_test.h"

namespace {

using std::string;

string many(const string& what, size_t times) {
    string out;
    out.reserve(what.size() * times);
    for (size_t i = 0; i < times; i++) out += what;
    return out;
}
template <class F> string each(size_t times, F f) {
    string out;
    for (size_t i = 0; i < times; i++) out += f(std::to_string(i));
    return out;
}
const string HEAD = ".version 8.8\n.target sm_120f\n.address_size 64\n";

void refused(const string& text, const char* sentence) {
    emu::Memory memory(1 << 30);
    const emu::LoadResult r = emu::load_module(text, PROFILE, &memory);
    assert_null(r.module.get());
    if (r.log.find(sentence) == string::npos) fail_msg("'%s' is not in:\n%.600s", sentence, r.log.c_str());
    assert_true(r.log.size() < 20000);
    assert_int_equal(memory.used(), 0);
}
void accepted(const string& text) {
    emu::Memory memory(1 << 30);
    const emu::LoadResult r = emu::load_module(text, PROFILE, &memory);
    assert_string_equal(r.log.c_str(), "");
}

void nesting(void**) {
    const char* const deep = "more than 64 braces, parentheses or operators inside each other, at";
    refused(kernel(many("{", 20000)), deep);
    refused(kernel("mov.u32 r1, " + many("{", 20000)), deep);
    for (const char* op : {"(", "~", "!", "-", "1?1:"}) refused(kernel("mov.u32 r1, " + many(op, 200000) + "1;"), deep);
    refused(HEAD + ".global .b8 x[4] = " + many("{", 200000), deep);
    refused(kernel("mov.u32 r1, " + many("~", 200000) + "1;"), "<ptx>:9:76: more than 64");
    accepted(kernel("mov.u32 r1, " + many("~", 50) + many("(", 10) + "1" + many(")", 10) + ";"));
}

void numbers(void**) {
    refused(".version 99999999999999.8\n", "<ptx>:1:10: '99999999999999.8' is not a version of PTX");
    refused(".version 8.88888888888\n", "is not a version of PTX");
    refused(".version 8.8\n.target sm_99999999999\n", "the target 'sm_99999999999' is not known");
    refused(kernel("mov.u32 r1, 18446744073709551616;"), "'18446744073709551616' does not fit 64 bits");
    refused(kernel("mov.u32 r1, 0x" + many("f", 17) + ";"), "does not fit 64 bits");
    refused(kernel("mov.u32 r1, " + many("0", 1 << 20) + ";"), "has 1048576 bytes; 16384 is the most");
    refused(kernel("mov.f32 f1, 0f-1234567;"), "digits are expected, not '-'");
    refused(kernel("mov.f64 d1, 1e999;"), "'1e999' does not fit a double");
    refused("# 99999999999 \"f\"\n", "a line marker's number does not fit 32 bits");
    accepted(
        kernel("mov.u64 d1, 0x00ffffffffffffffff; mov.u64 d1, 18446744073709551615; mov.u32 r1, 017; mov.u32 r1, 5U;"
               "mov.u64 d1, 0b" +
               many("1", 64) + ";"));
}

void storage(void**) {
    refused(HEAD + ".global .align 4294967296 .b8 x[4];", "4:16: an alignment is 4294967296; it is 1 to 65536");
    refused(HEAD + ".global .align 12 .b8 x[4];", "an alignment is a power of two, not 12");
    refused(HEAD + ".global .b8 x[100000000000000000000000];", "does not fit 64 bits");
    refused(HEAD + ".global .b8 x[65536][65536][65536][65536];", "the number of elements of 'x' is");
    refused(HEAD + ".global .b8 x[-1];", "a dimension of 'x' is 18446744073709551615; it is 0 to 268435456");
    refused(HEAD + ".global .b8 x[100000000000];", "a dimension of 'x' is 100000000000; it is 0 to 268435456");
    refused(HEAD + ".global .b64 x[200000000];", "variables take 1600000000 bytes up to 'x'; 268435456 is the most");
    refused(HEAD + ".const .b32 x[20000];", "variables take 80000 bytes up to 'x'; 65536 is the most");
    refused(HEAD + ".global .b16 x[2] = {1, 2, 3};", "'x' has 3 initial values for 2 elements");
    refused(HEAD + ".global .b8 x[4]; .global .b8 x[4];", "'x' is defined twice");
    refused(kernel(".shared .b8 x[2000000];"), "shared variables take 2000000 bytes up to 'x'; 1048576 is the most");
    refused(kernel(".local .b8 x[600000];"), "local variables take 600000 bytes up to 'x'; 524288 is the most");
    refused(HEAD + ".entry k(.param .b8 a[32765]) {}", "the parameters take 32765 bytes up to 'a'; 32764 is the most");
    refused(HEAD + ".entry k() .maxntid 65536,65536,1 {}", "a block's width is 65536; it is 1 to 1024");
    refused(kernel(".reg .b128 q; mov.b128 q, 1;"), "a constant has 64 bits, b128 is needed");
}

void counts(void**) {
    refused(string((32 << 20) + 1, ' '), "the text has 33554433 bytes; 33554432 is the most");
    refused(kernel(many("{}", 600000)), "more than 1048576 instructions, labels, declarations and braces");
    refused(kernel(many("frob;", 200000)), "the instruction 'frob' is not known"); // listed twenty times, not more
    refused(many("1a ", 300000), "a number runs into 'a'");
    refused(kernel("add.u32 " + many("r1,", 300000)), "an instruction has more than 160 operands");
    refused(kernel("mov.u32 {" + many("r1,", 300000)), "a {} has more than 160 operands");
    refused(kernel("mov" + many(".b32", 300000) + " r1, r2;"), "is longer than the 256 bytes of an instruction");
    refused(kernel("mov.u32 r1, " + string(1 << 20, 'a') + ";"), "has 1048576 bytes; 16384 is the most");
    refused(kernel(".reg .b32 x<4000000000>;"), "the number of registers 'x' is 4000000000; it is 1 to 65000");
    refused(kernel(".reg .b32 x<60000>; .reg .b32 y<60000>;"), "the kernel has more than 65000 registers");
    refused(kernel(".reg .b32 " + string(200, 'x') + "<60000>;"), "registers that share a name have 128 at most");
    refused(kernel(each(70000, [](auto i) { return "mov.u32 r1, " + i + ";"; })), "more than 65000 registers");
    refused(HEAD + each(40, [](auto i) { return ".entry k" + i + "() {.reg .b32 r<60000>;}\n"; }),
            "the text has more than 2097152 registers");
    refused(HEAD + each(5000, [](auto i) { return ".entry k" + i + "() {}\n"; }), "more than 4096 kernels");
    refused(HEAD + each(5000, [](auto i) { return ".global .b32 g" + i + ";\n"; }), "more than 4096 variables");
    refused(each(5000, [](auto i) { return "# 1 \"f" + i + "\"\n"; }), "line markers name 4096 files");
    refused(HEAD + "/*" + string(1 << 20, ' '), "<ptx>:4:1: a comment does not end");
    refused(kernel(".pragma \"" + string(1 << 20, 'x')), "a string does not end on its line: '\"xxx");
}

// Texts that a call makes longer.
void calls(void**) {
    const string entry = ".entry k() { .reg .b32 r<4>; call f0; }\n";
    auto twice = [](int i) {
        const string next = std::to_string(i + 1);
        return ".func f" + std::to_string(i) + " { call f" + next + "; call f" + next + "; }\n";
    };
    string doubling, deep;
    for (int i = 0; i < 40; i++) doubling += twice(i);
    refused(HEAD + doubling + ".func f40 { bar.sync 0; }\n" + entry,
            "calls add more than 1048576 instructions, labels, declarations and braces to the text");
    for (int i = 0; i < 70; i++) deep += ".func f" + std::to_string(i) + " { call f" + std::to_string(i + 1) + "; }\n";
    refused(HEAD + deep + ".func f70 {}\n" + entry, "more than 64 calls inside each other, at 'f64'");
    refused(HEAD + ".func f0 { .reg .b32 r<60000>; }\n" +
                each(40, [](auto i) { return ".entry k" + i + "() { call f0; }\n"; }),
            "calls add more than 2097152 registers to the text");
    refused(HEAD + each(5000, [](auto i) { return ".func f" + i + ";\n"; }), "more than 4096 functions");
    refused(HEAD + ".func f0 { .local .b8 x[100000]; }\n" + ".entry k() { " + many("call f0; ", 6) + "}\n",
            "local variables take 600000 bytes up to 'x'; 524288 is the most");
    accepted(HEAD + ".func f0 { .shared .b8 x[100000]; }\n" + ".entry k() { " + many("call f0; ", 600) + "}\n");
}

// What grows with the square of a text somewhere, if anything does.
void time(void**) {
    auto label = [](size_t i, size_t to) {
        return string("L") + std::to_string(i) + ": @p1 bra L" + std::to_string(to) + ";\n";
    };
    const size_t n = 50000;
    string back, across, mixed;
    for (size_t i = 0; i < n; i++) back += label(i, i ? i - 1 : 0), across += label(i, n - 1 - i);
    for (size_t i = 0; i < n; i++) mixed += label(i, i * 7919 % n);
    const string set = "setp.eq.u32 p1, r0, 1;\n";
    accepted(kernel(set + back));
    accepted(kernel(set + across));
    accepted(kernel(set + mixed));
    const string names = each(20000, [](auto i) { return "add.u32 q" + i + ", r0, 1;\n"; });
    accepted(
        kernel(".reg .b32 q<20000>;\n" + names + each(20000, [](auto i) { return "add.u32 r1, r1, q" + i + ";\n"; })));
    refused(kernel(set + ".reg .b32 q<20000>;\n" + names + mixed +
                   each(20000, [](auto i) { return "add.u32 r1, r1, q" + i + ";\n"; })),
            "the kernel's registers live through more than 16777216 basic blocks, summed");
    accepted(HEAD + each(4000, [](auto i) { return ".global .b32 g" + i + ";\n"; }) +
             kernel(many("mov.u64 d1, g3999;\n", 50000)).substr(HEAD.size()));
    accepted(kernel(many("{.reg .b32 zz;", 60) + many("add.u32 r1, r0, r0;\n", 50000) + many("}", 60)));
}

void launches(void**) {
    Run many_blocks;
    many_blocks.go(kernel("ret;"), 32, "limit=1000", 0, 4096);
    assert_string_equal(many_blocks.kind().c_str(), "limit");
    Run endless;
    endless.go(kernel("mov.u32 r1, 0;\nL: add.u32 r1, r1, 1; bra L;"), 32, "limit=1000");
    assert_string_equal(endless.kind().c_str(), "limit");
    assert_true(endless.result.counters.warp_instructions < 2000);
    emu::Memory memory(1 << 20);
    const emu::LoadResult r = emu::load_module(kernel("ret;"), PROFILE, &memory);
    const uint64_t params[2] = {};
    auto kind = [&](emu::Dim3 grid, emu::Dim3 block, uint32_t smem) {
        const emu::LaunchRequest q{emu::kernels_of(*r.module)[0], grid, block, smem, params, sizeof params};
        const emu::LaunchResult done = emu::run(memory, q, PROFILE, {});
        assert_false(done.completed);
        return done.reports.at(0).kind;
    };
    assert_string_equal(kind({1, 1, 1}, {1u << 31, 1u << 31, 4}, 0).c_str(), "limit"); // 2^64 threads
    assert_string_equal(kind({UINT32_MAX, 1, 1}, {1, 1, 1}, 0).c_str(), "limit");
    assert_string_equal(kind({1, 65536, 1}, {1, 1, 1}, 0).c_str(), "limit");
    assert_string_equal(kind({1, 1, 1}, {1, 1, 1}, UINT32_MAX).c_str(), "smem-budget");
}
} // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(nesting), cmocka_unit_test(numbers), cmocka_unit_test(storage),
                                cmocka_unit_test(counts),  cmocka_unit_test(calls),   cmocka_unit_test(time),
                                cmocka_unit_test(launches)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
