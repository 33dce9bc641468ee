// SPDX-License-Identifier: Apache-2.0
//! The operators of one layer, and what they read and write.
use crate::load::Layer;
use crate::shape::Shape;
use libspark::ops::{ActivationKind, Attention, Gemm, Glu, KvAppend, Rmsnorm, Rope};
use libspark::{DeviceBuffer, Element, Result, Stream, Workspace, BF16};

/// The most tokens of a prompt in one call.
pub const CHUNK: usize = 256;

/// Keys and values of one layer: [slots, context, groups, head_width].
pub struct Cache {
    pub keys: DeviceBuffer<BF16>,
    pub values: DeviceBuffer<BF16>,
}

/// What is read and written on the way, for CHUNK tokens or one token a slot.
pub struct Scratch {
    pub tokens: DeviceBuffer<i32>,
    pub positions: DeviceBuffer<i64>, // also the number of each random draw
    pub sequences: DeviceBuffer<i32>, // 0, 1, 2 to the last slot; then zeros: the tokens of a prompt are one sequence
    pub lengths: DeviceBuffer<i32>,
    pub x: DeviceBuffer<BF16>,
    pub h: DeviceBuffer<BF16>,
    pub qkv: DeviceBuffer<BF16>,
    pub attended: DeviceBuffer<BF16>,
    pub gate_up: DeviceBuffer<BF16>,
    pub inner: DeviceBuffer<BF16>,
    pub logits: DeviceBuffer<f32>,
    pub temperatures: DeviceBuffer<f32>, // of each slot; then those of a prompt
    pub top_ps: DeviceBuffer<f32>,
    pub seeds: DeviceBuffer<u64>,
    pub chosen: DeviceBuffer<i32>,
    pub refused: DeviceBuffer<i32>, // counts rows outside the cache: stays 0
}

/// Enqueues operators; before there is a workspace, asks how large it must be.
pub struct Launcher {
    pub stream: Stream,
    pub workspace: Option<Workspace>,
    pub needed: usize,
}

/// The tokens of one call: so many sequences of as many tokens each, in slots from `first` on.
#[derive(Clone, Copy)]
pub struct Batch {
    pub sequences: usize,
    pub tokens: usize,
    pub first: usize,
    pub most_keys: usize,
}

impl Batch {
    pub fn rows(self) -> usize {
        self.sequences * self.tokens
    }
}

/// Launches an operator, or in planning prepares it.
macro_rules! enqueue {
    ($launcher:expr, $call:expr) => {{
        let call = $call;
        match &$launcher.workspace {
            Some(workspace) => call.workspace(workspace).launch(&$launcher.stream)?,
            None => {
                let info = call.prepare(&$launcher.stream.context())?;
                $launcher.needed = $launcher.needed.max(info.workspace_size);
            }
        }
    }};
}

pub(crate) use enqueue;

impl Scratch {
    pub fn new(stream: &Stream, shape: &Shape, slots: usize) -> Result<Scratch> {
        fn zeros<T: Element>(stream: &Stream, count: usize) -> Result<DeviceBuffer<T>> {
            DeviceBuffer::zeroed(stream, count)
        }
        let rows = CHUNK.max(slots);
        let sequences: Vec<i32> = (0..slots as i32).chain(std::iter::repeat_n(0, rows)).collect();
        Ok(Scratch {
            tokens: zeros(stream, rows)?,
            positions: zeros(stream, rows)?,
            sequences: DeviceBuffer::from_slice(stream, &sequences)?,
            lengths: zeros(stream, slots)?,
            x: zeros(stream, rows * shape.width)?,
            h: zeros(stream, rows * shape.width)?,
            qkv: zeros(stream, rows * (shape.heads + 2 * shape.groups) * shape.head_width)?,
            attended: zeros(stream, rows * shape.heads * shape.head_width)?,
            gate_up: zeros(stream, rows * 2 * shape.inner)?,
            inner: zeros(stream, rows * shape.inner)?,
            logits: zeros(stream, slots * shape.vocabulary)?,
            temperatures: zeros(stream, slots + 1)?,
            top_ps: zeros(stream, slots + 1)?,
            seeds: zeros(stream, slots + 1)?,
            chosen: zeros(stream, slots)?,
            refused: zeros(stream, 1)?,
        })
    }
}

/// x += attention(norm(x)), and the keys and values of these tokens into the cache.
pub fn attend(
    shape: &Shape,
    context: usize,
    layer: &Layer,
    cache: &mut Cache,
    s: &mut Scratch,
    launcher: &mut Launcher,
    batch: Batch,
) -> Result<()> {
    let (rows, width, heads, groups, head) = (batch.rows(), shape.width, shape.heads, shape.groups, shape.head_width);
    let row = (heads + 2 * groups) * head; // of the projection
    enqueue!(
        launcher,
        Rmsnorm::new()
            .x(s.x.view(&[rows, width])?)
            .weight(layer.attn_norm.view(&[width])?)
            .y(s.h.view_mut(&[rows, width])?)
            .eps(shape.eps)
    );
    enqueue!(
        launcher,
        Gemm::new().a(s.h.view(&[rows, width])?).b(layer.qkv.view(&[row, width])?).d(s.qkv.view_mut(&[rows, row])?)
    );
    // GGUF keeps the rows of Q and K of a Llama in the order in which the two elements of a pair are neighbours.
    enqueue!(
        launcher,
        Rope::new()
            .positions(s.positions.view(&[rows])?)
            .y_over_x(s.qkv.strided_mut(0, &[rows, heads + groups, head], &[row, head, 1])?)
            .theta(shape.theta)
            .rotary_dim(shape.rotary as u32)
            .interleaved(true)
    );
    let cached = [batch.sequences, context, groups, head];
    let strides = [context * groups * head, groups * head, head, 1];
    let begin = batch.first * strides[0];
    // In s.sequences the slots' numbers come first, then zeros for a prompt, which is sequence 0 of its call.
    let owners = if batch.tokens == 1 && batch.sequences == s.lengths.len() { 0 } else { s.lengths.len() };
    enqueue!(
        launcher,
        KvAppend::new()
            .k(s.qkv.strided(heads * head, &[rows, groups, head], &[row, head, 1])?)
            .v(s.qkv.strided((heads + groups) * head, &[rows, groups, head], &[row, head, 1])?)
            .positions(s.positions.view(&[rows])?)
            .batch(s.sequences.strided(owners, &[rows], &[1])?)
            .k_cache(cache.keys.strided_mut(begin, &cached, &strides)?)
            .v_cache(cache.values.strided_mut(begin, &cached, &strides)?)
            .invalid_count(s.refused.view_mut(&[1])?)
    );
    let (b, n) = (batch.sequences, batch.tokens);
    enqueue!(
        launcher,
        Attention::new()
            .q(s.qkv.strided(0, &[b, n, heads, head], &[n * row, row, head, 1])?)
            .k(cache.keys.strided(begin, &cached, &strides)?)
            .v(cache.values.strided(begin, &cached, &strides)?)
            .o(s.attended.view_mut(&[b, n, heads, head])?)
            .seq_lens(s.lengths.view(&[b])?)
            .max_seqlen_k(batch.most_keys as i64)
            .causal(true)
    );
    enqueue!(
        launcher,
        Gemm::new()
            .a(s.attended.view(&[rows, heads * head])?)
            .b(layer.out.view(&[width, heads * head])?)
            .d_over_c(s.x.view_mut(&[rows, width])?)
            .beta(1.0)
    );
    Ok(())
}

/// x += down(silu(gate(norm(x))) * up(norm(x)))
pub fn feed_forward(shape: &Shape, layer: &Layer, s: &mut Scratch, launcher: &mut Launcher, rows: usize) -> Result<()> {
    let (width, inner) = (shape.width, shape.inner);
    enqueue!(
        launcher,
        Rmsnorm::new()
            .x(s.x.view(&[rows, width])?)
            .weight(layer.ffn_norm.view(&[width])?)
            .y(s.h.view_mut(&[rows, width])?)
            .eps(shape.eps)
    );
    enqueue!(
        launcher,
        Gemm::new()
            .a(s.h.view(&[rows, width])?)
            .b(layer.gate_up.view(&[2 * inner, width])?)
            .d(s.gate_up.view_mut(&[rows, 2 * inner])?)
    );
    enqueue!(
        launcher,
        Glu::new()
            .gate(s.gate_up.strided(0, &[rows, inner], &[2 * inner, 1])?)
            .up(s.gate_up.strided(inner, &[rows, inner], &[2 * inner, 1])?)
            .y(s.inner.view_mut(&[rows, inner])?)
            .activation(ActivationKind::SILU)
    );
    enqueue!(
        launcher,
        Gemm::new()
            .a(s.inner.view(&[rows, inner])?)
            .b(layer.down.view(&[width, inner])?)
            .d_over_c(s.x.view_mut(&[rows, width])?)
            .beta(1.0)
    );
    Ok(())
}
