// SPDX-License-Identifier: Apache-2.0
// The zlib decoder of stb_image, and nothing else of it: no formats of pictures, files, threads' variables or asserts.
#include "runtime/inflate.h"

#include <climits>

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_SUPPORT_ZLIB
#define STBI_NO_JPEG
#define STBI_NO_PNG
#define STBI_NO_BMP
#define STBI_NO_PSD
#define STBI_NO_TGA
#define STBI_NO_GIF
#define STBI_NO_HDR
#define STBI_NO_PIC
#define STBI_NO_PNM
#define STBI_NO_LINEAR
#define STBI_NO_SIMD
#define STBI_NO_STDIO
#define STBI_NO_THREAD_LOCALS
#define STBI_NO_FAILURE_STRINGS
#define STBI_ASSERT(condition) static_cast<void>(condition)
#include <stb_image.h>

namespace spark {

bool inflate(const char* from, size_t bytes, char* to, size_t size) {
    if (bytes > INT_MAX || size > INT_MAX) return false;
    int got = stbi_zlib_decode_buffer(to, static_cast<int>(size), from, static_cast<int>(bytes));
    return got >= 0 && static_cast<size_t>(got) == size;
}

} // namespace spark
