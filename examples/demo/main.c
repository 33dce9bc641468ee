/* SPDX-License-Identifier: Apache-2.0 */
/* The demo: three operators with the sizes of real models, on the GPU or on the emulator, each compared with its
 * definition in double precision. Exit code 1 if any element is off by more than its bound. */
#define _POSIX_C_SOURCE 200809L
#include "jobs.h"

#include <stdio.h>
#include <stdlib.h>

static Device open_device(void) {
    Device device = {.info = {.struct_size = sizeof device.info}};
    spark_error err = NEW_ERROR;
    const spark_context_desc desc = {.struct_size = sizeof desc};
    TRY(err, spark_context_create(&desc, &device.ctx, &err));
    TRY(err, spark_context_device(device.ctx, &device.info, &err));
    return device;
}

static void print_device(const spark_device_info *info) {
    printf("device    %s, compute capability %u.%u, %u multiprocessors\n", info->name, info->cc_major, info->cc_minor,
           info->sm_count);
    if (info->emulated)
        printf("          emulated: results are those of the kernels' PTX, times are those of this computer\n");
    printf("\n%-10s %-26s %-40s %10s  %11s  %-8s\n", "operator", "shape", "kernel", "time", "error/bound", "verdict");
    fflush(stdout);
}

static int print_result(const char *op, Result result) {
    const int right = result.wrong == 0 && result.checked > 0;
    printf("%-10s %-26s %-40s %8.2f ms  %11.3f  %-8s\n", op, result.shape, result.kernel, 1e3 * result.seconds,
           result.worst, right ? "right" : "WRONG");
    if (!right)
        printf("           %lld of %lld elements are wrong\n", (long long)result.wrong, (long long)result.checked);
    fflush(stdout);
    return right;
}

int main(void) {
    setenv("LIBSPARK_DRIVER", "auto", 0); /* the GPU if there is one, else the emulator; unless the user has said */
    Device device = open_device();
    print_device(&device.info);

    int right = 1;
    right &= print_result("embedding", job_embedding(&device, 49152, 576, 2048));
    right &= print_result("rmsnorm", job_rmsnorm(&device, 2048, 4096));
    right &= print_result("gemm", job_gemm(&device, 1, 4096, 4096));
    right &= print_result("gemm", job_gemm(&device, 256, 4096, 4096));
    right &= print_result("gemm", job_gemm(&device, 77, 1536, 576));
    spark_context_destroy(device.ctx);

    printf("\n%s\n", right ? "Every result agrees with double precision within its bound." : "Some results are wrong.");
    return right ? 0 : 1;
}
