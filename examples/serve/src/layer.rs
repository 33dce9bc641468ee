// SPDX-License-Identifier: Apache-2.0
//! The operators of one layer, and what they read and write.
use crate::load::Layer;
use crate::shape::Shape;
use libspark::ops::{ActivationKind, Attention, Gemm, Glu, Rmsnorm, RopeAppend};
use libspark::{DeviceBuffer, Element, Result, Stream, Workspace, BF16, E4M3};

/// The most tokens of a prompt in one call.
pub const CHUNK: usize = 256;

/// How much a cache holds, and in what.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// The most tokens of a sequence.
    pub context: usize,
    /// Tokens of a page.
    pub page: usize,
    /// Pages of all sequences together.
    pub pages: usize,
    /// E4M3 with a scale of 1, or else BF16.
    pub codes: bool,
    /// Keys and values have the same bits in whatever pieces their tokens came, so that sequences can share them.
    pub invariant: bool,
}

impl Room {
    /// The most pages of a sequence.
    pub fn most(&self) -> usize {
        self.context.div_ceil(self.page)
    }
}

/// Keys and values of one layer: [pages, tokens of a page, groups, head_width].
pub enum Cache {
    Numbers { keys: DeviceBuffer<BF16>, values: DeviceBuffer<BF16> },
    Codes { keys: DeviceBuffer<E4M3>, values: DeviceBuffer<E4M3> },
}

impl Cache {
    pub fn new(stream: &Stream, shape: &Shape, room: &Room) -> Result<Cache> {
        let count = room.pages * room.page * shape.groups * shape.head_width;
        Ok(if room.codes {
            Cache::Codes { keys: DeviceBuffer::zeroed(stream, count)?, values: DeviceBuffer::zeroed(stream, count)? }
        } else {
            Cache::Numbers { keys: DeviceBuffer::zeroed(stream, count)?, values: DeviceBuffer::zeroed(stream, count)? }
        })
    }
}

/// What is read and written on the way, for CHUNK tokens or one token a slot.
pub struct Scratch {
    pub tokens: DeviceBuffer<i32>,
    pub positions: DeviceBuffer<i64>, // also the number of each random draw
    pub sequences: DeviceBuffer<i32>, // 0, 1, 2 to the last slot; then zeros: the tokens of a prompt are one sequence
    pub lengths: DeviceBuffer<i32>,
    pub tables: DeviceBuffer<i32>, // [slots, most pages of a sequence]: the pages of each, in order
    pub x: DeviceBuffer<BF16>,
    pub h: DeviceBuffer<BF16>,
    pub qkv: DeviceBuffer<BF16>,
    pub queries: DeviceBuffer<BF16>,
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
    pub invariant: bool, // SPARK_FLAG_BATCH_INVARIANT
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
        let call = $call.batch_invariant($launcher.invariant);
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
    pub fn new(stream: &Stream, shape: &Shape, room: &Room, slots: usize) -> Result<Scratch> {
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
            tables: zeros(stream, slots * room.most())?,
            x: zeros(stream, rows * shape.width)?,
            h: zeros(stream, rows * shape.width)?,
            qkv: zeros(stream, rows * (shape.heads + 2 * shape.groups) * shape.head_width)?,
            queries: zeros(stream, rows * shape.heads * shape.head_width)?,
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
    room: &Room,
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
    rotate_and_append(shape, room, cache, s, launcher, batch)?;
    let (b, n, pages) = (batch.sequences, batch.tokens, [room.pages, room.page, groups, head]);
    let attention = match cache {
        Cache::Numbers { keys, values } => Attention::new().k(keys.view(&pages)?).v(values.view(&pages)?),
        Cache::Codes { keys, values } => Attention::new().k(keys.view(&pages)?).v(values.view(&pages)?),
    };
    enqueue!(
        launcher,
        attention
            .q(s.queries.view(&[b, n, heads, head])?)
            .o(s.attended.view_mut(&[b, n, heads, head])?)
            .seq_lens(s.lengths.view(&[b])?)
            .block_table(s.tables.strided(batch.first * room.most(), &[b, room.most()], &[room.most(), 1])?)
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

/// The queries of these tokens, turned; their keys, turned too, and values into the pages that the tables name, as
/// codes where the cache holds those.
fn rotate_and_append(
    shape: &Shape,
    room: &Room,
    cache: &mut Cache,
    s: &mut Scratch,
    launcher: &mut Launcher,
    batch: Batch,
) -> Result<()> {
    let (rows, heads, groups, head) = (batch.rows(), shape.heads, shape.groups, shape.head_width);
    let pages = [room.pages, room.page, groups, head];
    let strides = [(heads + 2 * groups) * head, head, 1];
    let call = match cache {
        Cache::Numbers { keys, values } => {
            RopeAppend::new().k_cache(keys.view_mut(&pages)?).v_cache(values.view_mut(&pages)?)
        }
        Cache::Codes { keys, values } => {
            RopeAppend::new().k_cache(keys.view_mut(&pages)?).v_cache(values.view_mut(&pages)?)
        }
    };
    // In s.sequences the slots' numbers come first, then zeros for a prompt, which is sequence 0 of its call.
    let owners = if batch.tokens == 1 && batch.sequences == s.lengths.len() { 0 } else { s.lengths.len() };
    let tables = [batch.sequences, room.most()];
    enqueue!(
        launcher,
        call.q(s.qkv.strided(0, &[rows, heads, head], &strides)?)
            .k(s.qkv.strided(heads * head, &[rows, groups, head], &strides)?)
            .v(s.qkv.strided((heads + groups) * head, &[rows, groups, head], &strides)?)
            .q_out(s.queries.view_mut(&[rows, heads, head])?)
            .positions(s.positions.view(&[rows])?)
            .theta(shape.theta)
            .rotary_dim(shape.rotary as u32)
            // GGUF keeps the rows of Q and K of a Llama in an order in which the elements of a pair are neighbours.
            .interleaved(true)
            .batch(s.sequences.strided(owners, &[rows], &[1])?)
            .block_table(s.tables.strided(batch.first * room.most(), &tables, &[room.most(), 1])?)
            .invalid_count(s.refused.view_mut(&[1])?)
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
