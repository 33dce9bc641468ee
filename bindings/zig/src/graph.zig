// SPDX-License-Identifier: Apache-2.0
//! Graphs: work that is recorded once and launched often.
const c = @import("c");
const call = @import("call.zig");
const errors = @import("errors.zig");
const Context = @import("context.zig").Context;
const Diagnostics = errors.Diagnostics;
const Error = errors.Error;
const Stream = @import("stream.zig").Stream;
const check = errors.check;
const target = errors.target;

/// Which threads may not do, while a stream captures, what cannot be recorded (allocation, waiting, asking).
pub const CaptureMode = enum(u32) {
    /// The thread that began it.
    thread_local = c.SPARK_CAPTURE_THREAD_LOCAL,
    /// All threads of the process, in every context.
    global = c.SPARK_CAPTURE_GLOBAL,
    /// None. Calls on the stream that captures are refused all the same.
    relaxed = c.SPARK_CAPTURE_RELAXED,
};

/// What the driver answers to an update that cannot be; other ends of a capture give the same error.
const does_not_fit = 910;

/// Begins a capture and fills it; it is still to be ended. An error of `work` ends it.
pub fn record(
    stream: Stream,
    mode: CaptureMode,
    comptime work: anytype,
    args: anytype,
    said: ?*Diagnostics,
) !void {
    const desc: c.spark_graph_desc = .{ .struct_size = @sizeOf(c.spark_graph_desc), .mode = @intFromEnum(mode) };
    try check(c.spark_graph_begin(stream.ctx.raw, stream.raw, &desc, target(said)));
    @call(.auto, work, args) catch |err| {
        discard(stream);
        return err;
    };
}

/// Ends a capture, if there is one, and keeps nothing.
fn discard(stream: Stream) void {
    var half: Graph = .{ .ctx = stream.ctx, .raw = 0 };
    if (c.spark_graph_end(stream.ctx.raw, stream.raw, &half.raw, null) == c.SPARK_OK) half.deinit();
}

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

    /// Records what `work` enqueues on a stream and gives it to this graph, for later launches: cheaper than another
    /// graph. False where nodes or their order are not as they were: the graph stays as it was, and `said` has the
    /// reason. Launches that are under way still use the memory of before.
    pub fn update(
        graph: Graph,
        stream: Stream,
        mode: CaptureMode,
        comptime work: anytype,
        args: anytype,
        said: ?*Diagnostics,
    ) !bool {
        try call.sameContext(graph.ctx, stream.ctx, "the graph", .{}, said);
        try record(stream, mode, work, args, said);
        var own: Diagnostics = .{};
        const outcome = said orelse &own;
        check(c.spark_graph_end_update(stream.ctx.raw, stream.raw, graph.raw, &outcome.raw)) catch |err| {
            discard(stream); // what is refused before the driver is asked goes on capturing
            return if (outcome.raw.driver_code == does_not_fit) false else err;
        };
        return true;
    }

    pub fn deinit(graph: *Graph) void {
        _ = c.spark_graph_destroy(graph.ctx.raw, graph.raw, null);
        graph.* = .{ .ctx = .ended, .raw = 0 };
    }
};
