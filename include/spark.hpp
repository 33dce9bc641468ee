// SPDX-License-Identifier: Apache-2.0
// spark.hpp: libspark for C++17, in one header over spark.h. Nothing of it is compiled into the library.
//
//   spark::context ctx;                                   // LIBSPARK_DRIVER=emu on a computer without a GPU
//   spark::stream stream(ctx);
//   spark::buffer<float> x(stream, std::vector<float>(64, 3.0f)), y(ctx, 64);
//   spark::ops::rmsnorm norm(1e-5f);                      // spark_rmsnorm_args, its head filled in, with its eps
//   norm.x = x.view({1, 64});
//   norm.y = y.view({1, 64});
//   norm.launch(stream);
//   std::vector<float> ones = y.to_vector(stream);
//
// Objects own what they made and give it back in their destructors, in any order: each keeps its context alive. What
// fails throws spark::error, with the library's sentence. As in C, memory must outlive the work that uses it: wait for
// the stream before a buffer goes. All rules of spark.h hold; its structures, enumerations and flags are used as they
// are, but for scalars with a usual value other than 0, which functions set: gemm.set_alpha(0) is a factor of 0.
#ifndef SPARK_HPP_
#define SPARK_HPP_

#include <spark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace spark {

/// Why a call failed: a status to decide by, the argument that was wrong, and a sentence to show.
class error : public std::runtime_error {
public:
    error(spark_status status, const std::string& sentence)
        : std::runtime_error(std::string(spark_status_name(status)) + ": " + sentence), status_(status) {}
    error(spark_status status, const spark_error& said) : error(status, std::string(said.message)) {
        driver_code_ = said.driver_code;
        if (const spark_op_desc* desc = spark_op_describe(said.op)) {
            op_ = desc->name;
            if (const spark_field* field = spark_op_field(said.op, said.field)) field_ = field->name;
        }
    }

    spark_status status() const noexcept { return status_; }
    /// The driver's own number (CUresult); 0 if the driver was not involved.
    int driver_code() const noexcept { return driver_code_; }
    /// The operator whose arguments were refused, and the field of it; nullptr if there is none.
    const char* op() const noexcept { return op_; }
    const char* field() const noexcept { return field_; }
    /// The caller's mistake: repeating the same call cannot succeed.
    bool is_invalid() const noexcept { return status_ / 1000 == 1; }
    /// Meaningful, but this library, driver or device does not do it.
    bool is_unsupported() const noexcept { return status_ / 1000 == 2; }

private:
    spark_status status_;
    int driver_code_ = 0;
    const char* op_ = nullptr; // static text of the library
    const char* field_ = nullptr;
};

/// Makes one call of the C API, given its last argument; throws what the library says about a failure.
template <class Call> void check(Call&& call) {
    spark_error said{};
    said.struct_size = sizeof said;
    if (spark_status status = call(&said)) throw error(status, said);
}

// ---- elements -------------------------------------------------------------------------------------------------

/// The upper half of a float.
struct bfloat16 {
    std::uint16_t bits;

    bfloat16() = default;
    /// To nearest even.
    explicit bfloat16(float value) {
        std::uint32_t whole;
        std::memcpy(&whole, &value, sizeof whole);
        const bool nan = (whole & 0x7fffffffu) > 0x7f800000u; // rounding could make an infinity of it
        bits = static_cast<std::uint16_t>((nan ? whole | 0x400000u : whole + 0x7fffu + ((whole >> 16) & 1u)) >> 16);
    }
    explicit operator float() const {
        const std::uint32_t whole = static_cast<std::uint32_t>(bits) << 16;
        float value;
        std::memcpy(&value, &whole, sizeof value);
        return value;
    }
};

/// IEEE binary16, as bits: what to compute them with is the program's choice.
struct float16 {
    std::uint16_t bits;
};

/// The dtype of a C++ type; specialise it for types of your own of the same bits.
template <class T> struct dtype_of;
template <spark_dtype Dtype> using dtype_constant = std::integral_constant<spark_dtype, Dtype>;
template <> struct dtype_of<float> : dtype_constant<SPARK_DTYPE_F32> {};
template <> struct dtype_of<double> : dtype_constant<SPARK_DTYPE_F64> {};
template <> struct dtype_of<float16> : dtype_constant<SPARK_DTYPE_F16> {};
template <> struct dtype_of<bfloat16> : dtype_constant<SPARK_DTYPE_BF16> {};
template <> struct dtype_of<std::int8_t> : dtype_constant<SPARK_DTYPE_I8> {};
template <> struct dtype_of<std::uint8_t> : dtype_constant<SPARK_DTYPE_U8> {};
template <> struct dtype_of<std::byte> : dtype_constant<SPARK_DTYPE_U8> {};
template <> struct dtype_of<std::int32_t> : dtype_constant<SPARK_DTYPE_I32> {};
template <> struct dtype_of<std::uint32_t> : dtype_constant<SPARK_DTYPE_U32> {};
template <> struct dtype_of<std::int64_t> : dtype_constant<SPARK_DTYPE_I64> {};
template <> struct dtype_of<std::uint64_t> : dtype_constant<SPARK_DTYPE_U64> {};

/// Up to six sizes or strides, from braces: {2, 64}. None: no strides, which means packed.
class extents {
public:
    template <class... N, class = std::enable_if_t<(std::is_integral_v<N> && ...)>>
    extents(N... numbers) : count_(sizeof...(N)), values_{static_cast<std::int64_t>(numbers)...} {}
    extents(const std::vector<std::int64_t>& numbers) : count_(static_cast<std::uint32_t>(numbers.size())) {
        if (numbers.size() > SPARK_MAX_NDIM)
            throw error(SPARK_ERR_INVALID_SHAPE, std::to_string(numbers.size()) + " dimensions; at most 6 wanted");
        std::copy(numbers.begin(), numbers.end(), values_);
    }

    std::uint32_t count() const noexcept { return count_; }
    const std::int64_t* data() const noexcept { return values_; }

private:
    std::uint32_t count_;
    std::int64_t values_[SPARK_MAX_NDIM] = {};
};

/// Describes device memory of any origin. Its bounds are checked by the call that it is given to.
inline spark_tensor tensor(spark_devptr data, std::uint64_t bytes, spark_dtype dtype, const extents& shape,
                           const extents& stride = {}) {
    if (stride.count() != 0 && stride.count() != shape.count())
        throw error(SPARK_ERR_INVALID_STRIDE,
                    std::to_string(stride.count()) + " strides for " + std::to_string(shape.count()) + " dimensions");
    spark_tensor made{};
    made.data = data;
    made.size_bytes = bytes;
    made.dtype = dtype;
    made.ndim = shape.count();
    std::memcpy(made.shape, shape.data(), sizeof made.shape);
    std::memcpy(made.stride, stride.data(), sizeof made.stride);
    return made;
}

// ---- contexts, streams, events, graphs ------------------------------------------------------------------------

inline int device_count() {
    std::int32_t count = 0;
    check([&](spark_error* err) { return spark_device_count(&count, err); });
    return count;
}

/// A context, shared by its copies and by everything made with it.
class context {
public:
    explicit context(int device = 0) : context(describe(device, 0)) {}
    explicit context(spark_context_desc desc) {
        desc.struct_size = sizeof desc;
        spark_context* made = nullptr;
        check([&](spark_error* err) { return spark_context_create(&desc, &made, err); });
        raw_.reset(made, spark_context_destroy);
    }
    /// Without a driver, for chip 120 or 121 (or 90): query, explain and kernels only.
    static context offline(unsigned arch) { return context(describe(0, arch)); }
    /// Somebody else's: it stays theirs.
    static context borrow(spark_context* raw) {
        return context(std::shared_ptr<spark_context>(raw, [](auto*) {}));
    }

    spark_context* get() const noexcept { return raw_.get(); }

    spark_device_info device() const {
        spark_device_info info{};
        info.struct_size = sizeof info;
        check([&](spark_error* err) { return spark_context_device(get(), &info, err); });
        return info;
    }
    /// Loads the code of every kernel of one operator, or of all, so that no later launch has to.
    void preload(spark_op op = SPARK_OP_NONE) const {
        check([&](spark_error* err) { return spark_context_preload(get(), op, err); });
    }

private:
    explicit context(std::shared_ptr<spark_context> raw) : raw_(std::move(raw)) {}
    static spark_context_desc describe(int device, unsigned arch) {
        spark_context_desc desc{};
        desc.device = device;
        desc.offline_arch = arch;
        return desc;
    }

    std::shared_ptr<spark_context> raw_;
};

/// One thing of the driver's, given back by End unless it is borrowed. Can be moved, not copied.
template <spark_status (*End)(spark_context*, std::uint64_t, spark_error*)> class owner {
public:
    owner(owner&& other) noexcept : ctx_(other.ctx_), raw_(std::exchange(other.raw_, 0)), owned_(other.owned_) {}
    owner& operator=(owner&& other) noexcept {
        owner taken(std::move(other)); // leaves with what this one had
        std::swap(ctx_, taken.ctx_);
        std::swap(raw_, taken.raw_);
        std::swap(owned_, taken.owned_);
        return *this;
    }
    ~owner() {
        if (owned_ && raw_ != 0) End(ctx_.get(), raw_, nullptr);
    }

    /// The library's handle, or the device address, as an integer.
    std::uint64_t get() const noexcept { return raw_; }
    const context& ctx() const noexcept { return ctx_; }

protected:
    template <class Ask> std::uint64_t native_of(Ask&& ask) const {
        std::uint64_t native = 0;
        check([&](spark_error* err) { return ask(ctx_.get(), raw_, &native, err); });
        return native;
    }
    owner(context ctx, std::uint64_t raw, bool owned) : ctx_(std::move(ctx)), raw_(raw), owned_(owned) {}
    template <class Make> owner(const context& ctx, Make&& make) : ctx_(ctx), raw_(0), owned_(true) {
        check([&](spark_error* err) { return make(ctx.get(), &raw_, err); });
    }

private:
    context ctx_;
    std::uint64_t raw_;
    bool owned_;
};

class stream;

class event : public owner<spark_event_destroy> {
public:
    /// `flags`: of spark_event_flag.
    explicit event(const context& ctx, std::uint32_t flags = SPARK_EVENT_NONE)
        : owner(ctx, [&](spark_context* on, spark_event* out, spark_error* err) {
              const spark_event_desc desc{sizeof desc, flags};
              return spark_event_create(on, &desc, out, err);
          }) {}
    inline void record(const stream& on);
    void synchronize() const {
        check([&](spark_error* err) { return spark_event_synchronize(ctx().get(), get(), err); });
    }
    bool is_done() const {
        std::uint32_t done = 0;
        check([&](spark_error* err) { return spark_event_query(ctx().get(), get(), &done, err); });
        return done != 0;
    }
    /// The CUevent as an integer, for other software. It stays this object's.
    std::uint64_t native() const { return native_of(spark_event_native); }
    /// Milliseconds from `begin` to this one; both have been recorded and are done.
    float since(const event& begin) const {
        float took = 0;
        check([&](spark_error* err) { return spark_event_elapsed(ctx().get(), begin.get(), get(), &took, err); });
        return took;
    }
};

/// Recorded work. The memory that it uses must outlive it.
class graph : public owner<spark_graph_destroy> {
public:
    inline void launch(const stream& on) const;
    /// The CUgraphExec as an integer, for other software. It stays this object's.
    std::uint64_t native() const { return native_of(spark_graph_native); }

private:
    friend class stream;
    graph(const context& ctx, spark_graph raw) : owner(ctx, raw, true) {}
};

class stream : public owner<spark_stream_destroy> {
public:
    /// `priority`: below 0 is more urgent. `flags`: of spark_stream_flag.
    explicit stream(const context& ctx, std::int32_t priority = 0, std::uint32_t flags = SPARK_STREAM_NONE)
        : owner(ctx, [&](spark_context* on, spark_stream* out, spark_error* err) {
              const spark_stream_desc desc{sizeof desc, flags, priority, 0};
              return spark_stream_create(on, &desc, out, err);
          }) {}
    /// A CUstream of somebody else's, as an integer; 0 is the legacy default stream. It stays theirs.
    static stream borrow(const context& ctx, spark_stream raw) { return stream(ctx, raw); }

    /// The CUstream as an integer, for other software. It stays this object's, or whose it is.
    std::uint64_t native() const { return native_of(spark_stream_native); }
    void synchronize() const {
        check([&](spark_error* err) { return spark_stream_synchronize(ctx().get(), get(), err); });
    }
    bool is_done() const {
        std::uint32_t done = 0;
        check([&](spark_error* err) { return spark_stream_query(ctx().get(), get(), &done, err); });
        return done != 0;
    }
    void wait(const event& point) const {
        check([&](spark_error* err) { return spark_stream_wait_event(ctx().get(), get(), point.get(), err); });
    }
    /// Records what `record()` enqueues on this stream, instead of running it. Prepare operators before: a capture
    /// loads no code. If it throws, the capture ends and nothing is kept.
    template <class Record> graph capture(Record&& record) const {
        check([&](spark_error* err) { return spark_graph_begin(ctx().get(), get(), nullptr, err); });
        try {
            record();
        } catch (...) {
            spark_graph unwanted = 0;
            if (spark_graph_end(ctx().get(), get(), &unwanted, nullptr) == SPARK_OK)
                spark_graph_destroy(ctx().get(), unwanted, nullptr);
            throw;
        }
        spark_graph made = 0;
        check([&](spark_error* err) { return spark_graph_end(ctx().get(), get(), &made, err); });
        return graph(ctx(), made);
    }

private:
    stream(const context& ctx, spark_stream raw) : owner(ctx, raw, false) {}
};

inline void event::record(const stream& on) {
    check([&](spark_error* err) { return spark_event_record(ctx().get(), get(), on.get(), err); });
}

inline void graph::launch(const stream& on) const {
    check([&](spark_error* err) { return spark_graph_launch(ctx().get(), get(), on.get(), err); });
}

// ---- memory ---------------------------------------------------------------------------------------------------

/// Device memory for `size()` values of T. Copies to and from the host wait for the stream.
template <class T> class buffer : public owner<spark_mem_free> {
    static_assert(std::is_trivially_copyable_v<T>, "the device has bytes, not objects");

public:
    /// With whatever was in it; the emulator reports what reads it before it was written.
    buffer(const context& ctx, std::size_t size)
        : owner(ctx, [&](spark_context* raw, spark_devptr* out,
                         spark_error* err) { return spark_mem_alloc(raw, bytes_of(size), out, err); }),
          size_(size) {}
    buffer(const stream& on, const std::vector<T>& values) : buffer(on.ctx(), values.size()) { write(on, values); }
    buffer(buffer&& other) noexcept : owner(std::move(other)), size_(std::exchange(other.size_, 0)) {}
    buffer& operator=(buffer&& other) noexcept {
        owner::operator=(std::move(other));
        size_ = std::exchange(other.size_, 0);
        return *this;
    }
    static buffer zeros(const stream& on, std::size_t size) {
        buffer made(on.ctx(), size);
        made.fill_bytes(on, 0);
        return made;
    }

    std::size_t size() const noexcept { return size_; }
    std::uint64_t bytes() const noexcept { return static_cast<std::uint64_t>(size_) * sizeof(T); }

    void write(const stream& on, const T* from, std::size_t count, std::size_t offset = 0) {
        check([&](spark_error* err) {
            return spark_mem_copy_to_device(ctx().get(), at(offset, count), from, count * sizeof(T), on.get(), err);
        });
    }
    void write(const stream& on, const std::vector<T>& from, std::size_t offset = 0) {
        write(on, from.data(), from.size(), offset);
    }
    void read(const stream& on, T* to, std::size_t count, std::size_t offset = 0) const {
        check([&](spark_error* err) {
            return spark_mem_copy_to_host(ctx().get(), to, at(offset, count), count * sizeof(T), on.get(), err);
        });
    }
    std::vector<T> to_vector(const stream& on) const {
        std::vector<T> values(size_);
        read(on, values.data(), size_);
        return values;
    }
    /// Enqueued; may be captured.
    void fill_bytes(const stream& on, std::uint8_t value) {
        check([&](spark_error* err) { return spark_mem_set(ctx().get(), get(), value, bytes(), on.get(), err); });
    }
    /// Enqueued; may be captured.
    void copy_from(const stream& on, const buffer& from) {
        const spark_devptr to = at(0, from.size_);
        check(
            [&](spark_error* err) { return spark_mem_copy(ctx().get(), to, from.get(), from.bytes(), on.get(), err); });
    }

    /// A tensor on this memory, its first element `offset` elements from the start.
    spark_tensor view(const extents& shape, const extents& stride = {}, std::size_t offset = 0) const {
        return tensor(at(offset, 0), bytes() - offset * sizeof(T), dtype_of<T>::value, shape, stride);
    }

private:
    static std::uint64_t bytes_of(std::size_t size) {
        if (size > std::numeric_limits<std::size_t>::max() / sizeof(T))
            throw error(SPARK_ERR_INVALID_VALUE,
                        "a buffer of " + std::to_string(size) + " elements cannot be addressed");
        return static_cast<std::uint64_t>(size) * sizeof(T);
    }
    /// The address of an element that `count` elements follow.
    spark_devptr at(std::size_t offset, std::size_t count) const {
        if (offset > size_ || count > size_ - offset)
            throw error(SPARK_ERR_INVALID_BOUNDS, std::to_string(count) + " elements from element " +
                                                      std::to_string(offset) + " on; the buffer has " +
                                                      std::to_string(size_));
        return get() + offset * sizeof(T);
    }

    std::size_t size_;
};

using workspace = buffer<std::byte>;

// ---- operators ------------------------------------------------------------------------------------------------

/// The arguments of an operator, and its calls. The fields are those of the C structure, all absent at first.
template <class Args, spark_op Number> struct operation : Args {
    operation() : Args{} {
        this->hdr.struct_size = sizeof(Args);
        this->hdr.op = Number;
    }

    /// Checks the arguments and says what a launch would do. No driver is needed.
    spark_op_info query(const context& ctx) const { return inquire(ctx, spark_op_query); }
    /// As query, and loads the code that the launch will need.
    spark_op_info prepare(const context& ctx) const { return inquire(ctx, spark_op_prepare); }
    /// Enqueues the work.
    void launch(const stream& on) const { launch(on, 0, 0, 0); }
    /// With memory for intermediate results (query says how much), and with one of `kernels` instead of the library's
    /// choice (0).
    void launch(const stream& on, const workspace& scratch, std::uint64_t kernel_id = 0) const {
        launch(on, scratch.get(), scratch.bytes(), kernel_id);
    }
    /// One line for each kernel: the first limit that it fails, or why it is chosen.
    std::string explain(const context& ctx) const {
        std::size_t needed = 4096; // more than most need
        std::string text;
        do {
            text.resize(needed);
            spark_error said{};
            said.struct_size = sizeof said;
            const spark_status status = spark_op_explain(ctx.get(), &this->hdr, &text[0], text.size(), &needed, &said);
            if (status != SPARK_OK && status != SPARK_ERR_BUFFER_TOO_SMALL) throw error(status, said);
        } while (needed > text.size());
        text.resize(needed - 1);
        return text;
    }
    /// Every kernel that is legal for these arguments, the preferred one first.
    std::vector<spark_op_info> kernels(const context& ctx) const {
        std::vector<spark_op_info> infos;
        std::uint32_t count = 0;
        do {
            infos.resize(count, empty_info());
            check([&](spark_error* err) {
                const auto capacity = static_cast<std::uint32_t>(infos.size());
                return spark_op_kernels(ctx.get(), &this->hdr, infos.data(), capacity, &count, err);
            });
        } while (count > infos.size());
        return infos;
    }

protected:
    /// Sets a scalar that counts from then on, also where it is 0.
    template <class T> void give(T& field, T value, std::uint32_t bit) {
        field = value;
        this->hdr.given |= bit;
    }

private:
    static spark_op_info empty_info() {
        spark_op_info info{};
        info.struct_size = sizeof info;
        return info;
    }
    template <class Call> spark_op_info inquire(const context& ctx, Call call) const {
        spark_op_info info = empty_info();
        check([&](spark_error* err) { return call(ctx.get(), &this->hdr, &info, err); });
        return info;
    }
    void launch(const stream& on, spark_devptr scratch, std::uint64_t bytes, std::uint64_t kernel_id) const {
        spark_exec exec{};
        exec.struct_size = sizeof exec;
        exec.stream = on.get();
        exec.workspace = scratch;
        exec.workspace_size = bytes;
        exec.kernel_id = kernel_id;
        check([&](spark_error* err) { return spark_op_launch(on.ctx().get(), &this->hdr, &exec, err); });
    }
};

} // namespace spark

#include <spark_ops.hpp> // spark::ops: one type for each operator

#endif // SPARK_HPP_
