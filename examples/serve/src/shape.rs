// SPDX-License-Identifier: Apache-2.0
//! The sizes of a Llama in a GGUF file, and the names of its tensors. Refuses, before there is a device, what would
//! give wrong numbers.
use crate::gguf::{Gguf, Kind, Tensor};
use anyhow::{ensure, Result};

#[derive(Clone, Debug)]
pub struct Shape {
    pub layers: usize,
    pub width: usize,
    pub heads: usize,
    /// Heads of keys and values.
    pub groups: usize,
    pub head_width: usize,
    pub inner: usize,
    pub vocabulary: usize,
    /// The longest context that it was trained for.
    pub trained: usize,
    /// Elements of a head that are rotated.
    pub rotary: usize,
    pub eps: f32,
    pub theta: f32,
    /// The output layer is the table of embeddings.
    pub tied: bool,
}

/// The tensors of a layer.
pub struct Layer<'a> {
    pub attn_norm: Tensor<'a>,
    pub ffn_norm: Tensor<'a>,
    /// Rows of Q, K and V.
    pub qkv: [Tensor<'a>; 3],
    pub out: Tensor<'a>,
    pub gate_up: [Tensor<'a>; 2],
    pub down: Tensor<'a>,
}

const LAYER_TENSORS: usize = 9;

impl Shape {
    pub fn read(gguf: &Gguf) -> Result<Shape> {
        let architecture = gguf.text("general.architecture")?;
        ensure!(architecture == "llama", "architecture {architecture} is not supported; llama is");
        let most = 1 << 20;
        let optional =
            |key, allowed: std::ops::Range<i64>, usual| gguf.get(key).map_or(Ok(usual), |_| gguf.integer(key, allowed));
        let width = gguf.integer("llama.embedding_length", 32..most)?;
        let heads = gguf.integer("llama.attention.head_count", 1..1025)?;
        let head_width = optional("llama.attention.key_length", 1..257, width / heads)?;
        let shape = Shape {
            layers: gguf.integer("llama.block_count", 1..1001)?,
            width,
            heads,
            groups: optional("llama.attention.head_count_kv", 1..heads as i64 + 1, heads)?,
            head_width,
            inner: gguf.integer("llama.feed_forward_length", 32..most)?,
            vocabulary: gguf.texts("tokenizer.ggml.tokens")?.len(),
            trained: gguf.integer("llama.context_length", 1..1 << 30)?,
            rotary: optional("llama.rope.dimension_count", 2..257, head_width)?,
            eps: gguf.real("llama.attention.layer_norm_rms_epsilon")?,
            theta: gguf.get("llama.rope.freq_base").map_or(Ok(10000.0), |_| gguf.real("llama.rope.freq_base"))?,
            tied: !gguf.has_tensor("output.weight"),
        };
        ensure!(optional("llama.expert_count", 0..most, 0)? == 0, "a mixture of experts is not supported");
        let scaling =
            gguf.get("llama.rope.scaling.type").map_or(Ok("none"), |_| gguf.text("llama.rope.scaling.type"))?;
        ensure!(scaling == "none", "rotary angles with {scaling} scaling are not supported");
        shape.check(gguf)?;
        Ok(shape)
    }

    fn check(&self, gguf: &Gguf) -> Result<()> {
        let rotates = self.rotary % 2 == 0 && self.rotary <= self.head_width;
        ensure!(
            self.heads % self.groups == 0 && rotates,
            "{} heads, {} of keys, and {} rotated of {} elements do not go together",
            self.heads,
            self.groups,
            self.rotary,
            self.head_width
        );
        self.embedding(gguf)?;
        self.output(gguf)?;
        self.last_norm(gguf)?;
        for i in 0..self.layers {
            self.layer(gguf, i)?;
        }
        // A tensor beyond these (a bias, factors of the rotary angles) would change the results.
        let (found, known) = (gguf.tensor_count(), self.layers * LAYER_TENSORS + if self.tied { 2 } else { 3 });
        ensure!(found == known, "the file has {found} tensors; a Llama of this shape has {known}");
        Ok(())
    }

    pub fn embedding<'a>(&self, gguf: &'a Gguf) -> Result<Tensor<'a>> {
        matrix(gguf, "token_embd.weight", self.vocabulary, self.width)
    }

    /// The output layer; None where it is the table of embeddings.
    pub fn output<'a>(&self, gguf: &'a Gguf) -> Result<Option<Tensor<'a>>> {
        (!self.tied).then(|| matrix(gguf, "output.weight", self.vocabulary, self.width)).transpose()
    }

    pub fn last_norm<'a>(&self, gguf: &'a Gguf) -> Result<Tensor<'a>> {
        vector(gguf, "output_norm.weight", self.width)
    }

    pub fn layer<'a>(&self, gguf: &'a Gguf, number: usize) -> Result<Layer<'a>> {
        let part = |name, rows, columns| matrix(gguf, &format!("blk.{number}.{name}.weight"), rows, columns);
        let norm = |name| vector(gguf, &format!("blk.{number}.{name}.weight"), self.width);
        let (width, inner) = (self.width, self.inner);
        let (q, k) = (self.heads * self.head_width, self.groups * self.head_width);
        Ok(Layer {
            attn_norm: norm("attn_norm")?,
            ffn_norm: norm("ffn_norm")?,
            qkv: [part("attn_q", q, width)?, part("attn_k", k, width)?, part("attn_v", k, width)?],
            out: part("attn_output", width, q)?,
            gate_up: [part("ffn_gate", inner, width)?, part("ffn_up", inner, width)?],
            down: part("ffn_down", width, inner)?,
        })
    }
}

fn matrix<'a>(gguf: &'a Gguf, name: &str, rows: usize, columns: usize) -> Result<Tensor<'a>> {
    let tensor = gguf.tensor(name, rows, columns)?;
    ensure!(tensor.kind != Kind::F32, "tensor {name} is F32; matrices of Q4_1 and Q8_0 can be expanded");
    Ok(tensor)
}

fn vector<'a>(gguf: &'a Gguf, name: &str, columns: usize) -> Result<Tensor<'a>> {
    let tensor = gguf.tensor(name, 1, columns)?;
    ensure!(tensor.kind == Kind::F32, "tensor {name} is no F32, as norms are");
    Ok(tensor)
}
