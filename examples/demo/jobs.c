/* SPDX-License-Identifier: Apache-2.0 */
/* See jobs.h. Each bound stands beside its derivation; U32 and U16 are half a unit in the last place of FP32 and of
 * bfloat16, relative to the value. */
#include "jobs.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double U32 = 0x1p-24;
static const double U16 = 0x1p-8;
static const double SMALLEST = 0x1p-133; /* the smallest positive bfloat16 */

/* Counts one element; NaN is infinitely wrong. */
static void compare(Result *result, double found, double wanted, double bound) {
    double ratio = fabs(found - wanted) / bound;
    if (isnan(ratio)) ratio = INFINITY;
    ++result->checked;
    if (ratio > 1) ++result->wrong;
    if (ratio > result->worst) result->worst = ratio;
}

static void finish(Result *result, const spark_op_info *info, double took) {
    memcpy(result->kernel, info->kernel, sizeof result->kernel);
    result->kernel[sizeof result->kernel - 1] = 0;
    result->seconds = took;
}

Result job_embedding(const Device *device, int64_t vocab, int64_t width, int64_t tokens) {
    Result result = {0};
    snprintf(result.shape, sizeof result.shape, "%" PRId64 " of %" PRId64 " x %" PRId64, tokens, vocab, width);
    const size_t table_bytes = (size_t)(vocab * width) * sizeof(bf16);
    const size_t y_bytes = (size_t)(tokens * width) * sizeof(bf16);
    bf16 *table = random_bf16((size_t)(vocab * width), 1);
    int32_t *ids = host_alloc((size_t)tokens * sizeof *ids);
    uint64_t state = 2;
    for (int64_t i = 0; i < tokens; ++i) ids[i] = (int32_t)(random_bits(&state) % (uint64_t)vocab);
    ids[0] = -1;
    ids[tokens - 1] = (int32_t)vocab;
    const int32_t none = 0;

    spark_embedding_args args = {.hdr = {.struct_size = sizeof args, .op = SPARK_OP_EMBEDDING}};
    args.hdr.flags = SPARK_EMBEDDING_ZERO_INVALID;
    args.table = tensor(upload(device, table, table_bytes), SPARK_DTYPE_BF16, vocab, width);
    args.ids = tensor(upload(device, ids, (size_t)tokens * sizeof *ids), SPARK_DTYPE_I32, tokens, 0);
    args.y = tensor(device_output(device, y_bytes), SPARK_DTYPE_BF16, tokens, width);
    args.invalid_count = tensor(upload(device, &none, sizeof none), SPARK_DTYPE_I32, 1, 0);
    spark_op_info info;
    finish(&result, &info, run(device, &args.hdr, &info));

    release(device, args.table.data);
    release(device, args.ids.data);
    bf16 *y = download(device, args.y.data, y_bytes);
    int32_t *refused = download(device, args.invalid_count.data, sizeof *refused);
    for (int64_t i = 0; i < tokens; ++i) { /* bit for bit; the rows of the two invalid indices are zero */
        const int valid = ids[i] >= 0 && ids[i] < vocab;
        for (int64_t j = 0; j < width; ++j) {
            const bf16 wanted = valid ? table[ids[i] * width + j] : 0;
            compare(&result, y[i * width + j] == wanted ? 0 : 2, 0, 1);
        }
    }
    compare(&result, *refused, 2, 0.5);
    free(table);
    free(ids);
    free(y);
    free(refused);
    return result;
}

Result job_rmsnorm(const Device *device, int64_t rows, int64_t width) {
    Result result = {0};
    snprintf(result.shape, sizeof result.shape, "%" PRId64 " x %" PRId64 ", + residual", rows, width);
    const size_t count = (size_t)(rows * width), bytes = count * sizeof(bf16);
    const float eps = 1e-5f;
    bf16 *x = random_bf16(count, 3), *residual = random_bf16(count, 4), *weight = random_bf16((size_t)width, 5);

    spark_rmsnorm_args args = {.hdr = {.struct_size = sizeof args, .op = SPARK_OP_RMSNORM}, .eps = eps};
    args.x = tensor(upload(device, x, bytes), SPARK_DTYPE_BF16, rows, width);
    args.residual = tensor(upload(device, residual, bytes), SPARK_DTYPE_BF16, rows, width);
    args.weight = tensor(upload(device, weight, (size_t)width * sizeof *weight), SPARK_DTYPE_BF16, width, 0);
    args.y = tensor(device_output(device, bytes), SPARK_DTYPE_BF16, rows, width);
    args.residual_out = tensor(device_output(device, bytes), SPARK_DTYPE_BF16, rows, width);
    spark_op_info info;
    finish(&result, &info, run(device, &args.hdr, &info));

    release(device, args.x.data);
    release(device, args.residual.data);
    release(device, args.weight.data);
    bf16 *y = download(device, args.y.data, bytes), *sum = download(device, args.residual_out.data, bytes);
    /* The FP32 sum of n squares errs by at most n U32 of itself, in any order; the square root halves that. A few
     * roundings follow (rsqrt within two units, two products), then the one to bfloat16. */
    const double relative = U16 + ((double)width / 2 + 8) * U32;
    for (int64_t i = 0; i < rows; ++i) {
        double squares = 0;
        for (int64_t j = 0; j < width; ++j) {
            const double s = from_bf16(x[i * width + j]) + from_bf16(residual[i * width + j]);
            squares += s * s;
        }
        const double factor = 1 / sqrt(squares / (double)width + eps);
        for (int64_t j = 0; j < width; ++j) {
            const double s = from_bf16(x[i * width + j]) + from_bf16(residual[i * width + j]);
            const double wanted = s * factor * from_bf16(weight[j]);
            compare(&result, from_bf16(sum[i * width + j]), s, fabs(s) * U16 + SMALLEST);
            compare(&result, from_bf16(y[i * width + j]), wanted, fabs(wanted) * relative + SMALLEST);
        }
    }
    free(x);
    free(residual);
    free(weight);
    free(y);
    free(sum);
    return result;
}

/* sum a[i] b[i] in double, with the sum of the products' magnitudes. Eight partial sums keep the processor busy. */
static double dot(const double *a, const double *b, int64_t n, double *magnitude) {
    double sum[8] = {0}, size[8] = {0};
    for (int64_t i = 0; i + 8 <= n; i += 8) {
        for (int j = 0; j < 8; ++j) {
            const double p = a[i + j] * b[i + j];
            sum[j] += p;
            size[j] += fabs(p);
        }
    }
    for (int64_t i = n - n % 8; i < n; ++i) {
        sum[0] += a[i] * b[i];
        size[0] += fabs(a[i] * b[i]);
    }
    *magnitude = 0;
    double total = 0;
    for (int j = 0; j < 8; ++j) {
        total += sum[j];
        *magnitude += size[j];
    }
    return total;
}

/* Whether row i of m is compared: all of few, else the first, the last and 30 between. */
static int chosen(int64_t i, int64_t m) { return m <= 32 || i % (m / 31) == 0 || i == m - 1; }

Result job_gemm(const Device *device, int64_t m, int64_t n, int64_t k) {
    Result result = {0};
    snprintf(result.shape, sizeof result.shape, "%" PRId64 " x %" PRId64 " x %" PRId64, m, n, k);
    const size_t a_count = (size_t)(m * k), b_count = (size_t)(n * k), d_bytes = (size_t)(m * n) * sizeof(bf16);
    bf16 *a = random_bf16(a_count, 6), *b = random_bf16(b_count, 7);

    spark_gemm_args args = {.hdr = {.struct_size = sizeof args, .op = SPARK_OP_GEMM}};
    args.a = tensor(upload(device, a, a_count * sizeof *a), SPARK_DTYPE_BF16, m, k);
    args.b = tensor(upload(device, b, b_count * sizeof *b), SPARK_DTYPE_BF16, n, k);
    args.d = tensor(device_output(device, d_bytes), SPARK_DTYPE_BF16, m, n);
    spark_op_info info;
    finish(&result, &info, run(device, &args.hdr, &info));

    release(device, args.a.data);
    release(device, args.b.data);
    bf16 *d = download(device, args.d.data, d_bytes);
    double *wide_a = host_alloc(a_count * sizeof *wide_a), *wide_b = host_alloc((size_t)k * sizeof *wide_b);
    for (size_t i = 0; i < a_count; ++i) wide_a[i] = from_bf16(a[i]);
    for (int64_t j = 0; j < n; ++j) {
        for (int64_t l = 0; l < k; ++l) wide_b[l] = from_bf16(b[j * k + l]);
        for (int64_t i = 0; i < m; ++i) {
            if (!chosen(i, m)) continue;
            double magnitude;
            const double wanted = dot(wide_a + i * k, wide_b, k, &magnitude);
            /* Tensor cores add at least eight products at a time and cut what is below the last bit: each of the k/8
             * steps errs by at most two U32 of the magnitude so far. Then the one rounding to bfloat16. */
            const double bound = ((double)k / 8 + 16) * 2 * U32 * magnitude + fabs(wanted) * U16 + SMALLEST;
            compare(&result, from_bf16(d[i * n + j]), wanted, bound);
        }
    }
    free(a);
    free(b);
    free(d);
    free(wide_a);
    free(wide_b);
    return result;
}
