/* SPDX-License-Identifier: Apache-2.0
 * zstd's decompressor and nothing else of it, as one object: src/CMakeLists.txt hides all of its names but those of
 * the header, so that a program may link with a zstd of its own. Without old formats, assembly, messages, and the
 * larger of two decoders for each of its codes, which are faster by what nobody notices in 1 MB. */
#include "runtime/decompress.h"

#define ZSTD_LEGACY_SUPPORT 0
#define ZSTD_TRACE 0
#define ZSTD_DISABLE_ASM 1
#define DYNAMIC_BMI2 0
#define ZSTD_STRIP_ERROR_STRINGS 1
#define HUF_FORCE_DECOMPRESS_X1 1
#define ZSTD_FORCE_DECOMPRESS_SEQUENCES_SHORT 1

#include "common/debug.c"
#include "common/entropy_common.c"
#include "common/error_private.c"
#include "common/fse_decompress.c"
#include "common/xxhash.c"
#include "common/zstd_common.c"
#include "decompress/huf_decompress.c"
#include "decompress/zstd_ddict.c"
#include "decompress/zstd_decompress.c"
#include "decompress/zstd_decompress_block.c"

uint64_t spark_checksum(const void* from, size_t bytes) { return XXH64(from, bytes, 0); }

size_t spark_frame_room(void) { return ZSTD_estimateDCtxSize(); }

int spark_frame_begin(struct spark_frame* frame, void* room, const void* from, size_t bytes, void* to, size_t size) {
    *frame = (struct spark_frame){ZSTD_initStaticDCtx(room, spark_frame_room()), from, bytes, to, size, 0};
    return frame->context != NULL && !ZSTD_isError(ZSTD_decompressBegin(frame->context));
}

/* Block by block: what was decompressed stays where it is, so that no window has to be kept beside it. */
int spark_frame_until(struct spark_frame* frame, size_t wanted) {
    while (frame->done < wanted) {
        const size_t next = ZSTD_nextSrcSizeToDecompress(frame->context);
        if (next == 0 || next > frame->left) return 0;
        const size_t made = ZSTD_decompressContinue(frame->context, frame->to + frame->done, frame->size - frame->done,
                                                    frame->from, next);
        if (ZSTD_isError(made)) return 0;
        frame->from += next, frame->left -= next, frame->done += made;
    }
    return 1;
}
