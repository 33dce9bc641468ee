// SPDX-License-Identifier: Apache-2.0
// text.find(part, from) for names of kernels in constant expressions: GCC 12 takes find() for none where undefined
// behaviour is looked for. Used by dispatch.
#pragma once

#include <cstddef>
#include <string_view>

namespace spark {

constexpr size_t place_of(std::string_view text, std::string_view part, size_t from = 0) {
    for (; from + part.size() <= text.size(); ++from) {
        size_t same = 0;
        while (same < part.size() && text[from + same] == part[same]) ++same;
        if (same == part.size()) return from;
    }
    return text.npos;
}

} // namespace spark
