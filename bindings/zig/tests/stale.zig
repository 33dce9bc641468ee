// SPDX-License-Identifier: Apache-2.0
//! A program of its own: what it does ends the device for the rest of the process.
const std = @import("std");
const spark = @import("spark");

test "a tensor of memory that was freed" {
    var ctx: spark.Context = try .init(0, null);
    defer ctx.deinit();
    if ((try ctx.info(null)).emulated == 0) return error.SkipZigTest; // a card may not notice
    var stream: spark.Stream = try .init(ctx, null);
    defer stream.deinit();
    var buffer: spark.Buffer(f32) = try .zeroed(stream, 64, null);
    const stale = buffer.view(&.{ 1, 64 });
    buffer.deinit();
    var said: spark.Diagnostics = .{};
    try stream.launch(.rmsnorm, .{ .x = stale, .y = stale, .eps = 0 }, .{}, &said);
    try std.testing.expectError(error.Launch, stream.synchronize(&said));
    try std.testing.expect(said.raw.driver_code != 0 and said.message().len > 0);
}
