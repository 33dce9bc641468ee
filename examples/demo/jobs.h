/* SPDX-License-Identifier: Apache-2.0 */
/* The jobs of the demo: each runs one operator and compares what it gave with the definition in double precision. */
#ifndef DEMO_JOBS_H_
#define DEMO_JOBS_H_

#include "host.h"

typedef struct Result {
    char shape[48];
    char kernel[64];
    double seconds; /* launch and wait */
    double worst;   /* largest error as a fraction of the bound at that element: right if at most 1 */
    int64_t wrong;  /* elements beyond their bound */
    int64_t checked;
} Result;

/* Looks up `tokens` rows in a table of vocab x width; two of the indices are outside the table. */
Result job_embedding(const Device *device, int64_t vocab, int64_t width, int64_t tokens);
/* Adds a residual and normalises rows x width. */
Result job_rmsnorm(const Device *device, int64_t rows, int64_t width);
/* m x k activations times the transpose of n x k weights. */
Result job_gemm(const Device *device, int64_t m, int64_t n, int64_t k);

#endif
