// SPDX-License-Identifier: Apache-2.0
// The words of LIBSPARK_EMU. `profile` and `report` are the façade's; every other word is the engine's (parse_options).
#include "emu/driver/configure.h"

#include "emu/driver/call.h"
#include "emu/include/spark_emu.h"

namespace emu::driver {

std::string configure(std::string_view text) {
    State& s = state();
    const DeviceProfile* profile = s.profile;
    std::string engine_words, target;
    bool has_target = false;
    for (size_t at = 0; at < text.size();) {
        const size_t comma = std::min(text.find(',', at), text.size());
        const std::string_view word = text.substr(at, comma - at);
        at = comma + 1;
        if (word.empty()) continue;
        if (word.starts_with("profile=")) {
            profile = find_profile(word.substr(8));
            if (!profile) {
                std::string known;
                for (const DeviceProfile* p : all_profiles()) known += std::string(known.empty() ? "" : ", ") + p->key;
                return "unknown profile in '" + std::string(word) + "'; known: " + known;
            }
        } else if (word.starts_with("report=")) {
            has_target = true;
            target = word.substr(7) == "none" ? "" : std::string(word.substr(7));
        } else {
            engine_words += (engine_words.empty() ? "" : ",") + std::string(word);
        }
    }
    if (s.initialised && profile != s.profile) return "profile= can only be set before cuInit";
    Options options = s.options;
    if (std::string wrong = parse_options(engine_words, options); !wrong.empty()) return wrong;
    s.profile = profile;
    s.options = options;
    if (has_target) set_report_target(target);
    reseed(options.seed);
    return "";
}

} // namespace emu::driver

using namespace emu::driver;

extern "C" int spark_emu_configure(const char* text) {
    Lock lock(state().mutex);
    const std::string wrong = configure(text ? text : "");
    if (wrong.empty()) return 0;
    remark("spark_emu_configure: " + wrong);
    return 1;
}

extern "C" void spark_emu_recover(void) {
    Lock lock(state().mutex);
    state().fault = CUDA_SUCCESS;
    state().contexts.each([](CUcontext, Context& context) { context.sticky = CUDA_SUCCESS; });
}
