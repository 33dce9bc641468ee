/* SPDX-License-Identifier: Apache-2.0 */
/* The program of the README. */
#include <spark.h>
#include <stdio.h>

int main(void) {
    spark_error err = {.struct_size = sizeof err};
    spark_context_desc desc = {.struct_size = sizeof desc};
    spark_context *ctx;
    if (spark_context_create(&desc, &ctx, &err)) return puts(err.message), 1;

    spark_rmsnorm_args args = {.hdr = {.struct_size = sizeof args, .op = SPARK_OP_RMSNORM}, .eps = 1e-5f};
    args.x = (spark_tensor){.dtype = SPARK_DTYPE_BF16, .ndim = 2, .shape = {128, 4096}};
    args.y = args.x;
    if (spark_mem_alloc(ctx, 128 * 4096 * 2, &args.x.data, &err)) return puts(err.message), 1;
    if (spark_mem_set(ctx, args.x.data, 0x3f, 128 * 4096 * 2, 0, &err)) return puts(err.message), 1;
    args.y.data = args.x.data; /* in place */
    if (spark_rmsnorm(ctx, &args, NULL, &err)) return puts(err.message), 1;

    uint16_t first;
    if (spark_mem_copy_to_host(ctx, &first, args.y.data, sizeof first, 0, &err)) return puts(err.message), 1;
    printf("y[0, 0] = 0x%04x in bfloat16\n", first);
}
