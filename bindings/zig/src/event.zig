// SPDX-License-Identifier: Apache-2.0
//! Events: points in the work of streams.
const c = @import("c");
const call = @import("call.zig");
const errors = @import("errors.zig");
const Context = @import("context.zig").Context;
const Diagnostics = errors.Diagnostics;
const Error = errors.Error;
const Stream = @import("stream.zig").Stream;
const check = errors.check;
const target = errors.target;

/// A point in the work of a stream.
pub const Event = struct {
    ctx: Context,
    raw: c.spark_event,

    pub const Options = struct {
        /// Without it an event is cheaper, and `since` refuses it.
        timing: bool = true,
        /// A thread that waits for it sleeps, instead of asking again and again.
        blocking_sync: bool = false,
    };

    /// An event that can be timed. Before it is recorded it counts as done.
    pub fn init(ctx: Context, said: ?*Diagnostics) Error!Event {
        return initWith(ctx, .{}, said);
    }

    pub fn initWith(ctx: Context, options: Options, said: ?*Diagnostics) Error!Event {
        var desc: c.spark_event_desc = .{ .struct_size = @sizeOf(c.spark_event_desc) };
        if (!options.timing) desc.flags |= c.SPARK_EVENT_NO_TIMING;
        if (options.blocking_sync) desc.flags |= c.SPARK_EVENT_BLOCKING_SYNC;
        var raw: c.spark_event = 0;
        try check(c.spark_event_create(ctx.raw, &desc, &raw, target(said)));
        return .{ .ctx = ctx, .raw = raw };
    }

    pub fn deinit(event: *Event) void {
        _ = c.spark_event_destroy(event.ctx.raw, event.raw, null);
        event.* = .{ .ctx = .ended, .raw = 0 };
    }

    pub fn record(event: Event, stream: Stream, said: ?*Diagnostics) Error!void {
        try event.inContext(stream.ctx, said);
        try check(c.spark_event_record(event.ctx.raw, event.raw, stream.raw, target(said)));
    }

    pub fn synchronize(event: Event, said: ?*Diagnostics) Error!void {
        try check(c.spark_event_synchronize(event.ctx.raw, event.raw, target(said)));
    }

    pub fn isDone(event: Event, said: ?*Diagnostics) Error!bool {
        var done: u32 = 0;
        try check(c.spark_event_query(event.ctx.raw, event.raw, &done, target(said)));
        return done != 0;
    }

    /// The CUevent as an integer, for other software.
    pub fn native(event: Event, said: ?*Diagnostics) Error!u64 {
        var number: u64 = 0;
        try check(c.spark_event_native(event.ctx.raw, event.raw, &number, target(said)));
        return number;
    }

    /// Milliseconds from another event to this one, both recorded, finished and with timing.
    pub fn since(event: Event, begin: Event, said: ?*Diagnostics) Error!f32 {
        var milliseconds: f32 = 0;
        try event.inContext(begin.ctx, said);
        try check(c.spark_event_elapsed(event.ctx.raw, begin.raw, event.raw, &milliseconds, target(said)));
        return milliseconds;
    }

    /// An error unless the event lives in this context.
    pub fn inContext(event: Event, ctx: Context, said: ?*Diagnostics) Error!void {
        try call.sameContext(event.ctx, ctx, "the event", .{}, said);
    }
};
