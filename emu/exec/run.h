// SPDX-License-Identifier: Apache-2.0
// What handlers ask of the loop that runs them: fragments, barriers, undefined registers, clocks. Defined once, in
// run.cpp, fragments.cpp, barriers.cpp and taint.cpp; called by handlers of every level.
#pragma once

#include "warp.h"

namespace emu {

// fragments.cpp
Flow branch(Warp& w, const Inst& in, uint32_t taken);              // lanes `taken` go to in.target, the others on
Flow branch_each(Warp& w, const Inst& in, const uint32_t* target); // each lane to its own
Flow exit_lanes(Warp& w, uint32_t lanes);
bool gather(Warp& w, const Inst& in, uint32_t lanes, uint32_t required); // false: parked until `required` is here
void merge_at_join(Warp& w);
bool choose_fragment(Warp& w);
Flow park(Warp& w, uint32_t lanes, WarpSplit::State state); // those of the current ones, behind the instruction
uint32_t next_random(uint64_t& state);

// How setp and set combine a comparison with a predicate: Inst::sub & 3.
enum Combine : uint8_t { COMBINE_NONE, COMBINE_AND, COMBINE_OR, COMBINE_XOR };
// What they compare: further bits of Inst::sub, from PAIRS on how many pairs of bytes an integer has, 0 of a float.
// Inst::imm: the comparison.
enum Compare : uint8_t { COMPARE_SIGNED = 16, COMPARE_PAIRS = 32 };

// barriers.cpp
enum class Reduce : uint8_t { none, popc, all, any };
// bar.sync, bar.arrive, bar.red: threads 0 = all of the block.
Flow barrier(Warp& w, const Inst& in, unsigned id, uint32_t threads, bool sync, Reduce reduce, uint32_t bits);
bool barrier_complete(Cta& cta, unsigned id); // releases it if all have come; false after a report
bool barriers_after_exit(Cta& cta);

// cluster_barrier.cpp
Flow cluster_arrive(Warp& w, bool release);
Flow cluster_wait(Warp& w);
void cluster_exit(Warp& w, uint32_t lanes);

// taint.cpp: the slow path, only while some register is undefined
bool taint_before(Warp& w, const Inst& in, uint32_t lanes); // false after a report
bool taint_guard(Warp& w, const Inst& in, uint32_t lanes);
bool taint_atomic(Warp& w, uint32_t lanes, Space space, const uint64_t* addr, unsigned bytes); // reports; always false
void taint_shuffle(Warp& w, uint16_t dst, uint16_t src, const uint8_t* from_lane);
void taint_loaded(Warp& w, const Inst& in, Space space, uint32_t lanes, const uint64_t* addr, unsigned vec,
                  unsigned bytes, bool sign);
bool taint_stored(Warp& w, const Inst& in, const uint64_t* addr, unsigned vec, unsigned bytes); // false: a report

std::string undefined_origin(const Warp& w); // access.cpp: where undefined bytes were last loaded from
// Other blocks run on other threads of the host.
inline void host_fence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
uint64_t read_clock(Warp& w, uint8_t which);

} // namespace emu
