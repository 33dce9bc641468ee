// SPDX-License-Identifier: Apache-2.0
//! The package as its users have it, on the driver that LIBSPARK_DRIVER names.
test {
    _ = @import("memory.zig");
    _ = @import("misuse.zig");
    _ = @import("serving.zig");
    _ = @import("threads.zig");
}
