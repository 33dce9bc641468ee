/* SPDX-License-Identifier: Apache-2.0 */
/* What the model needs of a device: memory, one stream, one workspace, operators launched in order, each timed on
 * request. A call of the library that fails ends the program with the library's sentence. Knows no model. */
#ifndef GENERATE_DEVICE_H_
#define GENERATE_DEVICE_H_

#include <spark.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MOST_MARKS = 1024 };

/* How long each launch of one step took: an event before the first and one after each. */
typedef struct Profile {
    spark_event marks[MOST_MARKS + 1];
    const char *labels[MOST_MARKS];
    int count;
} Profile;

typedef enum Mode {
    RUN,     /* operators are launched, or recorded while the stream is capturing */
    PREPARE, /* nothing runs: code is loaded and the workspace is made large enough, so that RUN can be captured */
} Mode;

typedef struct Device {
    spark_context *ctx;
    spark_device_info info;
    spark_stream stream;
    spark_devptr workspace;
    uint64_t workspace_size;
    uint64_t workspace_moves; /* how often it has moved: a graph recorded before is stale */
    Mode mode;
    Profile *profile; /* NULL: launches are not timed */
} Device;

/* Ends the program unless the status is SPARK_OK. */
void must(spark_status status, const spark_error *err, const char *call);
#define NEW_ERROR \
    { .struct_size = sizeof(spark_error) }
#define TRY(err, call) must((call), &(err), #call)

/* The GPU if there is one, else the emulator, unless LIBSPARK_DRIVER says otherwise. */
void device_open(Device *device);
void device_close(Device *device);

spark_devptr device_alloc(Device *device, uint64_t bytes);
void device_free(Device *device, spark_devptr data);
void device_write(Device *device, spark_devptr to, const void *from, uint64_t bytes); /* waits */
void device_read(Device *device, void *to, spark_devptr from, uint64_t bytes);        /* waits */
void device_wait(Device *device);

/* One operator on the stream. The label, which must stay, is what its time is counted under. */
void launch(Device *device, const char *label, const spark_args *args);

/* Times what is launched between these two. The marks stay until the next profile_begin. */
void profile_begin(Device *device, Profile *profile);
void profile_end(Device *device);
/* Sums by label, the largest first: at most `most` of them, their number is returned. total: of all. */
typedef struct Share {
    const char *label;
    int launches;
    double milliseconds;
} Share;
int profile_shares(Device *device, const Profile *profile, Share *shares, int most, double *total);
void profile_free(Device *device, Profile *profile);

/* A packed tensor of one to four dimensions; sizes end at the first 0. */
spark_tensor tensor(spark_devptr data, spark_dtype dtype, int64_t a, int64_t b, int64_t c, int64_t d);

double seconds(void);

#endif
