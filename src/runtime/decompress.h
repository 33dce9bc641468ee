/* SPDX-License-Identifier: Apache-2.0
 * The decompressor, which is not ours (docs/decisions/0014). C, like it. Knows nothing of images. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of memory, aligned as malloc's, that spark_decompress wants to work in. */
size_t spark_decompress_room(void);

/* Decompresses one frame of zstd; 0 unless that gives exactly `size` bytes. Allocates nothing. */
int spark_decompress(void* room, const void* from, size_t bytes, void* to, size_t size);

#ifdef __cplusplus
}
#endif
