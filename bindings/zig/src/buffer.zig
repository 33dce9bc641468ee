// SPDX-License-Identifier: Apache-2.0
//! Device memory with an owner. Pinned memory of the host is in pinned.zig.
const std = @import("std");
const c = @import("c");
const element = @import("element.zig");
const errors = @import("errors.zig");
const Context = @import("context.zig").Context;
const Diagnostics = errors.Diagnostics;
const Error = errors.Error;
const Stream = @import("stream.zig").Stream;
const Tensor = @import("tensor.zig").Tensor;
const Dim = @import("tensor.zig").Dim;
const check = errors.check;
const target = errors.target;

/// The bytes of so many values.
pub fn bytesOf(comptime T: type, len: usize, said: ?*Diagnostics) Error!u64 {
    return std.math.mul(u64, len, @sizeOf(T)) catch
        errors.refuse(said, c.SPARK_ERR_INVALID_VALUE, .{}, "len is {d}: too many bytes", .{len});
}

/// Device memory for `len` values of `T`. Freeing it waits for the device; views of it are void from then on.
pub fn Buffer(comptime T: type) type {
    return struct {
        ctx: Context,
        address: c.spark_devptr,
        len: usize,

        const Self = @This();

        /// Memory with whatever was in it. The emulator reports what reads it before it was written.
        pub fn init(ctx: Context, len: usize, said: ?*Diagnostics) Error!Self {
            const bytes = try bytesOf(T, len, said);
            var address: c.spark_devptr = 0;
            try check(c.spark_mem_alloc(ctx.raw, bytes, &address, target(said)));
            return .{ .ctx = ctx, .address = address, .len = len };
        }

        /// Memory in the order of a stream, without waiting: for work that is enqueued there from now on, and on other
        /// streams once they wait for it. Not in a capture, nor to be recorded before the stream has come here.
        pub fn initOrdered(stream: Stream, len: usize, said: ?*Diagnostics) Error!Self {
            const bytes = try bytesOf(T, len, said);
            var address: c.spark_devptr = 0;
            try check(c.spark_mem_alloc_async(stream.ctx.raw, bytes, stream.raw, &address, target(said)));
            return .{ .ctx = stream.ctx, .address = address, .len = len };
        }

        /// Memory full of zeros, for work on this stream.
        pub fn zeroed(stream: Stream, len: usize, said: ?*Diagnostics) Error!Self {
            var made = try init(stream.ctx, len, said);
            errdefer made.deinit();
            try made.fill(stream, 0, said);
            return made;
        }

        /// A copy of host memory.
        pub fn fromSlice(stream: Stream, values: []const T, said: ?*Diagnostics) Error!Self {
            var made = try init(stream.ctx, values.len, said);
            errdefer made.deinit();
            try made.write(stream, 0, values, said);
            return made;
        }

        pub fn deinit(buffer: *Self) void {
            _ = c.spark_mem_free(buffer.ctx.raw, buffer.address, null);
            buffer.* = ended;
        }

        const ended: Self = .{ .ctx = .ended, .address = 0, .len = 0 };

        /// Frees the memory, of whatever origin, when the stream's work up to here has finished, without waiting; the
        /// stream must have been made to wait for others that use it. On an error the buffer lives on: in a capture it
        /// is refused.
        pub fn deinitOrdered(buffer: *Self, stream: Stream, said: ?*Diagnostics) Error!void {
            const address = try buffer.range(stream, 0, buffer.len, said);
            try check(c.spark_mem_free_async(stream.ctx.raw, address, stream.raw, target(said)));
            buffer.* = ended;
        }

        /// Copies from the host to the values from `first` on.
        pub fn write(buffer: Self, stream: Stream, first: usize, values: []const T, said: ?*Diagnostics) Error!void {
            const at = try buffer.range(stream, first, values.len, said);
            const bytes = std.mem.sliceAsBytes(values);
            try check(c.spark_mem_copy_to_device(stream.ctx.raw, at, bytes.ptr, bytes.len, stream.raw, target(said)));
        }

        /// Copies the values from `first` on to the host.
        pub fn read(buffer: Self, stream: Stream, first: usize, values: []T, said: ?*Diagnostics) Error!void {
            const at = try buffer.range(stream, first, values.len, said);
            const bytes = std.mem.sliceAsBytes(values);
            try check(c.spark_mem_copy_to_host(stream.ctx.raw, bytes.ptr, at, bytes.len, stream.raw, target(said)));
        }

        /// Enqueues a copy of `values`, as a rule of a `Pinned(T)`, which must live and keep them until the copy has
        /// run: `stream.synchronize`, or an event. A capture records the address, and every launch of the graph reads
        /// it again. Memory that is not pinned is copied aside first, but not in a capture.
        pub fn writeAsync(
            buffer: Self,
            stream: Stream,
            first: usize,
            values: []const T,
            said: ?*Diagnostics,
        ) Error!void {
            const to = try buffer.range(stream, first, values.len, said);
            const bytes = std.mem.sliceAsBytes(values);
            const ctx = stream.ctx.raw;
            try check(c.spark_mem_copy_to_device_async(ctx, to, bytes.ptr, bytes.len, stream.raw, target(said)));
        }

        /// Enqueues a copy to `values`, as a rule of a `Pinned(T)`, which must live until the copy has run and are not
        /// to be looked at before. Where they are not pinned the call may wait.
        pub fn readAsync(buffer: Self, stream: Stream, first: usize, values: []T, said: ?*Diagnostics) Error!void {
            const from = try buffer.range(stream, first, values.len, said);
            const bytes = std.mem.sliceAsBytes(values);
            const ctx = stream.ctx.raw;
            try check(c.spark_mem_copy_to_host_async(ctx, bytes.ptr, from, bytes.len, stream.raw, target(said)));
        }

        /// All values, on the host. The caller frees the slice.
        pub fn toOwnedSlice(
            buffer: Self,
            allocator: std.mem.Allocator,
            stream: Stream,
            said: ?*Diagnostics,
        ) (Error || std.mem.Allocator.Error)![]T {
            const values = try allocator.alloc(T, buffer.len);
            errdefer allocator.free(values);
            try buffer.read(stream, 0, values, said);
            return values;
        }

        /// Sets every byte; enqueued on the stream.
        pub fn fill(buffer: Self, stream: Stream, byte: u8, said: ?*Diagnostics) Error!void {
            const at = try buffer.range(stream, 0, buffer.len, said);
            try check(c.spark_mem_set(stream.ctx.raw, at, byte, buffer.len * @sizeOf(T), stream.raw, target(said)));
        }

        /// Copies all of another buffer of the same length; enqueued on the stream.
        pub fn copyFrom(buffer: Self, stream: Stream, other: Self, said: ?*Diagnostics) Error!void {
            const at = try buffer.range(stream, 0, other.len, said);
            const from = try other.range(stream, 0, buffer.len, said);
            try check(c.spark_mem_copy(stream.ctx.raw, at, from, buffer.len * @sizeOf(T), stream.raw, target(said)));
        }

        /// Copies all of a buffer of the same length in another context, as a rule of another device; enqueued on a
        /// stream of either. Needs no peer access, and is faster with it.
        pub fn copyFromPeer(buffer: Self, stream: Stream, other: Self, said: ?*Diagnostics) Error!void {
            const here = if (stream.ctx.raw == other.ctx.raw) other else buffer;
            _ = try here.range(stream, 0, 0, said);
            const at = try buffer.place(0, other.len, said);
            const from = try other.place(0, buffer.len, said);
            const bytes = buffer.len * @sizeOf(T);
            const status = c.spark_mem_copy_peer(
                buffer.ctx.raw,
                at,
                other.ctx.raw,
                from,
                bytes,
                stream.raw,
                target(said),
            );
            try check(status);
        }

        /// The whole buffer as a tensor, row by row without gaps.
        pub fn view(buffer: Self, sizes: []const usize) Tensor {
            var made = Tensor.packedRows(T, buffer.address, buffer.len * @sizeOf(T), sizes);
            made.ctx = buffer.ctx.raw;
            return made;
        }

        /// A tensor that begins at the number `first`, with a stride for each dimension.
        pub fn strided(buffer: Self, first: usize, dims: []const Dim) Tensor {
            const count = comptime element.countOf(T);
            const skipped = @min(first / count, buffer.len);
            const bytes = skipped * @sizeOf(T);
            var made = Tensor.strided(T, buffer.address + bytes, buffer.len * @sizeOf(T) - bytes, dims);
            made.ctx = buffer.ctx.raw;
            if (first % count != 0)
                made.fault = .{ .status = c.SPARK_ERR_INVALID_ALIGNMENT, .text = "begins inside a byte" };
            // No bytes left would mean to the library that their number is not told.
            if (first > 0 and skipped == buffer.len)
                made.fault = .{ .status = c.SPARK_ERR_INVALID_BOUNDS, .text = "begins behind its buffer" };
            return made;
        }

        /// The address of `count` values from `first` on, if they lie in the buffer and in the stream's context.
        fn range(buffer: Self, stream: Stream, first: usize, count: usize, said: ?*Diagnostics) Error!c.spark_devptr {
            if (buffer.ctx.raw != stream.ctx.raw) return errors.refuse(
                said,
                c.SPARK_ERR_INVALID_HANDLE,
                .{},
                "the buffer belongs to another context than the stream, or has ended",
                .{},
            );
            return buffer.place(first, count, said);
        }

        /// The same, if they lie in the buffer.
        fn place(buffer: Self, first: usize, count: usize, said: ?*Diagnostics) Error!c.spark_devptr {
            if (first > buffer.len or count > buffer.len - first) return errors.refuse(
                said,
                c.SPARK_ERR_INVALID_BOUNDS,
                .{},
                "{d} values from {d} on do not lie in a buffer of {d}",
                .{ count, first, buffer.len },
            );
            return buffer.address + first * @sizeOf(T);
        }
    };
}
