// SPDX-License-Identifier: Apache-2.0
// src/runtime/image: every image of the library comes out as it went in; one that is damaged or too large for memory
// gives a status. The library is linked in statically, so that its calls of malloc can be made to fail.
#include "runtime/image.h"

#include <cstdlib>
#include <cstring>
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

spark_status read(const Image& image, std::vector<char>* out = nullptr) {
    Report report;
    Code code;
    spark_status status = code.read(image, "this", report);
    if (status == SPARK_OK && out != nullptr) {
        auto* data = static_cast<const char*>(code.data());
        out->assign(data, data + image.size + 1);
    }
    return status;
}

const Image& some_image() {
    for (const Image& image : kernels::all()[0]->images) {
        if (image.data != nullptr) return image;
    }
    abort();
}

void all_in_the_library(void**) {
    for (const Kernel* kernel : kernels::all()) {
        for (const Image& image : kernel->images) {
            if (image.data == nullptr) continue;
            std::vector<char> code;
            assert_int_equal(read(image, &code), SPARK_OK);
            assert_int_equal(code.back(), 0);
            if (image.kind == ImageKind::cubin) assert_memory_equal(code.data(), "\177ELF", 4);
            else assert_int_equal(strlen(code.data()), image.size);
        }
    }
}

void damaged(void**) {
    const Image& whole = some_image();
    auto* stored = static_cast<const char*>(whole.data);
    std::vector<char> bytes(stored, stored + whole.packed);
    Image image = whole;
    image.data = bytes.data();
    for (size_t at : {size_t{0}, bytes.size() / 2, bytes.size() - 1}) {
        bytes[at] = static_cast<char>(bytes[at] ^ 4);
        assert_int_equal(read(image), SPARK_ERR_INTERNAL);
        bytes[at] = static_cast<char>(bytes[at] ^ 4);
    }
    assert_int_equal(read(image), SPARK_OK);
}

// What no checksum tells: the decompressor's own answers.
void undecompressible(void**) {
    const Image& whole = some_image();
    auto* stored = static_cast<const char*>(whole.data);
    auto with_check = [&](std::vector<char>& bytes, uint32_t size) {
        Image image = whole;
        image.data = bytes.data();
        image.packed = static_cast<uint32_t>(bytes.size());
        image.size = size;
        image.check = hash({bytes.data(), bytes.size()});
        return read(image);
    };
    std::vector<char> bytes(stored, stored + whole.packed);
    assert_int_equal(with_check(bytes, whole.size), SPARK_OK);
    assert_int_equal(with_check(bytes, whole.size - 1), SPARK_ERR_INTERNAL);
    assert_int_equal(with_check(bytes, whole.size + 1), SPARK_ERR_INTERNAL);
    for (size_t kept : {size_t{1}, size_t{2}, bytes.size() / 2}) {
        std::vector<char> cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(kept));
        assert_int_equal(with_check(cut, whole.size), SPARK_ERR_INTERNAL);
    }
}

void no_memory(void**) {
    calls_left = 0;
    spark_status status = read(some_image());
    calls_left = -1;
    assert_int_equal(status, SPARK_ERR_HOST_MEMORY);
    assert_int_equal(read(some_image()), SPARK_OK);
}

void not_beside_this_program(void**) {
    for (const Image& image : kernels::all()[0]->images) {
        if (image.data == nullptr) assert_int_equal(read(image), SPARK_ERR_UNSUPPORTED_ARCH);
    }
    char why[512];
    assert_false(testing_images(why, sizeof why));
    assert_non_null(strstr(why, "for testing"));
}

} // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(all_in_the_library), cmocka_unit_test(damaged),
                                cmocka_unit_test(undecompressible), cmocka_unit_test(no_memory),
                                cmocka_unit_test(not_beside_this_program)};
    return cmocka_run_group_tests_name("ptx.image", tests, nullptr, nullptr);
}
