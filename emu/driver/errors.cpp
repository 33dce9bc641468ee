// SPDX-License-Identifier: Apache-2.0
// Names and sentences of the result codes, from cuda_errors.inc, and what is behind a code. Needs no initialisation.
#include "emu/driver/call.h"
#include "emu/include/spark_emu.h"

using namespace emu::driver;

namespace {

struct ErrorText {
    CUresult code;
    const char* name;
    const char* meaning;
};
constexpr ErrorText TEXTS[] = {
#define ERROR(name, value, meaning) {name, #name, meaning},
#include "emu/driver/cuda_errors.inc"
#undef ERROR
};

const ErrorText* find_text(CUresult code) {
    for (const ErrorText& text : TEXTS)
        if (text.code == code) return &text;
    return nullptr;
}

} // namespace

CUresult cuGetErrorName(CUresult error, const char** text) {
    count_call(Fn::cuGetErrorName);
    if (!text) return CUDA_ERROR_INVALID_VALUE;
    const ErrorText* found = find_text(error);
    *text = found ? found->name : nullptr;
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char** text) {
    count_call(Fn::cuGetErrorString);
    if (!text) return CUDA_ERROR_INVALID_VALUE;
    const ErrorText* found = find_text(error);
    *text = found ? found->meaning : nullptr;
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

extern "C" const char* spark_emu_explain(int code) {
    thread_local std::string text;
    Lock lock(state().mutex);
    const std::shared_ptr<Context> context = current_context();
    if (code == CUDA_SUCCESS) text.clear();
    else if (!explained().empty()) text = explained();
    else if (context && context->sticky == code) text = context->finding;
    else text = state().fault == code ? state().finding : "";
    return text.c_str();
}
