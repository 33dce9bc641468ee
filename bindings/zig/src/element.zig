// SPDX-License-Identifier: Apache-2.0
//! Which Zig type holds which dtype. A type of a caller's own is an element too, if it declares `dtype` and, where it
//! packs several numbers, `count`.
const std = @import("std");
const c = @import("c");

/// The dtype of a type.
pub fn dtypeOf(comptime T: type) c.spark_dtype {
    return switch (T) {
        f16 => c.SPARK_DTYPE_F16,
        f32 => c.SPARK_DTYPE_F32,
        f64 => c.SPARK_DTYPE_F64,
        i8 => c.SPARK_DTYPE_I8,
        u8 => c.SPARK_DTYPE_U8,
        i32 => c.SPARK_DTYPE_I32,
        u32 => c.SPARK_DTYPE_U32,
        i64 => c.SPARK_DTYPE_I64,
        u64 => c.SPARK_DTYPE_U64,
        bool => c.SPARK_DTYPE_BOOL8,
        else => T.dtype,
    };
}

/// How many numbers of a tensor one value holds.
pub fn countOf(comptime T: type) usize {
    return if (@typeInfo(T) == .@"struct" and @hasDecl(T, "count")) T.count else 1;
}

/// bfloat16: the upper half of an f32.
pub const BF16 = extern struct {
    bits: u16,

    pub const dtype = c.SPARK_DTYPE_BF16;

    /// To nearest even; NaN stays NaN.
    pub fn fromF32(value: f32) BF16 {
        const bits: u32 = @bitCast(value);
        if (std.math.isNan(value)) return .{ .bits = @intCast(bits >> 16 | 0x40) };
        return .{ .bits = @intCast((bits + 0x7fff + (bits >> 16 & 1)) >> 16) };
    }

    pub fn toF32(value: BF16) f32 {
        return @bitCast(@as(u32, value.bits) << 16);
    }
};

/// Bits that Zig has no arithmetic for: `many` numbers in one `Storage`.
pub fn Bits(comptime Storage: type, comptime number: c.spark_dtype, comptime many: usize) type {
    return extern struct {
        bits: Storage,

        pub const dtype = number;
        pub const count = many;
    };
}
