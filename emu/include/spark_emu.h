/* SPDX-License-Identifier: Apache-2.0 */
/* The emulator's own functions, exported by libspark-emu.so beside the CUDA Driver API it imitates.
 * For test programs and tools: configure a run, read what was found, read exact counts. All are thread-safe.
 * A program that may also run on a real card finds them with dlsym; none is needed to run a kernel. */
#ifndef SPARK_EMU_H_
#define SPARK_EMU_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SPARK_EMU_API __attribute__((visibility("default")))

/* Words separated by commas, as in LIBSPARK_EMU: "seed=7,sched=random,report=stderr".
 *   profile=gb10|rtx5090|rtxpro6000|h200|h100   the card; only before cuInit
 *   multiprocessors=N                           so many of the card's; only before cuInit
 *   seed=N  sched=round_robin|random|starve_low|starve_high  merge=ipdom|late|random  async=late|early|random
 *   late_reads=0|1  race=0|1  global_races=0|1  undefined=0|1  threads=N                 (emu/report/options.cpp)
 *   approx=card|nearest|fuzz               approximate functions: as an H200, nearest, or off within their bounds
 *   fp4_sum=35|25                          bits below the largest term that sums of k64 FP4 keep: no card has told
 *   limit=N  warp_limit=N                  most instructions of a launch and of one of its warps; 0: no limit
 *   report=none|stderr|FILE                where findings are written when they are made (default: none)
 * Words that are absent keep their value. Returns 0, or 1 if a word is wrong or given twice; then nothing was changed
 * and spark_emu_last_report() says which word, and what is allowed. cuInit refuses a wrong LIBSPARK_EMU. */
SPARK_EMU_API int spark_emu_configure(const char* text);

/* Findings since the start or the last clear, oldest first. spark_emu_report copies at most bytes - 1 characters and
 * a NUL, and returns the length of the whole text (0: no such report). */
SPARK_EMU_API size_t spark_emu_report_count(void);
SPARK_EMU_API size_t spark_emu_report(size_t index, char* buffer, size_t bytes);
SPARK_EMU_API void spark_emu_clear_reports(void);

/* The newest finding, or "". Valid until the calling thread calls this again. */
SPARK_EMU_API const char* spark_emu_last_report(void);

/* What is behind `code`, which the calling thread's newest driver call returned: the sentence that goes with its
 * refusal, or the finding that made the context fail; "" if there is nothing to add to the code. Valid until the
 * calling thread calls this again. */
SPARK_EMU_API const char* spark_emu_explain(int code);

typedef struct spark_emu_range {
    const char* name;
    uint64_t address, bytes;
} spark_emu_range;

/* Names memory for the launches that the calling thread makes from now on: a finding of one of them says which range
 * the address at fault lies in, or nearest to. Copies what it is given; count 0 ends it. */
SPARK_EMU_API void spark_emu_name_memory(const spark_emu_range* ranges, size_t count);

/* Forgets the sticky errors of all contexts, which no card can do: a test may plant many faults in one process. */
SPARK_EMU_API void spark_emu_recover(void);

/* Counters of all launches since the start or the last reset, per kernel, as JSON:
 *   {"launches":2,"kernels":{"name":{"launches":2,"warp_instructions":640,...,"by_opcode":{"add.f32":64,...}}}}
 * Same buffer rule as spark_emu_report. */
SPARK_EMU_API size_t spark_emu_counters(char* buffer, size_t bytes);

/* Calls of one driver function by its symbol ("cuMemAlloc_v2"); 0 for an unknown name. A per-thread form such as
 * cuLaunchKernel_ptsz counts as the function it stands for. */
SPARK_EMU_API uint64_t spark_emu_call_count(const char* symbol);

/* Sets the call counts and the counters of launches to zero. */
SPARK_EMU_API void spark_emu_reset_counts(void);

#ifdef __cplusplus
}
#endif
#endif
