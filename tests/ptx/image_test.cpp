// SPDX-License-Identifier: Apache-2.0
// src/runtime/image: every image of the library comes out as it went in; one that is damaged or too large for memory
// gives a status. The library is linked in statically, so that its calls of malloc can be made to fail.
#include "runtime/image.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "spark_kernels.h"

// Last: cmocka defines fail() as a macro, which the C++ headers must not see.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
extern "C" {
#include <cmocka.h>
}

using namespace spark;

extern "C" {
int calls_left = -1; // -1: none fails
void* __real_malloc(size_t bytes);
void* __wrap_malloc(size_t bytes) {
    if (calls_left == 0) return nullptr;
    if (calls_left > 0) --calls_left;
    return __real_malloc(bytes);
}
}

namespace {

const Bundle& bundle_of(const Image& image) { return kernels::bundles[image.bundle]; }

// What is stored of the image, in the library.
std::vector<char> stored(const Image& image) {
    const char* first = kernels::spark_images + bundle_of(image).place;
    return {first, first + bundle_of(image).packed};
}

spark_status read(const Image& image) {
    Report report;
    const void* ignored = nullptr;
    return Code().read(image, "this", ignored, report);
}

spark_status read(const Image& image, const Bundle& bundle, const std::vector<char>& bytes) {
    Report report;
    const void* ignored = nullptr;
    return Code().read(image, bundle, bytes.data(), "this", ignored, report);
}

const Image& some_image() {
    for (const Image& image : kernels::images_of(*kernels::all()[0])) {
        if (!bundle_of(image).testing) return image;
    }
    abort();
}

// The image for whose sake all of its bundle is decompressed.
const Image& last_of_its_bundle() {
    for (const Kernel* kernel : kernels::all()) {
        for (const Image& image : kernels::images_of(*kernel)) {
            const Bundle& bundle = bundle_of(image);
            if (!bundle.testing && image.end1024 == (bundle.unpacked + 1023) / 1024) return image;
        }
    }
    abort();
}

// What the assembler wrote, and the NUL that stands behind it; the folder of its files is the program's argument.
std::string folder;
std::vector<char> built(const Kernel& kernel, const Image& image) {
    const char* kind = image.kind == ImageKind::cubin ? ".cubin" : ".ptx";
    std::ifstream file(folder + "/" + kernel.name + "." + std::to_string(image.arch) + kind, std::ios::binary);
    std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    bytes.push_back(0);
    return bytes;
}

// Read one after the other, as they are loaded in advance: most are there from the one before.
void all_in_the_library(void**) {
    Report report;
    Code code;
    for (const Kernel* kernel : kernels::all()) {
        for (const Image& image : kernels::images_of(*kernel)) {
            if (bundle_of(image).testing) continue;
            const void* found = nullptr;
            assert_int_equal(code.read(image, kernel->name, found, report), SPARK_OK);
            assert_int_equal(reinterpret_cast<uintptr_t>(found) % 16, 0);
            const std::vector<char> wanted = built(*kernel, image);
            assert_memory_equal(found, wanted.data(), wanted.size());
        }
    }
}

void damaged(void**) {
    const Image& image = some_image();
    std::vector<char> bytes = stored(image);
    for (size_t at : {size_t{0}, bytes.size() / 2, bytes.size() - 1}) {
        bytes[at] = static_cast<char>(bytes[at] ^ 4);
        assert_int_equal(read(image, bundle_of(image), bytes), SPARK_ERR_INTERNAL);
        bytes[at] = static_cast<char>(bytes[at] ^ 4);
    }
    assert_int_equal(read(image, bundle_of(image), bytes), SPARK_OK);
}

// What no checksum tells: the decompressor's own answers.
void undecompressible(void**) {
    const Image& image = last_of_its_bundle();
    const std::vector<char> whole = stored(image);
    auto with_check = [&](const std::vector<char>& bytes, int more_bytes) {
        Bundle bundle = bundle_of(image);
        bundle.packed = static_cast<uint32_t>(bytes.size());
        bundle.unpacked += static_cast<uint32_t>(more_bytes);
        bundle.check = spark_checksum(bytes.data(), bytes.size());
        return read(image, bundle, bytes);
    };
    assert_int_equal(with_check(whole, 0), SPARK_OK);
    assert_int_equal(with_check(whole, -1), SPARK_ERR_INTERNAL);
    assert_int_equal(with_check(whole, 1), SPARK_ERR_INTERNAL);
    for (size_t kept : {size_t{1}, size_t{2}, whole.size() / 2}) {
        std::vector<char> cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(kept));
        assert_int_equal(with_check(cut, 0), SPARK_ERR_INTERNAL);
    }
}

void no_memory(void**) {
    for (int calls : {0, 1}) { // a buffer for the decompressor, one for the images
        calls_left = calls;
        spark_status status = read(some_image());
        calls_left = -1;
        assert_int_equal(status, SPARK_ERR_HOST_MEMORY);
    }
    assert_int_equal(read(some_image()), SPARK_OK);
}

void not_beside_this_program(void**) {
    for (const Image& image : kernels::images_of(*kernels::all()[0])) {
        if (bundle_of(image).testing) assert_int_equal(read(image), SPARK_ERR_UNSUPPORTED_ARCH);
    }
    char why[512];
    assert_false(testing_images(why, sizeof why));
    assert_non_null(strstr(why, "for testing"));
}

} // namespace

int main(int, char** words) {
    folder = words[1];
    const CMUnitTest tests[] = {cmocka_unit_test(all_in_the_library), cmocka_unit_test(damaged),
                                cmocka_unit_test(undecompressible), cmocka_unit_test(no_memory),
                                cmocka_unit_test(not_beside_this_program)};
    return cmocka_run_group_tests_name("ptx.image", tests, nullptr, nullptr);
}
