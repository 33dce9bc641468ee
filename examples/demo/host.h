/* SPDX-License-Identifier: Apache-2.0 */
/* What the jobs of the demo share: calls that end the program with the library's sentence when they fail, device
 * buffers, bfloat16, random numbers, the clock. Knows no operator. */
#ifndef DEMO_HOST_H_
#define DEMO_HOST_H_

#include <spark.h>

#include <stddef.h>
#include <stdint.h>

typedef struct Device {
    spark_context *ctx;
    spark_device_info info;
} Device;

/* Ends the program with the call and the error's sentence unless the status is SPARK_OK. */
void must(spark_status status, const spark_error *err, const char *call);
#define TRY(err, call) must((call), &(err), #call)
#define NEW_ERROR \
    { .struct_size = sizeof(spark_error) }

/* Host memory, or the end of the program. */
void *host_alloc(size_t bytes);

spark_devptr upload(const Device *device, const void *data, size_t bytes);
/* Filled with 0xff, which is NaN in every floating format: an element that is not written shows. */
spark_devptr device_output(const Device *device, size_t bytes);
/* Reads the buffer into new host memory and frees it on the device. */
void *download(const Device *device, spark_devptr data, size_t bytes);
void release(const Device *device, spark_devptr data);

/* A packed tensor; columns 0 makes it one-dimensional. */
spark_tensor tensor(spark_devptr data, spark_dtype dtype, int64_t rows, int64_t columns);

typedef uint16_t bf16;
double from_bf16(bf16 x);
/* n random values, evenly distributed in [-1, 1), exact in bfloat16. */
bf16 *random_bf16(size_t n, uint64_t seed);
uint64_t random_bits(uint64_t *state);

double seconds(void);

/* Prepares the operator, launches it on stream 0 and waits for it. Returns the seconds of launch and wait. */
double run(const Device *device, const spark_args *args, spark_op_info *info);

#endif
