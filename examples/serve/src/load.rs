// SPDX-License-Identifier: Apache-2.0
//! From a GGUF file to weights on the device, expanded there into BF16.
use crate::gguf::{Gguf, Kind, Tensor};
use crate::shape::Shape;
use anyhow::Result;
use libspark::ops::Dequantize;
use libspark::{DeviceBuffer, Record, Stream, BF16};

pub struct Weights {
    pub embedding: DeviceBuffer<BF16>,
    /// None: the table of embeddings.
    pub output: Option<DeviceBuffer<BF16>>,
    pub last_norm: DeviceBuffer<f32>,
    pub layers: Vec<Layer>,
}

pub struct Layer {
    pub attn_norm: DeviceBuffer<f32>,
    pub ffn_norm: DeviceBuffer<f32>,
    /// The rows of Q, K and V one below the other.
    pub qkv: DeviceBuffer<BF16>,
    pub out: DeviceBuffer<BF16>,
    /// The rows of gate, then those of up.
    pub gate_up: DeviceBuffer<BF16>,
    pub down: DeviceBuffer<BF16>,
}

impl Weights {
    pub fn load(stream: &Stream, gguf: &Gguf, shape: &Shape) -> Result<Weights> {
        let mut loader = Loader { stream, records: DeviceBuffer::uninit(&stream.context(), 0)? };
        let layers = (0..shape.layers).map(|number| {
            let from = shape.layer(gguf, number)?;
            Ok(Layer {
                attn_norm: loader.vector(&from.attn_norm)?,
                ffn_norm: loader.vector(&from.ffn_norm)?,
                qkv: loader.matrix(&from.qkv)?,
                out: loader.matrix(&[from.out])?,
                gate_up: loader.matrix(&from.gate_up)?,
                down: loader.matrix(&[from.down])?,
            })
        });
        let layers = layers.collect::<Result<_>>()?;
        let output = shape.output(gguf)?.map(|tensor| loader.matrix(&[tensor])).transpose()?;
        let (embedding, last_norm) = (shape.embedding(gguf)?, shape.last_norm(gguf)?);
        let (embedding, last_norm) = (loader.matrix(&[embedding])?, loader.vector(&last_norm)?);
        Ok(Weights { embedding, output, last_norm, layers })
    }
}

struct Loader<'a> {
    stream: &'a Stream,
    /// Where a matrix lies as the file has it; grows to the largest.
    records: DeviceBuffer<u8>,
}

impl Loader<'_> {
    fn vector(&self, tensor: &Tensor) -> Result<DeviceBuffer<f32>> {
        let values =
            tensor.data.chunks_exact(4).map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
        Ok(DeviceBuffer::from_slice(self.stream, &values.collect::<Vec<_>>())?)
    }

    /// Matrices of one width, the rows of each below those of the one before.
    fn matrix(&mut self, parts: &[Tensor]) -> Result<DeviceBuffer<BF16>> {
        let (columns, rows) = (parts[0].columns, parts.iter().map(|part| part.rows).sum::<usize>());
        let mut made = DeviceBuffer::uninit(&self.stream.context(), rows * columns)?;
        let mut at = 0;
        for part in parts {
            if part.data.len() > self.records.len() {
                self.records = DeviceBuffer::uninit(&self.stream.context(), part.data.len())?;
            }
            self.records.write(self.stream, 0, part.data)?;
            let format = if part.kind == Kind::Q8_0 { Record::Q8_0 } else { Record::Q4_1 };
            Dequantize::new()
                .x(self.records.view(&[part.rows, part.kind.row_bytes(columns)])?.records(format))
                .y(made.strided_mut(at, &[part.rows, columns], &[columns, 1])?)
                .launch(self.stream)?;
            at += part.rows * columns;
        }
        Ok(made)
    }
}
