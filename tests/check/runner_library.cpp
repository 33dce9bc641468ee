// SPDX-License-Identifier: Apache-2.0
// Runs cases through the library's public C API alone; which driver that means (emulator or card) is LIBSPARK_DRIVER's
// word.
// The emulator's reports are read through its own C functions where it is loaded, and turn a run into a failed one.
#include "check/emulator.h"
#include "check/runner.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace check {
namespace {

// Result of a library call as a sentence; empty if it went well.
struct Error {
    spark_error raw{};
    Error() { raw.struct_size = sizeof raw; }
    std::string say(const char* call, spark_status status) const {
        if (status == SPARK_OK) {
            return {};
        }
        return std::string(call) + ": " + spark_status_name(status) + ": " + raw.message;
    }
};

class LibraryRunner : public Runner {
public:
    std::string open(bool offline) {
        Error e;
        spark_context_desc desc{};
        desc.struct_size = sizeof desc;
        desc.offline_arch = offline ? 120 : 0;
        if (std::string s = e.say("spark_context_create", spark_context_create(&desc, &context_, &e.raw)); !s.empty()) {
            return s;
        }
        emulator_ = std::make_unique<Emulator>();
        info_.struct_size = sizeof info_;
        if (std::string s = e.say("spark_context_device", spark_context_device(context_, &info_, &e.raw)); !s.empty()) {
            return s;
        }
        return offline ? "" : e.say("spark_stream_create", spark_stream_create(context_, nullptr, &stream_, &e.raw));
    }
    ~LibraryRunner() override {
        if (usable_) {
            Error e;
            spark_stream_destroy(context_, stream_, &e.raw);
            spark_context_destroy(context_);
        }
    }

    std::string device() override {
        return std::string(info_.name) + (info_.emulated ? " [emulated]" : "") + ", compute capability " +
               std::to_string(info_.cc_major) + "." + std::to_string(info_.cc_minor);
    }
    bool usable() const override { return usable_; }
    bool real() const override { return !info_.emulated; }
    Spent spent() override { return emulator_->spent(); }

    std::string kernels(const Case& c, std::vector<Choice>& out) override {
        std::vector<uint8_t> args = c.args;
        for (const Operand& operand : c.operands) { // host only: any address with the right low bits will do
            const uint64_t base = 0x100000000000u + (uint64_t{operand.storage} << 40);
            address_of(args, operand) = base + c.storages[operand.storage].misalign + operand.offset;
        }
        const auto* head = reinterpret_cast<const spark_args*>(args.data());
        Error e;
        uint32_t count = 0;
        const auto list = [&](spark_op_info* into, uint32_t capacity) {
            return e.say("spark_op_kernels",
                         spark_op_kernels(context_, head, UINT64_MAX, into, capacity, &count, &e.raw));
        };
        if (std::string s = list(nullptr, 0); !s.empty()) return s;
        std::vector<spark_op_info> infos(count);
        for (spark_op_info& info : infos) {
            info = {};
            info.struct_size = sizeof info;
        }
        if (std::string s = list(infos.data(), count); !s.empty()) return s;
        out.clear();
        for (const spark_op_info& info : infos) {
            out.push_back(
                {info.kernel, info.kernel_id, info.workspace_size, (info.flags & SPARK_OP_INFO_DETERMINISTIC) != 0});
        }
        return {};
    }

    std::string run(const Case& c, const Choice& kernel, const RunOptions& options, std::vector<Image>& out) override {
        Memory memory(*this);
        std::vector<uint8_t> args = c.args;
        out.clear();
        std::vector<spark_devptr> bases;
        for (size_t i = 0; i < c.storages.size(); ++i) {
            out.push_back(initial_image(c, i, options));
            bases.push_back(memory.alloc(std::max<size_t>(out.back().bytes.size(), 1)));
            memory.upload(bases.back(), out.back().bytes);
        }
        for (const Operand& operand : c.operands) {
            // An empty tensor is not an absent one, with address 0 as little as with another.
            const bool nowhere = options.tight && operand.view.count() == 0;
            const spark_devptr data = bases[operand.storage] + out[operand.storage].front + operand.offset;
            address_of(args, operand) = nowhere ? 0 : data;
        }
        std::vector<uint8_t> guard(kernel.workspace ? GUARD : 0, GUARD_BYTE);
        spark_exec exec{};
        exec.struct_size = sizeof exec;
        exec.stream = stream_;
        exec.kernel_id = kernel.id;
        exec.workspace_size = kernel.workspace;
        if (kernel.workspace) {
            exec.workspace = memory.alloc(kernel.workspace + GUARD);
            memory.upload(exec.workspace + kernel.workspace, guard);
        }
        if (memory.error.empty() && real() && !options.alone) {
            soil(memory);
        }
        if (memory.error.empty()) {
            memory.error = launch(reinterpret_cast<const spark_args*>(args.data()), exec, options.graph);
        }
        for (size_t i = 0; i < out.size(); ++i) {
            memory.download(out[i].bytes, bases[i]);
        }
        const std::string other = launch_again(c, args, exec, options, bases, out, memory);
        if (kernel.workspace) {
            memory.download(guard, exec.workspace + kernel.workspace);
            if (memory.error.empty() &&
                std::count(guard.begin(), guard.end(), GUARD_BYTE) != static_cast<long>(GUARD)) {
                memory.error = "bytes behind the workspace were written";
            }
        }
        const std::string reports = emulator_->take(memory.error.empty());
        if (memory.error.empty() && !reports.empty()) {
            memory.error = "the emulator reports:";
        }
        if (!reports.empty()) { // which say it all, and in full
            memory.error = memory.error.substr(0, memory.error.find('\n'));
        }
        usable_ = memory.error.empty() || emulator_->recovers();
        return memory.error.empty() ? other : memory.error + reports;
    }

    std::string explain(const Case& c) override {
        std::vector<uint8_t> args = c.args;
        for (const Operand& operand : c.operands) {
            address_of(args, operand) = 0x100000000000u + (uint64_t{operand.storage} << 40) +
                                        c.storages[operand.storage].misalign + operand.offset;
        }
        Error e;
        std::vector<char> text(65536);
        size_t needed = 0;
        const auto* head = reinterpret_cast<const spark_args*>(args.data());
        const std::string s =
            e.say("spark_op_explain", spark_op_explain(context_, head, text.data(), text.size(), &needed, &e.raw));
        return s.empty() ? std::string(text.data()) : s + "\n";
    }

    std::string bench(const Case& c, const Choice& kernel, int repeats, double& median, double& least, uint64_t& flops,
                      uint64_t& bytes) override;

private:
    static spark_devptr& address_of(std::vector<uint8_t>& args, const Operand& operand) {
        static_assert(offsetof(spark_tensor, data) == 0);
        return *reinterpret_cast<spark_devptr*>(&args[operand.args_offset]);
    }

    // Device memory of one run; the first failing call is kept and later ones are not made.
    struct Memory {
        explicit Memory(LibraryRunner& owner) : runner(owner) {}
        ~Memory() {
            for (spark_devptr data : held) {
                spark_mem_free(runner.context_, data, nullptr);
            }
        }
        spark_devptr alloc(size_t bytes) {
            spark_devptr data = 0;
            Error e;
            if (error.empty()) {
                error = e.say("spark_mem_alloc", spark_mem_alloc(runner.context_, bytes, &data, &e.raw));
                held.push_back(data);
            }
            return data;
        }
        void upload(spark_devptr to, const std::vector<uint8_t>& from) {
            Error e;
            if (error.empty() && !from.empty()) {
                error =
                    e.say("spark_mem_copy_to_device", spark_mem_copy_to_device(runner.context_, to, from.data(),
                                                                               from.size(), runner.stream_, &e.raw));
            }
        }
        void download(std::vector<uint8_t>& to, spark_devptr from) {
            Error e;
            if (error.empty() && !to.empty()) {
                error = e.say("spark_mem_copy_to_host", spark_mem_copy_to_host(runner.context_, to.data(), from,
                                                                               to.size(), runner.stream_, &e.raw));
            }
        }
        LibraryRunner& runner;
        std::vector<spark_devptr> held;
        spark_gemm_args soil{}; // of NaNs, once it is called
        std::string error;
    };

    std::vector<std::vector<uint8_t>> copies_of(const Case& c, Memory& memory);

    // Launches once more and again, from memory as it was before the first launch, which left `first`; the first
    // difference in words. Only what outputs lie in is copied, so that a thousand launches take a second.
    std::string launch_again(const Case& c, const std::vector<uint8_t>& args, const spark_exec& exec,
                             const RunOptions& options, const std::vector<spark_devptr>& bases,
                             const std::vector<Image>& first, Memory& memory) {
        std::vector<size_t> written;
        std::vector<Image> before(first.size());
        for (const Operand& operand : c.operands) {
            Image& image = before[operand.storage];
            if (options.again == 0 || !operand.output || !image.bytes.empty()) continue;
            image = initial_image(c, operand.storage, options);
            written.push_back(operand.storage);
        }
        std::vector<uint8_t> after;
        for (int launches = 1; launches <= options.again && memory.error.empty(); ++launches) {
            for (size_t storage : written) memory.upload(bases[storage], before[storage].bytes);
            if (memory.error.empty() && real() && !options.alone) soil(memory);
            if (memory.error.empty()) {
                memory.error = launch(reinterpret_cast<const spark_args*>(args.data()), exec, false);
            }
            for (size_t storage : written) {
                after.resize(before[storage].bytes.size());
                memory.download(after, bases[storage]);
                if (!memory.error.empty() || after == first[storage].bytes) continue;
                const auto at = std::mismatch(after.begin(), after.end(), first[storage].bytes.begin()).first;
                return c.storages[storage].name + ": byte " +
                       std::to_string(at - after.begin() - static_cast<long>(first[storage].front)) +
                       " differs from that of the first launch after " + std::to_string(launches) + " more";
            }
        }
        return {};
    }

    // Leaves NaNs in the shared memory and registers of every SM, as far as the public API can: a matrix product of
    // NaNs
    // runs on all of them. What the next kernel reads without having written it is then likely to show. (The emulator
    // tracks undefined bits, which is exact.)
    void soil(Memory& memory) {
        constexpr int64_t SIDE = 2048, DEPTH = 256;
        spark_gemm_args& args = memory.soil;
        const auto set = [](spark_tensor& tensor, spark_devptr data, int64_t rows, int64_t columns) {
            tensor.data = data;
            tensor.dtype = SPARK_DTYPE_BF16;
            tensor.ndim = 2;
            tensor.shape[0] = rows;
            tensor.shape[1] = columns;
        };
        if (args.hdr.struct_size == 0) {
            args.hdr.struct_size = sizeof args;
            args.hdr.op = SPARK_OP_GEMM;
            set(args.a, memory.alloc(2 * SIDE * DEPTH), SIDE, DEPTH);
            set(args.b, memory.alloc(2 * SIDE * DEPTH), SIDE, DEPTH);
            set(args.d, memory.alloc(2 * SIDE * SIDE), SIDE, SIDE);
            if (memory.error.empty()) {
                spark_mem_set(context_, args.a.data, 0xff, 2 * SIDE * DEPTH, stream_, nullptr);
                spark_mem_set(context_, args.b.data, 0xff, 2 * SIDE * DEPTH, stream_, nullptr);
            }
        }
        if (memory.error.empty()) {
            spark_exec exec{};
            exec.struct_size = sizeof exec;
            exec.stream = stream_;
            memory.error = launch(&args.hdr, exec, false);
        }
    }

    std::string launch(const spark_args* args, const spark_exec& exec, bool graph) {
        Error e;
        spark_graph recorded = 0;
        std::string s;
        if (graph) {
            s = e.say("spark_op_prepare", spark_op_prepare(context_, args, nullptr, &e.raw));
            if (s.empty()) {
                s = e.say("spark_graph_begin", spark_graph_begin(context_, stream_, nullptr, &e.raw));
            }
        }
        if (s.empty()) {
            s = e.say("spark_op_launch", spark_op_launch(context_, args, &exec, &e.raw));
        }
        if (graph && s.empty()) {
            s = e.say("spark_graph_end", spark_graph_end(context_, stream_, &recorded, &e.raw));
            if (s.empty()) {
                s = e.say("spark_graph_launch", spark_graph_launch(context_, recorded, stream_, &e.raw));
            }
        }
        if (s.empty()) {
            s = e.say("spark_stream_synchronize", spark_stream_synchronize(context_, stream_, &e.raw));
        }
        if (recorded) {
            spark_graph_destroy(context_, recorded, nullptr);
        }
        return s;
    }

    spark_context* context_ = nullptr;
    spark_stream stream_ = 0;
    spark_device_info info_{};
    std::unique_ptr<Emulator> emulator_; // made once the driver is loaded
    bool usable_ = true;
};

// Several copies of a case's memory, together larger than twice the L2 cache, and arguments for each.
std::vector<std::vector<uint8_t>> LibraryRunner::copies_of(const Case& c, Memory& memory) {
    std::vector<Image> images;
    size_t total = 0;
    for (size_t i = 0; i < c.storages.size(); ++i) {
        images.push_back(initial_image(c, i, {.tight = true}));
        total += images.back().bytes.size();
    }
    const size_t copies = std::clamp<size_t>(2 * size_t{info_.l2_bytes} / std::max<size_t>(total, 1) + 1, 2, 64);
    std::vector<std::vector<uint8_t>> args(copies, c.args);
    for (auto& one : args) {
        std::vector<spark_devptr> bases;
        for (const Image& image : images) {
            bases.push_back(memory.alloc(std::max<size_t>(image.bytes.size(), 1)));
            memory.upload(bases.back(), image.bytes);
        }
        for (const Operand& operand : c.operands) {
            address_of(one, operand) = bases[operand.storage] + images[operand.storage].front + operand.offset;
        }
    }
    return args;
}

// Launches are timed one by one between two events, each on the next copy of the operands, so that nothing measured was
// left in the cache by the launch before.
std::string LibraryRunner::bench(const Case& c, const Choice& kernel, int repeats, double& median, double& least,
                                 uint64_t& flops, uint64_t& bytes) {
    Memory memory(*this);
    const std::vector<std::vector<uint8_t>> args = copies_of(c, memory);
    const auto head = [&args](int i) {
        return reinterpret_cast<const spark_args*>(args[static_cast<size_t>(i) % args.size()].data());
    };
    spark_exec exec{};
    exec.struct_size = sizeof exec;
    exec.stream = stream_;
    exec.kernel_id = kernel.id;
    exec.workspace_size = kernel.workspace;
    exec.workspace = kernel.workspace ? memory.alloc(kernel.workspace) : 0;
    spark_op_info info{};
    info.struct_size = sizeof info;
    Error e;
    spark_event begin = 0, end = 0;
    std::string s = memory.error;
    const auto step = [&](const char* call, spark_status status) {
        if (s.empty()) {
            s = e.say(call, status);
        }
    };
    step("spark_op_query", spark_op_query(context_, head(0), &info, &e.raw));
    step("spark_event_create", spark_event_create(context_, nullptr, &begin, &e.raw));
    step("spark_event_create", spark_event_create(context_, nullptr, &end, &e.raw));
    constexpr int WARM_UP = 3;
    std::vector<double> times;
    for (int i = 0; i < WARM_UP + repeats && s.empty(); ++i) {
        float ms = 0;
        step("spark_event_record", spark_event_record(context_, begin, stream_, &e.raw));
        step("spark_op_launch", spark_op_launch(context_, head(i), &exec, &e.raw));
        step("spark_event_record", spark_event_record(context_, end, stream_, &e.raw));
        step("spark_event_synchronize", spark_event_synchronize(context_, end, &e.raw));
        step("spark_event_elapsed", spark_event_elapsed(context_, begin, end, &ms, &e.raw));
        times.push_back(ms);
    }
    spark_event_destroy(context_, begin, nullptr);
    spark_event_destroy(context_, end, nullptr);
    if (s.empty()) {
        times.erase(times.begin(), times.begin() + WARM_UP);
        std::sort(times.begin(), times.end());
        median = times[times.size() / 2];
        least = times.front();
        flops = info.flops;
        bytes = info.bytes;
    }
    return s;
}

} // namespace

std::unique_ptr<Runner> make_library_runner(bool offline, std::string& error) {
    auto runner = std::make_unique<LibraryRunner>();
    error = runner->open(offline);
    return error.empty() ? std::unique_ptr<Runner>(std::move(runner)) : nullptr;
}

} // namespace check
