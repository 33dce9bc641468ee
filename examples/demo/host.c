/* SPDX-License-Identifier: Apache-2.0 */
/* See host.h. */
#define _POSIX_C_SOURCE 200809L
#include "host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void must(spark_status status, const spark_error *err, const char *call) {
    if (status == SPARK_OK) return;
    fprintf(stderr, "%.*s: %s\n  %s\n", (int)strcspn(call, "("), call, spark_status_name(status), err->message);
    exit(1);
}

void *host_alloc(size_t bytes) {
    void *p = malloc(bytes ? bytes : 1);
    if (!p) {
        fprintf(stderr, "the host has no %zu bytes\n", bytes);
        exit(1);
    }
    return p;
}

spark_devptr upload(const Device *device, const void *data, size_t bytes) {
    spark_error err = NEW_ERROR;
    spark_devptr p = 0;
    TRY(err, spark_mem_alloc(device->ctx, bytes, &p, &err));
    TRY(err, spark_mem_copy_to_device(device->ctx, p, data, bytes, 0, &err));
    return p;
}

spark_devptr device_output(const Device *device, size_t bytes) {
    spark_error err = NEW_ERROR;
    spark_devptr p = 0;
    TRY(err, spark_mem_alloc(device->ctx, bytes, &p, &err));
    TRY(err, spark_mem_set(device->ctx, p, 0xff, bytes, 0, &err));
    return p;
}

void *download(const Device *device, spark_devptr data, size_t bytes) {
    spark_error err = NEW_ERROR;
    void *p = host_alloc(bytes);
    TRY(err, spark_mem_copy_to_host(device->ctx, p, data, bytes, 0, &err));
    release(device, data);
    return p;
}

void release(const Device *device, spark_devptr data) {
    spark_error err = NEW_ERROR;
    TRY(err, spark_mem_free(device->ctx, data, &err));
}

spark_tensor tensor(spark_devptr data, spark_dtype dtype, int64_t rows, int64_t columns) {
    spark_tensor t = {.data = data, .dtype = dtype, .ndim = columns ? 2 : 1};
    t.shape[0] = rows;
    t.shape[1] = columns;
    return t;
}

double from_bf16(bf16 x) {
    uint32_t bits = (uint32_t)x << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

uint64_t random_bits(uint64_t *state) { /* splitmix64 */
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

bf16 *random_bf16(size_t n, uint64_t seed) {
    bf16 *p = host_alloc(n * sizeof *p);
    for (size_t i = 0; i < n; ++i) {
        const int32_t step = (int32_t)(random_bits(&seed) >> 55) - 256; /* -256 .. 255: eight bits and a sign */
        const float value = (float)step / 256.0f;
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        p[i] = (bf16)(bits >> 16);
    }
    return p;
}

double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double run(const Device *device, const spark_args *args, spark_op_info *info) {
    spark_error err = NEW_ERROR;
    memset(info, 0, sizeof *info);
    info->struct_size = sizeof *info;
    TRY(err, spark_op_prepare(device->ctx, args, info, &err));
    spark_devptr workspace = 0;
    if (info->workspace_size) TRY(err, spark_mem_alloc(device->ctx, info->workspace_size, &workspace, &err));
    TRY(err, spark_stream_synchronize(device->ctx, 0, &err));
    const spark_exec exec = {
        .struct_size = sizeof exec, .workspace = workspace, .workspace_size = info->workspace_size};
    const double began = seconds();
    TRY(err, spark_op_launch(device->ctx, args, &exec, &err));
    TRY(err, spark_stream_synchronize(device->ctx, 0, &err));
    const double took = seconds() - began;
    release(device, workspace);
    return took;
}
