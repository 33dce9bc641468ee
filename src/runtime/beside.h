// SPDX-License-Identifier: Apache-2.0
// Files that stand beside this library, wherever it was loaded from.
#pragma once

#include <cstddef>

namespace spark {

// The file of this library, or of the program that it is linked into, as the loader names it; nullptr if it does not.
const char* own_path();
// The path of `name` in the folder of own_path(). False if that is not known, or too long.
bool path_beside(const char* name, char* path, size_t size);

} // namespace spark
