/* SPDX-License-Identifier: Apache-2.0
 * zstd's decompressor and nothing else of it, as one object: src/CMakeLists.txt hides all of its names but the two of
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

size_t spark_decompress_room(void) { return ZSTD_estimateDCtxSize(); }

int spark_decompress(void* room, const void* from, size_t bytes, void* to, size_t size) {
    ZSTD_DCtx* context = ZSTD_initStaticDCtx(room, spark_decompress_room());
    return context != NULL && ZSTD_decompressDCtx(context, to, size, from, bytes) == size;
}
