// SPDX-License-Identifier: Apache-2.0
// Images as a driver takes them, from what is stored: compressed, in the library or, those for testing, beside it.
#pragma once

#include <cstdlib>

#include "core/status.h"
#include "dispatch/kernel.h"
#include "runtime/decompress.h"

namespace spark {

// The compute capability whose images are in kernels::testing_file.
constexpr uint32_t ARCH_FOR_TESTING = 90;

// Whether the file of images for testing is there and belongs to this library; if not, `why` says what is wrong.
bool testing_images(char* why, size_t size);

// Memory of malloc's.
class Buffer {
public:
    Buffer() = default;
    ~Buffer() { free(data_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    // Other memory in the place of what was there; false: there is none.
    bool make(size_t bytes) {
        free(data_);
        data_ = static_cast<char*>(malloc(bytes));
        return data_ != nullptr;
    }
    char* data() const { return data_; }

private:
    char* data_ = nullptr;
};

// A bundle's images, decompressed as far as the last of those that were read.
class Code {
public:
    // Decompresses the image and what lies before it in its bundle, if that is not here from the image read before.
    // `name` is the kernel's, for messages. `out` is the image, here until another one is read. A NUL stands behind it,
    // as PTX wants it.
    spark_status read(const Image& image, const char* name, const void*& out, Report& report);
    // The same, of the bytes that are stored for the bundle, which stay; nothing is here yet.
    spark_status read(const Image& image, const Bundle& bundle, const char* stored, const char* name, const void*& out,
                      Report& report);

private:
    spark_status begin(const Image& image, const Bundle& bundle, const char* stored, const char* name, Report& report);
    spark_status stored(const Bundle& bundle, const char* name, const char*& out, Report& report);
    spark_status decompress(const Image& image, const char* name, const void*& out, Report& report);

    const Bundle* bundle_ = nullptr; // whose images they are
    Buffer images_, room_, read_;    // what is decompressed; the decompressor's; what was read of a file
    spark_frame frame_ = {};
};

} // namespace spark
