// SPDX-License-Identifier: Apache-2.0
//! What the compiler cannot stop is an error with a sentence: the library's own wherever it sees the mistake.
const std = @import("std");
const spark = @import("spark");
const c = spark.c;
const expectEqualStrings = std.testing.expectEqualStrings;
const expectError = std.testing.expectError;

/// A context, a stream, and a buffer of 64 zeros.
const Bench = struct {
    ctx: spark.Context,
    stream: spark.Stream,
    x: spark.Buffer(f32),

    fn init() !Bench {
        const ctx: spark.Context = try .init(0, null);
        const stream: spark.Stream = try .init(ctx, null);
        return .{ .ctx = ctx, .stream = stream, .x = try .zeroed(stream, 64, null) };
    }

    fn deinit(bench: *Bench) void {
        bench.x.deinit();
        bench.stream.deinit();
        bench.ctx.deinit();
    }

    /// The outcome of rmsnorm from one tensor to another.
    fn norm(bench: Bench, x: spark.Tensor, y: spark.Tensor, said: ?*spark.Diagnostics) spark.Error!void {
        try bench.stream.launch(.rmsnorm, .{ .x = x, .y = y, .eps = 0 }, .{}, said);
    }
};

/// Whether a sentence holds these words.
fn expectWords(said: spark.Diagnostics, words: []const u8) !void {
    if (std.mem.indexOf(u8, said.message(), words) != null) return;
    std.debug.print("'{s}' is not in: {f}\n", .{ words, said });
    return error.TestUnexpectedResult;
}

test "handles that have ended" {
    var bench: Bench = try .init();
    var said: spark.Diagnostics = .{};
    const copy = bench.ctx;
    const tensor = bench.x.view(&.{ 1, 64 });
    var graph = try bench.stream.capture(spark.Buffer(f32).fill, .{ bench.x, bench.stream, 0, null }, null);
    var event: spark.Event = try .init(copy, null);

    event.deinit();
    try expectError(error.InvalidHandle, event.record(bench.stream, &said));
    try expectWords(said, "the event");
    graph.deinit();
    try expectError(error.InvalidHandle, graph.launch(bench.stream, &said));
    try expectWords(said, "the graph");

    bench.x.deinit();
    try expectError(error.InvalidHandle, bench.x.write(bench.stream, 0, &.{1}, &said));
    try expectWords(said, "the buffer");
    const void_view = bench.x.view(&.{ 1, 64 });
    try expectError(error.InvalidNull, bench.norm(void_view, void_view, &said));

    bench.stream.deinit();
    try expectError(error.InvalidHandle, bench.stream.synchronize(&said));
    try expectError(error.InvalidHandle, bench.norm(tensor, tensor, &said));

    bench.deinit(); // ending things twice does nothing
    try expectError(error.InvalidHandle, bench.ctx.info(&said));
    try expectError(error.InvalidHandle, copy.info(&said));
    try expectError(error.InvalidHandle, spark.Stream.init(copy, &said));
    try std.testing.expect(said.message().len > 0);
}

test "what the library refuses, with its sentence" {
    var bench: Bench = try .init();
    defer bench.deinit();
    var half: spark.Buffer(f16) = try .zeroed(bench.stream, 64, null);
    defer half.deinit();
    const x = bench.x;
    const y = x.view(&.{ 8, 8 });
    const max = std.math.maxInt(usize);
    var said: spark.Diagnostics = .{};

    try expectError(error.InvalidDtype, bench.norm(half.view(&.{ 8, 8 }), y, &said));
    try expectEqualStrings("rmsnorm", said.operator().?);
    try expectEqualStrings("y", said.field().?);
    try expectError(error.InvalidShape, bench.norm(x.view(&.{ 4, 8 }), y, &said));
    try expectError(error.InvalidShape, bench.norm(x.view(&.{}), y, &said));
    try expectError(error.InvalidShape, bench.norm(x.view(&.{ 1, 1, 1, 1, 1, 8, 8 }), y, &said));
    try expectError(error.InvalidShape, bench.norm(x.view(&.{ max, 8 }), y, &said));
    try expectError(error.InvalidBounds, bench.norm(x.view(&.{ 8, 9 }), y, &said));
    try expectEqualStrings("x", said.field().?);
    try expectError(error.InvalidBounds, bench.norm(x.strided(1, &.{ .{ 8, 8 }, .{ 8, 1 } }), y, &said));
    try expectError(error.InvalidStride, bench.norm(x.strided(0, &.{ .{ 8, max }, .{ 8, 1 } }), y, &said));
    try expectError(error.InvalidStride, bench.norm(y, x.strided(0, &.{ .{ 8, 0 }, .{ 8, 1 } }), &said));
    try expectError(error.InvalidNull, bench.norm(spark.Tensor.planned(f32, &.{ 8, 8 }), y, &said));
    try expectError(error.InvalidNull, bench.stream.launch(.gemm, .{}, .{}, &said));
    try expectEqualStrings("a", said.field().?);
    try expectError(error.InvalidDevice, spark.Context.init(999, &said));
    try expectError(error.UnsupportedArch, spark.Context.offline(50, &said));
    try std.testing.expect(said.operator() == null);
}

test "what the library cannot see" {
    var bench: Bench = try .init();
    defer bench.deinit();
    const x = bench.x;
    const y = x.view(&.{ 8, 8 });
    var said: spark.Diagnostics = .{};

    try expectError(error.InvalidStride, bench.norm(x.strided(0, &.{ .{ 8, 0 }, .{ 8, 0 } }), y, &said));
    try expectWords(said, "x has no stride but 0");
    try expectError(error.InvalidBounds, bench.norm(x.strided(64, &.{.{ 1, 1 }}), y, &said));
    try expectError(error.InvalidBounds, bench.norm(x.strided(std.math.maxInt(usize), &.{.{ 1, 1 }}), y, &said));
    try expectEqualStrings("x", said.field().?);
    var nibbles: spark.Buffer(spark.E2M1x2) = try .zeroed(bench.stream, 8, null);
    defer nibbles.deinit();
    try expectError(error.InvalidAlignment, bench.norm(nibbles.strided(3, &.{.{ 2, 1 }}), y, &said));

    try expectError(error.InvalidBounds, x.write(bench.stream, 63, &.{ 1, 2 }, &said));
    try expectWords(said, "2 values from 63 on");
    try expectError(error.InvalidBounds, x.read(bench.stream, 65, &.{}, null));
    try expectError(error.InvalidValue, spark.Buffer(f64).init(bench.ctx, std.math.maxInt(usize), &said));
    try expectError(
        error.InvalidValue,
        bench.stream.launch(.activation, .{ .x = y, .y = y, .activation = .silk }, .{}, &said),
    );
    try expectWords(said, "NONE=0 SILU=1");
    try expectEqualStrings("activation", said.field().?);
}

test "two contexts do not mix" {
    var bench: Bench = try .init();
    defer bench.deinit();
    var other: Bench = try .init();
    defer other.deinit();
    var event: spark.Event = try .init(other.ctx, null);
    defer event.deinit();
    var workspace: spark.Buffer(u8) = try .init(other.ctx, 256, null);
    defer workspace.deinit();
    var graph = try other.stream.capture(spark.Buffer(f32).fill, .{ other.x, other.stream, 0, null }, null);
    defer graph.deinit();
    const y = bench.x.view(&.{ 1, 64 });
    var said: spark.Diagnostics = .{};

    try expectError(error.InvalidHandle, bench.norm(y, other.x.view(&.{ 1, 64 }), &said));
    try expectEqualStrings("y", said.field().?);
    try expectError(error.InvalidHandle, bench.x.fill(other.stream, 0, &said));
    try expectError(error.InvalidHandle, bench.x.copyFrom(bench.stream, other.x, &said));
    try expectError(error.InvalidHandle, bench.stream.wait(event, &said));
    try expectError(error.InvalidHandle, graph.launch(bench.stream, &said));
    const with: spark.Exec = .{ .workspace = workspace };
    try expectError(error.InvalidHandle, bench.stream.launch(.rmsnorm, .{ .x = y, .y = y, .eps = 0 }, with, &said));
    try expectWords(said, "the workspace");
}

fn failing(stream: spark.Stream) !void {
    try stream.synchronize(null);
}

fn callersOwn() !void {
    return error.MyOwn;
}

test "an error in a capture ends it" {
    var bench: Bench = try .init();
    defer bench.deinit();
    const x = bench.x;
    try expectError(error.InvalidCapture, bench.stream.capture(failing, .{bench.stream}, null));
    try expectError(error.MyOwn, bench.stream.capture(callersOwn, .{}, null));
    try x.write(bench.stream, 0, &.{1}, null);
    var graph = try bench.stream.capture(spark.Buffer(f32).fill, .{ x, bench.stream, 0, null }, null);
    defer graph.deinit();
    try graph.launch(bench.stream, null);
    var one: [1]f32 = undefined;
    try x.read(bench.stream, 0, &one, null);
    try std.testing.expectEqual(0, one[0]);
}

test "a workspace that is missing or too small" {
    var bench: Bench = try .init();
    defer bench.deinit();
    const m = 128;
    const k = 2048; // few tiles, long sums: the library splits the sums over the device
    var a: spark.Buffer(spark.BF16) = try .zeroed(bench.stream, m * k, null);
    defer a.deinit();
    var d: spark.Buffer(f32) = try .init(bench.ctx, m * m, null);
    defer d.deinit();
    const args = .{ .a = a.view(&.{ m, k }), .b = a.view(&.{ m, k }), .d = d.view(&.{ m, m }) };
    const needed = (try bench.ctx.query(.gemm, args, null)).workspace_size;
    try std.testing.expect(needed > 0); // or give this test another product
    try expectError(error.WorkspaceTooSmall, bench.stream.launch(.gemm, args, .{}, null));
    var workspace: spark.Buffer(u8) = try .init(bench.ctx, needed, null);
    defer workspace.deinit();
    workspace.len -= 1;
    try expectError(error.WorkspaceTooSmall, bench.stream.launch(.gemm, args, .{ .workspace = workspace }, null));
    workspace.len += 1;
    try bench.stream.launch(.gemm, args, .{ .workspace = workspace }, null);
    var last: [1]f32 = undefined;
    try d.read(bench.stream, m * m - 1, &last, null);
    try std.testing.expectEqual(0, last[0]);
}
