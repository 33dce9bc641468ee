// SPDX-License-Identifier: Apache-2.0
//! From a struct literal to an operator's C arguments, for every operator that the translated header has.
const std = @import("std");
const c = @import("c");
const errors = @import("errors.zig");
const required = @import("required.zig");
const Buffer = @import("buffer.zig").Buffer;
const Context = @import("context.zig").Context;
const Diagnostics = errors.Diagnostics;
const Error = errors.Error;
const Place = errors.Place;
const Stream = @import("stream.zig").Stream;
const Tensor = @import("tensor.zig").Tensor;

/// The name of an operator, as in `.rmsnorm`.
pub const Name = @TypeOf(.name);

pub const emptyInfo: c.spark_op_info = .{ .struct_size = @sizeOf(c.spark_op_info) };

/// With what a launch runs, beside its arguments.
pub const Exec = struct {
    /// Memory for intermediate results; `query` says how much. Calls on one stream may share it.
    workspace: ?Buffer(u8) = null,
    /// One of `kernels`, instead of the library's choice (0).
    kernel_id: u64 = 0,

    pub fn on(exec: Exec, stream: Stream, said: ?*Diagnostics) Error!c.spark_exec {
        var made: c.spark_exec = .{
            .struct_size = @sizeOf(c.spark_exec),
            .stream = stream.raw,
            .kernel_id = exec.kernel_id,
        };
        if (exec.workspace) |workspace| {
            try sameContext(workspace.ctx, stream.ctx, "the workspace", .{}, said);
            made.workspace = workspace.address;
            made.workspace_size = workspace.len;
        }
        return made;
    }
};

/// An error unless a thing lives in this context.
pub fn sameContext(own: Context, other: Context, what: []const u8, place: Place, said: ?*Diagnostics) Error!void {
    if (own.raw == other.raw) return;
    return errors.refuse(said, c.SPARK_ERR_INVALID_HANDLE, place, "{s} is of another context, or has ended", .{what});
}

fn Args(comptime op: []const u8) type {
    const name = "spark_" ++ op ++ "_args";
    if (!@hasDecl(c, name)) @compileError("libspark's header has no operator " ++ op);
    return @field(c, name);
}

fn upper(comptime name: []const u8) []const u8 {
    comptime var text: [name.len]u8 = undefined;
    _ = comptime std.ascii.upperString(&text, name);
    const made = text;
    return &made;
}

/// The C arguments that a literal stands for. With `ctx`, its tensors must live there.
pub fn arguments(comptime op: []const u8, args: anytype, ctx: ?Context, said: ?*Diagnostics) Error!Args(op) {
    const number = @field(c, "SPARK_OP_" ++ upper(op));
    comptime askFor(op, @TypeOf(args));
    var made: Args(op) = .{};
    made.hdr = .{ .struct_size = @sizeOf(Args(op)), .op = number };
    inline for (@typeInfo(@TypeOf(args)).@"struct".fields) |given| {
        if (comptime std.mem.eql(u8, given.name, "flags")) {
            made.hdr.flags = flags(op, args.flags);
        } else {
            if (!@hasField(Args(op), given.name))
                @compileError("the operator " ++ op ++ " has no argument " ++ given.name);
            const index = comptime std.meta.fieldIndex(Args(op), given.name).? - 1; // behind the head
            const place: Place = .{ .op = number, .field = index };
            const slot = &@field(made, given.name);
            if (try set(@TypeOf(slot.*), slot, @field(args, given.name), place, given.name, ctx, said))
                made.hdr.given |= comptime mark(op, given.name);
        }
    }
    return made;
}

/// Refuses a literal that lacks a number for which no value is right in every model.
fn askFor(comptime op: []const u8, comptime Given: type) void {
    if (!@hasField(@TypeOf(required.scalars), op)) return;
    for (@field(required.scalars, op)) |name| {
        const kind: std.builtin.Type = if (@hasField(Given, name)) @typeInfo(@FieldType(Given, name)) else .null;
        if (kind == .null or kind == .optional) @compileError("the operator " ++ op ++ " needs ." ++ name);
    }
}

/// The bit that says that a number counts even where it is 0; none where a 0 always does.
fn mark(comptime op: []const u8, comptime field: []const u8) u32 {
    const name = "SPARK_" ++ upper(op) ++ "_GIVEN_" ++ upper(field);
    return if (@hasDecl(c, name)) @field(c, name) else 0;
}

/// Whether there was a value.
fn set(
    comptime T: type,
    slot: *T,
    value: anytype,
    place: Place,
    comptime name: []const u8,
    ctx: ?Context,
    said: ?*Diagnostics,
) Error!bool {
    switch (@typeInfo(@TypeOf(value))) {
        .null => return false,
        .optional => return if (value) |present| set(T, slot, present, place, name, ctx, said) else false,
        .enum_literal => slot.* = try choice(@tagName(value), place, name, said),
        else => slot.* = if (@TypeOf(value) == Tensor) try tensor(value, place, name, ctx, said) else value,
    }
    return true;
}

fn tensor(view: Tensor, place: Place, name: []const u8, ctx: ?Context, said: ?*Diagnostics) Error!c.spark_tensor {
    if (view.fault) |fault| return errors.refuse(said, fault.status, place, "{s} {s}", .{ name, fault.text });
    if (ctx) |wanted| if (view.ctx) |own| try sameContext(.{ .raw = own }, wanted, name, place, said);
    return view.raw;
}

/// The value of an enumerator, from the library's own list: "NONE=0 SILU=1".
fn choice(comptime tag: []const u8, place: Place, name: []const u8, said: ?*Diagnostics) Error!u32 {
    const field: *const c.spark_field = c.spark_op_field(place.op, place.field) orelse return 0;
    const choices = if (field.choices) |list| std.mem.span(list) else "nothing by name";
    var words = std.mem.tokenizeScalar(u8, choices, ' ');
    while (words.next()) |word| {
        if (std.mem.startsWith(u8, word, comptime upper(tag) ++ "="))
            return std.fmt.parseInt(u32, word[tag.len + 1 ..], 10) catch unreachable;
    }
    const fmt = "{s} is '{s}'; it is one of {s}";
    return errors.refuse(said, c.SPARK_ERR_INVALID_VALUE, place, fmt, .{ name, tag, choices });
}

/// The bits of `.{ .deterministic = true, ... }`: flags that all operators have, and the operator's own.
fn flags(comptime op: []const u8, names: anytype) u32 {
    var bits: u32 = 0;
    inline for (@typeInfo(@TypeOf(names)).@"struct".fields) |given| {
        const word = comptime upper(given.name);
        const common = "SPARK_FLAG_" ++ word;
        const own = "SPARK_" ++ comptime upper(op) ++ "_" ++ word;
        if (@field(names, given.name)) bits |= @field(c, if (@hasDecl(c, common)) common else own);
    }
    return bits;
}

/// A literal with the numbers that an operator asks for, and no more.
fn Least(comptime op: []const u8) type {
    var made: std.builtin.Type.Struct = .{ .layout = .auto, .fields = &.{}, .decls = &.{}, .is_tuple = false };
    if (@hasField(@TypeOf(required.scalars), op)) for (@field(required.scalars, op)) |name| {
        const T = @FieldType(@field(c, "spark_" ++ op ++ "_args"), name);
        made.fields = made.fields ++ .{std.builtin.Type.StructField{
            .name = name,
            .type = T,
            .default_value_ptr = &@as(T, 0),
            .is_comptime = false,
            .alignment = @alignOf(T),
        }};
    };
    return @Type(.{ .@"struct" = made });
}

test "every operator of the library can be called by its name" {
    @setEvalBranchQuota(1_000_000);
    var known: u32 = 0;
    inline for (@typeInfo(c).@"struct".decls) |decl| {
        const beginning, const end = .{ "spark_", "_args" };
        if (comptime !std.mem.startsWith(u8, decl.name, beginning) or !std.mem.endsWith(u8, decl.name, end)) continue;
        if (decl.name.len <= beginning.len + end.len) continue; // the head of them all
        const op = decl.name[beginning.len .. decl.name.len - end.len];
        const made = try arguments(op, @as(Least(op), .{}), null, null);
        const about: *const c.spark_op_desc = c.spark_op_describe(made.hdr.op).?;
        try std.testing.expectEqualStrings(op, std.mem.span(about.name));
        try std.testing.expectEqual(about.args_size, made.hdr.struct_size);
        const fields = @typeInfo(@TypeOf(made)).@"struct".fields;
        inline for (fields[1..], 0..) |field, i| { // behind the head, in the order of the library's list
            const told: *const c.spark_field = c.spark_op_field(made.hdr.op, i).?;
            try std.testing.expectEqualStrings(field.name, std.mem.span(told.name));
            try std.testing.expectEqual(told.offset, @offsetOf(@TypeOf(made), field.name));
            try std.testing.expectEqual(told.given, comptime mark(op, field.name));
            const asked = told.flags & c.SPARK_FIELD_REQUIRED != 0;
            try std.testing.expectEqual(asked, @hasField(Least(op), field.name));
        }
        known += 1;
    }
    try std.testing.expectEqual(c.spark_op_count(), known);
}

test "a number that is named is given, and one that is null is not" {
    const none: ?f32 = null;
    const zero: ?f32 = 0;
    try std.testing.expectEqual(0, (try arguments("gemm", .{ .alpha = none }, null, null)).hdr.given);
    try std.testing.expectEqual(0, (try arguments("gemm", .{ .alpha = null, .beta = 0 }, null, null)).hdr.given);
    for ([_]f32{ 0, 2 }) |alpha| {
        const made = try arguments("gemm", .{ .alpha = alpha }, null, null);
        try std.testing.expectEqual(comptime mark("gemm", "alpha"), made.hdr.given);
        try std.testing.expectEqual(alpha, made.alpha);
    }
    const both = try arguments("attention", .{ .scale = zero, .max_seqlen_k = 0 }, null, null);
    const marks = comptime mark("attention", "scale") | mark("attention", "max_seqlen_k");
    try std.testing.expectEqual(marks, both.hdr.given);
}
