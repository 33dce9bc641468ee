// SPDX-License-Identifier: Apache-2.0
// The PTX that the façade's tests load: tiny kernels whose effects do not commute, so that order can be seen.
// Plain sm_80 forms, so the same text also runs on a card.
//
//   set(out, value, n)    out[i] = value          twice(out, n)      out[i] *= 2
//   add(out, value, n)    out[i] += value         beyond(out, far)   *(out + far) = 1: out of bounds
//   odd(out)              *(out + 2) = 1: misaligned                 nothing()
#pragma once

// clang-format off
inline constexpr const char* TEST_PTX =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry set(.param .u64 out, .param .u32 value, .param .u32 count)\n{\n"
    "  .reg .pred p; .reg .b32 i, b, t, v, n; .reg .b64 o, w;\n"
    "  ld.param.u64 o, [out]; ld.param.u32 v, [value]; ld.param.u32 n, [count];\n"
    "  mov.u32 i, %ctaid.x; mov.u32 b, %ntid.x; mov.u32 t, %tid.x; mad.lo.u32 i, i, b, t;\n"
    "  setp.ge.u32 p, i, n; @p bra DONE; mul.wide.u32 w, i, 4; add.u64 o, o, w;\n"
    "  st.global.u32 [o], v;\nDONE:\n  ret;\n}\n"
    ".visible .entry add(.param .u64 out, .param .u32 value, .param .u32 count)\n{\n"
    "  .reg .pred p; .reg .b32 i, b, t, v, n; .reg .b64 o, w;\n"
    "  ld.param.u64 o, [out]; ld.param.u32 v, [value]; ld.param.u32 n, [count];\n"
    "  mov.u32 i, %ctaid.x; mov.u32 b, %ntid.x; mov.u32 t, %tid.x; mad.lo.u32 i, i, b, t;\n"
    "  setp.ge.u32 p, i, n; @p bra DONE; mul.wide.u32 w, i, 4; add.u64 o, o, w;\n"
    "  ld.global.u32 t, [o]; add.u32 t, t, v; st.global.u32 [o], t;\nDONE:\n  ret;\n}\n"
    ".visible .entry twice(.param .u64 out, .param .u32 count)\n{\n"
    "  .reg .pred p; .reg .b32 i, b, t, n; .reg .b64 o, w;\n"
    "  ld.param.u64 o, [out]; ld.param.u32 n, [count];\n"
    "  mov.u32 i, %ctaid.x; mov.u32 b, %ntid.x; mov.u32 t, %tid.x; mad.lo.u32 i, i, b, t;\n"
    "  setp.ge.u32 p, i, n; @p bra DONE; mul.wide.u32 w, i, 4; add.u64 o, o, w;\n"
    "  ld.global.u32 t, [o]; add.u32 t, t, t; st.global.u32 [o], t;\nDONE:\n  ret;\n}\n"
    ".visible .entry beyond(.param .u64 out, .param .u64 far)\n{\n"
    "  .reg .b32 v; .reg .b64 o, w;\n"
    "  ld.param.u64 o, [out]; ld.param.u64 w, [far]; add.u64 o, o, w; mov.u32 v, 1;\n"
    "  st.global.u32 [o], v;\n  ret;\n}\n"
    ".visible .entry odd(.param .u64 out)\n{\n"
    "  .reg .b32 v; .reg .b64 o;\n"
    "  ld.param.u64 o, [out]; add.u64 o, o, 2; mov.u32 v, 1;\n"
    "  st.global.u32 [o], v;\n  ret;\n}\n"
    ".visible .entry nothing()\n{\n  ret;\n}\n";

// Of each block of a grid in x: out[block] = 1000 * is the cluster explicit + 10 * its width + the rank. `pairs` needs
// clusters of two, `some` any that the launch names, `few` four blocks at most.
#define CLUSTER_KERNEL(name, directive)                                                                            \
    ".visible .entry " name "(.param .u64 out)\n" directive "\n{\n"                                                 \
    "  .reg .pred p; .reg .b32 c, n, r, e; .reg .b64 o, w;\n"                                                      \
    "  ld.param.u64 o, [out]; mov.u32 c, %ctaid.x; mov.u32 n, %cluster_nctaid.x; mov.u32 r, %cluster_ctarank;\n"   \
    "  mov.pred p, %is_explicit_cluster; selp.u32 e, 1000, 0, p; mad.lo.u32 r, n, 10, r; add.u32 r, r, e;\n"       \
    "  mul.wide.u32 w, c, 4; add.u64 o, o, w; st.global.u32 [o], r;\n  ret;\n}\n"
inline constexpr const char* CLUSTER_PTX =
    ".version 7.8\n.target sm_90\n.address_size 64\n"
    CLUSTER_KERNEL("any", "")
    CLUSTER_KERNEL("pairs", ".reqnctapercluster 2, 1, 1")
    CLUSTER_KERNEL("some", ".explicitcluster")
    CLUSTER_KERNEL("few", ".maxclusterrank 4");

// out[i] = 2 * out[i] + value in each: `waits` for the launches before it first, `hasty` does so too late, `never` not
// at all; `late` lets the next launch begin before it has done anything.
#define DEPENDENT_KERNEL(name, first, last)                                                                        \
    ".visible .entry " name "(.param .u64 out, .param .u32 value, .param .u32 count)\n{\n"                         \
    "  .reg .pred p; .reg .b32 i, b, t, v, n; .reg .b64 o, w;\n" first                                             \
    "  ld.param.u64 o, [out]; ld.param.u32 v, [value]; ld.param.u32 n, [count];\n"                                 \
    "  mov.u32 i, %ctaid.x; mov.u32 b, %ntid.x; mov.u32 t, %tid.x; mad.lo.u32 i, i, b, t;\n"                       \
    "  setp.ge.u32 p, i, n; @p bra DONE; mul.wide.u32 w, i, 4; add.u64 o, o, w;\n"                                 \
    "  ld.global.u32 t, [o]; add.u32 t, t, t; add.u32 t, t, v; st.global.u32 [o], t;\nDONE:\n" last "  ret;\n}\n"
inline constexpr const char* DEPENDENT_PTX =
    ".version 7.8\n.target sm_90\n.address_size 64\n"
    DEPENDENT_KERNEL("waits", "  griddepcontrol.wait; griddepcontrol.launch_dependents;\n", "")
    DEPENDENT_KERNEL("hasty", "", "  griddepcontrol.wait;\n")
    DEPENDENT_KERNEL("never", "", "")
    DEPENDENT_KERNEL("late", "  griddepcontrol.launch_dependents;\n", "");

// take, give, sum: 16 bytes by a bulk copy from there, to there, or added to there; the boxes: the same of four
// elements, by a tensor map. publish: a flag behind them; early: before they are sure to be there. look: the words, if
// the flag says so. store: a word.
#define BULK_KERNEL(name, parameter, body)                                                                         \
    ".visible .entry " name "(" parameter ")\n{\n  .reg .pred p; .reg .b32 v, s, bar; .reg .b64 a;\n"              \
    "  .shared .align 128 .b8 words[16]; .shared .align 8 .b64 phase;\n"                                           \
    "  mov.u32 v, %tid.x; setp.ne.u32 p, v, 0; @p ret; mov.u32 s, words; mov.u32 bar, phase; mov.u32 v, 7;\n" body \
    "  ret;\n}\n"
#define BY_ADDRESS(name, body) BULK_KERNEL(name, ".param .u64 at", "  ld.param.u64 a, [at];\n" body)
#define BY_MAP(name, first, body)                                                                                  \
    BULK_KERNEL(name, ".param .align 64 .b8 map[128]",                                                             \
                "  mov.b64 a, map; cvta.param.u64 a, a; mov.u32 v, " first ";\n" body)
#define BULK_LOAD(copy)                                                                                            \
    "  mbarrier.init.shared::cta.b64 [bar], 1; mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16;\n"          \
    "  cp.async.bulk." copy ", [bar];\nWAIT:\n"                                                                    \
    "  mbarrier.try_wait.parity.shared::cta.b64 p, [bar], 0; @!p bra WAIT;\n"
#define BULK_STORE(copy, wait)                                                                                     \
    "  st.shared.v4.u32 [s], {7, 7, 7, 7}; fence.proxy.async;\n  cp." copy ", [s]" wait
#define WAIT_ALL ";\n  cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n"
#define WAIT_READ ";\n  cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;\n"
#define GIVE(wait) BULK_STORE("async.bulk.global.shared::cta.bulk_group [a]", ", 16" wait)
#define GIVE_BOX BULK_STORE("async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [a, {v}]", WAIT_ALL)
#define PUBLISH "  fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [a+16], 1;\n"
inline constexpr const char* BULK_PTX =
    ".version 8.6\n.target sm_90\n.address_size 64\n"
    BY_ADDRESS("take", BULK_LOAD("shared::cta.global.mbarrier::complete_tx::bytes [s], [a], 16"))
    BY_ADDRESS("give", GIVE(WAIT_ALL))
    BY_ADDRESS("sum", BULK_STORE("reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [a]", ", 16" WAIT_ALL))
    BY_ADDRESS("publish", GIVE(WAIT_ALL) PUBLISH)
    BY_ADDRESS("publish_early", GIVE(WAIT_READ) PUBLISH)
    BY_ADDRESS("look", "  ld.acquire.gpu.global.u32 v, [a+16]; setp.ne.u32 p, v, 0; @p ld.global.u32 v, [a];\n")
    BY_ADDRESS("look_anyway", "  ld.acquire.gpu.global.u32 v, [a+16]; ld.global.u32 v, [a];\n")
    BY_ADDRESS("store", "  st.global.u32 [a+12], 9; fence.acq_rel.gpu;\n")
    BY_MAP("take_box", "0", BULK_LOAD("tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes [s], [a, {v}]"))
    BY_MAP("give_box", "0", GIVE_BOX)
    BY_MAP("give_next_box", "4", GIVE_BOX)
    BY_MAP("sum_box", "0",
           BULK_STORE("reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group [a, {v}]", WAIT_ALL));
// clang-format on
