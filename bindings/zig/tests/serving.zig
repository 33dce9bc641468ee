// SPDX-License-Identifier: Apache-2.0
//! What serving needs beside operators: priorities, events without a time, pinned memory and copies that do not wait,
//! allocation in stream order, modes of capture, updates of a graph, peers.
const std = @import("std");
const spark = @import("spark");
const expect = std.testing.expect;
const expectEqual = std.testing.expectEqual;
const expectError = std.testing.expectError;

const count = 256;

/// An urgent stream, and a buffer of zeros.
const Bench = struct {
    ctx: spark.Context,
    stream: spark.Stream,
    x: spark.Buffer(u32),

    fn init() !Bench {
        const ctx: spark.Context = try .init(0, null);
        const stream: spark.Stream = try .initWith(ctx, .{ .priority = -1 }, null);
        return .{ .ctx = ctx, .stream = stream, .x = try .zeroed(stream, count, null) };
    }

    fn deinit(bench: *Bench) void {
        bench.x.deinit();
        bench.stream.deinit();
        bench.ctx.deinit();
    }

    fn at(bench: Bench, index: usize) !u32 {
        var one: [1]u32 = undefined;
        try bench.x.read(bench.stream, index, &one, null);
        return one[0];
    }

    fn fill(bench: Bench, byte: u8) spark.Error!void {
        try bench.x.fill(bench.stream, byte, null);
    }
};

test "a tuning file of a context" {
    var said: spark.Diagnostics = .{};
    try std.testing.expectError(error.InvalidValue, spark.Context.initWith(.{ .tuning = "/no/such/file" }, &said));
    try std.testing.expect(std.mem.endsWith(u8, said.message(), "No such file or directory: /no/such/file"));
    try std.testing.expectError(
        error.InvalidValue,
        spark.Context.initWith(.{ .offline_arch = 120, .tuning = "/dev/null" }, &said),
    );
    var untuned: spark.Context = try .initWith(.{ .offline_arch = 120 }, null);
    untuned.deinit();
}

test "priorities, and events without a time" {
    var bench: Bench = try .init();
    defer bench.deinit();
    const ctx = bench.ctx;
    var said: spark.Diagnostics = .{};
    try expectError(error.InvalidValue, spark.Stream.initWith(ctx, .{ .priority = 1 }, null));
    try expectError(error.InvalidValue, spark.Stream.initWith(ctx, .{ .priority = -1000 }, &said));
    try expect(std.mem.indexOf(u8, said.message(), "to 0 wanted") != null);
    var blocking: spark.Stream = try .initWith(ctx, .{ .blocking = true }, null);
    defer blocking.deinit();
    var timed: spark.Event = try .initWith(ctx, .{ .blocking_sync = true }, null);
    defer timed.deinit();
    var untimed: spark.Event = try .initWith(ctx, .{ .timing = false }, null);
    defer untimed.deinit();
    try timed.record(bench.stream, null);
    try untimed.record(bench.stream, null);
    try blocking.wait(untimed, null);
    try blocking.synchronize(null);
    try expect(try untimed.isDone(null));
    try expect(try timed.since(timed, null) >= 0);
    try expectError(error.InvalidValue, untimed.since(timed, null));
}

test "pinned memory, there and back" {
    var bench: Bench = try .init();
    defer bench.deinit();
    const x, const stream = .{ bench.x, bench.stream };
    var there: spark.Pinned(u32) = try .init(bench.ctx, count, null);
    defer there.deinit();
    var back: spark.Pinned(u32) = try .init(bench.ctx, count, null);
    defer back.deinit();
    for (there.items, 1..) |*item, i| item.* = @intCast(i);
    try x.writeAsync(stream, 0, there.items, null);
    try x.writeAsync(stream, count - 1, there.items[6..7], null);
    try x.readAsync(stream, 0, back.items, null);
    try stream.synchronize(null);
    try std.testing.expectEqualSlices(u32, there.items[0 .. count - 1], back.items[0 .. count - 1]);
    try expectEqual(7, back.items[count - 1]);

    try expectError(error.InvalidBounds, x.writeAsync(stream, 1, there.items, null));
    try expectError(error.InvalidBounds, x.readAsync(stream, count, back.items[0..1], null));
    try expectError(error.InvalidValue, spark.Pinned(u32).init(bench.ctx, std.math.maxInt(usize), null));
    try expectError(error.HostMemory, spark.Pinned(u8).init(bench.ctx, 1 << 60, null));
    var none: spark.Pinned(u32) = try .init(bench.ctx, 0, null);
    none.deinit();
    try expectEqual(0, none.items.len);
}

test "a recorded copy reads pinned memory at every launch" {
    var bench: Bench = try .init();
    defer bench.deinit();
    var step: spark.Pinned(u32) = try .init(bench.ctx, 1, null);
    defer step.deinit();
    const copy = spark.Buffer(u32).writeAsync;
    var graph = try bench.stream.capture(copy, .{ bench.x, bench.stream, 3, step.items, null }, null);
    defer graph.deinit();
    for ([_]u32{ 5, 6 }) |value| {
        step.items[0] = value;
        try graph.launch(bench.stream, null);
        try expectEqual(value, try bench.at(3));
    }
}

fn order(bench: Bench) !void {
    var x = bench.x;
    try expectError(error.InvalidCapture, spark.Buffer(u32).initOrdered(bench.stream, 1, null));
    try expectError(error.InvalidCapture, x.deinitOrdered(bench.stream, null));
    try expectEqual(count, x.len);
}

test "allocation in stream order" {
    var bench: Bench = try .init();
    defer bench.deinit();
    const stream = bench.stream;
    var scratch: spark.Buffer(u32) = try .initOrdered(stream, count, null);
    try scratch.fill(stream, 1, null);
    try bench.x.copyFrom(stream, scratch, null);
    try scratch.deinitOrdered(stream, null);
    try expectError(error.InvalidHandle, scratch.deinitOrdered(stream, null));
    try expectEqual(0x01010101, try bench.at(count - 1));
    var other: spark.Buffer(u32) = try .initOrdered(stream, count, null);
    other.deinit(); // as others do
    try expectError(error.DeviceMemory, spark.Buffer(u8).initOrdered(stream, 1 << 60, null));
    var graph = try stream.capture(order, .{bench}, null);
    graph.deinit();
}

fn allocate(ctx: spark.Context, outcome: *spark.Error!void) void {
    var made = spark.Buffer(u32).init(ctx, 1, null) catch |err| {
        outcome.* = err;
        return;
    };
    made.deinit();
}

/// Allocates on this thread and on another one, and records something.
fn allocateTwice(bench: Bench, here: *spark.Error!void, elsewhere: *spark.Error!void) !void {
    allocate(bench.ctx, here);
    (try std.Thread.spawn(.{}, allocate, .{ bench.ctx, elsewhere })).join();
    try bench.fill(2);
}

test "modes of capture" {
    var bench: Bench = try .init();
    defer bench.deinit();
    const refused = error.InvalidCapture;
    const Case = struct { spark.CaptureMode, spark.Error!void, spark.Error!void };
    for ([_]Case{ .{ .thread_local, refused, {} }, .{ .global, refused, refused }, .{ .relaxed, {}, {} } }) |case| {
        var here: spark.Error!void = {};
        var elsewhere: spark.Error!void = {};
        var graph = try bench.stream.captureIn(case[0], allocateTwice, .{ bench, &here, &elsewhere }, null);
        defer graph.deinit();
        try expectEqual(case[1], here);
        try expectEqual(case[2], elsewhere);
        try graph.launch(bench.stream, null);
        try expectEqual(0x02020202, try bench.at(0));
    }
}

fn twice(bench: Bench) !void {
    try bench.fill(4);
    try bench.fill(5);
}

fn unjoined(bench: Bench, side: spark.Stream, fork: spark.Event) !void {
    try fork.record(bench.stream, null);
    try side.wait(fork, null);
    try bench.x.fill(side, 1, null);
}

fn callersOwn(bench: Bench) !void {
    try bench.fill(4);
    return error.MyOwn;
}

test "a graph is updated, or stays as it was" {
    var bench: Bench = try .init();
    defer bench.deinit();
    const stream = bench.stream;
    var said: spark.Diagnostics = .{};
    var graph = try stream.capture(Bench.fill, .{ bench, 1 }, null);
    try expect(try graph.update(stream, .thread_local, Bench.fill, .{ bench, 3 }, null));
    try expect(!try graph.update(stream, .relaxed, twice, .{bench}, &said));
    try expect(std.mem.indexOf(u8, said.message(), "more or fewer") != null);
    try expect(!try graph.update(stream, .thread_local, twice, .{bench}, null));
    try expectError(error.MyOwn, graph.update(stream, .thread_local, callersOwn, .{bench}, null));
    var side: spark.Stream = try .init(bench.ctx, null);
    defer side.deinit();
    var fork: spark.Event = try .init(bench.ctx, null);
    defer fork.deinit();
    const never = graph.update(stream, .thread_local, unjoined, .{ bench, side, fork }, null);
    try expectError(error.InvalidCapture, never); // another mistake
    try graph.launch(stream, null);
    try expectEqual(0x03030303, try bench.at(0));
    graph.deinit();
    try expectError(error.InvalidHandle, graph.update(stream, .thread_local, twice, .{bench}, null));
    graph.ctx = bench.ctx; // the library's turn to refuse it, before it ends the capture
    try expectError(error.InvalidNull, graph.update(stream, .thread_local, twice, .{bench}, null));
    try stream.synchronize(null);
}

test "peers on one device" {
    var bench: Bench = try .init();
    defer bench.deinit();
    var other: Bench = try .init();
    defer other.deinit();
    try expect(!try bench.ctx.canAccess(other.ctx, null));
    try expectError(error.InvalidDevice, bench.ctx.enablePeer(other.ctx, null));
    try other.fill(6);
    try other.stream.synchronize(null);
    for ([_]spark.Stream{ bench.stream, other.stream }) |stream| {
        try bench.fill(0);
        try bench.stream.synchronize(null);
        try bench.x.copyFromPeer(stream, other.x, null);
        try stream.synchronize(null);
        try expectEqual(0x06060606, try bench.at(count - 1));
    }
    var third: Bench = try .init();
    defer third.deinit();
    try expectError(error.InvalidHandle, bench.x.copyFromPeer(third.stream, other.x, null));
    var short: spark.Buffer(u32) = try .init(other.ctx, 1, null);
    defer short.deinit();
    try expectError(error.InvalidBounds, bench.x.copyFromPeer(bench.stream, short, null));
}
