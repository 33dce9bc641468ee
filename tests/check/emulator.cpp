// SPDX-License-Identifier: Apache-2.0
// Finds libspark-emu.so in the list of loaded objects, since its path is not ours to know; see the header.
#include "check/emulator.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <cstring>

namespace check {

Emulator::Emulator() {
    std::string path;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* out) {
            if (std::strstr(info->dlpi_name, "libspark-emu")) {
                *static_cast<std::string*>(out) = info->dlpi_name;
            }
            return 0;
        },
        &path);
    void* library = path.empty() ? nullptr : dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    const auto find = [library](auto& function, const char* name) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    };
    if (library) {
        find(count_, "spark_emu_report_count");
        find(text_, "spark_emu_report");
        find(clear_, "spark_emu_clear_reports");
        find(recover_, "spark_emu_recover");
        find(counters_, "spark_emu_counters");
        find(reset_, "spark_emu_reset_counts");
    }
}

std::string Emulator::take(bool went_well) {
    std::string refused, found;
    for (size_t i = 0; count_ && text_ && i < count_(); ++i) {
        std::vector<char> buffer(16384);
        text_(i, buffer.data(), buffer.size());
        (std::strstr(buffer.data(), "module refused") ? refused : found) += std::string("\n") + buffer.data();
    }
    if (clear_) {
        clear_();
    }
    if (recover_) {
        recover_();
    }
    return found.empty() && !went_well ? refused : found;
}

// {"launches":2,"kernels":{"NAME":{"launches":2,"warp_instructions":640,...
Spent Emulator::spent() {
    Spent spent;
    if (!counters_ || !reset_) {
        return spent;
    }
    std::string text(counters_(nullptr, 0) + 1, 0);
    counters_(text.data(), text.size());
    reset_();
    const std::string begins = "\":{\"launches\":", counted = "\"warp_instructions\":";
    for (size_t at = 0; (at = text.find(begins, at)) != text.npos; at += begins.size()) {
        const size_t name = text.rfind('"', at - 1) + 1, number = text.find(counted, at) + counted.size();
        spent[text.substr(name, at - name)] += std::strtoull(&text[number], nullptr, 10);
    }
    return spent;
}

} // namespace check
