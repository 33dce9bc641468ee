// SPDX-License-Identifier: Apache-2.0
//! Contexts, and what is asked of them without a stream.
const std = @import("std");
const c = @import("c");
const call = @import("call.zig");
const errors = @import("errors.zig");
const Diagnostics = errors.Diagnostics;
const Error = errors.Error;
const check = errors.check;
const target = errors.target;

/// How many devices the driver has.
pub fn deviceCount(said: ?*Diagnostics) Error!u32 {
    var count: i32 = 0;
    try check(c.spark_device_count(&count, target(said)));
    return @intCast(count);
}

/// What a device is, also one that is not supported. `std.mem.sliceTo(&info.name, 0)` is its name.
pub fn deviceInfo(device: i32, said: ?*Diagnostics) Error!c.spark_device_info {
    var info: c.spark_device_info = .{ .struct_size = @sizeOf(c.spark_device_info) };
    try check(c.spark_device_query(device, &info, target(said)));
    return info;
}

/// A context of the library on one device; copies of it are the same context. End what was made in it first.
pub const Context = struct {
    raw: ?*c.spark_context,

    /// What ended handles hold: the library refuses it.
    pub const ended: Context = .{ .raw = null };

    pub const Options = struct {
        device: i32 = 0,
        /// Without a device, for this compute capability (120, 121).
        offline_arch: u32 = 0,
        /// A CUcontext of other software, as an integer; 0 is the device's primary context.
        cu_context: u64 = 0,
        /// The path of a tuning file, read once, when the context is made; without one that of LIBSPARK_TUNE counts.
        /// One for another chip or library is left out, with a warning in the log; one that is missing or damaged is
        /// refused.
        tuning: []const u8 = "",
    };

    /// In the primary context of the device with this number.
    pub fn init(device: i32, said: ?*Diagnostics) Error!Context {
        return initWith(.{ .device = device }, said);
    }

    /// Without a device, for a compute capability without its dot (120, 121): it answers `query`, `explain` and
    /// `kernels`.
    pub fn offline(arch: u32, said: ?*Diagnostics) Error!Context {
        return initWith(.{ .offline_arch = arch }, said);
    }

    pub fn initWith(options: Options, said: ?*Diagnostics) Error!Context {
        const desc: c.spark_context_desc = .{
            .struct_size = @sizeOf(c.spark_context_desc),
            .device = options.device,
            .offline_arch = options.offline_arch,
            .cu_context = options.cu_context,
            .tuning_path = @intFromPtr(options.tuning.ptr),
            .tuning_path_bytes = options.tuning.len,
        };
        var raw: ?*c.spark_context = null;
        try check(c.spark_context_create(&desc, &raw, target(said)));
        return .{ .raw = raw };
    }

    pub fn deinit(ctx: *Context) void {
        c.spark_context_destroy(ctx.raw);
        ctx.raw = null;
    }

    pub fn info(ctx: Context, said: ?*Diagnostics) Error!c.spark_device_info {
        var device: c.spark_device_info = .{ .struct_size = @sizeOf(c.spark_device_info) };
        try check(c.spark_context_device(ctx.raw, &device, target(said)));
        return device;
    }

    /// Bytes of device memory.
    pub fn memory(ctx: Context, said: ?*Diagnostics) Error!struct { free: u64, total: u64 } {
        var free: u64 = 0;
        var total: u64 = 0;
        try check(c.spark_mem_info(ctx.raw, &free, &total, target(said)));
        return .{ .free = free, .total = total };
    }

    /// Whether kernels of this context can be let read and write memory of `peer`; false where both are on one device.
    pub fn canAccess(ctx: Context, peer: Context, said: ?*Diagnostics) Error!bool {
        var can: u32 = 0;
        try check(c.spark_peer_can_access(ctx.raw, peer.raw, &can, target(said)));
        return can != 0;
    }

    /// Lets them, until one of the two contexts ends; the other direction takes a call of its own. Memory that was
    /// allocated in stream order stays out of reach.
    pub fn enablePeer(ctx: Context, peer: Context, said: ?*Diagnostics) Error!void {
        try check(c.spark_peer_enable(ctx.raw, peer.raw, target(said)));
    }

    /// Loads the code of every operator's kernels, so that no later launch has to.
    pub fn preload(ctx: Context, said: ?*Diagnostics) Error!void {
        try check(c.spark_context_preload(ctx.raw, c.SPARK_OP_NONE, target(said)));
    }

    /// Checks the arguments and says what a launch would do. Operators and arguments are as in `Stream.launch`.
    pub fn query(ctx: Context, comptime op: call.Name, args: anytype, said: ?*Diagnostics) Error!c.spark_op_info {
        const made = try call.arguments(@tagName(op), args, null, said);
        var op_info = call.emptyInfo;
        try check(c.spark_op_query(ctx.raw, &made.hdr, &op_info, target(said)));
        return op_info;
    }

    /// As `query`, and loads the code that the launch will need.
    pub fn prepare(ctx: Context, comptime op: call.Name, args: anytype, said: ?*Diagnostics) Error!c.spark_op_info {
        const made = try call.arguments(@tagName(op), args, ctx, said);
        var op_info = call.emptyInfo;
        try check(c.spark_op_prepare(ctx.raw, &made.hdr, &op_info, target(said)));
        return op_info;
    }

    /// One line for each kernel: the first limit that it fails, or why it is chosen. The caller frees the text.
    pub fn explain(
        ctx: Context,
        allocator: std.mem.Allocator,
        comptime op: call.Name,
        args: anytype,
        said: ?*Diagnostics,
    ) (Error || std.mem.Allocator.Error)![]u8 {
        const made = try call.arguments(@tagName(op), args, null, said);
        var needed: usize = 0;
        check(c.spark_op_explain(ctx.raw, &made.hdr, null, 0, &needed, target(said))) catch |err| {
            if (err != error.BufferTooSmall) return err;
        };
        const text = try allocator.alloc(u8, needed);
        defer allocator.free(text);
        try check(c.spark_op_explain(ctx.raw, &made.hdr, text.ptr, text.len, &needed, target(said)));
        return allocator.dupe(u8, std.mem.sliceTo(text, 0));
    }

    /// Every kernel that is legal for these arguments and needs at most so many bytes of workspace (null: any), the
    /// preferred one first. The caller frees the slice.
    pub fn kernels(
        ctx: Context,
        allocator: std.mem.Allocator,
        comptime op: call.Name,
        args: anytype,
        workspace_limit: ?u64,
        said: ?*Diagnostics,
    ) (Error || std.mem.Allocator.Error)![]c.spark_op_info {
        const made = try call.arguments(@tagName(op), args, null, said);
        const limit = workspace_limit orelse std.math.maxInt(u64);
        var count: u32 = 0;
        try check(c.spark_op_kernels(ctx.raw, &made.hdr, limit, null, 0, &count, target(said)));
        const infos = try allocator.alloc(c.spark_op_info, count);
        errdefer allocator.free(infos);
        @memset(infos, call.emptyInfo);
        try check(c.spark_op_kernels(ctx.raw, &made.hdr, limit, infos.ptr, count, &count, target(said)));
        return infos;
    }
};
