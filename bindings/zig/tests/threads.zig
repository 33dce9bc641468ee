// SPDX-License-Identifier: Apache-2.0
//! Threads that share a context, each with its stream and its diagnostics.
const std = @import("std");
const spark = @import("spark");

const count = 64;

/// The square root of the mean square of 1 to `count`.
const root = @sqrt((count + 1) * (2.0 * count + 1) / 6.0);

fn work(ctx: spark.Context, x: spark.Buffer(f32), recorded: bool, outcome: *anyerror!void) void {
    outcome.* = normalize(ctx, x, recorded);
}

fn normalize(ctx: spark.Context, x: spark.Buffer(f32), recorded: bool) !void {
    var stream: spark.Stream = try .init(ctx, null);
    defer stream.deinit();
    for (0..4) |_| {
        var y: spark.Buffer(f32) = try .zeroed(stream, count, null);
        defer y.deinit();
        const args = .{ .x = x.view(&.{ 1, count }), .y = y.view(&.{ 1, count }), .eps = 0 };
        _ = try ctx.prepare(.rmsnorm, args, null);
        if (recorded) {
            var graph = try stream.capture(launch, .{ stream, args }, null);
            defer graph.deinit();
            try graph.launch(stream, null);
            try stream.synchronize(null);
        } else {
            try launch(stream, args);
        }
        var values: [count]f32 = undefined;
        try y.read(stream, 0, &values, null);
        for (values, 1..) |value, i| {
            try std.testing.expectApproxEqRel(@as(f32, @floatFromInt(i)) / root, value, 1e-5);
        }
        var said: spark.Diagnostics = .{};
        const sizes: [2]usize = if (recorded) .{ 1, count + 1 } else .{ 2, count };
        const wrong = ctx.query(.rmsnorm, .{ .x = x.view(&sizes), .y = y.view(&sizes), .eps = 0 }, &said);
        try std.testing.expectError(error.InvalidBounds, wrong);
        try std.testing.expectEqualStrings("x", said.field().?);
    }
}

fn launch(stream: spark.Stream, args: anytype) !void {
    try stream.launch(.rmsnorm, args, .{}, null);
}

test "eight threads on one context" {
    var ctx: spark.Context = try .init(0, null);
    defer ctx.deinit();
    var stream: spark.Stream = try .init(ctx, null);
    defer stream.deinit();
    var values: [count]f32 = undefined;
    for (&values, 1..) |*value, i| value.* = @floatFromInt(i);
    var x: spark.Buffer(f32) = try .fromSlice(stream, &values, null);
    defer x.deinit();

    var outcomes: [8]anyerror!void = undefined;
    var threads: [outcomes.len]std.Thread = undefined;
    for (&threads, &outcomes, 0..) |*thread, *outcome, i| {
        thread.* = try std.Thread.spawn(.{}, work, .{ ctx, x, i % 2 == 0, outcome });
    }
    for (threads) |thread| thread.join();
    for (outcomes) |outcome| try outcome;
}
