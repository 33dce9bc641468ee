// SPDX-License-Identifier: Apache-2.0
//! What is copied, computed and freed; `std.testing.allocator` sees what is not.
const std = @import("std");
const spark = @import("spark");
const c = spark.c;
const expectEqual = std.testing.expectEqual;
const expectEqualSlices = std.testing.expectEqualSlices;

test "values come back as they went, of every type" {
    var ctx: spark.Context = try .init(0, null);
    defer ctx.deinit();
    var stream: spark.Stream = try .init(ctx, null);
    defer stream.deinit();
    inline for (.{ bool, u8, i64, f16, f64, spark.BF16, spark.E4M3, spark.E2M1x2, spark.E2M3x4 }) |T| {
        const bytes: [4 * @sizeOf(T)]u8 = @splat(1);
        const values = std.mem.bytesAsSlice(T, &bytes);
        var buffer: spark.Buffer(T) = try .init(ctx, values.len, null);
        defer buffer.deinit();
        for (values, 0..) |value, i| try buffer.write(stream, i, &.{value}, null);
        const back = try buffer.toOwnedSlice(std.testing.allocator, stream, null);
        defer std.testing.allocator.free(back);
        try expectEqualSlices(u8, &bytes, std.mem.sliceAsBytes(back));
    }
}

test "bfloat16 rounds to nearest even" {
    const pairs = [_]struct { f32, u16 }{
        .{ 1.0, 0x3f80 },
        .{ @bitCast(@as(u32, 0x3f80_8000)), 0x3f80 },
        .{ @bitCast(@as(u32, 0x3f81_8000)), 0x3f82 },
        .{ std.math.floatMax(f32), 0x7f80 },
        .{ @bitCast(@as(u32, 0xff80_0001)), 0xffc0 },
    };
    for (pairs) |pair| try expectEqual(pair[1], spark.BF16.fromF32(pair[0]).bits);
    try expectEqual(-2.5, spark.BF16.fromF32(-2.5).toF32());
}

test "flags, enumerators and absent arguments" {
    var ctx: spark.Context = try .init(0, null);
    defer ctx.deinit();
    var stream: spark.Stream = try .init(ctx, null);
    defer stream.deinit();
    var x: spark.Buffer(f32) = try .fromSlice(stream, &.{ -1, 0, 2, 3 }, null);
    defer x.deinit();
    var y: spark.Buffer(f32) = try .zeroed(stream, 4, null);
    defer y.deinit();
    const none: ?spark.Tensor = null;

    var four: [4]f32 = undefined;
    const shape = &.{ 2, 2 };
    try stream.launch(.activation, .{ .x = x.view(shape), .y = y.view(shape), .activation = .relu }, .{}, null);
    try y.read(stream, 0, &four, null);
    try expectEqualSlices(f32, &.{ 0, 0, 2, 3 }, &four);

    var weight: spark.Buffer(f32) = try .fromSlice(stream, &.{ 1, 3 }, null);
    defer weight.deinit();
    try stream.launch(.rmsnorm, .{
        .x = y.view(shape),
        .weight = weight.view(&.{2}),
        .residual = none,
        .residual_out = null,
        .y = y.view(shape),
        .eps = 1,
        .flags = .{ .weight_plus_one = true, .deterministic = true, .normalize_rounded = false },
    }, .{}, null);
    try y.read(stream, 0, &four, null);
    try expectEqualSlices(f32, &.{ 0, 0 }, four[0..2]);
    const scale = 1.0 / @sqrt((2.0 * 2.0 + 3.0 * 3.0) / 2.0 + 1.0);
    try std.testing.expectApproxEqRel(2 * scale * (1 + 1), four[2], 1e-6);
    try std.testing.expectApproxEqRel(3 * scale * (1 + 3), four[3], 1e-6);
}

test "an absent number has its usual value, and a 0 is 0" {
    var ctx: spark.Context = try .init(0, null);
    defer ctx.deinit();
    var stream: spark.Stream = try .init(ctx, null);
    defer stream.deinit();
    var a: spark.Buffer(f16) = try .fromSlice(stream, &(.{1} ** 16), null);
    defer a.deinit();
    var bias: spark.Buffer(f32) = try .fromSlice(stream, &.{ -1, 5 }, null);
    defer bias.deinit();
    var d: spark.Buffer(f32) = try .init(ctx, 2, null);
    defer d.deinit();
    const Case = struct { alpha: ?f32, wanted: [2]f32 };
    for ([_]Case{
        .{ .alpha = null, .wanted = .{ 7, 13 } },
        .{ .alpha = 0, .wanted = .{ 0, 5 } },
        .{ .alpha = 0.5, .wanted = .{ 3, 9 } },
    }) |case| {
        try stream.launch(.gemm, .{
            .a = a.strided(0, &.{ .{ 1, 8 }, .{ 8, 1 } }),
            .b = a.view(&.{ 2, 8 }),
            .d = d.view(&.{ 1, 2 }),
            .bias = bias.view(&.{2}),
            .alpha = case.alpha,
            .activation = .relu,
        }, .{}, null);
        var found: [2]f32 = undefined;
        try d.read(stream, 0, &found, null);
        try expectEqualSlices(f32, &case.wanted, &found);
    }
}

test "a transposed view" {
    var ctx: spark.Context = try .init(0, null);
    defer ctx.deinit();
    var stream: spark.Stream = try .init(ctx, null);
    defer stream.deinit();
    var x: spark.Buffer(f32) = try .fromSlice(stream, &.{ 9, 1, 2, 3, 4, 5, 6 }, null);
    defer x.deinit();
    var y: spark.Buffer(f16) = try .zeroed(stream, 6, null);
    defer y.deinit();
    const turned = x.strided(1, &.{ .{ 3, 1 }, .{ 2, 3 } });
    try stream.launch(.cast, .{ .x = turned, .y = y.view(&.{ 3, 2 }) }, .{}, null);
    var six: [6]f16 = undefined;
    try y.read(stream, 0, &six, null);
    try expectEqualSlices(f16, &.{ 1, 4, 2, 5, 3, 6 }, &six);
}

test "records of a GGUF file" {
    var ctx: spark.Context = try .init(0, null);
    defer ctx.deinit();
    var stream: spark.Stream = try .init(ctx, null);
    defer stream.deinit();
    const record = [_]u8{ 0x00, 0x38 } ++ [_]u8{ 2, 0xfe } ** 16; // 0.5, then 2 and -2
    var x: spark.Buffer(u8) = try .fromSlice(stream, &record, null);
    defer x.deinit();
    var y: spark.Buffer(f32) = try .zeroed(stream, 32, null);
    defer y.deinit();
    const rows = x.view(&.{34}).quantized(.{ .scheme = c.SPARK_QUANT_RECORD, .record = c.SPARK_RECORD_Q8_0 });
    try stream.launch(.dequantize, .{ .x = rows, .y = y.view(&.{32}) }, .{}, null);
    const values = try y.toOwnedSlice(std.testing.allocator, stream, null);
    defer std.testing.allocator.free(values);
    try expectEqualSlices(f32, &(.{ 1, -1 } ** 16), values);
}

test "an offline context answers what it can" {
    var ctx: spark.Context = try .offline(121, null);
    defer ctx.deinit();
    try expectEqual(12, (try ctx.info(null)).cc_major);
    const args = .{
        .table = spark.Tensor.planned(spark.BF16, &.{ 100, 64 }),
        .ids = spark.Tensor.planned(i32, &.{5}),
        .y = spark.Tensor.planned(spark.BF16, &.{ 5, 64 }),
        .flags = .{ .zero_invalid = true },
    };
    const chosen = try ctx.query(.embedding, args, null);
    const allocator = std.testing.allocator;
    const legal = try ctx.kernels(allocator, .embedding, args, 0, null);
    defer allocator.free(legal);
    try expectEqual(chosen.kernel_id, legal[0].kernel_id);
    const text = try ctx.explain(allocator, .embedding, args, null);
    defer allocator.free(text);
    try std.testing.expect(std.mem.indexOfScalar(u8, text, '*') != null);
    try std.testing.expectError(error.NoDevice, spark.Stream.init(ctx, null));
    try std.testing.expectError(error.NoDevice, spark.Buffer(u8).init(ctx, 1, null));
}

test "a graph, and the time it takes" {
    var ctx: spark.Context = try .init(0, null);
    defer ctx.deinit();
    var stream: spark.Stream = try .init(ctx, null);
    defer stream.deinit();
    var x: spark.Buffer(u32) = try .zeroed(stream, 4, null);
    defer x.deinit();
    var y: spark.Buffer(u32) = try .fromSlice(stream, &.{ 1, 2, 3, 4 }, null);
    defer y.deinit();
    var begin: spark.Event = try .init(ctx, null);
    defer begin.deinit();
    var end: spark.Event = try .init(ctx, null);
    defer end.deinit();

    var graph = try stream.capture(spark.Buffer(u32).copyFrom, .{ x, stream, y, null }, null);
    defer graph.deinit();
    try begin.record(stream, null);
    try graph.launch(stream, null);
    try end.record(stream, null);
    try end.synchronize(null);
    try std.testing.expect(try end.isDone(null) and try stream.isDone(null));
    try std.testing.expect(try end.since(begin, null) >= 0);
    try std.testing.expect(try end.native(null) != end.raw and try graph.native(null) != graph.raw);
    const theirs: spark.Stream = .{ .ctx = ctx, .raw = try stream.native(null) }; // a CUstream
    try std.testing.expect(theirs.raw != stream.raw and try theirs.native(null) == theirs.raw);
    try theirs.wait(end, null);
    try stream.wait(end, null);
    var four: [4]u32 = undefined;
    try x.read(stream, 0, &four, null);
    try expectEqualSlices(u32, &.{ 1, 2, 3, 4 }, &four);
}

test "device memory comes back, of failed calls too" {
    var ctx: spark.Context = try .init(0, null);
    defer ctx.deinit();
    var stream: spark.Stream = try .init(ctx, null);
    defer stream.deinit();
    var ended: spark.Stream = try .init(ctx, null);
    ended.deinit();
    ended.ctx = ctx; // the library's turn to refuse it
    ended.raw = 3;
    const before = (try ctx.memory(null)).free;
    for (0..50) |_| {
        var x: spark.Buffer(f32) = try .zeroed(stream, 1 << 20, null);
        defer x.deinit();
        var graph = try stream.capture(spark.Buffer(f32).fill, .{ x, stream, 1, null }, null);
        defer graph.deinit();
        try graph.launch(stream, null);
        try stream.synchronize(null);
        try std.testing.expectError(error.InvalidHandle, spark.Buffer(f32).zeroed(ended, 1 << 20, null));
    }
    try expectEqual(before, (try ctx.memory(null)).free);
}
