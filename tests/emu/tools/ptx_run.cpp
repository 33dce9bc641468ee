// SPDX-License-Identifier: Apache-2.0
// ptx-run: runs `.ptx` test files through the CUDA Driver API, on a real card or on the emulator, and compares.
// Knows the driver only by dlopen, so that one binary serves both. Grammar of the files: tests/emu/README.md.
//
//   ptx-run [--driver emu|gpu|PATH] [--config WORDS]... [--dump] [-v] FILE...
#include <dlfcn.h>
#include <libgen.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstring>

#include "spec.h"

using namespace ptxrun;

namespace {

using Result = int;
using Device = int;
using Ptr = unsigned long long;

// CUlaunchAttribute and CUlaunchConfig.
struct LaunchAttribute {
    int id, pad = 0;
    unsigned value[16] = {};
};
struct LaunchConfig {
    unsigned grid[3], block[3], smem;
    void* stream;
    const LaunchAttribute* attributes;
    unsigned count;
};

struct Driver {
    void* library = nullptr;
    bool emulator = false;
    int major = 0, minor = 0;
    Result (*init)(unsigned);
    Result (*device_get)(Device*, int);
    Result (*device_attribute)(int*, int, Device);
    Result (*device_name)(char*, int, Device);
    Result (*driver_version)(int*);
    Result (*ctx_retain)(void**, Device);
    Result (*ctx_set)(void*);
    Result (*ctx_sync)();
    Result (*module_load)(void**, const void*, unsigned, int*, void**);
    Result (*module_unload)(void*);
    Result (*module_function)(void**, void*, const char*);
    Result (*function_set)(void*, int, int);
    Result (*mem_alloc)(Ptr*, size_t);
    Result (*mem_free)(Ptr);
    Result (*to_device)(Ptr, const void*, size_t);
    Result (*to_host)(void*, Ptr, size_t);
    Result (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                     void**);
    Result (*encode_tiled)(void*, unsigned, uint32_t, void*, const uint64_t*, const uint64_t*, const uint32_t*,
                           const uint32_t*, unsigned, unsigned, unsigned, unsigned) = nullptr; // drivers from 12.0
    Result (*launch_with)(const struct LaunchConfig*, void*, void**, void**) = nullptr;        // since driver 11.6
    // Only the emulator has these.
    int (*configure)(const char*) = nullptr;
    size_t (*report_count)() = nullptr;
    size_t (*report)(size_t, char*, size_t) = nullptr;
    void (*clear_reports)() = nullptr;
    void (*recover)() = nullptr;

    template <class F> void find(F& f, const char* name, bool needed = true) {
        f = reinterpret_cast<F>(dlsym(library, name));
        if (!f && needed) throw std::string("the driver has no ") + name;
    }
    void open(const std::string& path);
};

void Driver::open(const std::string& path) {
    library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) throw std::string(dlerror());
    find(init, "cuInit");
    find(device_get, "cuDeviceGet");
    find(device_attribute, "cuDeviceGetAttribute");
    find(device_name, "cuDeviceGetName");
    find(driver_version, "cuDriverGetVersion");
    find(ctx_retain, "cuDevicePrimaryCtxRetain");
    find(ctx_set, "cuCtxSetCurrent");
    find(ctx_sync, "cuCtxSynchronize");
    find(module_load, "cuModuleLoadDataEx");
    find(module_unload, "cuModuleUnload");
    find(module_function, "cuModuleGetFunction");
    find(function_set, "cuFuncSetAttribute");
    find(mem_alloc, "cuMemAlloc_v2");
    find(mem_free, "cuMemFree_v2");
    find(to_device, "cuMemcpyHtoD_v2");
    find(to_host, "cuMemcpyDtoH_v2");
    find(launch, "cuLaunchKernel");
    find(encode_tiled, "cuTensorMapEncodeTiled", false);
    find(launch_with, "cuLaunchKernelEx", false);
    find(configure, "spark_emu_configure", false);
    find(report_count, "spark_emu_report_count", false);
    find(report, "spark_emu_report", false);
    find(clear_reports, "spark_emu_clear_reports", false);
    find(recover, "spark_emu_recover", false);
    emulator = configure != nullptr;
    if (Result r = init(0)) throw "cuInit: error " + std::to_string(r);
    Device device = 0;
    void* context = nullptr;
    if (device_get(&device, 0) || ctx_retain(&context, device) || ctx_set(context)) throw std::string("no device");
    device_attribute(&major, 75, device);
    device_attribute(&minor, 76, device);
}

std::vector<std::string> reports_of(Driver& d) {
    std::vector<std::string> all;
    if (!d.report_count) return all;
    for (size_t i = 0; i < d.report_count(); ++i) {
        std::string text(d.report(i, nullptr, 0) + 1, '\0');
        text.resize(d.report(i, text.data(), text.size()));
        all.push_back(text);
    }
    return all;
}

bool names_line(const std::string& text, const std::vector<int>& lines) {
    for (int line : lines) {
        const std::string want = ":" + std::to_string(line);
        for (size_t at = text.find(want); at != std::string::npos; at = text.find(want, at + 1))
            if (!isdigit((unsigned char)text[at + want.size()]) && !(at && isdigit((unsigned char)text[at - 1])))
                return true; // and not the column behind a line
    }
    return lines.empty();
}

// Did the run say what the file demands?
std::string check_faults(const Spec& spec, const std::string& load_log, const std::vector<std::string>& reports,
                         Result error) {
    for (const Fault& f : spec.faults) {
        if (f.kind == "refused") {
            if (load_log.empty()) return "the text was accepted; it must be refused";
            if (!names_line(load_log, f.lines)) return "refused, but not at the line at fault: " + load_log;
            continue;
        }
        if (f.kind == "launch-error") {
            if (!error) return "the launch succeeded; it must be refused";
            continue;
        }
        if (!load_log.empty()) return "refused at load: " + load_log;
        bool found = false;
        std::string seen;
        for (const std::string& text : reports) {
            bool kind = false; // "divergence|barrier": either will do
            for (size_t at = 0; at <= f.kind.size();) {
                const size_t bar = std::min(f.kind.find('|', at), f.kind.size());
                kind |= text.find(": " + f.kind.substr(at, bar - at) + " in ") != std::string::npos;
                at = bar + 1;
            }
            const bool again = text.find("\n  replay: LIBSPARK_EMU=") != std::string::npos;
            found |= kind && again && names_line(text, f.lines);
            seen += "\n" + text;
        }
        if (!found)
            return "no report of " + f.kind + " at the line at fault; reports:" + (seen.empty() ? " none" : seen);
        if (!error) return "reported " + f.kind + ", but every driver call succeeded";
    }
    return "";
}

struct Session {
    Driver& d;
    Spec& spec;
    void* module = nullptr;
    std::vector<Ptr> memory;
    ~Session() {
        for (Ptr p : memory)
            if (p) d.mem_free(p);
        if (module) d.module_unload(module);
    }
    std::string load() {
        std::vector<char> log(8192, 0);
        int options[] = {5, 6}; // CU_JIT_ERROR_LOG_BUFFER and its size
        void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
        const Result r = d.module_load(&module, spec.text.c_str(), 2, options, values);
        if (!r) return "";
        module = nullptr;
        return "error " + std::to_string(r) + ": " + log.data();
    }
    Result encode(Buffer& b) {
        const TensorMapSpec& m = b.map;
        Ptr address = m.offset;
        for (size_t k = 0; k < spec.buffers.size(); ++k)
            if (spec.buffers[k].name == m.buffer) address += memory[k];
        alignas(64) uint8_t bytes[128];
        if (!d.encode_tiled) return 801;
        const Result r = d.encode_tiled(bytes, m.type, m.rank, reinterpret_cast<void*>(address), m.dim, m.stride, m.box,
                                        m.step, 0, m.swizzle, 0, m.fill);
        b.host.bytes.assign(bytes, bytes + sizeof bytes);
        return r;
    }
    Result launch(void* function, void** params) {
        const unsigned *g = spec.grid, *b = spec.block, *c = spec.cluster;
        if (!c[0] && !spec.cooperative)
            return d.launch(function, g[0], g[1], g[2], b[0], b[1], b[2], spec.smem, nullptr, params, nullptr);
        if (!d.launch_with) throw std::string("the driver has no cuLaunchKernelEx");
        const LaunchAttribute cooperative{2, 0, {1}};            // CU_LAUNCH_ATTRIBUTE_COOPERATIVE
        const LaunchAttribute cluster{4, 0, {c[0], c[1], c[2]}}; // CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        const LaunchConfig config{
            {g[0], g[1], g[2]}, {b[0], b[1], b[2]}, spec.smem, nullptr, c[0] ? &cluster : &cooperative, 1};
        return d.launch_with(&config, function, params, nullptr);
    }
    Result go(std::string& what) {
        std::vector<void*> params;
        memory.reserve(spec.buffers.size());
        for (Buffer& b : spec.buffers) {
            memory.push_back(0);
            if (b.kind == Buffer::arg || b.kind == Buffer::tensor_map) {
                params.push_back(b.host.bytes.data());
                continue;
            }
            if (Result r = d.mem_alloc(&memory.back(), std::max<size_t>(b.host.bytes.size(), 1)))
                return what = "cuMemAlloc", r;
            if (b.kind != Buffer::raw && !b.host.bytes.empty())
                if (Result r = d.to_device(memory.back(), b.host.bytes.data(), b.host.bytes.size()))
                    return what = "cuMemcpyHtoD", r;
            params.push_back(&memory.back());
        }
        for (size_t k = 0; k < spec.buffers.size(); ++k) {
            if (spec.buffers[k].kind != Buffer::tensor_map) continue;
            if (Result r = encode(spec.buffers[k])) return what = "cuTensorMapEncodeTiled", r;
            params[k] = spec.buffers[k].host.bytes.data();
        }
        void* function = nullptr;
        if (Result r = d.module_function(&function, module, spec.kernel.c_str()))
            return what = "cuModuleGetFunction", r;
        if (spec.smem > 48 * 1024)
            if (Result r = d.function_set(function, 8, int(spec.smem))) return what = "cuFuncSetAttribute", r;
        for (unsigned n = 0; n < spec.launches; ++n) {
            if (Result r = launch(function, params.data())) return what = "the launch", r;
            if (Result r = d.ctx_sync()) return what = "cuCtxSynchronize", r;
        }
        for (size_t k = 0; k < spec.buffers.size(); ++k) {
            Buffer& b = spec.buffers[k];
            if (b.kind == Buffer::arg || b.kind == Buffer::raw || b.kind == Buffer::tensor_map || b.host.bytes.empty())
                continue;
            if (Result r = d.to_host(b.host.bytes.data(), memory[k], b.host.bytes.size()))
                return what = "cuMemcpyDtoH", r;
        }
        return 0;
    }
};

bool card_fits(const Driver& d, const std::string& needs) {
    if (needs.empty()) return true;
    const int number = std::atoi(needs.c_str() + (needs.rfind("sm_", 0) == 0 ? 3 : 0));
    if (!std::isdigit((unsigned char)needs.back())) return d.major == number / 10; // sm_90a, sm_120f
    return d.major * 10 + d.minor >= number;
}

std::string run_once(Driver& d, Spec spec, const std::string& config, bool dump, bool verbose) {
    static const std::string DEFAULTS = "seed=0,sched=round_robin,merge=ipdom,async=late,late_reads=0,race=1,"
                                        "undefined=1,approx=card,fp4_sum=35,threads=0,limit=0,warp_limit=1000000000";
    if (d.emulator) {
        for (const std::string& words : {DEFAULTS, spec.options, config})
            if (d.configure(words.c_str())) return "the emulator refuses '" + words + "'";
        d.clear_reports();
        if (d.recover) d.recover();
    }
    fill_inputs(spec);
    const std::vector<Buffer> before = spec.buffers;
    std::string what, load_log;
    Result error = 0;
    std::vector<std::string> reports;
    {
        Session session{d, spec, nullptr, {}};
        load_log = session.load();
        if (load_log.empty()) error = session.go(what);
        reports = reports_of(d);
        if (d.emulator && d.recover) d.recover();
    }
    if (verbose) {
        if (!load_log.empty()) std::printf("%s\n", load_log.c_str());
        for (const std::string& text : reports) std::printf("%s\n", text.c_str());
    }
    if (!spec.faults.empty()) return check_faults(spec, load_log, reports, error);
    if (!load_log.empty()) return "load: " + load_log;
    if (error || !reports.empty())
        return what + ": error " + std::to_string(error) + (reports.empty() ? "" : "\n" + reports[0]);
    if (dump)
        for (const Buffer& b : spec.buffers)
            if (b.kind == Buffer::out || b.kind == Buffer::inout) {
                std::printf("DUMP %s ", b.name.c_str());
                for (uint8_t byte : b.host.bytes) std::printf("%02x", byte);
                std::printf("\n");
            }
    return compare(spec, before);
}

// "emu" is libspark-emu.so in ../lib beside this program, or wherever the loader finds it.
std::string library_path(const std::string& name) {
    if (name == "gpu") return "libcuda.so.1";
    if (name != "emu") return name;
    char self[PATH_MAX] = {};
    if (readlink("/proc/self/exe", self, sizeof self - 1) > 0)
        for (const char* folder : {"/../lib/", "/"}) {
            char copy[PATH_MAX];
            std::strcpy(copy, self);
            const std::string path = std::string(dirname(copy)) + folder + "libspark-emu.so";
            if (access(path.c_str(), R_OK) == 0) return path;
        }
    return "libspark-emu.so";
}

std::string run_file(Driver& d, const std::string& path, const std::vector<std::string>& configs, bool dump,
                     bool verbose, std::string& skipped) {
    const Spec spec = read_spec(path);
    if (!d.emulator && !spec.faults.empty()) return skipped = "planted defects are not run on a card", "";
    if (!card_fits(d, spec.needs)) return skipped = "needs " + spec.needs, "";
    std::vector<std::string> all = d.emulator ? configs : std::vector<std::string>{};
    if (d.emulator)
        for (const std::string& more : spec.configs) all.push_back(more);
    if (all.empty()) all.push_back("");
    for (size_t k = 0; k < all.size(); ++k) {
        const std::string failure = run_once(d, spec, all[k], dump && k == 0, verbose);
        if (!failure.empty()) return (all[k].empty() ? "" : "[" + all[k] + "] ") + failure;
    }
    return "";
}

} // namespace

int main(int argc, char** argv) {
    std::string driver = "emu";
    std::vector<std::string> configs, files;
    bool dump = false, verbose = false;
    for (int i = 1; i < argc; ++i) {
        const std::string a = argv[i];
        if (a == "--driver" && i + 1 < argc) driver = argv[++i];
        else if (a == "--config" && i + 1 < argc) configs.push_back(argv[++i]);
        else if (a == "--dump") dump = true;
        else if (a == "-v") verbose = true;
        else if (a[0] == '-') return std::fprintf(stderr, "ptx-run: unknown argument %s\n", a.c_str()), 2;
        else files.push_back(a);
    }
    Driver d;
    int failed = 0;
    try {
        d.open(library_path(driver));
    } catch (const std::string& what) {
        return std::fprintf(stderr, "ptx-run: %s\n", what.c_str()), 2;
    }
    char name[256] = "?";
    int version = 0;
    d.device_name(name, sizeof name, 0);
    d.driver_version(&version);
    std::printf("DEVICE %s cc %d.%d driver %d\n", name, d.major, d.minor, version);
    for (const std::string& path : files) {
        std::string failure, skipped;
        try {
            failure = run_file(d, path, configs, dump, verbose, skipped);
        } catch (const std::string& what) {
            failure = what;
        }
        if (!failure.empty()) ++failed;
        std::printf("%s %s%s\n",
                    !failure.empty()  ? "FAIL"
                    : skipped.empty() ? "PASS"
                                      : "SKIP",
                    path.c_str(),
                    failure.empty() ? skipped.empty() ? "" : (": " + skipped).c_str() : (": " + failure).c_str());
        std::fflush(stdout);
    }
    return failed != 0;
}
