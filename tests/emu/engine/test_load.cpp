// SPDX-License-Identifier: Apache-2.0
// What is refused at load, with which line, and what is accepted.
#include "engine_test.h"

namespace {

void refused_text(const std::string& text, const char* sentence) {
    emu::LoadResult r = emu::load_module(text, PROFILE);
    assert_null(r.module.get());
    if (r.log.find(sentence) == std::string::npos) fail_msg("'%s' is not in:\n%s", sentence, r.log.c_str());
}
void refused(const std::string& body, const char* sentence) { refused_text(kernel(body), sentence); }

void refusals(void**) {
    refused("multimem.red.relaxed.sys.global.add.f32 [d1], f1;", "is not known: memory of several cards");
    refused("vadd4.u32.u32.u32 r1, r1, r2, r3;", "'vadd4' is not known: video instructions are not run");
    refused("frob.u32 r1, r2;", "<ptx>:9:1: the instruction 'frob' is not known");
    refused("add.sideways.u32 r1, r1, r2;", "this combination of modifiers is not known");
    refused("add.u32 r1, r1, d1;", "'d1' has the type b64, u32 is needed");
    refused("add.f32 f1, f1, 1;", "an integer literal for the type f32");
    refused("mov.u32 r1, nobody;", "'nobody' is not declared");
    refused("bra NOWHERE;", "the label 'NOWHERE' is not defined");
    refused("ld.global.u32 r1, [r2];", "global and generic addresses have 64");
    refused("@r1 add.u32 r1, r1, r1;", "'r1' is not a predicate");
    refused("add.u32 r1, r1;", "takes 3 operands");
    refused("redux.sync.add.f32 f1, f2, 0xffffffff;", "not known");
    refused("{ .reg .b32 x; } mov.u32 x, 1;", "'x' is not declared");
}
// Each word of textures and surfaces, with its place and what can be done instead.
void textures(void**) {
    const std::string why = "textures and surfaces are not modelled; ld.global.nc reads the elements";
    for (const char* body :
         {"tex.2d.v4.f32.f32 {f1, f2, f1, f2}, [d1, {f1, f2}];",
          "tld4.r.2d.v4.f32.f32 {f1, f2, f1, f2}, [d1, {f1, f2}];", "txq.width.b32 r1, [d1];",
          "suld.b.1d.b32.trap {r1}, [d1, {r2}];", "sust.b.1d.b32.trap [d1, {r1}], {r2};",
          "sured.b.add.1d.u32.trap [d1, {r1}], r2;", "suq.width.b32 r1, [d1];", "istypep.texref p1, d1;"}) {
        const std::string_view name = std::string_view(body).substr(0, std::string_view(body).find('.'));
        refused(body, ("<ptx>:9:1: the instruction '" + std::string(name) + "' is not known: " + why).c_str());
    }
    const std::string head = ".version 8.0\n.target sm_80\n.address_size 64\n";
    for (const char* type : {"texref", "samplerref", "surfref"}) {
        const std::string sentence = "'." + std::string(type) + "' is not supported: " + why;
        refused_text(head + ".global ." + type + " t;\n", ("<ptx>:4:9: " + sentence).c_str());
        refused_text(head + ".global ." + type + " t = {addr_mode_0 = wrap};\n", sentence.c_str());
        refused_text(head + ".entry k(.param ." + type + " t) { ret; }\n", ("<ptx>:4:17: " + sentence).c_str());
    }
    refused_text(head + ".tex .u32 t;\n", "'.tex' is not supported: textures");
}
void accepted(const std::string& body) { assert_string_equal(emu::load_module(kernel(body), PROFILE).log.c_str(), ""); }

// What ptxas takes and refuses: modifiers have no order, but for those that belong to the name, types and spaces.
void modifier_order(void**) {
    accepted("ld.u32.v2.global {r1, r2}, [d1];");
    accepted("ld.gpu.global.relaxed.u32 r1, [d1];");
    accepted("add.f32.sat.rn f1, f1, f2;");
    accepted("setp.and.lt.s32 p1, r1, r2, p2;");
    accepted("cvt.satfinite.rn.f16x2.f32 r1, f1, f2;");
    accepted("shfl.b32.bfly.sync r1, r2, 1, 31, -1;");
    accepted("match.sync.any.b32 r1, r2, -1;");
    accepted("cp.async.L2::128B.cg.shared.global [r1], [d1], 16;");
    accepted("mul.lo.u32 r1, r1, r2;");
    refused("mul.u32.lo r1, r1, r2;", "not known");
    refused("cp.async.cg.global.shared [r1], [d1], 16;", "not known");
    refused("cvt.f32.rn.f16x2 r1, f1, f2;", "not known");
    refused("bar.sync.cta 0;", "not known");
    refused("add.rn.rn.f32 f1, f1, f2;", "not known");
}
void coordinates(void**) {
    accepted("cp.async.bulk.prefetch.tensor.2d.L2.global [d1, {r1, -1}];");
    accepted("cp.async.bulk.prefetch.tensor.L2.global.1d [d1, {r1}];");
    refused("cp.async.bulk.prefetch.tensor.3d.L2.global [d1, {r1, r2}];", "{} with 3 registers is expected");
    refused("cp.async.bulk.prefetch.tensor.2d.L2.global [d1];", "an address and coordinates");
    refused("ld.global.u32 r1, [d1, {r1}];", "an address alone is expected");
}
// What stands before the kernels: `text` begins on line 4.
void refused_module(const std::string& text, const char* sentence) {
    emu::Memory memory(1 << 20);
    emu::LoadResult r = emu::load_module(".version 8.8\n.target sm_120f\n.address_size 64\n" + text, PROFILE, &memory);
    assert_null(r.module.get());
    if (r.log.find(sentence) == std::string::npos) fail_msg("'%s' is not in:\n%s", sentence, r.log.c_str());
}
void initial_addresses(void**) {
    refused_module(".global .u64 p = generic(q);", "<ptx>:4:18: 'q' is not declared");
    refused_module(".global .u32 q; .global .u32 p = q;",
                   "an address has 64 bits, the elements of 'p' have the type u32");
    refused_module(".shared .u32 q; .global .u64 p[2] = {0, generic(q)};", "<ptx>:4:41: 'q' is in .shared");
    refused_module(".global .u64 q; .global .u64 p = generic(q;", "')' is missing before ';'");
    refused_module(".global .u64 p = k;\n.entry k() { ret; }", "<ptx>:4:18: 'k' is a kernel: the host starts it");
    refused(".reg .u64 x = smem;", "a constant is expected, not 'smem'");
}
void mbarriers(void**) {
    accepted("mbarrier.arrive.release.cluster.shared::cta.b64 _, [r1], 2;");
    accepted("mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p1, [r1+8], 0, 1000;");
    accepted("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [r1];");
    accepted("fence.mbarrier_init.release.cluster;");
    refused("mbarrier.test_wait.shared.b64 p1, [r1], d1, 1000;", "3 operands");
}
// `functions` begin on line 4, the body of the kernel on the line after them.
std::string calling(const std::string& functions, const std::string& body) {
    return functions + "\n.entry k() { .reg .b32 r<4>; .reg .b64 d<4>; .reg .pred p<2>;\n" + body + "}\n";
}
void calls(void**) {
    auto wrong = [](const char* functions, const char* body, const char* sentence) {
        refused_module(calling(functions, body), sentence);
    };
    const char* const one = ".func (.reg .b32 n) f(.reg .b32 m) { mov.u32 n, m; }";
    wrong(one, "call (r1), g, (r2);", "<ptx>:6:1: 'call': 'g' is not declared");
    wrong(one, "call (r1), f;", "'f' has 1 parameters and 1 results, not 0 and 1");
    wrong(one, "call (d1), f, (r1);", "'d1' has the type b64");
    wrong(one, "call (r1), f, (q);", "'q' is not declared");
    wrong(one, "mov.u64 d1, k;", "'k' is a kernel: the host starts it");
    wrong(one, "call k;", "'k' is a kernel");
    wrong(one, "call.sideways (r1), f, (r2);", "a call has no modifier but .uni");
    wrong(one, "call.assertfail d1, d1, r1, d1;", "a call has no modifier but .uni");
    wrong(one, "call (r1), d1, (r2), f;", "<ptx>:6:1: 'call': 'f' is no prototype, list of targets or table");
    wrong(one, "call d1;", "a call through a register needs its prototype or its targets");
    wrong(one, "t: .calltargets f, g; call (r1), d1, (r2), t;", "'g' is not declared");
    wrong(one, "t: .calltargets f; call d1, (r2), t;", "'f' has 1 parameters and 1 results, not 1 and 0");
    wrong(one, "t: .branchtargets L; call d1, (r2), t;", "'t' is no prototype, list of targets or table");
    wrong(one, "t: .branchtargets L; brx.idx r1, t;", "the label 'L' is not defined in this scope");
    wrong(one, "L: brx.idx r1, L;", "the name of a .branchtargets is expected");
    wrong(one, "t: .calltargets f; t: .calltargets f;", "the list 't' is declared twice in its function");
    wrong(".extern .func quit(.param .b64 p);", "call quit, (d1);", "<ptx>:6:1: 'call': 'quit' has no body here");
    wrong(".func f {\nfrob;\n}", "call f; call f;", "<ptx>:5:1: the instruction 'frob' is not known\n");
    wrong(".func f { mov.u32 r1, 0; }", "call f;", "'r1' is not declared"); // the caller's names are not the function's
    wrong(".func f { L: bra L; }", "call f; bra L;", "the label 'L' is not defined in this scope");
    wrong(".func f(.param .b8 s[8]) {}", ".param .b8 a[4]; call f, (a);", "'a' has 4 bytes, 's' has 8");
    wrong(".func f(.param .b8 s[8]) {}", "call f, (r1);", "'s' is an array; its argument is a .param");
    wrong(".func f(.param .b32 s) {}", ".local .b32 a; call f, (a);", "'a' is neither a register nor a .param");
    wrong(".func f(.param .b32 s, .param .b32 s) {}", "call f, (r1, r1);", "'s' is declared twice in this scope");
    wrong(".func f(.param .b32 s) { st.param.b32 [s], 1; }", "call f, (r1);", "'st.param.b32': 's' cannot be written");
    wrong(".func (.param .b32 n) g { } .func f(.param .b32 s) { call (s), g; }", "call f, (r1);",
          "'s' cannot be written");
    wrong(".func (.param .b32 n) f(.param .b32 s) {}", ".param .b32 a; call (a), f, (a);", "'a' is given twice");
    wrong(".func f(.reg .b32 s<2>) {}", "", "a parameter is declared by its name");
    wrong(".func f {} .func f {}", "", "'f' is defined twice");
    wrong(".func f {} .global .u32 p = f;", "", "<ptx>:4:29: an address has 64 bits, the elements of 'p'");
}
void clusters(void**) {
    accepted("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [r1];");
    accepted("mbarrier.arrive.expect_tx.shared::cluster.b64 _, [r1], 16;");
    refused("mbarrier.arrive.shared::cluster.b64 d1, [r1];", "cannot run"); // another block's has no state here
    refused("mbarrier.try_wait.parity.shared::cluster.b64 p1, [r1], 0;", "not known");
    accepted("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;");
    refused("barrier.cluster.wait.relaxed;", "not known");
    accepted("mapa.shared::cluster.u32 r1, smem, 1; mapa.u64 d1, d2, r1; getctarank.shared::cluster.u32 r2, r1;");
    refused("mapa.u32 r1, r2, 1;", "cannot run"); // a generic address has 64 bits
    accepted("ld.shared::cluster.u32 r1, [smem+4]; atom.shared::cluster.add.u32 r1, [r2], 1;");
    accepted("mov.pred p1, %is_explicit_cluster; mov.u32 r1, %cluster_ctaid.z;");
    refused("mov.u32 r1, %is_explicit_cluster;", "is a pred");
    accepted("griddepcontrol.wait; griddepcontrol.launch_dependents;");
    accepted("setmaxnreg.inc.sync.aligned.u32 232; setmaxnreg.dec.sync.aligned.u32 24;");
    for (const char* wrong : {"16", "28", "264"})
        refused("setmaxnreg.inc.sync.aligned.u32 " + std::string(wrong) + ";", "cannot run");
    const auto old = [](const char* target, const char* body, const char* sentence) {
        refused_text(".version 8.0\n.target " + std::string(target) +
                         "\n.address_size 64\n.entry k() { .reg .b32 r<2>;\n" + body + " }",
                     sentence);
    };
    old("sm_80", "ld.shared::cluster.u32 r1, [r0];", "needs .target sm_90");
    old("sm_80", "barrier.cluster.wait;", "needs .target sm_90");
    old("sm_80", "griddepcontrol.wait;", "needs .target sm_90");
    old("sm_90", "setmaxnreg.inc.sync.aligned.u32 232;", "one architecture or family");
}
void cluster_directives(void**) {
    const auto entry = [](const char* directives) { return std::string(".entry k() ") + directives + " { ret; }"; };
    const auto good = [&](const char* directives) {
        assert_string_equal(emu::load_module(".version 8.0\n.target sm_90\n" + entry(directives), PROFILE).log.c_str(),
                            "");
    };
    good(".reqnctapercluster 2, 2 .explicitcluster");
    good(".explicitcluster .maxclusterrank 8");
    refused_module(entry(".reqnctapercluster 2 .maxclusterrank 8"), "exclude each other");
    refused_module(entry(".reqnctapercluster 4, 4, 2"), "a cluster of 32 blocks; 16 is the most");
    refused_module(entry(".reqnctapercluster 17"), "a cluster's width is 17; it is 1 to 16");
    refused_text(".version 8.0\n.target sm_80\n" + entry(".explicitcluster"), "clusters need .version 7.8");
}
void bulk_copies(void**) {
    accepted("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint [r1], [d1], r2, [r3], d2;");
    accepted("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [d1+16], [r1+16], 32, d2;");
    accepted("fence.proxy.async.shared::cta;");
    accepted("cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.add.noftz.bf16 [d1], [r1], 32, d2;");
    refused("cp.reduce.async.bulk.global.shared::cta.bulk_group.inc.u64 [d1], [r1], 32;", "not known");
    const std::string told = ".mbarrier::complete_tx::bytes";
    accepted("cp.async.bulk.shared::cluster.global" + told + ".multicast::cluster [r1], [d1], r2, [r3], h4;");
    refused("cp.async.bulk.shared::cta.global" + told + ".multicast::cluster [r1], [d1], r2, [r3], h4;", "not known");
    accepted("cp.async.bulk.shared::cluster.shared::cta" + told + " [r1], [r2], r3, [r4];");
    refused("cp.async.bulk.shared::cluster.shared::cta" + told + ".L2::cache_hint [r1], [r2], r3, [r4], d1;",
            "not known");
    refused("st.async.shared::cluster" + told + ".v4.b64 [r1], {d1, d2, d3, d4}, [r2];", "cannot run");
    refused("red.async.relaxed.cluster.shared::cta" + told + ".add.u32 [r1], r2, [r3];", "not known");
}
void tensor_copies(void**) {
    const std::string load = "cp.async.bulk.tensor.2d.shared::cluster.global", told = ".mbarrier::complete_tx::bytes";
    const std::string operands = " [r1], [d1, {r2, r3}], [r4]";
    accepted(load + ".tile" + told + operands + ";");
    accepted(load + told + ".L2::cache_hint" + operands + ", d2;");
    accepted("cp.async.bulk.tensor.1d.shared::cta.global" + told + " [r1], [d1, {r2}], [r3];");
    accepted("cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group [d1, {r1, r2, r3, r4, 0}], [r5];");
    accepted("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [d1, {r1, r2}], [r5];");
    accepted("prefetch.tensormap [d1];");
    accepted("fence.proxy.tensormap::generic.acquire.gpu [d1], 128;");
    accepted("tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [r1], 0, d1;");
    accepted(load + told + ".multicast::cluster" + operands + ", h1;");
    refused("cp.async.bulk.tensor.3d.shared::cluster.global.im2col" + told + " [r1], [d1, {r2, r3, r4}], [r4], {h1};",
            "'im2col': copies in im2col mode are not run");
    refused("cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group [d1, {r1, r2, r3, r4}], [r5];",
            "'im2col_no_offs': copies in im2col mode are not run");
    refused("cp.async.bulk.global.shared::cta.bulk_group.cp_mask [d1], [r1], r2, h3;",
            "'cp_mask': copies of some bytes");
    refused(load + ".tile::gather4" + told + " [r1], [d1, {r2, r3, r4, r5, r6}], [r4];", "not known");
    const std::string gather = "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4" + told;
    accepted(gather + " [r1], [d1, {r2, r3, r4, r5, r6}], [r4];");
    refused(gather + " [r1], [d1, {r2, r3}], [r4];", "{} with 5 registers");
    refused("cp.reduce.async.bulk.tensor.1d.global.shared::cta.bulk_group [d1, {r1}], [r5];", "not known");
    refused("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [d1+8, {r1}], [r5];", "nothing can be added");
    refused("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [d1, {r1, r2}], [r5];", "{} with 1 registers");
}
void debug_information(void**) {
    const std::string body = ".loc 1 4 2, function_name INFO, inlined_at 1 3 1\nadd.u32 r1, r1, 1;\n"
                             ".loc 1 5 1, function_name INFO+7, inlined_at 1 3 1\nadd.u32 r1, r1, 1;";
    const std::string section =
        ".file 1 \"a.cu\"\n.section .debug_info { .b8 1, 2\nINFO: .b64 INFO+4\n.b32 .debug_line }";
    assert_string_equal(emu::load_module(kernel(body) + section, PROFILE).log.c_str(), "");
    const std::string open = emu::load_module(kernel("") + ".section .debug_info { .b8 1", PROFILE).log;
    assert_non_null(strstr(open.c_str(), "the section has no closing brace"));
    const std::string other = emu::load_module(kernel(".loc 1 4 2, elsewhere 3"), PROFILE).log;
    assert_non_null(strstr(other.c_str(), "'elsewhere' is not known in a .loc"));
}
// What compilers newer than the ptxas that assembles tests/emu/*/*.ptx put around a kernel.
void newer_texts(void**) {
    const std::string text = ".version 9.3\n.target sm_80\n.address_size 64\n.pragma \"used\";\n"
                             ".weak .func f() { ret; }\n.weak .func g();\n.alias g, f;\n"
                             ".entry k() .pragma \"enable_smem_spilling\"; .reqntid 32 { .reg .b32 r<2>;\n"
                             "mov.u32 r1, %aggr_smem_size; call g; ret; }\n";
    assert_string_equal(emu::load_module(text, PROFILE).log.c_str(), "");
}
void line_markers(void**) {
    emu::LoadResult r = emu::load_module(kernel("# 41 \"gemm.ptx\" 2\nfrob.u32 r1, r2;"), PROFILE);
    assert_non_null(strstr(r.log.c_str(), "gemm.ptx:41:1: the instruction 'frob'"));
}
void targets(void**) {
    std::string text = kernel("ret;");
    std::string a = text;
    a.replace(a.find("sm_120f"), 7, "sm_120a");
    assert_null(emu::load_module(a, PROFILE).module.get()); // 12.1 is not 12.0
    a.replace(a.find("sm_120a"), 7, "sm_90");
    assert_non_null(emu::load_module(a, PROFILE).module.get());
}
void constants(void**) {
    emu::LoadResult r = emu::load_module(kernel("mov.u32 r1, (1 << 4) * 3 - 2 > 5 ? 7 : 9; "
                                                "ld.global.u32 r2, [d1+2*(3+1)-4];"),
                                         PROFILE);
    assert_string_equal(r.log.c_str(), "");
}
void info(void**) {
    emu::LoadResult r = emu::load_module(kernel(".shared .b8 s[100]; mov.u32 r1, s; ret;"), PROFILE);
    const emu::KernelInfo& k = emu::info_of(*emu::kernels_of(*r.module)[0]);
    assert_string_equal(k.name.c_str(), "k");
    assert_int_equal(k.param_bytes, 16);
    assert_int_equal(k.params[1].offset, 8);
    assert_int_equal(k.static_smem, 100);
}
} // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(refusals),          cmocka_unit_test(textures),
                                cmocka_unit_test(line_markers),      cmocka_unit_test(targets),
                                cmocka_unit_test(modifier_order),    cmocka_unit_test(coordinates),
                                cmocka_unit_test(constants),         cmocka_unit_test(calls),
                                cmocka_unit_test(initial_addresses), cmocka_unit_test(info),
                                cmocka_unit_test(mbarriers),         cmocka_unit_test(bulk_copies),
                                cmocka_unit_test(tensor_copies),     cmocka_unit_test(debug_information),
                                cmocka_unit_test(clusters),          cmocka_unit_test(cluster_directives),
                                cmocka_unit_test(newer_texts)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
