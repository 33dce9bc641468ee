// SPDX-License-Identifier: Apache-2.0
//! From a struct literal to an operator's C arguments, for every operator that the translated header has.
const std = @import("std");
const c = @import("c");
const errors = @import("errors.zig");
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
            try set(@TypeOf(slot.*), slot, @field(args, given.name), place, given.name, ctx, said);
        }
    }
    return made;
}

fn set(
    comptime T: type,
    slot: *T,
    value: anytype,
    place: Place,
    comptime name: []const u8,
    ctx: ?Context,
    said: ?*Diagnostics,
) Error!void {
    switch (@typeInfo(@TypeOf(value))) {
        .null => {},
        .optional => if (value) |present| try set(T, slot, present, place, name, ctx, said),
        .enum_literal => slot.* = try choice(@tagName(value), place, name, said),
        else => slot.* = if (@TypeOf(value) == Tensor) try tensor(value, place, name, ctx, said) else value,
    }
}

fn tensor(view: Tensor, place: Place, name: []const u8, ctx: ?Context, said: ?*Diagnostics) Error!c.spark_tensor {
    if (view.fault) |fault| return errors.refuse(said, fault.status, place, "{s} {s}", .{ name, fault.text });
    if (ctx) |wanted| if (view.ctx) |own| try sameContext(.{ .raw = own }, wanted, name, place, said);
    return view.raw;
}

/// The value of an enumerator, from the library's own list: "NONE=0 SILU=1".
fn choice(comptime tag: []const u8, place: Place, name: []const u8, said: ?*Diagnostics) Error!u32 {
    const op: *const c.spark_op_desc = c.spark_op_describe(place.op) orelse return 0;
    const choices = if (op.fields[place.field].choices) |list| std.mem.span(list) else "nothing by name";
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

test "every operator of the library can be called by its name" {
    @setEvalBranchQuota(1_000_000);
    var known: u32 = 0;
    inline for (@typeInfo(c).@"struct".decls) |decl| {
        const beginning, const end = .{ "spark_", "_args" };
        if (comptime !std.mem.startsWith(u8, decl.name, beginning) or !std.mem.endsWith(u8, decl.name, end)) continue;
        if (decl.name.len <= beginning.len + end.len) continue; // the head of them all
        const op = decl.name[beginning.len .. decl.name.len - end.len];
        const made = try arguments(op, .{}, null, null);
        const about: *const c.spark_op_desc = c.spark_op_describe(made.hdr.op).?;
        try std.testing.expectEqualStrings(op, std.mem.span(about.name));
        try std.testing.expectEqual(about.args_size, made.hdr.struct_size);
        const fields = @typeInfo(@TypeOf(made)).@"struct".fields;
        inline for (fields[1..], 0..) |field, i| { // behind the head, in the order of the library's list
            try std.testing.expectEqualStrings(field.name, std.mem.span(about.fields[i].name));
            try std.testing.expectEqual(about.fields[i].offset, @offsetOf(@TypeOf(made), field.name));
        }
        known += 1;
    }
    try std.testing.expectEqual(c.spark_op_count(), known);
}
