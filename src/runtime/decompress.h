/* SPDX-License-Identifier: Apache-2.0
 * The decompressor and its checksum, which are not ours (docs/decisions/0014). C, like them. Know nothing of images. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* XXH64, seed 0. */
uint64_t spark_checksum(const void* from, size_t bytes);

/* A frame of zstd that is decompressed from its beginning as far as is asked for. */
struct spark_frame {
    void* context;    /* in the caller's memory, of spark_frame_room() bytes, aligned as malloc's */
    const char* from; /* what comes next */
    size_t left;      /* bytes behind `from` */
    char* to;         /* where all of it goes */
    size_t size;      /* bytes there */
    size_t done;      /* bytes there that are decompressed */
};

size_t spark_frame_room(void);

/* 0: the room is too small. Allocates nothing, and holds on to all that it is given. */
int spark_frame_begin(struct spark_frame* frame, void* room, const void* from, size_t bytes, void* to, size_t size);

/* Goes on until the first `wanted` bytes are there; 0 unless they are. */
int spark_frame_until(struct spark_frame* frame, size_t wanted);

#ifdef __cplusplus
}
#endif
