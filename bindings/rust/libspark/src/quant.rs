// SPDX-License-Identifier: Apache-2.0
//! How the numbers of a quantised tensor are to be read.
use crate::memory::Memory;
use crate::{Element, Error, Record, Result, ScaleLayout, Scheme, Status, TensorView};
use libspark_sys as sys;
use std::sync::Arc;

/// The scales of a quantised tensor: x = (q - zero_point) * scale * global_scale. With the names of the C fields; what
/// is not set is absent or packed. Which forms an operator reads, [`Field::forms`](crate::Field::forms) says.
///
/// ```
/// # fn main() -> libspark::Result<()> {
/// use libspark::{Context, DeviceBuffer, Quant, E4M3};
///
/// let ctx = Context::new(0)?;
/// let weight = DeviceBuffer::<E4M3>::uninit(&ctx, 256 * 512)?;
/// let scales = DeviceBuffer::<f32>::uninit(&ctx, 2 * 4)?;
/// // a scale for each 128 x 128 elements
/// let quant = Quant::blocks(&[128, 128]).scale(scales.view(&[2, 4])?);
/// let b = weight.view(&[256, 512])?.quantized(quant)?;
/// # let _ = b;
/// # Ok(()) }
/// ```
#[derive(Clone, Copy)]
#[must_use = "give it to TensorView::quantized"]
pub struct Quant<'a> {
    raw: sys::spark_quant,
    blocks: usize,  // how many were said; a number for each dimension, or none
    strides: usize, // the same
    globals: Option<u64>,
    pub(crate) memory: [Option<&'a Arc<Memory>>; 3],
}

impl<'a> Quant<'a> {
    fn new(scheme: Scheme) -> Self {
        let raw = sys::spark_quant { scheme: scheme.0, ..Default::default() };
        Quant { raw, blocks: 0, strides: 0, globals: None, memory: [None; 3] }
    }

    /// One scale.
    pub fn per_tensor() -> Self {
        Self::new(Scheme::PER_TENSOR)
    }

    /// One scale per index of all dimensions but the last.
    pub fn per_row() -> Self {
        Self::new(Scheme::PER_ROW)
    }

    /// One scale for so many elements of each dimension of the tensor, outermost first; 0 is the whole dimension.
    pub fn blocks(block: &[u16]) -> Self {
        let mut made = Self::new(Scheme::BLOCK);
        made.blocks = block.len();
        made.raw.block.iter_mut().zip(block).for_each(|(to, from)| *to = *from);
        made
    }

    /// The scales stand inside the data.
    pub fn record(format: Record) -> Self {
        let mut made = Self::new(Scheme::RECORD);
        // The library knows no such number either, and says so.
        made.raw.record = u16::try_from(format.0).unwrap_or(u16::MAX);
        made
    }

    /// The scales: their type and their memory from the first on; `scale_stride` says how they lie, not the view.
    pub fn scale<S: Element>(mut self, scale: TensorView<'a, S>) -> Self {
        self.raw.scale_dtype = S::DTYPE.0;
        (self.raw.scale, self.raw.scale_bytes, self.memory[0]) = place(scale);
        self
    }

    /// In scales, from block to block of each dimension of the tensor; packed unless said.
    pub fn scale_stride(mut self, stride: &[usize]) -> Self {
        self.strides = stride.len();
        // The library refuses what is negative.
        let numbers = stride.iter().map(|&step| i64::try_from(step).unwrap_or(-1));
        self.raw.scale_stride.iter_mut().zip(numbers).for_each(|(to, from)| *to = from);
        self
    }

    /// Scales in tiles, as tensor cores read them: which dimensions are a tile's rows and columns.
    pub fn tiled(mut self, layout: ScaleLayout, [rows, columns]: [u8; 2]) -> Self {
        self.raw.scale_layout = layout.0;
        self.raw.tile = [rows, columns];
        self
    }

    /// What is subtracted first; lies like the scales.
    pub fn zero_point<Z: Element>(mut self, zero_point: TensorView<'a, Z>) -> Self {
        self.raw.zero_dtype = Z::DTYPE.0;
        (self.raw.zero_point, self.raw.zero_bytes, self.memory[1]) = place(zero_point);
        self
    }

    /// One more factor; `stride` elements lie from one index of dimension 0 to the next, 0 is one factor for all.
    pub fn global_scale(mut self, global: TensorView<'a, f32>, stride: usize) -> Self {
        self.raw.global_stride = i64::try_from(stride).unwrap_or(-1);
        let (address, bytes, memory) = place(global);
        self.raw.global_scale = address;
        self.globals = (global.as_raw().data != 0).then_some(bytes / 4);
        self.memory[2] = memory;
        self
    }

    /// The C description.
    pub fn as_raw(&self) -> sys::spark_quant {
        self.raw
    }

    /// The description for one tensor.
    pub(crate) fn of(&self, tensor: &sys::spark_tensor) -> Result<sys::spark_quant> {
        let ndim = tensor.ndim as usize;
        for (what, count) in [("block", self.blocks), ("scale_stride", self.strides)] {
            if count != 0 && count != ndim {
                let message = format!("quant.{what} has {count} numbers; one for each of {ndim} dimensions wanted");
                return Err(Error::new(Status::INVALID_SHAPE, message));
            }
        }
        // The C description tells no size of these, so that the library cannot check it.
        let steps = tensor.shape[0].max(1) as u64 - 1;
        let read = steps.saturating_mul(self.raw.global_stride.max(0) as u64).saturating_add(1);
        match self.globals {
            Some(there) if !tensor.shape[..ndim].contains(&0) && read > there => {
                let message = format!("quant.global_scale has {there} elements; {read} are read");
                Err(Error::new(Status::INVALID_BOUNDS, message))
            }
            _ => Ok(self.raw),
        }
    }
}

/// Address, bytes and memory of what stands beside the data. To the library 0 bytes would be any number of them: what
/// has no room has no address.
fn place<T: Element>(view: TensorView<'_, T>) -> (u64, u64, Option<&Arc<Memory>>) {
    let (raw, [memory, ..]) = view.parts();
    (if raw.size_bytes == 0 { 0 } else { raw.data }, raw.size_bytes, memory)
}

impl std::fmt::Debug for Quant<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Quant({:?} at {:#x})", Scheme(self.raw.scheme), self.raw.scale)
    }
}
