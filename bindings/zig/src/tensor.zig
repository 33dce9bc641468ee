// SPDX-License-Identifier: Apache-2.0
//! Views of device memory, as operators take them.
const std = @import("std");
const c = @import("c");
const element = @import("element.zig");

/// Size and stride of one dimension, in numbers.
pub const Dim = struct { usize, usize };

/// A view of device memory, which it does not own. What is wrong with it is said by the call that is given it.
pub const Tensor = struct {
    raw: c.spark_tensor,
    ctx: ?*c.spark_context = null,
    fault: ?Fault = null,

    /// What the library cannot see.
    pub const Fault = struct { status: c.spark_status, text: []const u8 };

    /// A shape without memory, for `query`, `explain` and `kernels`.
    pub fn planned(comptime T: type, sizes: []const usize) Tensor {
        return packedRows(T, 0, 0, sizes);
    }

    /// Memory of other software: `bytes` from `address` on, row by row without gaps.
    pub fn packedRows(comptime T: type, address: u64, bytes: u64, sizes: []const usize) Tensor {
        var made: Tensor = .{ .raw = .{
            .data = address,
            .size_bytes = bytes,
            .dtype = element.dtypeOf(T),
            .ndim = std.math.cast(u32, sizes.len) orelse std.math.maxInt(u32),
        } };
        for (sizes, 0..) |size, i| {
            if (i < made.raw.shape.len) made.raw.shape[i] = number(size);
        }
        return made;
    }

    /// Memory of other software, dimension by dimension.
    pub fn strided(comptime T: type, address: u64, bytes: u64, dims: []const Dim) Tensor {
        var made = packedRows(T, address, bytes, &.{});
        made.raw.ndim = std.math.cast(u32, dims.len) orelse std.math.maxInt(u32);
        var any: usize = 0;
        for (dims, 0..) |dim, i| {
            if (i >= made.raw.shape.len) break;
            made.raw.shape[i] = number(dim[0]);
            made.raw.stride[i] = number(dim[1]);
            any |= dim[1];
        }
        // To the library these would be a packed tensor.
        if (any == 0) made.fault = .{ .status = c.SPARK_ERR_INVALID_STRIDE, .text = "has no stride but 0" };
        return made;
    }

    /// The same bytes, read as `quant` says.
    pub fn quantized(tensor: Tensor, quant: c.spark_quant) Tensor {
        var made = tensor;
        made.raw.quant = quant;
        return made;
    }

    /// The library refuses what is negative, with a sentence.
    fn number(value: usize) i64 {
        return std.math.cast(i64, value) orelse -1;
    }
};
