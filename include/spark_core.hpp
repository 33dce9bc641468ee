// SPDX-License-Identifier: Apache-2.0
// What the rest of spark.hpp stands on: errors, elements, tensors, contexts, and owners of what is made in them.
#ifndef SPARK_CORE_HPP_
#define SPARK_CORE_HPP_

#include <spark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
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

// ---- contexts -------------------------------------------------------------------------------------------------

inline int device_count() {
    std::int32_t count = 0;
    check([&](spark_error* err) { return spark_device_count(&count, err); });
    return count;
}

/// A context, shared by its copies and by everything made with it.
class context {
public:
    /// `tuning`: the path of a tuning file; without one that of LIBSPARK_TUNE counts.
    explicit context(int device = 0, std::string_view tuning = {}) : context(describe(device, 0, tuning)) {}
    explicit context(spark_context_desc desc) {
        desc.struct_size = sizeof desc;
        spark_context* made = nullptr;
        check([&](spark_error* err) { return spark_context_create(&desc, &made, err); });
        raw_.reset(made, spark_context_destroy);
    }
    /// Without a driver, for chip 120 or 121 (or 90): query, explain and kernels only.
    static context offline(unsigned arch, std::string_view tuning = {}) { return context(describe(0, arch, tuning)); }
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
    /// Whether kernels of this context can be let read and write memory of `peer`; false where both are on one device.
    bool can_access(const context& peer) const {
        std::uint32_t can = 0;
        check([&](spark_error* err) { return spark_peer_can_access(get(), peer.get(), &can, err); });
        return can != 0;
    }
    /// Lets them, until one of the two contexts ends; the other direction takes a call of its own. Memory that was
    /// allocated in stream order stays out of reach.
    void enable_peer(const context& peer) const {
        check([&](spark_error* err) { return spark_peer_enable(get(), peer.get(), err); });
    }

private:
    explicit context(std::shared_ptr<spark_context> raw) : raw_(std::move(raw)) {}
    static spark_context_desc describe(int device, unsigned arch, std::string_view tuning) {
        spark_context_desc desc{};
        desc.device = device;
        desc.offline_arch = arch;
        desc.tuning_path = reinterpret_cast<std::uintptr_t>(tuning.data());
        desc.tuning_path_bytes = tuning.size();
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

    /// Gives up what it owns without ending it.
    void release() noexcept { raw_ = 0; }

private:
    context ctx_;
    std::uint64_t raw_;
    bool owned_;
};

} // namespace spark

#endif // SPARK_CORE_HPP_
