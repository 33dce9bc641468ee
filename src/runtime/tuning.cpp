// SPDX-License-Identifier: Apache-2.0
// The tuning file of a context: who we are, and the file that its description or LIBSPARK_TUNE names, read once.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/knobs.h"
#include "core/log.h"
#include "runtime/context.h"
#include "spark_kernels.h"

namespace spark {
namespace {

// Of all code in the library: other code has other times.
uint64_t digest() {
    uint64_t value = hash("");
    const auto mix = [&](uint64_t word) { value = (value ^ word) * 0x100000001b3u; };
    for (const Kernel* kernel : kernels::all()) {
        mix(kernel->id);
        for (const Image& image : kernels::images_of(*kernel)) mix(kernels::bundles[image.bundle].check);
    }
    return value;
}

// A path, and who named it, for messages: "desc.tuning_path: PATH".
struct Source {
    const char *who, *path;
};

class File {
public:
    explicit File(const char* path) : number_(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
    ~File() {
        if (number_ >= 0) close(number_);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    bool is_open() const { return number_ >= 0; }
    // That a place in it can be sought: no pipe or socket, which might keep us waiting. (fstat is younger than the
    // oldest glibc that the library runs on.)
    bool is_plain() const { return lseek(number_, 0, SEEK_END) >= 0 && lseek(number_, 0, SEEK_SET) == 0; }
    // How many bytes there are, as far as there is room; -1: an error.
    ssize_t read_all(char* to, size_t room) const {
        size_t had = 0;
        while (had < room) {
            const ssize_t more = read(number_, to + had, room - had);
            if (more < 0 && errno == EINTR) continue;
            if (more <= 0) return more < 0 ? -1 : static_cast<ssize_t>(had);
            had += static_cast<size_t>(more);
        }
        return static_cast<ssize_t>(had);
    }

private:
    int number_;
};

spark_status use_text(std::string_view text, const Source& source, Tuning& tuning, Report& report) {
    const auto lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
    auto* entries = static_cast<Tuned*>(malloc((lines + 1) * sizeof(Tuned)));
    if (entries == nullptr)
        return report.fail(SPARK_ERR_HOST_MEMORY, "no host memory for %zu lines of %s", lines, source.path);
    const TuningVerdict text_is = read_tuning(text, tuning, kernels::all(), entries, tuning.count);
    if (text_is.is == TuningIs::for_us) {
        tuning.tuned = entries;
        log_line(SPARK_LOG_INFO, "tuning", "%s: %u problems", source.path, tuning.count);
        return SPARK_OK;
    }
    free(entries);
    tuning.count = 0;
    if (text_is.is == TuningIs::damaged) {
        return report.fail(SPARK_ERR_INVALID_VALUE, "%s: line %u %s; a file of spark-bench --tune wanted: %s",
                           source.who, text_is.line, text_is.wrong, source.path);
    }
    const bool library = text_is.is == TuningIs::for_another_library;
    log_line(SPARK_LOG_WARN, "tuning", "%s is for another %s and is left out; this is %s", source.path,
             library ? "library" : "chip", library ? tuning.library : tuning.chip);
    return SPARK_OK;
}

spark_status use_file(const Source& source, Tuning& tuning, Report& report) {
    const auto refuse = [&](const char* why) {
        return report.fail(SPARK_ERR_INVALID_VALUE, "%s: %s: %s", source.who, why, source.path);
    };
    const File file(source.path);
    if (!file.is_open()) return refuse(strerror(errno));
    if (!file.is_plain()) return refuse("not a plain file");
    char* text = static_cast<char*>(malloc(MAX_TUNING_BYTES + 1));
    if (text == nullptr) return report.fail(SPARK_ERR_HOST_MEMORY, "no host memory for %s", source.path);
    const ssize_t size = file.read_all(text, MAX_TUNING_BYTES + 1);
    spark_status status;
    if (size < 0) status = refuse(strerror(errno));
    else if (static_cast<size_t>(size) > MAX_TUNING_BYTES)
        status = report.fail(SPARK_ERR_INVALID_VALUE, "%s: more than %zu bytes: %s", source.who, MAX_TUNING_BYTES,
                             source.path);
    else status = use_text({text, static_cast<size_t>(size)}, source, tuning, report);
    free(text);
    return status;
}

// The caller's path with a 0 behind it, for the system.
spark_status read_path(const spark_context_desc& desc, char (&path)[PATH_MAX], Report& report) {
    if (desc.tuning_path == 0) {
        return report.fail(SPARK_ERR_INVALID_NULL, "desc.tuning_path is 0 and desc.tuning_path_bytes is %llu",
                           static_cast<unsigned long long>(desc.tuning_path_bytes));
    }
    if (desc.tuning_path_bytes >= sizeof path) {
        return report.fail(SPARK_ERR_INVALID_VALUE, "desc.tuning_path_bytes is %llu; at most %zu wanted",
                           static_cast<unsigned long long>(desc.tuning_path_bytes), sizeof path - 1);
    }
    const auto size = static_cast<size_t>(desc.tuning_path_bytes);
    memcpy(path, reinterpret_cast<const char*>(desc.tuning_path), size);
    path[size] = 0;
    if (strlen(path) == size) return SPARK_OK;
    return report.fail(SPARK_ERR_INVALID_VALUE, "desc.tuning_path has a 0 within its %zu bytes", size);
}

} // namespace

spark_status tuning_open(const spark_context_desc& desc, const spark_device_info& info, Tuning& tuning,
                         Report& report) {
    tuning = {};
    snprintf(tuning.library, sizeof tuning.library, "%d.%d.%d %016llx", SPARK_VERSION_MAJOR, SPARK_VERSION_MINOR,
             SPARK_VERSION_PATCH, static_cast<unsigned long long>(digest()));
    snprintf(tuning.chip, sizeof tuning.chip, "%u.%u, %u SMs, %s", info.cc_major, info.cc_minor, info.sm_count,
             info.name);
    if (desc.tuning_path_bytes != 0) {
        char path[PATH_MAX];
        if (spark_status s = read_path(desc, path, report)) return s;
        return use_file({"desc.tuning_path", path}, tuning, report);
    }
    const char* path = knobs().tune;
    return path == nullptr || *path == 0 ? SPARK_OK : use_file({"LIBSPARK_TUNE", path}, tuning, report);
}

void tuning_close(Tuning& tuning) {
    free(tuning.tuned);
    tuning = {};
}

} // namespace spark
