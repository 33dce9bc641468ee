// SPDX-License-Identifier: Apache-2.0
// Finds, checks and decompresses images, each with all that lie before it in its bundle. What is stored is checked
// before it is decompressed: the decompressor sees nothing but what the build wrote. The file of images for testing is
// opened for each bundle and checked each time: what is replaced or cut short while a program runs is noticed, and
// nothing stays open.
#include "runtime/image.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "runtime/beside.h"
#include "spark_kernels.h"

namespace spark {
namespace {

using kernels::testing_file;

class File {
public:
    explicit File(const char* path) : number_(open(path, O_RDONLY | O_CLOEXEC)) {}
    ~File() {
        if (number_ >= 0) close(number_);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    bool is_open() const { return number_ >= 0; }
    bool has_size(size_t bytes) const { return lseek(number_, 0, SEEK_END) == static_cast<off_t>(bytes); }
    bool read(void* to, size_t bytes, size_t from) const {
        for (size_t done = 0; done < bytes;) {
            ssize_t n = pread(number_, static_cast<char*>(to) + done, bytes - done, static_cast<off_t>(from + done));
            if (n == 0 || (n < 0 && errno != EINTR)) return false;
            if (n > 0) done += static_cast<size_t>(n);
        }
        return true;
    }

private:
    int number_;
};

constexpr size_t LONGEST_HEAD = 128;

bool belongs(const File& file) {
    char head[LONGEST_HEAD];
    size_t size = testing_file.head.size();
    return size <= sizeof head && file.read(head, size, 0) && memcmp(head, testing_file.head.data(), size) == 0;
}

// What the bundle has in the file, if that is the one of this build. nullptr: the file alone is checked.
bool read_testing_file(const Bundle* bundle, void* to, char* why, size_t size) {
    constexpr const char* WHO = "compute capability 9.0, which is for testing: its kernels are in";
    if (testing_file.bytes == 0) {
        snprintf(why, size, "compute capability 9.0, which is for testing: this library was built without its kernels");
        return false;
    }
    char path[4096] = "";
    const char* own = own_path();
    auto refuse = [&](const char* what) {
        snprintf(why, size, "%s %s, %s %s", WHO, testing_file.name, what, own != nullptr ? own : "this library");
        return false;
    };
    if (!path_beside(testing_file.name, path, sizeof path)) return refuse("which is not beside");
    File file(path);
    if (!file.is_open()) return refuse(errno == ENOENT ? "which is not beside" : "which cannot be opened beside");
    if (!belongs(file)) return refuse("and that beside it is of another build than");
    if (!file.has_size(testing_file.bytes)) return refuse("which is cut short or too long beside");
    if (bundle != nullptr && !file.read(to, bundle->packed, bundle->place))
        return refuse("which cannot be read beside");
    return true;
}

spark_status no_memory(size_t bytes, const char* name, Report& report) {
    return report.fail(SPARK_ERR_HOST_MEMORY, "no host memory for the code of %s, %zu bytes", name, bytes);
}

} // namespace

bool testing_images(char* why, size_t size) { return read_testing_file(nullptr, nullptr, why, size); }

spark_status Code::read(const Image& image, const char* name, const void*& out, Report& report) {
    const Bundle& bundle = kernels::bundles[image.bundle];
    if (bundle_ == &bundle) return decompress(image, name, out, report);
    const char* bytes = nullptr;
    if (spark_status s = stored(bundle, name, bytes, report)) return s;
    return read(image, bundle, bytes, name, out, report);
}

spark_status Code::read(const Image& image, const Bundle& bundle, const char* stored, const char* name,
                        const void*& out, Report& report) {
    bundle_ = nullptr;
    if (spark_status s = begin(image, bundle, stored, name, report)) return s;
    bundle_ = &bundle;
    return decompress(image, name, out, report);
}

spark_status Code::stored(const Bundle& bundle, const char* name, const char*& out, Report& report) {
    out = kernels::spark_images + bundle.place;
    if (!bundle.testing) return SPARK_OK;
    bundle_ = nullptr;
    char why[512];
    if (!read_.make(bundle.packed)) return no_memory(bundle.packed, name, report);
    if (!read_testing_file(&bundle, read_.data(), why, sizeof why))
        return report.fail(SPARK_ERR_UNSUPPORTED_ARCH, "%s cannot be loaded for %s", name, why);
    out = read_.data();
    return SPARK_OK;
}

spark_status Code::begin(const Image& image, const Bundle& bundle, const char* stored, const char* name,
                         Report& report) {
    if (spark_checksum(stored, bundle.packed) != bundle.check)
        return report.fail(SPARK_ERR_INTERNAL, "the code of %s for %u is damaged%s%s", name, image.arch,
                           bundle.testing ? " in " : "", bundle.testing ? testing_file.name : "");
    if (!room_.make(spark_frame_room()) || !images_.make(bundle.unpacked) ||
        !spark_frame_begin(&frame_, room_.data(), stored, bundle.packed, images_.data(), bundle.unpacked))
        return no_memory(bundle.unpacked + spark_frame_room(), name, report);
    return SPARK_OK;
}

spark_status Code::decompress(const Image& image, const char* name, const void*& out, Report& report) {
    if (!spark_frame_until(&frame_, std::min<size_t>(image.end1024 * 1024, bundle_->unpacked)))
        return report.fail(SPARK_ERR_INTERNAL, "the code of %s for %u cannot be decompressed", name, image.arch);
    out = images_.data() + image.first16 * 16;
    return SPARK_OK;
}

} // namespace spark
