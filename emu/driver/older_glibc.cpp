// SPDX-License-Identifier: Apache-2.0
// What the C++ runtime inside libspark-emu.so takes from the glibc of its build and older ones do not have, written
// with what they do have. The names are glibc's; nothing else calls them, and none of them is exported.
#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#if __GLIBC_PREREQ(2, 35)
namespace {

struct Search {
    uintptr_t address;
    struct dl_find_object* found; // libgcc reads of it where the table is
};

// The object whose segments hold the address, with its table for unwinding.
int look_into(dl_phdr_info* object, size_t, void* data) {
    auto* search = static_cast<Search*>(data);
    bool inside = false;
    void* table = nullptr;
    for (int i = 0; i < object->dlpi_phnum; ++i) {
        const auto& part = object->dlpi_phdr[i];
        const uintptr_t begin = object->dlpi_addr + part.p_vaddr;
        inside |= part.p_type == PT_LOAD && search->address - begin < part.p_memsz;
        if (part.p_type == PT_GNU_EH_FRAME) table = reinterpret_cast<void*>(begin);
    }
    if (!inside || table == nullptr) return 0;
    search->found->dlfo_eh_frame = table;
    return 1;
}

} // namespace
#endif

extern "C" {

char __libc_single_threaded = 0; // never true of the emulator, whose blocks run on many threads

#if __GLIBC_PREREQ(2, 35)
int _dl_find_object(void* address, dl_find_object* found) noexcept {
    *found = {};
    Search search{reinterpret_cast<uintptr_t>(address), found};
    return dl_iterate_phdr(look_into, &search) == 1 ? 0 : -1;
}
#endif

int fstat64(int file, struct stat64* out) noexcept { return static_cast<int>(syscall(SYS_fstat, file, out)); }

uint32_t arc4random() noexcept {
    uint32_t bits = 0;
    return getentropy(&bits, sizeof bits) == 0 ? bits : 0;
}
}
