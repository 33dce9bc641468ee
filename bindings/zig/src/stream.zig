// SPDX-License-Identifier: Apache-2.0
//! Streams, events and graphs: the order of work.
const std = @import("std");
const c = @import("c");
const call = @import("call.zig");
const errors = @import("errors.zig");
const Context = @import("context.zig").Context;
const Diagnostics = errors.Diagnostics;
const Error = errors.Error;
const check = errors.check;
const target = errors.target;

/// What an ended handle holds: the library refuses it.
const ended: Context = .{ .raw = null };

/// Runs work in order. `raw` is the handle of the C library, or a CUstream of other software as an integer.
pub const Stream = struct {
    ctx: Context,
    raw: c.spark_stream,

    pub fn init(ctx: Context, said: ?*Diagnostics) Error!Stream {
        var raw: c.spark_stream = 0;
        try check(c.spark_stream_create(ctx.raw, null, &raw, target(said)));
        return .{ .ctx = ctx, .raw = raw };
    }

    pub fn deinit(stream: *Stream) void {
        _ = c.spark_stream_destroy(stream.ctx.raw, stream.raw, null);
        stream.* = .{ .ctx = ended, .raw = 0 };
    }

    /// The CUstream as an integer, for other software.
    pub fn native(stream: Stream, said: ?*Diagnostics) Error!u64 {
        var number: u64 = 0;
        try check(c.spark_stream_native(stream.ctx.raw, stream.raw, &number, target(said)));
        return number;
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

    /// Later work on this stream waits for the event.
    pub fn wait(stream: Stream, event: Event, said: ?*Diagnostics) Error!void {
        try event.check_context(stream.ctx, said);
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
        try check(c.spark_graph_begin(stream.ctx.raw, stream.raw, null, target(said)));
        @call(.auto, work, args) catch |err| {
            var half: Graph = .{ .ctx = stream.ctx, .raw = 0 };
            if (c.spark_graph_end(stream.ctx.raw, stream.raw, &half.raw, null) == c.SPARK_OK) half.deinit();
            return err;
        };
        var graph: Graph = .{ .ctx = stream.ctx, .raw = 0 };
        try check(c.spark_graph_end(stream.ctx.raw, stream.raw, &graph.raw, target(said)));
        return graph;
    }
};

/// A point in the work of a stream.
pub const Event = struct {
    ctx: Context,
    raw: c.spark_event,

    pub fn init(ctx: Context, said: ?*Diagnostics) Error!Event {
        var raw: c.spark_event = 0;
        try check(c.spark_event_create(ctx.raw, null, &raw, target(said)));
        return .{ .ctx = ctx, .raw = raw };
    }

    pub fn deinit(event: *Event) void {
        _ = c.spark_event_destroy(event.ctx.raw, event.raw, null);
        event.* = .{ .ctx = ended, .raw = 0 };
    }

    /// The CUevent as an integer, for other software.
    pub fn native(event: Event, said: ?*Diagnostics) Error!u64 {
        var number: u64 = 0;
        try check(c.spark_event_native(event.ctx.raw, event.raw, &number, target(said)));
        return number;
    }

    pub fn record(event: Event, stream: Stream, said: ?*Diagnostics) Error!void {
        try event.check_context(stream.ctx, said);
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

    /// Milliseconds from another event to this one, both finished.
    pub fn since(event: Event, begin: Event, said: ?*Diagnostics) Error!f32 {
        var milliseconds: f32 = 0;
        try event.check_context(begin.ctx, said);
        try check(c.spark_event_elapsed(event.ctx.raw, begin.raw, event.raw, &milliseconds, target(said)));
        return milliseconds;
    }

    fn check_context(event: Event, ctx: Context, said: ?*Diagnostics) Error!void {
        try call.sameContext(event.ctx, ctx, "the event", .{}, said);
    }
};

/// Recorded work. What it uses must outlive it.
pub const Graph = struct {
    ctx: Context,
    raw: c.spark_graph,

    pub fn launch(graph: Graph, stream: Stream, said: ?*Diagnostics) Error!void {
        try call.sameContext(graph.ctx, stream.ctx, "the graph", .{}, said);
        try check(c.spark_graph_launch(graph.ctx.raw, graph.raw, stream.raw, target(said)));
    }

    /// The CUgraphExec as an integer, for other software.
    pub fn native(graph: Graph, said: ?*Diagnostics) Error!u64 {
        var number: u64 = 0;
        try check(c.spark_graph_native(graph.ctx.raw, graph.raw, &number, target(said)));
        return number;
    }

    pub fn deinit(graph: *Graph) void {
        _ = c.spark_graph_destroy(graph.ctx.raw, graph.raw, null);
        graph.* = .{ .ctx = ended, .raw = 0 };
    }
};
