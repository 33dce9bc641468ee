// SPDX-License-Identifier: Apache-2.0
//! What the library says when a call fails: an error to decide by, and a sentence to show.
const std = @import("std");
const c = @import("c");

/// The statuses of the header, `SPARK_ERR_INVALID_SHAPE` as `InvalidShape`. One that only a newer library knows is the
/// error of its category. A test holds this list against the header.
pub const Error = error{
    Invalid,
    InvalidNull,
    InvalidHandle,
    InvalidStructSize,
    InvalidReserved,
    InvalidShape,
    InvalidStride,
    InvalidDtype,
    InvalidAlignment,
    InvalidOverlap,
    InvalidBounds,
    InvalidDevice,
    WorkspaceTooSmall,
    BufferTooSmall,
    InvalidValue,
    InvalidCapture,
    Unsupported,
    UnsupportedOp,
    UnsupportedArch,
    UnsupportedDtype,
    UnsupportedShape,
    UnsupportedLayout,
    UnsupportedDriver,
    NotPrepared,
    NoDriver,
    NoDevice,
    Driver,
    Launch,
    DeviceMemory,
    HostMemory,
    Internal,
};

const Pair = struct { c.spark_status, Error };

/// Every status of `Error` with its number in the header.
const statuses = pairs: {
    @setEvalBranchQuota(100_000);
    var made: []const Pair = &.{};
    for (@typeInfo(Error).error_set.?) |member| {
        var name: []const u8 = "SPARK_ERR";
        for (member.name) |letter| {
            const word = if (std.ascii.isUpper(letter)) "_" else "";
            name = name ++ word ++ .{std.ascii.toUpper(letter)};
        }
        made = made ++ .{Pair{ @field(c, name), @field(Error, member.name) }};
    }
    break :pairs made;
};

fn errorOf(status: c.spark_status) Error {
    inline for (statuses) |pair| if (pair[0] == status) return pair[1];
    return switch (status / 1000) {
        1 => error.Invalid,
        2 => error.Unsupported,
        3 => error.Driver,
        else => error.Internal,
    };
}

/// The outcome of a C call as Zig has it.
pub fn check(status: c.spark_status) Error!void {
    if (status != c.SPARK_OK) return errorOf(status);
}

/// What was wrong with the last call that failed. Hand one to any call; it is written on failure alone.
pub const Diagnostics = struct {
    raw: c.spark_error = .{ .struct_size = @sizeOf(c.spark_error) },

    /// Which argument, the value found, the value wanted.
    pub fn message(said: *const Diagnostics) []const u8 {
        return std.mem.sliceTo(&said.raw.message, 0);
    }

    /// The operator whose arguments were refused.
    pub fn operator(said: *const Diagnostics) ?[]const u8 {
        const found: *const c.spark_op_desc = c.spark_op_describe(said.raw.op) orelse return null;
        return std.mem.span(found.name);
    }

    /// The argument that was wrong.
    pub fn field(said: *const Diagnostics) ?[]const u8 {
        const found: *const c.spark_field = c.spark_op_field(said.raw.op, said.raw.field) orelse return null;
        return std.mem.span(found.name);
    }

    /// `{f}` prints the status and the sentence.
    pub fn format(said: Diagnostics, writer: anytype) !void {
        try writer.print("{s}: {s}", .{ std.mem.span(c.spark_status_name(said.raw.status)), said.message() });
    }
};

/// Where the library may write, or nothing.
pub fn target(diagnostics: ?*Diagnostics) [*c]c.spark_error {
    const said = diagnostics orelse return null;
    return &said.raw;
}

/// An argument of a call, for a refusal.
pub const Place = struct { op: u32 = c.SPARK_OP_NONE, field: u32 = std.math.maxInt(u32) };

/// A refusal of this package's own, in the library's manner.
pub fn refuse(
    diagnostics: ?*Diagnostics,
    status: c.spark_status,
    place: Place,
    comptime fmt: []const u8,
    values: anytype,
) Error {
    if (diagnostics) |said| {
        said.* = .{};
        said.raw.status = status;
        said.raw.op = place.op;
        said.raw.field = place.field;
        _ = std.fmt.bufPrintZ(&said.raw.message, fmt, values) catch {};
    }
    return errorOf(status);
}

test "every status of the header is an error of its own" {
    @setEvalBranchQuota(1_000_000);
    comptime var known: usize = 0;
    inline for (@typeInfo(c).@"struct".decls) |decl| {
        if (comptime std.mem.startsWith(u8, decl.name, "SPARK_ERR_")) known += 1;
    }
    try std.testing.expectEqual(known, statuses.len);
    try std.testing.expectEqual(error.WorkspaceTooSmall, errorOf(c.SPARK_ERR_WORKSPACE_TOO_SMALL));
}

test "a status of a newer library is the error of its category" {
    try std.testing.expectEqual(error.Invalid, errorOf(1999));
    try std.testing.expectEqual(error.Unsupported, errorOf(2999));
    try std.testing.expectEqual(error.Driver, errorOf(3999));
    try std.testing.expectEqual(error.Internal, errorOf(4999));
}

test "a refusal that is too long for its field is cut" {
    var said: Diagnostics = .{};
    const long: [2 * @sizeOf(@FieldType(c.spark_error, "message"))]u8 = @splat('x');
    refuse(&said, c.SPARK_ERR_INVALID, .{}, "{s}", .{&long}) catch {};
    try std.testing.expect(said.message().len > long.len / 3);
}
