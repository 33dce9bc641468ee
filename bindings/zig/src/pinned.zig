// SPDX-License-Identifier: Apache-2.0
//! Pinned memory of the host.
const c = @import("c");
const bytesOf = @import("buffer.zig").bytesOf;
const errors = @import("errors.zig");
const Context = @import("context.zig").Context;
const Diagnostics = errors.Diagnostics;
const Error = errors.Error;
const check = errors.check;
const target = errors.target;

/// Pinned memory of the host: `Buffer.writeAsync` and `readAsync` copy from and to it beside the host, in every
/// context. `items` are the values: while a copy runs those that it reads must stay as they are, and those that it
/// writes are not to be looked at.
pub fn Pinned(comptime T: type) type {
    return struct {
        ctx: Context,
        items: []T,

        const Self = @This();

        /// Memory with whatever was in it.
        pub fn init(ctx: Context, len: usize, said: ?*Diagnostics) Error!Self {
            var made: ?*anyopaque = null;
            try check(c.spark_host_alloc(ctx.raw, try bytesOf(T, len, said), &made, target(said)));
            const first: [*]T = @ptrCast(@alignCast(made orelse return .{ .ctx = ctx, .items = &.{} }));
            return .{ .ctx = ctx, .items = first[0..len] };
        }

        /// Waits for copies that use it and frees it. A graph that has recorded it must end before. In a capture it
        /// cannot be freed and is lost.
        pub fn deinit(pinned: *Self) void {
            if (pinned.items.len > 0) _ = c.spark_host_free(pinned.ctx.raw, pinned.items.ptr, null);
            pinned.* = .{ .ctx = .ended, .items = &.{} };
        }
    };
}
