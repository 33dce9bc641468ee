// SPDX-License-Identifier: Apache-2.0
//! A call that lacks a number for which no value is right in every model: it does not compile.
const spark = @import("spark");

test "a norm without its eps" {
    var stream: spark.Stream = undefined;
    const x: spark.Tensor = .planned(f32, &.{ 1, 64 });
    try stream.launch(.rmsnorm, .{ .x = x, .y = x }, .{}, null);
}
