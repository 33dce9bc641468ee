// SPDX-License-Identifier: Apache-2.0
// Memory of the device, and pinned memory of the host; spark.hpp includes it.
#ifndef SPARK_MEMORY_HPP_
#define SPARK_MEMORY_HPP_

#include <spark_stream.hpp>

#include <limits>

namespace spark {

/// spark_host_free, as an owner calls it.
inline spark_status host_free(spark_context* ctx, std::uint64_t data, spark_error* err) {
    return spark_host_free(ctx, reinterpret_cast<void*>(static_cast<std::uintptr_t>(data)), err);
}

/// The bytes of `size` values.
template <class T> std::uint64_t bytes_of(std::size_t size) {
    static_assert(std::is_trivially_copyable_v<T>, "the device has bytes, not objects");
    if (size > std::numeric_limits<std::size_t>::max() / sizeof(T))
        throw error(SPARK_ERR_INVALID_VALUE, "a buffer of " + std::to_string(size) + " elements cannot be addressed");
    return static_cast<std::uint64_t>(size) * sizeof(T);
}

/// Pinned memory of the host for `size()` values of T, for copies that run beside the host, of every context. Its end
/// waits for work that uses it; a graph that has recorded it must end before.
template <class T> class pinned : public owner<host_free> {
public:
    /// With whatever was in it.
    pinned(const context& ctx, std::size_t size)
        : owner(ctx,
                [&](spark_context* raw, std::uint64_t* out, spark_error* err) {
                    void* made = nullptr;
                    const spark_status status = spark_host_alloc(raw, bytes_of<T>(size), &made, err);
                    *out = reinterpret_cast<std::uintptr_t>(made);
                    return status;
                }),
          size_(size) {}
    pinned(pinned&& other) noexcept : owner(std::move(other)), size_(std::exchange(other.size_, 0)) {}
    pinned& operator=(pinned&& other) noexcept {
        owner::operator=(std::move(other));
        size_ = std::exchange(other.size_, 0);
        return *this;
    }

    std::size_t size() const noexcept { return size_; }
    /// The values themselves: while a copy runs, those from here must stay as they are and those to here are not read.
    T* data() noexcept { return reinterpret_cast<T*>(static_cast<std::uintptr_t>(get())); }
    const T* data() const noexcept { return reinterpret_cast<const T*>(static_cast<std::uintptr_t>(get())); }
    T* begin() noexcept { return data(); }
    T* end() noexcept { return data() + size_; }
    const T* begin() const noexcept { return data(); }
    const T* end() const noexcept { return data() + size_; }

private:
    std::size_t size_;
};

/// Device memory for `size()` values of T. Copies to and from the host wait for the stream, but for the `_async` ones.
template <class T> class buffer : public owner<spark_mem_free> {
public:
    /// With whatever was in it; the emulator reports what reads it before it was written.
    buffer(const context& ctx, std::size_t size)
        : owner(ctx, [&](spark_context* raw, spark_devptr* out,
                         spark_error* err) { return spark_mem_alloc(raw, bytes_of<T>(size), out, err); }),
          size_(size) {}
    buffer(const stream& on, const std::vector<T>& values) : buffer(on.ctx(), values.size()) { write(on, values); }
    buffer(buffer&& other) noexcept : owner(std::move(other)), size_(std::exchange(other.size_, 0)) {}
    buffer& operator=(buffer&& other) noexcept {
        owner::operator=(std::move(other));
        size_ = std::exchange(other.size_, 0);
        return *this;
    }
    /// Allocated in the order of a stream, without waiting: for work that is enqueued there from now on, and on other
    /// streams once they wait for it. Not in a capture, nor to be recorded before the stream has come here.
    static buffer ordered(const stream& on, std::size_t size) {
        spark_devptr made = 0;
        check([&](spark_error* err) {
            return spark_mem_alloc_async(on.ctx().get(), bytes_of<T>(size), on.get(), &made, err);
        });
        return buffer(on.ctx(), made, size);
    }
    /// Gives the memory back when the stream's work up to here has finished, without waiting; the stream must have been
    /// made to wait for others that use it. Empty from then on. Not in a capture.
    void free_async(const stream& on) {
        check([&](spark_error* err) { return spark_mem_free_async(ctx().get(), get(), on.get(), err); });
        release();
        size_ = 0;
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
    /// Enqueued; may be captured, and then reads `from` at every launch. Memory that is pinned (as a rule, of `pinned`)
    /// must keep its values until the copy has run. Other memory is copied aside first, but not in a capture.
    void write_async(const stream& on, const T* from, std::size_t count, std::size_t offset = 0) {
        const spark_devptr to = at(offset, count);
        check([&](spark_error* err) {
            return spark_mem_copy_to_device_async(ctx().get(), to, from, count * sizeof(T), on.get(), err);
        });
    }
    void write_async(const stream& on, const pinned<T>& from, std::size_t offset = 0) {
        write_async(on, from.data(), from.size(), offset);
    }
    /// Enqueued; may be captured. `to` is filled when the stream's work up to here has finished; where it is not pinned
    /// the call may wait for that.
    void read_async(const stream& on, T* to, std::size_t count, std::size_t offset = 0) const {
        const spark_devptr from = at(offset, count);
        check([&](spark_error* err) {
            return spark_mem_copy_to_host_async(ctx().get(), to, from, count * sizeof(T), on.get(), err);
        });
    }
    void read_async(const stream& on, pinned<T>& to, std::size_t offset = 0) const {
        read_async(on, to.data(), to.size(), offset);
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

    /// From a buffer of another context, as a rule of another device; enqueued on a stream of either. Needs no peer
    /// access, and is faster with it. May be captured.
    void copy_from_peer(const stream& on, const buffer& from) {
        const spark_devptr to = at(0, from.size_);
        check([&](spark_error* err) {
            return spark_mem_copy_peer(ctx().get(), to, from.ctx().get(), from.get(), from.bytes(), on.get(), err);
        });
    }

    /// A tensor on this memory, its first element `offset` elements from the start.
    spark_tensor view(const extents& shape, const extents& stride = {}, std::size_t offset = 0) const {
        return tensor(at(offset, 0), bytes() - offset * sizeof(T), dtype_of<T>::value, shape, stride);
    }

private:
    buffer(const context& ctx, spark_devptr data, std::size_t size) : owner(ctx, data, true), size_(size) {}
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

} // namespace spark

#endif // SPARK_MEMORY_HPP_
