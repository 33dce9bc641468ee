// SPDX-License-Identifier: Apache-2.0
//! One decode step of a small transformer layer, captured in a graph and replayed: each replay appends a token to the
//! caches of two sequences. The first step also runs without the graph, and must give the same bits.
//!
//! `cargo run --example decode_step`, with LIBSPARK_DRIVER=emu on a computer without a GPU.
use libspark::ops::{ActivationKind, Attention, Gemm, Glu, KvAppend, Rmsnorm, Rope, Sample};
use libspark::{Context, DeviceBuffer, Result, Stream, Workspace, BF16};

const SEQUENCES: usize = 2;
const HIDDEN: usize = 64;
const HEADS: usize = 2; // of queries; one head of keys and values serves both
const HEAD: usize = 32;
const QKV: usize = (HEADS + 2) * HEAD;
const INNER: usize = 96; // behind the gate; the projection before it has twice as many
const VOCABULARY: usize = 128;
const ROWS: usize = 16; // of a sequence in the cache
const STEPS: usize = 4;
const SCRATCH: usize = 1 << 20; // more than any of these calls asks for (query says how much)

/// Small numbers that every language can make: a linear congruence, its upper bits as multiples of 2^-10.
fn numbers(seed: u32, count: usize) -> Vec<BF16> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        BF16::from_f32(((state >> 24) as i32 - 128) as f32 / 1024.0)
    };
    (0..count).map(|_| next()).collect()
}

/// What stays.
struct Weights {
    norm: DeviceBuffer<BF16>,
    qkv: DeviceBuffer<BF16>,
    inner: DeviceBuffer<BF16>,
    logits: DeviceBuffer<BF16>,
}

/// What a step reads and writes.
struct State {
    x: DeviceBuffer<BF16>,
    h: DeviceBuffer<BF16>,
    qkv: DeviceBuffer<BF16>,
    keys: DeviceBuffer<BF16>,
    values: DeviceBuffer<BF16>,
    mixed: DeviceBuffer<BF16>,
    gates: DeviceBuffer<BF16>,
    inner: DeviceBuffer<BF16>,
    logits: DeviceBuffer<f32>,
    tokens: DeviceBuffer<i32>,
    positions: DeviceBuffer<i32>, // of the new tokens
    lengths: DeviceBuffer<i32>,   // with them
    draws: DeviceBuffer<u64>,     // which of the seed's random numbers
    sequence: DeviceBuffer<i32>,
    invalid: DeviceBuffer<i32>,
    scratch: Workspace,
}

impl Weights {
    fn new(stream: &Stream) -> Result<Weights> {
        Ok(Weights {
            norm: DeviceBuffer::from_slice(stream, &[BF16::from_f32(1.0); HIDDEN])?,
            qkv: DeviceBuffer::from_slice(stream, &numbers(1, QKV * HIDDEN))?,
            inner: DeviceBuffer::from_slice(stream, &numbers(2, 2 * INNER * HEADS * HEAD))?,
            logits: DeviceBuffer::from_slice(stream, &numbers(3, VOCABULARY * INNER))?,
        })
    }
}

impl State {
    fn new(stream: &Stream) -> Result<State> {
        let cache = SEQUENCES * ROWS * HEAD;
        Ok(State {
            x: DeviceBuffer::zeroed(stream, SEQUENCES * HIDDEN)?,
            h: DeviceBuffer::zeroed(stream, SEQUENCES * HIDDEN)?,
            qkv: DeviceBuffer::zeroed(stream, SEQUENCES * QKV)?,
            keys: DeviceBuffer::zeroed(stream, cache)?,
            values: DeviceBuffer::zeroed(stream, cache)?,
            mixed: DeviceBuffer::zeroed(stream, SEQUENCES * HEADS * HEAD)?,
            gates: DeviceBuffer::zeroed(stream, SEQUENCES * 2 * INNER)?,
            inner: DeviceBuffer::zeroed(stream, SEQUENCES * INNER)?,
            logits: DeviceBuffer::zeroed(stream, SEQUENCES * VOCABULARY)?,
            tokens: DeviceBuffer::zeroed(stream, SEQUENCES)?,
            positions: DeviceBuffer::zeroed(stream, SEQUENCES)?,
            lengths: DeviceBuffer::zeroed(stream, SEQUENCES)?,
            draws: DeviceBuffer::zeroed(stream, SEQUENCES)?,
            sequence: DeviceBuffer::from_slice(stream, &[0, 1])?,
            invalid: DeviceBuffer::zeroed(stream, 1)?,
            scratch: Workspace::new(stream, SCRATCH)?,
        })
    }

    /// Puts the tokens of a step in: what they are and where they stand.
    fn feed(&mut self, stream: &Stream, tokens: &[i32; SEQUENCES], step: usize) -> Result<()> {
        for (sequence, &token) in tokens.iter().enumerate() {
            self.x.write(stream, sequence * HIDDEN, &numbers(1000 + token as u32, HIDDEN))?;
        }
        self.positions.write(stream, 0, &[step as i32; SEQUENCES])?;
        self.draws.write(stream, 0, &[step as u64; SEQUENCES])?;
        self.lengths.write(stream, 0, &[step as i32 + 1; SEQUENCES])
    }

    /// The operators of a step, in order.
    fn enqueue(&mut self, w: &Weights, stream: &Stream) -> Result<()> {
        let (b, rows) = (SEQUENCES, [ROWS * HEAD, HEAD, HEAD, 1]);
        let cache = [b, ROWS, 1, HEAD];

        let (x, norm) = (self.x.view(&[b, HIDDEN])?, w.norm.view(&[HIDDEN])?);
        Rmsnorm::new().x(x).weight(norm).y(self.h.view_mut(&[b, HIDDEN])?).eps(1e-5).launch(stream)?;

        let (h, weight) = (self.h.view(&[b, HIDDEN])?, w.qkv.view(&[QKV, HIDDEN])?);
        Gemm::new().a(h).b(weight).d(self.qkv.view_mut(&[b, QKV])?).workspace(&self.scratch).launch(stream)?;

        // Queries and keys are neighbours in a row of the projection: one call turns both.
        let heads = self.qkv.strided_mut(0, &[b, HEADS + 1, HEAD], &[QKV, HEAD, 1])?;
        Rope::new().positions(self.positions.view(&[b])?).y_over_x(heads).launch(stream)?;

        KvAppend::new()
            .k(self.qkv.strided(HEADS * HEAD, &[b, 1, HEAD], &[QKV, HEAD, 1])?)
            .v(self.qkv.strided((HEADS + 1) * HEAD, &[b, 1, HEAD], &[QKV, HEAD, 1])?)
            .positions(self.positions.view(&[b])?)
            .batch(self.sequence.view(&[b])?)
            .k_cache(self.keys.strided_mut(0, &cache, &rows)?)
            .v_cache(self.values.strided_mut(0, &cache, &rows)?)
            .invalid_count(self.invalid.view_mut(&[1])?)
            .launch(stream)?;

        Attention::new()
            .q(self.qkv.strided(0, &[b, 1, HEADS, HEAD], &[QKV, QKV, HEAD, 1])?)
            .k(self.keys.strided(0, &cache, &rows)?)
            .v(self.values.strided(0, &cache, &rows)?)
            .o(self.mixed.view_mut(&[b, 1, HEADS, HEAD])?)
            .seq_lens(self.lengths.view(&[b])?)
            .workspace(&self.scratch)
            .launch(stream)?;

        let (mixed, weight) = (self.mixed.view(&[b, HEADS * HEAD])?, w.inner.view(&[2 * INNER, HEADS * HEAD])?);
        Gemm::new()
            .a(mixed)
            .b(weight)
            .d(self.gates.view_mut(&[b, 2 * INNER])?)
            .workspace(&self.scratch)
            .launch(stream)?;

        Glu::new()
            .gate(self.gates.strided(0, &[b, INNER], &[2 * INNER, 1])?)
            .up(self.gates.strided(INNER, &[b, INNER], &[2 * INNER, 1])?)
            .y(self.inner.view_mut(&[b, INNER])?)
            .activation(ActivationKind::SILU)
            .launch(stream)?;

        let (inner, weight) = (self.inner.view(&[b, INNER])?, w.logits.view(&[VOCABULARY, INNER])?);
        Gemm::new()
            .a(inner)
            .b(weight)
            .d(self.logits.view_mut(&[b, VOCABULARY])?)
            .workspace(&self.scratch)
            .launch(stream)?;

        Sample::new()
            .logits(self.logits.view(&[b, VOCABULARY])?)
            .ids(self.tokens.view_mut(&[b])?)
            .offsets(self.draws.view(&[b])?)
            .temperature(0.8)
            .top_k(20)
            .seed(42)
            .workspace(&self.scratch)
            .launch(stream)
    }
}

fn main() -> Result<()> {
    let ctx = Context::new(0)?;
    let stream = Stream::new(&ctx)?;
    let weights = Weights::new(&stream)?;
    let mut state = State::new(&stream)?;

    // Once without a graph: this also loads the code, which a capture does not.
    let mut tokens = [5, 77];
    state.feed(&stream, &tokens, 0)?;
    state.enqueue(&weights, &stream)?;
    let direct = state.logits.to_vec(&stream)?;

    let graph = stream.capture(|stream| state.enqueue(&weights, stream))?;
    for step in 0..STEPS {
        state.feed(&stream, &tokens, step)?;
        graph.launch(&stream)?;
        if step == 0 {
            let replayed = state.logits.to_vec(&stream)?;
            assert!(
                direct.iter().zip(&replayed).all(|(a, b)| a.to_bits() == b.to_bits()),
                "the graph gives other bits"
            );
        }
        state.tokens.read(&stream, 0, &mut tokens)?;
        println!("step {step}: tokens {tokens:?}");
    }
    assert_eq!(state.invalid.to_vec(&stream)?, [0], "a token has no row in the cache");

    // FNV-1a over the bits of the last logits: on one device the same in every language.
    let bits = state.logits.to_vec(&stream)?.into_iter().flat_map(|value| value.to_bits().to_le_bytes());
    println!(
        "logits {:016x}",
        bits.fold(0xcbf29ce484222325u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x100000001b3))
    );
    println!("on {}", ctx.device()?.name);
    Ok(())
}
