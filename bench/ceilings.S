/* SPDX-License-Identifier: Apache-2.0 */
/* The ceiling loops, and the twins of attention, as text, ended by NUL, as the driver's JIT wants them. */
    .section .rodata
    .global spark_bench_ceilings_ptx
    .hidden spark_bench_ceilings_ptx
spark_bench_ceilings_ptx:
    .incbin "ceilings.ptx"
    .byte 0
    .global spark_bench_twin_128x64_ptx
    .hidden spark_bench_twin_128x64_ptx
spark_bench_twin_128x64_ptx:
    .incbin "attention_twin__d128_128x64.ptx"
    .byte 0
    .global spark_bench_twin_64x64_ptx
    .hidden spark_bench_twin_64x64_ptx
spark_bench_twin_64x64_ptx:
    .incbin "attention_twin__d128_64x64.ptx"
    .byte 0
    .section .note.GNU-stack, "", %progbits
