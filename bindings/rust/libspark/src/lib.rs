// SPDX-License-Identifier: Apache-2.0
//! GPU kernels for language models, safely.
//!
//! [`Context`], [`Stream`], [`DeviceBuffer`], [`PinnedBuffer`] and [`Graph`] own what they stand for; [`TensorView`]
//! and [`TensorViewMut`] borrow it; each operator has a builder in [`ops`] with the names of the C fields. Whatever the
//! library refuses is an [`Error`] with its sentence. Everything here may be shared between threads.
//!
//! ```
//! # fn main() -> libspark::Result<()> {
//! use libspark::{ops::Gemm, Context, DeviceBuffer, Stream, BF16};
//!
//! let ctx = Context::new(0)?; // with LIBSPARK_DRIVER=emu on a computer without a GPU
//! let stream = Stream::new(&ctx)?;
//! let a = DeviceBuffer::from_slice(&stream, &vec![BF16::from_f32(0.5); 16 * 32])?;
//! let b = DeviceBuffer::from_slice(&stream, &vec![BF16::from_f32(2.0); 8 * 32])?;
//! let mut d = DeviceBuffer::<f32>::zeroed(&stream, 16 * 8)?;
//!
//! // d[m, n] = sum of a[m, k] * b[n, k]
//! Gemm::new().a(a.view(&[16, 32])?).b(b.view(&[8, 32])?).d(d.view_mut(&[16, 8])?).launch(&stream)?;
//! assert_eq!(d.to_vec(&stream)?[0], 32.0);
//! # Ok(()) }
//! ```
//!
//! # What is checked, and by whom
//!
//! The compiler: memory outlives the work that uses it, an output is borrowed alone, nothing is used after its end.
//! At run time, as an `Err`: shapes, strides, dtypes and alignment (by the library), views beyond their buffer, and
//! streams, buffers and events of different contexts. Left to the caller: the order of work on different streams.
//! Without an event between them the numbers may be wrong; nothing else can be.
//!
//! # What is not set
//!
//! A tensor that is not set is absent, and a scalar has its default, which its function tells: `alpha` of gemm is 1.
//! A 0 that is set is 0. Where no default is right for every model (`eps` of the norms) a call without it is refused.
//!
//! # Workspace
//!
//! Some kernels need device memory for what lies between their inputs and outputs. [`OpInfo::workspace_size`] says how
//! much; a [`Workspace`] is that memory, for all calls on one stream. A launch that lacks it is refused.
//!
//! # Serving
//!
//! Copies from and to a [`PinnedBuffer`] run beside the host: [`DeviceBuffer::write_async`] and
//! [`DeviceBuffer::read_async`]. [`DeviceBuffer::uninit_async`] and [`DeviceBuffer::free_async`] allocate in the order
//! of a stream. [`StreamOptions`], [`EventOptions`] and [`CaptureMode`] describe streams, events and captures,
//! [`Graph::update`] changes a graph in place, and [`DeviceBuffer::copy_from_peer`] copies between devices.
//! [`ContextOptions`] name a tuning file.
//!
//! # Beside other software
//!
//! `as_raw` of each object gives its handle as an integer, the way C has it. The other way, `from_raw` is `unsafe`:
//! [`Stream::from_raw`], [`TensorView::from_raw`] and [`Context::from_raw`] take streams, slices and contexts of cudarc
//! or of any other user of the driver.
#![warn(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]

mod call;
mod codes;
mod context;
mod element;
#[rustfmt::skip]
mod elements;
mod error;
mod event;
#[rustfmt::skip]
mod generated;
mod graph;
mod log;
mod memory;
#[rustfmt::skip]
pub mod ops;
mod ordered;
mod peer;
mod pinned;
mod quant;
mod reflect;
mod stream;
mod tensor;

pub use call::OpInfo;
pub use context::{device_count, device_info, Arch, Context, ContextOptions, DeviceInfo};
pub use element::Element;
pub use elements::*;
pub use error::{Error, Result};
pub use event::{Event, EventOptions};
pub use generated::{Dtype, Record, ScaleLayout, Scheme, Status};
pub use graph::{CaptureMode, Graph};
pub use libspark_sys as sys;
pub use log::{set_log, LogLevel, LogSink};
pub use memory::{DeviceBuffer, Workspace};
pub use pinned::PinnedBuffer;
pub use quant::Quant;
pub use reflect::{operator, operators, Field, Form, Operator};
pub use stream::{Stream, StreamOptions};
pub use tensor::{TensorView, TensorViewMut};

/// The version of the library that runs: major * 10000 + minor * 100 + patch.
pub fn version() -> u32 {
    // SAFETY: no arguments.
    unsafe { libspark_sys::spark_version() }
}
