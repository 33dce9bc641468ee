// SPDX-License-Identifier: Apache-2.0
//! Tensors: shape and strides over memory that somebody else owns.
use crate::memory::Memory;
use crate::{DeviceBuffer, Error, Quant, Record, Result, Status};
use libspark_sys as sys;
use std::marker::PhantomData;
use std::mem::size_of;
use std::sync::Arc;

pub use crate::element::Element;

/// The memory that a tensor names: its data, and what stands beside them (scales, zero points, the global scale).
pub(crate) type Holds<'a> = [Option<&'a Arc<Memory>>; 4];

/// A tensor that an operator reads: up to six dimensions over a buffer that it borrows.
///
/// ```
/// # fn main() -> libspark::Result<()> {
/// use libspark::{Context, DeviceBuffer, Stream, BF16};
///
/// let ctx = Context::new(0)?;
/// let qkv = DeviceBuffer::<BF16>::uninit(&ctx, 5 * 3 * 4 * 64)?; // [token, q or k or v, head, 64]
/// let q = qkv.view(&[5, 3, 4, 64])?;
/// let k = qkv.strided(4 * 64, &[5, 4, 64], &[3 * 4 * 64, 64, 1])?;
/// assert!(qkv.strided(9 * 64, &[5, 4, 64], &[3 * 4 * 64, 64, 1]).is_err(), "reaches beyond the end");
/// # let _ = (q, k);
/// # Ok(()) }
/// ```
pub struct TensorView<'a, T: Element> {
    raw: sys::spark_tensor,
    memory: Holds<'a>,
    kind: PhantomData<&'a T>,
}

/// A tensor that an operator writes: it borrows its buffer for itself alone.
///
/// A buffer that a call names can be neither freed nor named once more:
///
/// ```compile_fail,E0505
/// # fn main() -> libspark::Result<()> {
/// # use libspark::{ops::Rmsnorm, Context, DeviceBuffer, Stream};
/// # let stream = Stream::new(&Context::new(0)?)?;
/// let mut x = DeviceBuffer::<f32>::zeroed(&stream, 64)?;
/// let call = Rmsnorm::new().y_over_x(x.view_mut(&[1, 64])?).eps(1e-5);
/// drop(x);
/// call.launch(&stream)
/// # }
/// ```
///
/// ```compile_fail,E0502
/// # fn main() -> libspark::Result<()> {
/// # use libspark::{ops::Rmsnorm, Context, DeviceBuffer, Stream};
/// # let stream = Stream::new(&Context::new(0)?)?;
/// let mut x = DeviceBuffer::<f32>::zeroed(&stream, 64)?;
/// Rmsnorm::new().y(x.view_mut(&[1, 64])?).x(x.view(&[1, 64])?).eps(1e-5).launch(&stream)
/// # }
/// ```
pub struct TensorViewMut<'a, T: Element> {
    raw: sys::spark_tensor,
    memory: Holds<'a>,
    kind: PhantomData<&'a mut T>,
}

fn refused<R>(status: Status, message: String) -> Result<R> {
    Err(Error::new(status, message))
}

/// Elements from the first to the last, both counted; None where that overflows.
fn reach(shape: &[usize], stride: &[usize]) -> Option<usize> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().zip(stride).try_fold(1usize, |sum, (&size, &step)| sum.checked_add((size - 1).checked_mul(step)?))
}

/// A tensor over `room` values of `T` at `address`; without room there is no memory yet, and any shape will do.
fn describe<T: Element>(
    address: u64,
    room: Option<usize>,
    offset: usize,
    shape: &[usize],
    stride: Option<&[usize]>,
) -> Result<sys::spark_tensor> {
    const MOST: usize = sys::SPARK_MAX_NDIM as usize;
    if shape.is_empty() || shape.len() > MOST {
        return refused(Status::INVALID_SHAPE, format!("shape has {} dimensions; 1 to {MOST} wanted", shape.len()));
    }
    if stride.map_or(false, |stride| stride.len() != shape.len()) {
        return refused(Status::INVALID_STRIDE, format!("a stride for each of {} dimensions wanted", shape.len()));
    }
    let mut packed = [1usize; MOST];
    for i in (0..shape.len() - 1).rev() {
        packed[i] = packed[i + 1].saturating_mul(shape[i + 1]);
    }
    let steps = stride.unwrap_or(&packed[..shape.len()]);
    if stride.is_some() && steps.iter().all(|&step| step == 0) && shape.iter().any(|&size| size > 1) {
        return refused(Status::INVALID_STRIDE, "all strides are 0, which would mean packed".into());
    }
    if offset % T::PER != 0 {
        return refused(Status::INVALID_ALIGNMENT, format!("offset is {offset}; a multiple of {} wanted", T::PER));
    }
    let mut raw = sys::spark_tensor { dtype: T::DTYPE.0, ndim: shape.len() as u32, ..Default::default() };
    if let Some(room) = room {
        let elements = room.saturating_mul(T::PER);
        let wanted = reach(shape, steps).and_then(|reach| reach.checked_add(offset)).unwrap_or(usize::MAX);
        if wanted > elements {
            let message = format!("shape and strides reach element {wanted}; there are {elements}");
            return refused(Status::INVALID_BOUNDS, message);
        }
        let skipped = offset / T::PER;
        raw.data = address + (skipped * size_of::<T>()) as u64;
        raw.size_bytes = ((room - skipped) * size_of::<T>()) as u64;
    }
    for i in 0..shape.len() {
        let most = i64::MAX as usize;
        if shape[i] > most || steps[i] > most {
            return refused(Status::INVALID_SHAPE, format!("dimension {i} does not fit 63 bits"));
        }
        raw.shape[i] = shape[i] as i64;
        raw.stride[i] = if stride.is_some() { steps[i] as i64 } else { 0 };
    }
    Ok(raw)
}

impl<T: Element> DeviceBuffer<T> {
    /// The buffer from its beginning as a packed tensor of this shape.
    pub fn view(&self, shape: &[usize]) -> Result<TensorView<'_, T>> {
        let raw = describe::<T>(self.as_raw(), Some(self.len()), 0, shape, None)?;
        Ok(TensorView::over(raw, Some(&self.memory)))
    }

    /// The same, to be written.
    pub fn view_mut(&mut self, shape: &[usize]) -> Result<TensorViewMut<'_, T>> {
        let raw = describe::<T>(self.as_raw(), Some(self.len()), 0, shape, None)?;
        Ok(TensorViewMut::over(raw, Some(&self.memory)))
    }

    /// The buffer from element `offset` on, with strides in elements, outermost first.
    pub fn strided(&self, offset: usize, shape: &[usize], stride: &[usize]) -> Result<TensorView<'_, T>> {
        let raw = describe::<T>(self.as_raw(), Some(self.len()), offset, shape, Some(stride))?;
        Ok(TensorView::over(raw, Some(&self.memory)))
    }

    /// The same, to be written.
    pub fn strided_mut(&mut self, offset: usize, shape: &[usize], stride: &[usize]) -> Result<TensorViewMut<'_, T>> {
        let raw = describe::<T>(self.as_raw(), Some(self.len()), offset, shape, Some(stride))?;
        Ok(TensorViewMut::over(raw, Some(&self.memory)))
    }
}

macro_rules! common {
    ($view:ident) => {
        impl<'a, T: Element> $view<'a, T> {
            fn over(raw: sys::spark_tensor, memory: Option<&'a Arc<Memory>>) -> Self {
                Self { raw, memory: [memory, None, None, None], kind: PhantomData }
            }

            /// A tensor without memory, for `query`, `explain`, `kernels` and `prepare`. A launch refuses it.
            pub fn planned(shape: &[usize]) -> Result<Self> {
                Ok(Self::over(describe::<T>(0, None, 0, shape, None)?, None))
            }

            /// The same with strides.
            pub fn planned_strided(shape: &[usize], stride: &[usize]) -> Result<Self> {
                Ok(Self::over(describe::<T>(0, None, 0, shape, Some(stride))?, None))
            }

            /// A packed tensor over memory of other software, such as cudarc's slices: `len` values at `address`.
            ///
            /// # Safety
            /// The memory belongs to the context that it is used in, and lives until the work on it is done; a graph
            /// that records such work does not keep it.
            pub unsafe fn from_raw(address: u64, len: usize, shape: &[usize]) -> Result<Self> {
                Ok(Self::over(describe::<T>(address, Some(len), 0, shape, None)?, None))
            }

            /// The same with an offset and strides.
            ///
            /// # Safety
            /// As `from_raw`.
            pub unsafe fn from_raw_strided(
                address: u64,
                len: usize,
                offset: usize,
                shape: &[usize],
                stride: &[usize],
            ) -> Result<Self> {
                Ok(Self::over(describe::<T>(address, Some(len), offset, shape, Some(stride))?, None))
            }

            /// The bytes are records of a quantised format, each with its scale inside (`SPARK_QUANT_RECORD`).
            #[must_use]
            pub fn records(mut self, format: Record) -> Self {
                self.raw.quant = Quant::record(format).as_raw();
                self
            }

            /// The elements are codes, as `quant` says: scaled by numbers that stand beside them. Where an operator
            /// makes the scales of what it writes, it writes them there.
            pub fn quantized(mut self, quant: Quant<'a>) -> Result<Self> {
                self.raw.quant = quant.of(&self.raw)?;
                self.memory[1..].copy_from_slice(&quant.memory);
                Ok(self)
            }

            /// The C description.
            pub fn as_raw(&self) -> &sys::spark_tensor {
                &self.raw
            }

            /// What an operator needs of it.
            pub(crate) fn parts(self) -> (sys::spark_tensor, Holds<'a>) {
                (self.raw, self.memory)
            }
        }

        impl<T: Element> std::fmt::Debug for $view<'_, T> {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let shape = &self.raw.shape[..self.raw.ndim as usize];
                write!(out, "{}({:?}, {shape:?} at {:#x})", stringify!($view), T::DTYPE, self.raw.data)
            }
        }
    };
}

common!(TensorView);
common!(TensorViewMut);

impl<T: Element> Clone for TensorView<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Element> Copy for TensorView<'_, T> {}

impl<T: Element> TensorViewMut<'_, T> {
    /// The same tensor for a shorter time.
    pub fn reborrow(&mut self) -> TensorViewMut<'_, T> {
        TensorViewMut { raw: self.raw, memory: self.memory, kind: PhantomData }
    }

    /// The same tensor, to be read.
    pub fn as_view(&self) -> TensorView<'_, T> {
        TensorView { raw: self.raw, memory: self.memory, kind: PhantomData }
    }
}
