// SPDX-License-Identifier: Apache-2.0
// The decompressor, which is not ours (docs/decisions/0004). Knows nothing of images.
#pragma once

#include <cstddef>

namespace spark {

// Decompresses zlib's format; false unless that gives exactly `size` bytes. Allocates nothing.
bool inflate(const char* from, size_t bytes, char* to, size_t size);

} // namespace spark
