// SPDX-License-Identifier: Apache-2.0
// From the bytes a program hands over to an Image, with the log buffers of just-in-time compilation.
// Used by module.cpp and library.cpp.
#pragma once

#include "emu/driver/state.h"

namespace emu::driver {

struct JitOptions {
    unsigned count = 0;
    CUjit_option* options = nullptr;
    void** values = nullptr; // sizes are held in the pointer itself, and are overwritten with the bytes written
};
// PTX text, or a fat binary that holds PTX text. Anything else, and text that does not compile, is refused with the
// reason in the error log and in the report channel.
CUresult load_image(Lock& lock, const void* bytes, const JitOptions& jit, std::shared_ptr<Image>& out);
std::shared_ptr<Function> find_function(const Image& image, std::string_view name);

} // namespace emu::driver
