// SPDX-License-Identifier: Apache-2.0
//! GPU kernels for language models: the C API of libspark with Zig's errors, slices and generics.
//!
//! A `Context` is a device, a `Stream` runs work on it, a `Buffer(T)` owns device memory and a `Tensor` is a view of
//! some. Operators and their arguments have the names of the C header; the compiler reads them from its translation:
//!
//!     try stream.launch(.rmsnorm, .{ .x = x.view(&.{ 2, 64 }), .y = y.view(&.{ 2, 64 }), .eps = 1e-5 }, .{}, &said);
//!
//! Each call that can fail takes a `?*Diagnostics` last, and puts there what the library says of a failure.
//! Everything may be used from any thread. What a handle stands for lives until `deinit`, and must outlive the work
//! and the graphs that use it; a handle that is used after its own `deinit` gives an error.

/// The header, translated.
pub const c = @import("c");

pub const Diagnostics = @import("errors.zig").Diagnostics;
pub const Error = @import("errors.zig").Error;
pub const Context = @import("context.zig").Context;
pub const DeviceInfo = c.spark_device_info;
pub const deviceCount = @import("context.zig").deviceCount;
pub const deviceInfo = @import("context.zig").deviceInfo;
pub const Stream = @import("stream.zig").Stream;
pub const Event = @import("event.zig").Event;
pub const Graph = @import("graph.zig").Graph;
pub const CaptureMode = @import("graph.zig").CaptureMode;
pub const Buffer = @import("buffer.zig").Buffer;
pub const Pinned = @import("pinned.zig").Pinned;
pub const Tensor = @import("tensor.zig").Tensor;
pub const Exec = @import("call.zig").Exec;
pub const OpInfo = c.spark_op_info;

pub const BF16 = @import("element.zig").BF16;
const elements = @import("elements.zig");
// specgen elements begin: from src/core/formats.toml
pub const TF32 = elements.TF32;
pub const I4x2 = elements.I4x2;
pub const U4x2 = elements.U4x2;
pub const NF4x2 = elements.NF4x2;
pub const E4M3 = elements.E4M3;
pub const E5M2 = elements.E5M2;
pub const E2M1x2 = elements.E2M1x2;
pub const E2M3x4 = elements.E2M3x4;
pub const E3M2x4 = elements.E3M2x4;
pub const UE8M0 = elements.UE8M0;
pub const UE4M3 = elements.UE4M3;
pub const I2F6 = elements.I2F6;
// specgen elements end

/// The version of the library that runs: major * 10000 + minor * 100 + patch.
pub fn version() u32 {
    return c.spark_version();
}

test {
    _ = @import("errors.zig");
    _ = @import("call.zig");
}
