// SPDX-License-Identifier: Apache-2.0
//! A Llama on a device: a cache of pages, and slots with a table of pages each; prompts that are appended to one of
//! them, and steps that append one token to each. A step is recorded once in a graph: which slots take part, their
//! tokens, positions, lengths, tables and settings are read from device memory.
//!
//! A step has one row for each slot, taken or not, so that its kernels are always the same: a sequence gets the same
//! bits alone as beside others.
use crate::gguf::Gguf;
use crate::layer::{attend, enqueue, feed_forward, Batch, Cache, Launcher, Scratch};
use crate::load::Weights;
use crate::shape::Shape;
use anyhow::{ensure, Context as _, Result};
use libspark::ops::{Embedding, Gemm, Rmsnorm, Sample};
use libspark::{Context, Graph, Stream, Workspace};

pub use crate::layer::{Room, CHUNK};

/// How a token is chosen; temperature 0: the most likely one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sampling {
    pub temperature: f32,
    pub top_p: f32,
    pub seed: u64,
}

/// What a step does in one slot.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub token: u32,
    /// How many tokens its slot holds before it.
    pub position: usize,
    pub sampling: Sampling,
}

pub struct Model {
    shape: Shape,
    room: Room,
    slots: usize,
    weights: Weights,
    caches: Vec<Cache>,
    scratch: Scratch,
    launcher: Launcher,
    graph: Option<Graph>,
    settings: Vec<Sampling>, // what the device has: of each slot, then of a prompt
}

impl Model {
    /// Moves the weights to the device; everything that will ever be needed there is allocated and recorded here.
    pub fn load(ctx: &Context, gguf: &Gguf, shape: &Shape, slots: usize, room: Room) -> Result<Model> {
        let stream = Stream::new(ctx)?;
        ctx.preload()?;
        let weights = Weights::load(&stream, gguf, shape)?;
        let caches = (0..shape.layers).map(|_| Cache::new(&stream, shape, &room)).collect::<Result<_, _>>()?;
        let scratch = Scratch::new(&stream, shape, &room, slots)?;
        let launcher = Launcher { stream: stream.clone(), workspace: None, needed: 0, invariant: room.invariant };
        let (shape, settings) = (shape.clone(), vec![Sampling::default(); slots + 1]);
        let mut model = Model { shape, room, slots, weights, caches, scratch, launcher, graph: None, settings };
        model.plan()?;
        model.graph = Some(stream.capture(|_| model.enqueue_step())?);
        Ok(model)
    }

    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Loads the code of every call to come, and makes the workspace that the largest of them needs.
    fn plan(&mut self) -> Result<()> {
        for tokens in 1..=CHUNK.min(self.room.context) {
            self.forward(Batch { sequences: 1, tokens, first: 0, most_keys: self.room.context })?;
        }
        self.choose(1, self.slots, 0)?;
        self.enqueue_step()?;
        self.launcher.workspace = Some(Workspace::new(&self.launcher.stream, self.launcher.needed)?);
        Ok(())
    }

    /// Names the pages of a slot from one of its places on.
    pub fn place(&mut self, slot: usize, first: usize, pages: &[u32]) -> Result<()> {
        ensure!(slot < self.slots && first + pages.len() <= self.room.most(), "slot {slot} has no room for more pages");
        if pages.is_empty() {
            return Ok(());
        }
        let pages: Vec<i32> = pages.iter().map(|&page| page as i32).collect();
        Ok(self.scratch.tables.write(&self.launcher.stream, slot * self.room.most() + first, &pages)?)
    }

    /// Appends at most CHUNK tokens to what a slot holds from `position` on: the tokens before it.
    pub fn append(&mut self, slot: usize, position: usize, tokens: &[u32]) -> Result<()> {
        let (count, end) = (tokens.len(), position + tokens.len());
        ensure!((1..=CHUNK).contains(&count), "{count} tokens at once; 1 to {CHUNK} can be");
        ensure!(slot < self.slots && end <= self.room.context, "slot {slot} has no room for {end} tokens");
        let stream = &self.launcher.stream;
        self.scratch.tokens.write(stream, 0, &tokens.iter().map(|&id| id as i32).collect::<Vec<_>>())?;
        self.scratch.positions.write(stream, 0, &(position as i64..end as i64).collect::<Vec<_>>())?;
        self.scratch.lengths.write(stream, 0, &[end as i32])?;
        Ok(self.forward(Batch { sequences: 1, tokens: count, first: slot, most_keys: end })?)
    }

    /// Chooses the token after those that were just appended, `count` of them. None if the logits hold no number.
    pub fn first(&mut self, count: usize, sampling: Sampling) -> Result<Option<u32>> {
        self.write_settings(self.slots, &[sampling])?;
        self.choose(1, self.slots, count - 1)?;
        let mut chosen = [0];
        self.scratch.chosen.read(&self.launcher.stream, 0, &mut chosen)?;
        Ok(u32::try_from(chosen[0]).ok())
    }

    /// Appends a token in each slot that has a row, and chooses the next one of each.
    pub fn step(&mut self, rows: &[Option<Row>]) -> Result<Vec<Option<u32>>> {
        ensure!(rows.len() == self.slots, "{} rows for {} slots", rows.len(), self.slots);
        let full = rows.iter().flatten().find(|row| row.position >= self.room.context);
        ensure!(full.is_none(), "the context of {} tokens is full", self.room.context);
        // A slot without a row: position -1 is not appended, length 0 attends to nothing.
        let tokens: Vec<i32> = rows.iter().map(|row| row.map_or(0, |row| row.token as i32)).collect();
        let positions: Vec<i64> = rows.iter().map(|row| row.map_or(-1, |row| row.position as i64)).collect();
        let lengths: Vec<i32> = positions.iter().map(|&position| position as i32 + 1).collect();
        let stream = &self.launcher.stream;
        self.scratch.tokens.write(stream, 0, &tokens)?;
        self.scratch.positions.write(stream, 0, &positions)?;
        self.scratch.lengths.write(stream, 0, &lengths)?;
        let settings: Vec<Sampling> =
            rows.iter().map(|row| row.map_or(Sampling::default(), |row| row.sampling)).collect();
        self.write_settings(0, &settings)?;
        let stream = &self.launcher.stream;
        self.graph.as_ref().context("no step has been recorded")?.launch(stream)?;
        let chosen = self.scratch.chosen.to_vec(stream)?;
        Ok(chosen.into_iter().map(|id| u32::try_from(id).ok()).collect())
    }

    /// Puts settings at a number and those after it, unless they are there.
    fn write_settings(&mut self, at: usize, settings: &[Sampling]) -> Result<()> {
        if settings == &self.settings[at..at + settings.len()] {
            return Ok(());
        }
        let (scratch, stream) = (&mut self.scratch, &self.launcher.stream);
        scratch.temperatures.write(stream, at, &settings.iter().map(|s| s.temperature).collect::<Vec<_>>())?;
        scratch.top_ps.write(stream, at, &settings.iter().map(|s| s.top_p).collect::<Vec<_>>())?;
        scratch.seeds.write(stream, at, &settings.iter().map(|s| s.seed).collect::<Vec<_>>())?;
        self.settings[at..at + settings.len()].copy_from_slice(settings);
        Ok(())
    }

    /// A step of every slot, from the tokens to those chosen after them.
    fn enqueue_step(&mut self) -> libspark::Result<()> {
        self.forward(Batch { sequences: self.slots, tokens: 1, first: 0, most_keys: self.room.context })?;
        self.choose(self.slots, 0, 0)
    }

    /// Tokens for the first rows of logits, with the settings from one number on and the positions from another.
    fn choose(&mut self, rows: usize, settings: usize, positions: usize) -> libspark::Result<()> {
        let s = &mut self.scratch;
        enqueue!(
            self.launcher,
            Sample::new()
                .logits(s.logits.view(&[rows, self.shape.vocabulary])?)
                .ids(s.chosen.strided_mut(0, &[rows], &[1])?)
                .temperatures(s.temperatures.strided(settings, &[rows], &[1])?)
                .top_ps(s.top_ps.strided(settings, &[rows], &[1])?)
                .seeds(s.seeds.strided(settings, &[rows], &[1])?)
                .offsets(s.positions.strided(positions, &[rows], &[1])?)
        );
        Ok(())
    }

    /// Tokens through the model, to the logits of the last one of each sequence.
    fn forward(&mut self, batch: Batch) -> libspark::Result<()> {
        let (rows, width, vocabulary) = (batch.rows(), self.shape.width, self.shape.vocabulary);
        let (s, w) = (&mut self.scratch, &self.weights);
        enqueue!(
            self.launcher,
            Embedding::new()
                .table(w.embedding.view(&[vocabulary, width])?)
                .ids(s.tokens.view(&[rows])?)
                .y(s.x.view_mut(&[rows, width])?)
                .zero_invalid(true)
        );
        // In planning one layer speaks for all.
        let layers = if self.launcher.workspace.is_some() { self.shape.layers } else { 1 };
        for (layer, cache) in w.layers.iter().zip(&mut self.caches).take(layers) {
            attend(&self.shape, &self.room, layer, cache, s, &mut self.launcher, batch)?;
            feed_forward(&self.shape, layer, s, &mut self.launcher, rows)?;
        }
        // The last token of each sequence.
        let last = s.x.strided((batch.tokens - 1) * width, &[batch.sequences, width], &[batch.tokens * width, 1])?;
        enqueue!(
            self.launcher,
            Rmsnorm::new()
                .x(last)
                .weight(w.last_norm.view(&[width])?)
                .y(s.h.view_mut(&[batch.sequences, width])?)
                .eps(self.shape.eps)
        );
        enqueue!(
            self.launcher,
            Gemm::new()
                .a(s.h.view(&[batch.sequences, width])?)
                .b(w.output.as_ref().unwrap_or(&w.embedding).view(&[vocabulary, width])?)
                .d(s.logits.view_mut(&[batch.sequences, vocabulary])?)
        );
        Ok(())
    }
}
