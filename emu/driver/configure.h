// SPDX-License-Identifier: Apache-2.0
// LIBSPARK_EMU and spark_emu_configure: the same words, read by one function. Called by cuInit; the state lock is held.
#pragma once

#include <string>
#include <string_view>

namespace emu::driver {

// An empty string, or the sentence that says which word is wrong; then nothing has been changed.
std::string configure(std::string_view text);

} // namespace emu::driver
