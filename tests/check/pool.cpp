// SPDX-License-Identifier: Apache-2.0
// Parent and child; see the header. They talk through a pipe, in lines:
//   D <device>                    the driver works            X <sentence>   it does not
//   B <index>                     a case begins
//   R <status> <exact> <hash> <seconds> <kernel>              one kernel's result; its faults and figures follow:
//   F <text>     M <text>     S <warp instructions> <kernel>     P <planted fault>
//   E                             the case has ended
#include "check/pool.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace check {
namespace {

// LIBSPARK_EMU words for a schedule like "random:7+late_reads=1".
std::string emulator_words(const std::string& schedule) {
    std::string words;
    std::istringstream in(schedule);
    for (std::string word; std::getline(in, word, '+');) {
        const size_t colon = word.find(':');
        if (word.find('=') == std::string::npos) {
            word = "sched=" + word.substr(0, colon) +
                   (colon == std::string::npos ? "" : ",seed=" + word.substr(colon + 1));
        }
        words += (words.empty() ? "" : ",") + word;
    }
    return words;
}

void set_environment(const std::string& driver, const std::string& schedule) {
    if (driver == "oracle") {
        return;
    }
    setenv("LIBSPARK_DRIVER", driver.c_str(), 1);
    if (driver == "emu" && !schedule.empty()) {
        const char* given = getenv("LIBSPARK_EMU");
        const std::string words = (given && *given ? std::string(given) + "," : "") + emulator_words(schedule);
        setenv("LIBSPARK_EMU", words.c_str(), 1);
    }
}

void put_lines(FILE* out, char kind, const std::string& text) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        std::fprintf(out, "%c %s\n", kind, line.c_str());
    }
}

std::unique_ptr<Runner> make_runner(const std::string& driver, const Options& options, std::string& error) {
    return driver == "oracle" ? make_oracle_runner() : make_library_runner(options.explain, error);
}

// The child: examines from `first` on, and leaves when its device is no longer usable.
[[noreturn]] void work(const std::vector<const Entry*>& entries, size_t first, const Options& options,
                       const std::string& driver, FILE* out) {
    std::string error;
    const std::unique_ptr<Runner> runner = make_runner(driver, options, error);
    if (!runner) {
        put_lines(out, 'X', error);
        std::fflush(out);
        _exit(0);
    }
    put_lines(out, 'D', runner->device());
    for (size_t i = first; i < entries.size() && runner->usable(); ++i) {
        std::fprintf(out, "B %zu\n", i);
        std::fflush(out);
        for (const Result& r : examine(*entries[i], options, *runner)) {
            std::fprintf(out, "R %d %d %llu %.6f %s\n", r.status, r.exact, static_cast<unsigned long long>(r.hash),
                         r.seconds, r.kernel.c_str());
            for (const std::string& text : r.faults) {
                put_lines(out, 'F', text);
            }
            put_lines(out, 'M', r.measured);
            put_lines(out, 'P', r.plant);
            for (const auto& [kernel, count] : r.spent) {
                std::fprintf(out, "S %llu %s\n", static_cast<unsigned long long>(count), kernel.c_str());
            }
        }
        std::fprintf(out, "E\n");
        std::fflush(out);
    }
    _exit(0);
}

// The parent's end of one child.
class Child {
public:
    Child(const std::vector<const Entry*>& entries, size_t first, const Options& options, const std::string& driver,
          const std::string& schedule) {
        int ends[2];
        if (pipe(ends) != 0) {
            std::perror("pipe");
            std::exit(2);
        }
        std::fflush(nullptr);
        pid_ = fork();
        if (pid_ == 0) {
            close(ends[0]);
            set_environment(driver, schedule);
            work(entries, first, options, driver, fdopen(ends[1], "w"));
        }
        close(ends[1]);
        from_ = ends[0];
    }
    ~Child() {
        close(from_);
        kill(pid_, SIGKILL); // ours, by its number; usually gone already
        waitpid(pid_, nullptr, 0);
    }
    // False: no more lines (why() says why).
    bool next(std::string& line, double seconds) {
        const auto limit = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
        for (;;) {
            if (const size_t end = buffer_.find('\n'); end != std::string::npos) {
                line = buffer_.substr(0, end);
                buffer_.erase(0, end + 1);
                return true;
            }
            const double left = std::chrono::duration<double>(limit - std::chrono::steady_clock::now()).count();
            pollfd poll_from{from_, POLLIN, 0};
            if (left <= 0 || poll(&poll_from, 1, static_cast<int>(left * 1000) + 1) <= 0) {
                why_ = "no answer within " + std::to_string(static_cast<int>(seconds)) + " s";
                return false;
            }
            char bytes[4096];
            const ssize_t n = read(from_, bytes, sizeof bytes);
            if (n <= 0) {
                int status = 0;
                waitpid(pid_, &status, 0);
                why_ = WIFSIGNALED(status) ? std::string("the process died: ") + strsignal(WTERMSIG(status))
                                           : "the process left with status " + std::to_string(WEXITSTATUS(status));
                return false;
            }
            buffer_.append(bytes, static_cast<size_t>(n));
        }
    }
    const std::string& why() const { return why_; }

private:
    pid_t pid_ = -1;
    int from_ = -1;
    std::string buffer_, why_;
};

Result parse_result(const std::string& line) {
    Result r;
    int status = 0, exact = 0, at = 0;
    unsigned long long hash = 0;
    std::sscanf(line.c_str(), "R %d %d %llu %lf %n", &status, &exact, &hash, &r.seconds, &at);
    r.status = static_cast<Result::Status>(status);
    r.exact = exact;
    r.hash = hash;
    r.kernel = line.substr(static_cast<size_t>(at));
    return r;
}

// Without a child: what watches this process sees everything, and what ends it ends the run.
std::string run_here(const std::vector<const Entry*>& entries, const Options& options, const std::string& driver,
                     const std::string& schedule, const Listener& listener) {
    set_environment(driver, schedule);
    std::string error;
    const std::unique_ptr<Runner> runner = make_runner(driver, options, error);
    if (!runner) {
        return error;
    }
    listener.device(runner->device());
    for (const Entry* entry : entries) {
        listener.begin(*entry);
        listener.end(*entry, examine(*entry, options, *runner));
    }
    return {};
}

} // namespace

std::string run_all(const std::vector<const Entry*>& entries, const Options& options, const std::string& driver,
                    const std::string& schedule, const Listener& listener) {
    if (options.single) {
        return run_here(entries, options, driver, schedule, listener);
    }
    size_t next = 0;
    while (next < entries.size()) {
        Child child(entries, next, options, driver, schedule);
        bool inside = false; // a case has begun and not ended
        std::vector<Result> results;
        std::string line;
        while (next < entries.size() && child.next(line, options.timeout)) {
            const std::string text = line.size() > 2 ? line.substr(2) : "";
            switch (line[0]) {
            case 'X': return text;
            case 'D': listener.device(text); break;
            case 'B':
                inside = true;
                results.clear();
                listener.begin(*entries[next]);
                break;
            case 'R': results.push_back(parse_result(line)); break;
            case 'F': results.back().faults.push_back(text); break;
            case 'M': results.back().measured += text + "\n"; break;
            case 'P': results.back().plant = text; break;
            case 'S': results.back().spent[text.substr(text.find(' ') + 1)] = std::stoull(text); break;
            case 'E':
                inside = false;
                listener.end(*entries[next++], results);
                break;
            default: break;
            }
        }
        if (next < entries.size() && inside) {
            results.push_back({.status = Result::failed, .faults = {child.why()}});
            listener.end(*entries[next++], results);
        } else if (next < entries.size() && line.empty()) {
            return "the child process said nothing: " + child.why();
        }
    }
    return {};
}

} // namespace check
