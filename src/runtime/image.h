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

// One image, decompressed.
class Code {
public:
    Code() = default;
    ~Code() { free(data_); }
    Code(const Code&) = delete;
    Code& operator=(const Code&) = delete;

    // Once. `name` is the kernel's, for messages. A NUL stands behind the image, as PTX wants it.
    spark_status read(const Image& image, const char* name, Report& report);
    // The same, of the bytes that are stored for its bundle.
    spark_status unpack(const Image& image, const Bundle& bundle, const char* stored, const char* name, Report& report);
    const void* data() const { return data_; }

private:
    char* data_ = nullptr;
};

} // namespace spark
