// SPDX-License-Identifier: Apache-2.0
// From bytes to an Image: see image.h.
#include "emu/driver/image.h"

#include "emu/driver/report.h"
#include "emu/driver/scheduler.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>

namespace emu::driver {
namespace {

constexpr int NEWEST_PTX = 99; // what 9.1 and later say that is not known is refused by its own name
constexpr int DEFAULT_SMEM = 49152;

// The number after a directive, with one decimal: ".version 8.8" is 88; 0 if it is not there. Four digits at most: what
// is longer is refused where the text is read.
int version_of(std::string_view ptx) {
    const size_t at = ptx.find(".version");
    if (at == std::string_view::npos) return 0;
    int major = 0, minor = 0;
    const std::string text(ptx.substr(at + 8, 24));
    return sscanf(text.c_str(), " %4d.%1d", &major, &minor) == 2 ? major * 10 + minor : 0;
}
int target_of(std::string_view ptx) { // ".target sm_120f" is 120
    const size_t at = ptx.find(".target");
    if (at == std::string_view::npos) return 0;
    int arch = 0;
    return sscanf(std::string(ptx.substr(at + 7, 24)).c_str(), " sm_%4d", &arch) == 1 ? arch : 0;
}

// A fat binary is a header and a row of entries; each entry is a header and a payload.
//   header  { u32 magic; u16 version; u16 header bytes; u64 bytes of all entries }
//   entry   { u16 kind (1: PTX, 2: ELF); u16; u32 header bytes; u64 payload bytes; u32 compressed (0: no); ... }
struct FatHeader {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes;
};
struct FatEntry {
    uint16_t kind, attributes;
    uint32_t header_bytes;
    uint64_t payload_bytes;
    uint32_t compressed_bytes, padding;
};
struct FatWrapper { // what host compilers emit around it
    uint32_t magic, version;
    const void* data;
    const void* file;
};
constexpr char FAT_MAGIC[] = "\x50\xed\x55\xba", FAT_WRAPPER_MAGIC[] = "\xb1\x43\x62\x46";

// The first plain PTX text in it; empty if there is none.
std::string_view ptx_in_fat_binary(const char* bytes) {
    FatHeader header;
    memcpy(&header, bytes, sizeof header);
    const char* at = bytes + header.header_bytes;
    const char* end = at + header.bytes;
    while (at + sizeof(FatEntry) <= end) {
        FatEntry entry;
        memcpy(&entry, at, sizeof entry);
        const char* payload = at + entry.header_bytes;
        if (entry.header_bytes < sizeof entry || entry.payload_bytes > static_cast<uint64_t>(end - payload)) break;
        if (entry.kind == 1 && entry.compressed_bytes == 0) return {payload, strnlen(payload, entry.payload_bytes)};
        at = payload + entry.payload_bytes;
    }
    return {};
}

CUresult text_of(const char* bytes, std::string_view& text, std::string& why) {
    if (bytes[0] == 0x7f && !strncmp(bytes + 1, "ELF", 3)) {
        why = "the image is an ELF cubin; the emulator runs PTX text only";
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    if (!strncmp(bytes, FAT_WRAPPER_MAGIC, 4)) {
        FatWrapper wrapper;
        memcpy(&wrapper, bytes, sizeof wrapper);
        bytes = static_cast<const char*>(wrapper.data);
    }
    if (!strncmp(bytes, FAT_MAGIC, 4)) {
        text = ptx_in_fat_binary(bytes);
        if (!text.empty()) return CUDA_SUCCESS;
        why = "the fat binary holds no uncompressed PTX; the emulator runs PTX text only";
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    text = bytes;
    if (text.find(".version") == std::string_view::npos) {
        why = "the image is neither PTX text (it has no .version) nor a fat binary nor ELF";
        return CUDA_ERROR_INVALID_IMAGE;
    }
    return CUDA_SUCCESS;
}

CUresult compile(std::string_view text, Image& image, std::string& why) {
    const DeviceProfile& profile = *state().profile;
    image.ptx_version = version_of(text);
    if (image.ptx_version > NEWEST_PTX) {
        why = "the text is of a PTX version newer than 9.9";
        return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    }
    const int target = target_of(text);
    if (target > profile.cc_major * 10 + profile.cc_minor) {
        why = "the text is for sm_" + std::to_string(target) + ", newer than " + profile.name;
        return CUDA_ERROR_INVALID_PTX;
    }
    LoadResult loaded = load_module(text, profile, &state().memory.memory());
    why = loaded.log;
    if (!loaded.module) return CUDA_ERROR_INVALID_PTX;
    image.module = loaded.module;
    return CUDA_SUCCESS;
}

void list_functions(const std::shared_ptr<Image>& image) {
    for (const emu::Kernel* kernel : kernels_of(*image->module)) {
        auto function = std::make_shared<Function>();
        function->module = image->module;
        function->kernel = kernel;
        function->info = &info_of(*kernel);
        function->ptx_version = image->ptx_version;
        function->attributes = std::make_shared<FunctionAttributes>();
        const int left = DEFAULT_SMEM - static_cast<int>(function->info->static_smem);
        function->attributes->max_dynamic_smem = std::max(0, left);
        image->functions.push_back(std::move(function));
    }
}

void write_log(const JitOptions& jit, CUjit_option buffer, CUjit_option size, const std::string& text) {
    char* to = nullptr;
    void** room = nullptr;
    for (unsigned i = 0; i < jit.count; i++) {
        if (jit.options[i] == buffer) to = static_cast<char*>(jit.values[i]);
        if (jit.options[i] == size) room = &jit.values[i];
    }
    if (!to || !room || !*room) return;
    const size_t bytes = std::min(text.size() + 1, static_cast<size_t>(reinterpret_cast<uintptr_t>(*room)));
    memcpy(to, text.c_str(), bytes);
    to[bytes - 1] = 0;
    *room = reinterpret_cast<void*>(uintptr_t{bytes - 1});
}

} // namespace

CUresult load_image(Lock& lock, const void* bytes, const JitOptions& jit, std::shared_ptr<Image>& out) {
    if (!bytes || (jit.count && (!jit.options || !jit.values))) return CUDA_ERROR_INVALID_VALUE;
    wait_for_memory(lock); // module-scope variables are allocated
    auto image = std::make_shared<Image>();
    std::string_view text;
    std::string why;
    CUresult refused = text_of(static_cast<const char*>(bytes), text, why);
    if (!refused) refused = compile(text, *image, why);
    write_log(jit, CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, refused ? why : "");
    write_log(jit, CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, refused ? "" : why);
    if (refused) { // an image for no card of this kind is an everyday answer, after which a program offers its PTX
        if (refused == CUDA_ERROR_NO_BINARY_FOR_GPU) explain("module refused: " + why);
        else remark("module refused: " + why);
        return refused;
    }
    list_functions(image);
    out = std::move(image);
    return CUDA_SUCCESS;
}

std::shared_ptr<Function> find_function(const Image& image, std::string_view name) {
    for (const std::shared_ptr<Function>& function : image.functions)
        if (function->info->name == name) return function;
    return nullptr;
}

} // namespace emu::driver
