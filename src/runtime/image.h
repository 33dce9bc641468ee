// SPDX-License-Identifier: Apache-2.0
// Images as a driver takes them, from what is stored: compressed, in the library or, those for testing, beside it.
#pragma once

#include <cstdlib>

#include "core/status.h"
#include "dispatch/kernel.h"

namespace spark {

// The compute capability whose images are in kernels::testing_file.
constexpr uint32_t ARCH_FOR_TESTING = 90;

// Whether the file of images for testing is there and belongs to this library; if not, `why` says what is wrong.
bool testing_images(char* why, size_t size);

// A bundle's images, decompressed.
class Code {
public:
    Code() = default;
    ~Code() { free(images_); }
    Code(const Code&) = delete;
    Code& operator=(const Code&) = delete;

    // Decompresses what the image lies in, if that is not here from the image read before. `name` is the kernel's, for
    // messages. `out` is the image, here until another one is read. A NUL stands behind it, as PTX wants it.
    spark_status read(const Image& image, const char* name, const void*& out, Report& report);
    // The same, of the bytes that are stored for the bundle; nothing is here yet.
    spark_status unpack(const Image& image, const Bundle& bundle, const char* stored, const char* name, Report& report);

private:
    spark_status fetch(const Image& image, const Bundle& bundle, const char* name, Report& report);

    const Bundle* bundle_ = nullptr; // whose images they are
    char* images_ = nullptr;
};

} // namespace spark
