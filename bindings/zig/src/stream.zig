// SPDX-License-Identifier: Apache-2.0
//! Streams: work in order.
const c = @import("c");
const call = @import("call.zig");
const errors = @import("errors.zig");
const Context = @import("context.zig").Context;
const Diagnostics = errors.Diagnostics;
const Error = errors.Error;
const Event = @import("event.zig").Event;
const Graph = @import("graph.zig").Graph;
const graphs = @import("graph.zig");
const check = errors.check;
const target = errors.target;

/// Runs work in order. `raw` is the handle of the C library, or a CUstream of other software as an integer.
pub const Stream = struct {
    ctx: Context,
    raw: c.spark_stream,

    pub const Options = struct {
        /// 0 is least urgent, as all other streams; below 0 is more urgent. What the device does not have is refused,
        /// with its range in the sentence.
        priority: i32 = 0,
        /// Waits for work on the legacy default stream, and that one for this one's.
        blocking: bool = false,
    };

    /// A stream that does not wait for the legacy default stream.
    pub fn init(ctx: Context, said: ?*Diagnostics) Error!Stream {
        return initWith(ctx, .{}, said);
    }

    pub fn initWith(ctx: Context, options: Options, said: ?*Diagnostics) Error!Stream {
        const desc: c.spark_stream_desc = .{
            .struct_size = @sizeOf(c.spark_stream_desc),
            .flags = if (options.blocking) c.SPARK_STREAM_BLOCKING else c.SPARK_STREAM_NONE,
            .priority = options.priority,
        };
        var raw: c.spark_stream = 0;
        try check(c.spark_stream_create(ctx.raw, &desc, &raw, target(said)));
        return .{ .ctx = ctx, .raw = raw };
    }

    pub fn deinit(stream: *Stream) void {
        _ = c.spark_stream_destroy(stream.ctx.raw, stream.raw, null);
        stream.* = .{ .ctx = .ended, .raw = 0 };
    }

    /// Waits for all work.
    pub fn synchronize(stream: Stream, said: ?*Diagnostics) Error!void {
        try check(c.spark_stream_synchronize(stream.ctx.raw, stream.raw, target(said)));
    }

    /// Whether all work has finished.
    pub fn isDone(stream: Stream, said: ?*Diagnostics) Error!bool {
        var done: u32 = 0;
        try check(c.spark_stream_query(stream.ctx.raw, stream.raw, &done, target(said)));
        return done != 0;
    }

    /// The CUstream as an integer, for other software.
    pub fn native(stream: Stream, said: ?*Diagnostics) Error!u64 {
        var number: u64 = 0;
        try check(c.spark_stream_native(stream.ctx.raw, stream.raw, &number, target(said)));
        return number;
    }

    /// Later work on this stream waits for the event.
    pub fn wait(stream: Stream, event: Event, said: ?*Diagnostics) Error!void {
        try event.inContext(stream.ctx, said);
        try check(c.spark_stream_wait_event(stream.ctx.raw, stream.raw, event.raw, target(said)));
    }

    /// Enqueues an operator. `op` is its name in the header; `args` a struct literal with the names of its C fields:
    /// tensors, numbers, an enumerator as in `.activation = .silu`, flags as in `.flags = .{ .deterministic = true }`.
    /// What is null or not named is absent: a tensor is not there, a number has its usual value, and a 0 is 0. What has
    /// no usual value, such as the eps of a norm, has to be named. Never allocates or waits, but for code that is not
    /// loaded yet.
    pub fn launch(
        stream: Stream,
        comptime op: call.Name,
        args: anytype,
        exec: call.Exec,
        said: ?*Diagnostics,
    ) Error!void {
        const made = try call.arguments(@tagName(op), args, stream.ctx, said);
        const where = try exec.on(stream, said);
        try check(c.spark_op_launch(stream.ctx.raw, &made.hdr, &where, target(said)));
    }

    /// Records what `work` enqueues on this stream instead of running it. An error of `work` ends the capture.
    pub fn capture(stream: Stream, comptime work: anytype, args: anytype, said: ?*Diagnostics) !Graph {
        return stream.captureIn(.thread_local, work, args, said);
    }

    /// The same in another mode than `.thread_local`.
    pub fn captureIn(
        stream: Stream,
        mode: graphs.CaptureMode,
        comptime work: anytype,
        args: anytype,
        said: ?*Diagnostics,
    ) !Graph {
        try graphs.record(stream, mode, work, args, said);
        var graph: Graph = .{ .ctx = stream.ctx, .raw = 0 };
        try check(c.spark_graph_end(stream.ctx.raw, stream.raw, &graph.raw, target(said)));
        return graph;
    }
};
