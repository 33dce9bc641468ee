/* SPDX-License-Identifier: Apache-2.0 */
/* See device.h. */
#define _POSIX_C_SOURCE 200809L
#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void must(spark_status status, const spark_error *err, const char *call) {
    if (status == SPARK_OK) return;
    fprintf(stderr, "\nspark-generate: %.*s: %s\n  %s\n", (int)strcspn(call, "("), call, spark_status_name(status),
            err->message);
    exit(1);
}

void device_open(Device *device) {
    *device = (Device){.info = {.struct_size = sizeof device->info}};
    setenv("LIBSPARK_DRIVER", "auto", 0);
    spark_error err = NEW_ERROR;
    const spark_context_desc desc = {.struct_size = sizeof desc};
    TRY(err, spark_context_create(&desc, &device->ctx, &err));
    TRY(err, spark_context_device(device->ctx, &device->info, &err));
    TRY(err, spark_stream_create(device->ctx, NULL, &device->stream, &err));
}

void device_close(Device *device) {
    spark_error err = NEW_ERROR;
    device_free(device, device->workspace);
    TRY(err, spark_stream_destroy(device->ctx, device->stream, &err));
    spark_context_destroy(device->ctx);
    *device = (Device){0};
}

spark_devptr device_alloc(Device *device, uint64_t bytes) {
    spark_error err = NEW_ERROR;
    spark_devptr data = 0;
    TRY(err, spark_mem_alloc(device->ctx, bytes, &data, &err));
    return data;
}

void device_free(Device *device, spark_devptr data) {
    spark_error err = NEW_ERROR;
    TRY(err, spark_mem_free(device->ctx, data, &err));
}

void device_write(Device *device, spark_devptr to, const void *from, uint64_t bytes) {
    spark_error err = NEW_ERROR;
    TRY(err, spark_mem_copy_to_device(device->ctx, to, from, bytes, device->stream, &err));
}

void device_read(Device *device, void *to, spark_devptr from, uint64_t bytes) {
    spark_error err = NEW_ERROR;
    TRY(err, spark_mem_copy_to_host(device->ctx, to, from, bytes, device->stream, &err));
}

void device_wait(Device *device) {
    spark_error err = NEW_ERROR;
    TRY(err, spark_stream_synchronize(device->ctx, device->stream, &err));
}

/* Loads the operator's code and makes the workspace as large as it needs. */
static void prepare(Device *device, const spark_args *args) {
    spark_error err = NEW_ERROR;
    spark_op_info info = {.struct_size = sizeof info};
    TRY(err, spark_op_prepare(device->ctx, args, &info, &err));
    if (info.workspace_size <= device->workspace_size) return;
    device_wait(device);
    device_free(device, device->workspace);
    device->workspace = device_alloc(device, info.workspace_size);
    device->workspace_size = info.workspace_size;
    ++device->workspace_moves;
}

static void mark(Device *device) {
    spark_error err = NEW_ERROR;
    spark_event *event = &device->profile->marks[device->profile->count];
    if (!*event) TRY(err, spark_event_create(device->ctx, NULL, event, &err));
    TRY(err, spark_event_record(device->ctx, *event, device->stream, &err));
}

static spark_status enqueue(Device *device, const spark_args *args, spark_error *err) {
    const spark_exec exec = {.struct_size = sizeof exec,
                             .stream = device->stream,
                             .workspace = device->workspace,
                             .workspace_size = device->workspace_size};
    return spark_op_launch(device->ctx, args, &exec, err);
}

void launch(Device *device, const char *label, const spark_args *args) {
    if (device->mode == PREPARE) {
        prepare(device, args);
        return;
    }
    spark_error err = NEW_ERROR;
    spark_status status = enqueue(device, args, &err);
    if (status == SPARK_ERR_WORKSPACE_TOO_SMALL) {
        prepare(device, args);
        status = enqueue(device, args, &err);
    }
    must(status, &err, label);
    Profile *profile = device->profile;
    if (profile && profile->count < MOST_MARKS) {
        profile->labels[profile->count++] = label;
        mark(device);
    }
}

void profile_begin(Device *device, Profile *profile) {
    profile->count = 0;
    device->profile = profile;
    mark(device);
}

void profile_end(Device *device) { device->profile = NULL; }

static int by_time(const void *a, const void *b) {
    const double x = ((const Share *)a)->milliseconds, y = ((const Share *)b)->milliseconds;
    return (x < y) - (x > y);
}

int profile_shares(Device *device, const Profile *profile, Share *shares, int most, double *total) {
    spark_error err = NEW_ERROR;
    int count = 0;
    *total = 0;
    device_wait(device);
    for (int i = 0; i < profile->count; ++i) {
        float milliseconds;
        TRY(err, spark_event_elapsed(device->ctx, profile->marks[i], profile->marks[i + 1], &milliseconds, &err));
        *total += milliseconds;
        int at = 0;
        while (at < count && strcmp(shares[at].label, profile->labels[i]) != 0) ++at;
        if (at == most) continue;
        if (at == count) shares[count++] = (Share){.label = profile->labels[i]};
        ++shares[at].launches;
        shares[at].milliseconds += milliseconds;
    }
    qsort(shares, (size_t)count, sizeof *shares, by_time);
    return count;
}

void profile_free(Device *device, Profile *profile) {
    spark_error err = NEW_ERROR;
    for (int i = 0; i <= MOST_MARKS && profile->marks[i]; ++i)
        TRY(err, spark_event_destroy(device->ctx, profile->marks[i], &err));
    memset(profile, 0, sizeof *profile);
}

spark_tensor tensor(spark_devptr data, spark_dtype dtype, int64_t a, int64_t b, int64_t c, int64_t d) {
    spark_tensor t = {.data = data, .dtype = dtype, .shape = {a, b, c, d}};
    while (t.ndim < 4 && t.shape[t.ndim] != 0) ++t.ndim;
    return t;
}

double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
