/* SPDX-License-Identifier: Apache-2.0 */
/* Quantises two matrices, multiplies them, and compares with the product of the numbers before: E4M3 with a scale for
 * each row, and NVFP4. LIBSPARK_DRIVER=emu on a computer without a GPU. */
#include <math.h>
#include <spark.h>
#include <stdio.h>
#include <stdlib.h>

enum { M = 4, N = 64, K = 128, BLOCK = 16 }; /* y[M, N] = x[M, K] w[N, K]^T; NVFP4 has a scale for 16 numbers */

static spark_context *ctx;
static spark_error err = {.struct_size = sizeof err};

static void check(spark_status status) {
    if (status == SPARK_OK) return;
    fprintf(stderr, "%s\n", err.message);
    exit(1);
}

static spark_devptr room(uint64_t bytes) {
    spark_devptr address;
    check(spark_mem_alloc(ctx, bytes, &address, &err));
    check(spark_mem_set(ctx, address, 0, bytes, 0, &err));
    return address;
}

static spark_tensor matrix(spark_dtype dtype, int64_t rows, int64_t columns) {
    spark_tensor t = {.dtype = dtype, .ndim = 2, .shape = {rows, columns}};
    t.data = room((uint64_t)(rows * columns) * 4);
    return t;
}

/* Small numbers that every language can make: a linear congruence, its upper bits as multiples of 2^-10. */
static spark_tensor numbers(uint32_t state, int64_t rows) {
    static uint16_t values[N * K];
    for (int64_t i = 0; i < rows * K; ++i) {
        state = state * 1664525 + 1013904223;
        union {
            float number;
            uint32_t bits;
        } v = {.number = (float)((int)(state >> 24) - 128) / 1024};
        values[i] = (uint16_t)(v.bits >> 16); /* exact: eight bits are enough */
    }
    spark_tensor t = matrix(SPARK_DTYPE_BF16, rows, K);
    check(spark_mem_copy_to_device(ctx, t.data, values, (uint64_t)(rows * K) * 2, 0, &err));
    return t;
}

/* What is launched with a workspace that is large enough for all of it. */
static const spark_exec *exec(void) {
    static spark_exec e = {.struct_size = sizeof e, .workspace_size = 1 << 20};
    if (e.workspace == 0) e.workspace = room(e.workspace_size);
    return &e;
}

/* A place for `like` in the format, with its scales: one for each row, or for each block of one. */
static spark_tensor format(spark_tensor like, int fp4) {
    spark_tensor t = matrix(fp4 ? SPARK_DTYPE_E2M1 : SPARK_DTYPE_E4M3, like.shape[0], like.shape[1]);
    t.quant.scheme = fp4 ? SPARK_QUANT_BLOCK : SPARK_QUANT_PER_ROW;
    if (fp4) t.quant.block[0] = 1, t.quant.block[1] = BLOCK;
    t.quant.scale_dtype = fp4 ? SPARK_DTYPE_UE4M3 : SPARK_DTYPE_F32;
    t.quant.scale = room((uint64_t)like.shape[0] * K);
    if (fp4) t.quant.global_scale = room(4);
    return t;
}

static spark_tensor quantized(spark_tensor x, int fp4) {
    spark_quantize_args args = {.hdr = {.struct_size = sizeof args, .op = SPARK_OP_QUANTIZE}, .x = x};
    args.y = format(x, fp4);
    if (fp4) args.hdr.flags = SPARK_QUANTIZE_OWN_AMAX;
    check(spark_quantize(ctx, &args, exec(), &err));
    return args.y;
}

static void product(spark_tensor a, spark_tensor b, float *result) {
    spark_gemm_args args = {.hdr = {.struct_size = sizeof args, .op = SPARK_OP_GEMM}, .a = a, .b = b};
    args.d = matrix(SPARK_DTYPE_F32, M, N);
    check(spark_gemm(ctx, &args, exec(), &err));
    check(spark_mem_copy_to_host(ctx, result, args.d.data, sizeof(float) * M * N, 0, &err));
}

int main(void) {
    spark_context_desc desc = {.struct_size = sizeof desc};
    check(spark_context_create(&desc, &ctx, &err));
    spark_tensor x = numbers(1, M), w = numbers(2, N);
    float exact[M * N], rounded[M * N];
    product(x, w, exact);
    printf("format       largest error   error, of the product\n");
    for (int fp4 = 0; fp4 < 2; ++fp4) {
        product(quantized(x, fp4), quantized(w, fp4), rounded);
        double most = 0, squares = 0, all = 0;
        for (int i = 0; i < M * N; ++i) {
            double error = rounded[i] - exact[i];
            most = fmax(most, fabs(error)), squares += error * error, all += (double)exact[i] * exact[i];
        }
        const double part = 100 * sqrt(squares / all);
        printf("%-12s %.6f        %.2f %%\n", fp4 ? "NVFP4" : "E4M3, rows", most, part);
        if (!(part < (fp4 ? 27 : 7.5))) return puts("twice what rounding both factors explains"), 1;
    }
    spark_context_destroy(ctx);
}
