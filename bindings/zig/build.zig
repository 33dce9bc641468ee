// SPDX-License-Identifier: Apache-2.0
//! The module `spark` on an installed libspark, which pkg-config finds; its tests, and the examples.
const std = @import("std");

const examples = .{"decode_step"};

/// The installed library's folder that pkg-config knows by this name.
fn folder(b: *std.Build, variable: []const u8) std.Build.LazyPath {
    const said = b.run(&.{ "pkg-config", b.fmt("--variable={s}", .{variable}), "libspark" });
    return .{ .cwd_relative = std.mem.trim(u8, said, " \n") };
}

pub fn build(b: *std.Build) void {
    const target = b.standardTargetOptions(.{});
    const optimize = b.standardOptimizeOption(.{});

    const include = folder(b, "includedir");
    const header = b.addTranslateC(.{
        .root_source_file = include.path(b, "spark.h"),
        .target = target,
        .optimize = optimize,
    });
    const spark = b.addModule("spark", .{
        .root_source_file = b.path("src/spark.zig"),
        .target = target,
        .optimize = optimize,
        .link_libc = true,
        .imports = &.{.{ .name = "c", .module = header.createModule() }},
    });
    spark.addLibraryPath(folder(b, "libdir"));
    spark.linkSystemLibrary("spark", .{ .use_pkg_config = .no });

    const all = b.step("test", "Run the tests");
    const modules = .{ spark, user(b, spark, "tests/all.zig"), user(b, spark, "tests/stale.zig") };
    inline for (modules) |module| {
        all.dependOn(&b.addRunArtifact(b.addTest(.{ .root_module = module })).step);
    }

    inline for (examples) |name| {
        const module = user(b, spark, "examples/" ++ name ++ ".zig");
        const program = b.addExecutable(.{ .name = name, .root_module = module });
        b.step(name, "Run the example " ++ name).dependOn(&b.addRunArtifact(program).step);
    }

    const refused = b.addTest(.{ .root_module = user(b, spark, "tests/refused.zig") });
    b.step("refused", "Compile what the compiler has to refuse").dependOn(&refused.step);
}

/// A program's module, which has `spark` as any other package has it.
fn user(b: *std.Build, spark: *std.Build.Module, path: []const u8) *std.Build.Module {
    return b.createModule(.{
        .root_source_file = b.path(path),
        .target = spark.resolved_target,
        .optimize = spark.optimize,
        .imports = &.{.{ .name = "spark", .module = spark }},
    });
}
