/* SPDX-License-Identifier: Apache-2.0 */
/* The ceiling loops, and the twin of attention, as text, ended by NUL, as the driver's JIT wants them. */
    .section .rodata
    .global spark_bench_ceilings_ptx
    .hidden spark_bench_ceilings_ptx
spark_bench_ceilings_ptx:
    .incbin "ceilings.ptx"
    .byte 0
    .global spark_bench_twin_ptx
    .hidden spark_bench_twin_ptx
spark_bench_twin_ptx:
    .incbin "attention.twin.ptx"
    .byte 0
    .section .note.GNU-stack, "", %progbits
