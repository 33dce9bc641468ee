// SPDX-License-Identifier: Apache-2.0
// The tuning file of a context: who we are, and the file that LIBSPARK_TUNE names, read once.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
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
        for (const Image& image : kernel->images) mix(image.check);
    }
    return value;
}

class File {
public:
    explicit File(const char* path) : number_(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
    ~File() {
        if (number_ >= 0) close(number_);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    // That a place in it can be sought: no pipe or socket, which might keep us waiting. (fstat is younger than the
    // oldest glibc that the library runs on.)
    bool is_plain() const {
        return number_ >= 0 && lseek(number_, 0, SEEK_END) >= 0 && lseek(number_, 0, SEEK_SET) == 0;
    }
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

spark_status use_text(std::string_view text, const char* path, Tuning& tuning, Report& report) {
    const auto lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
    auto* entries = static_cast<Tuned*>(malloc((lines + 1) * sizeof(Tuned)));
    if (entries == nullptr)
        return report.fail(SPARK_ERR_HOST_MEMORY, "no host memory for %zu lines of %s", lines, path);
    uint32_t line = 0;
    const TuningIs what = read_tuning(text, tuning, kernels::all(), entries, tuning.count, line);
    if (what == TuningIs::for_us) {
        tuning.tuned = entries;
        log_line(SPARK_LOG_INFO, "tuning", "%s: %u problems", path, tuning.count);
        return SPARK_OK;
    }
    free(entries);
    tuning.count = 0;
    if (what == TuningIs::damaged) {
        return report.fail(SPARK_ERR_INVALID_VALUE,
                           "LIBSPARK_TUNE: line %u of %s is not what spark-bench --tune writes", line, path);
    }
    const bool library = what == TuningIs::for_another_library;
    log_line(SPARK_LOG_WARN, "tuning", "%s is for another %s and is left out; this is %s", path,
             library ? "library" : "chip", library ? tuning.library : tuning.chip);
    return SPARK_OK;
}

} // namespace

spark_status tuning_open(const spark_device_info& info, Tuning& tuning, Report& report) {
    tuning = {};
    snprintf(tuning.library, sizeof tuning.library, "%d.%d.%d %016llx", SPARK_VERSION_MAJOR, SPARK_VERSION_MINOR,
             SPARK_VERSION_PATCH, static_cast<unsigned long long>(digest()));
    snprintf(tuning.chip, sizeof tuning.chip, "%u.%u, %u SMs, %s", info.cc_major, info.cc_minor, info.sm_count,
             info.name);
    const char* path = knobs().tune;
    if (path == nullptr || *path == 0) return SPARK_OK;
    const File file(path);
    if (!file.is_plain()) {
        return report.fail(SPARK_ERR_INVALID_VALUE, "LIBSPARK_TUNE: %s cannot be opened as a plain file", path);
    }
    char* text = static_cast<char*>(malloc(MAX_TUNING_BYTES + 1));
    if (text == nullptr) return report.fail(SPARK_ERR_HOST_MEMORY, "no host memory for %s", path);
    const ssize_t size = file.read_all(text, MAX_TUNING_BYTES + 1);
    spark_status status;
    if (size < 0) {
        status = report.fail(SPARK_ERR_INVALID_VALUE, "LIBSPARK_TUNE: %s cannot be read", path);
    } else if (static_cast<size_t>(size) > MAX_TUNING_BYTES) {
        status =
            report.fail(SPARK_ERR_INVALID_VALUE, "LIBSPARK_TUNE: %s has more than %zu bytes", path, MAX_TUNING_BYTES);
    } else {
        status = use_text({text, static_cast<size_t>(size)}, path, tuning, report);
    }
    free(text);
    return status;
}

void tuning_close(Tuning& tuning) {
    free(tuning.tuned);
    tuning = {};
}

} // namespace spark
