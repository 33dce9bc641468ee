// SPDX-License-Identifier: Apache-2.0
//! One decode step of a small transformer layer, captured in a graph and replayed: each replay appends a token to the
//! caches of two sequences. The first step also runs without the graph, and must give the same bits.
//!
//! `zig build decode_step`, with LIBSPARK_DRIVER=emu on a computer without a GPU.
const std = @import("std");
const spark = @import("spark");
const BF16 = spark.BF16;
const Buffer = spark.Buffer;

const sequences = 2;
const hidden = 64;
const heads = 2; // of queries; one head of keys and values serves both
const head = 32;
const qkv = (heads + 2) * head;
const inner = 96; // behind the gate; the projection before it has twice as many
const vocabulary = 128;
const rows = 16; // of a sequence in the cache
const steps = 4;
const scratch = 1 << 20; // more than any of these calls asks for (query says how much)

/// Small numbers that every language can make: a linear congruence, its upper bits as multiples of 2^-10.
fn numbers(seed: u32, comptime count: usize) [count]BF16 {
    var state = seed;
    var made: [count]BF16 = undefined;
    for (&made) |*number| {
        state = state *% 1664525 +% 1013904223;
        number.* = .fromF32((@as(f32, @floatFromInt(state >> 24)) - 128) / 1024);
    }
    return made;
}

/// Frees every buffer of a structure.
fn deinitAll(held: anytype) void {
    inline for (@typeInfo(@TypeOf(held.*)).@"struct".fields) |field| @field(held, field.name).deinit();
}

/// What stays.
const Weights = struct {
    norm: Buffer(BF16),
    qkv: Buffer(BF16),
    inner: Buffer(BF16),
    logits: Buffer(BF16),

    fn init(stream: spark.Stream, said: *spark.Diagnostics) !Weights {
        const ones: [hidden]BF16 = @splat(.fromF32(1));
        return .{
            .norm = try .fromSlice(stream, &ones, said),
            .qkv = try .fromSlice(stream, &numbers(1, qkv * hidden), said),
            .inner = try .fromSlice(stream, &numbers(2, 2 * inner * heads * head), said),
            .logits = try .fromSlice(stream, &numbers(3, vocabulary * inner), said),
        };
    }
};

/// What a step reads and writes.
const State = struct {
    x: Buffer(BF16),
    h: Buffer(BF16),
    qkv: Buffer(BF16),
    keys: Buffer(BF16),
    values: Buffer(BF16),
    mixed: Buffer(BF16),
    gates: Buffer(BF16),
    inner: Buffer(BF16),
    logits: Buffer(f32),
    tokens: Buffer(i32),
    positions: Buffer(i32), // of the new tokens
    lengths: Buffer(i32), // with them
    draws: Buffer(u64), // which of the seed's random numbers
    sequence: Buffer(i32),
    invalid: Buffer(i32),
    scratch: Buffer(u8),

    fn init(stream: spark.Stream, said: *spark.Diagnostics) !State {
        return .{
            .x = try .zeroed(stream, sequences * hidden, said),
            .h = try .zeroed(stream, sequences * hidden, said),
            .qkv = try .zeroed(stream, sequences * qkv, said),
            .keys = try .zeroed(stream, sequences * rows * head, said),
            .values = try .zeroed(stream, sequences * rows * head, said),
            .mixed = try .zeroed(stream, sequences * heads * head, said),
            .gates = try .zeroed(stream, sequences * 2 * inner, said),
            .inner = try .zeroed(stream, sequences * inner, said),
            .logits = try .zeroed(stream, sequences * vocabulary, said),
            .tokens = try .zeroed(stream, sequences, said),
            .positions = try .zeroed(stream, sequences, said),
            .lengths = try .zeroed(stream, sequences, said),
            .draws = try .zeroed(stream, sequences, said),
            .sequence = try .fromSlice(stream, &.{ 0, 1 }, said),
            .invalid = try .zeroed(stream, 1, said),
            .scratch = try .init(stream.ctx, scratch, said),
        };
    }

    /// Puts the tokens of a step in: what they are and where they stand.
    fn feed(
        s: State,
        stream: spark.Stream,
        tokens: [sequences]i32,
        step: i32,
        said: *spark.Diagnostics,
    ) !void {
        for (tokens, 0..) |token, sequence| {
            try s.x.write(stream, sequence * hidden, &numbers(1000 + @as(u32, @intCast(token)), hidden), said);
        }
        try s.positions.write(stream, 0, &.{ step, step }, said);
        try s.draws.write(stream, 0, &.{ @intCast(step), @intCast(step) }, said);
        try s.lengths.write(stream, 0, &.{ step + 1, step + 1 }, said);
    }

    /// The operators of a step, in order.
    fn enqueue(s: State, w: Weights, stream: spark.Stream, said: *spark.Diagnostics) !void {
        const b = sequences;
        const with: spark.Exec = .{ .workspace = s.scratch };
        const keys = s.keys.view(&.{ b, rows, 1, head });
        const values = s.values.view(&.{ b, rows, 1, head });

        try stream.launch(.rmsnorm, .{
            .x = s.x.view(&.{ b, hidden }),
            .weight = w.norm.view(&.{hidden}),
            .y = s.h.view(&.{ b, hidden }),
            .eps = 1e-5,
        }, .{}, said);

        try stream.launch(.gemm, .{
            .a = s.h.view(&.{ b, hidden }),
            .b = w.qkv.view(&.{ qkv, hidden }),
            .d = s.qkv.view(&.{ b, qkv }),
        }, with, said);

        // Queries and keys are neighbours in a row of the projection: one call turns both.
        const turned = s.qkv.strided(0, &.{ .{ b, qkv }, .{ heads + 1, head }, .{ head, 1 } });
        try stream.launch(.rope, .{ .positions = s.positions.view(&.{b}), .x = turned, .y = turned }, .{}, said);

        try stream.launch(.kv_append, .{
            .k = s.qkv.strided(heads * head, &.{ .{ b, qkv }, .{ 1, head }, .{ head, 1 } }),
            .v = s.qkv.strided((heads + 1) * head, &.{ .{ b, qkv }, .{ 1, head }, .{ head, 1 } }),
            .positions = s.positions.view(&.{b}),
            .batch = s.sequence.view(&.{b}),
            .k_cache = keys,
            .v_cache = values,
            .invalid_count = s.invalid.view(&.{1}),
        }, .{}, said);

        try stream.launch(.attention, .{
            .q = s.qkv.strided(0, &.{ .{ b, qkv }, .{ 1, qkv }, .{ heads, head }, .{ head, 1 } }),
            .k = keys,
            .v = values,
            .o = s.mixed.view(&.{ b, 1, heads, head }),
            .seq_lens = s.lengths.view(&.{b}),
        }, with, said);

        try stream.launch(.gemm, .{
            .a = s.mixed.view(&.{ b, heads * head }),
            .b = w.inner.view(&.{ 2 * inner, heads * head }),
            .d = s.gates.view(&.{ b, 2 * inner }),
        }, with, said);

        try stream.launch(.glu, .{
            .gate = s.gates.strided(0, &.{ .{ b, 2 * inner }, .{ inner, 1 } }),
            .up = s.gates.strided(inner, &.{ .{ b, 2 * inner }, .{ inner, 1 } }),
            .y = s.inner.view(&.{ b, inner }),
            .activation = .silu,
        }, .{}, said);

        try stream.launch(.gemm, .{
            .a = s.inner.view(&.{ b, inner }),
            .b = w.logits.view(&.{ vocabulary, inner }),
            .d = s.logits.view(&.{ b, vocabulary }),
        }, with, said);

        try stream.launch(.sample, .{
            .logits = s.logits.view(&.{ b, vocabulary }),
            .ids = s.tokens.view(&.{b}),
            .offsets = s.draws.view(&.{b}),
            .temperature = 0.8,
            .top_k = 20,
            .seed = 42,
        }, with, said);
    }
};

fn run(print: anytype, said: *spark.Diagnostics) !void {
    var ctx: spark.Context = try .init(0, said);
    defer ctx.deinit();
    var stream: spark.Stream = try .init(ctx, said);
    defer stream.deinit();
    var weights: Weights = try .init(stream, said);
    defer deinitAll(&weights);
    var state: State = try .init(stream, said);
    defer deinitAll(&state);

    // Once without a graph: this also loads the code, which a capture does not.
    var tokens: [sequences]i32 = .{ 5, 77 };
    var direct: [sequences * vocabulary]f32 = undefined;
    try state.feed(stream, tokens, 0, said);
    try state.enqueue(weights, stream, said);
    try state.logits.read(stream, 0, &direct, said);

    var graph = try stream.capture(State.enqueue, .{ state, weights, stream, said }, said);
    defer graph.deinit();
    var logits: [sequences * vocabulary]f32 = undefined;
    for (0..steps) |step| {
        try state.feed(stream, tokens, @intCast(step), said);
        try graph.launch(stream, said);
        try state.logits.read(stream, 0, &logits, said);
        if (step == 0 and !std.mem.eql(u8, std.mem.asBytes(&direct), std.mem.asBytes(&logits)))
            return error.GraphGivesOtherBits;
        try state.tokens.read(stream, 0, &tokens, said);
        try print.print("step {d}: tokens [{d}, {d}]\n", .{ step, tokens[0], tokens[1] });
    }
    var invalid: [1]i32 = undefined;
    try state.invalid.read(stream, 0, &invalid, said);
    if (invalid[0] != 0) return error.NoRowInTheCache;

    // FNV-1a over the bits of the last logits: on one device the same in every language.
    try print.print("logits {x:0>16}\n", .{std.hash.Fnv1a_64.hash(std.mem.asBytes(&logits))});
    const device = try ctx.info(said);
    try print.print("on {s}\n", .{std.mem.sliceTo(&device.name, 0)});
}

pub fn main() !void {
    var text: [256]u8 = undefined;
    var out = std.fs.File.stdout().writer(&text);
    var said: spark.Diagnostics = .{};
    run(&out.interface, &said) catch |err| {
        std.debug.print("{t}: {f}\n", .{ err, said });
        return err;
    };
    try out.interface.flush();
}
