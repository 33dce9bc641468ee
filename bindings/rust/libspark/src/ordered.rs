// SPDX-License-Identifier: Apache-2.0
//! Device memory that is allocated and freed in the order of a stream.
use crate::context::lock;
use crate::error::{check, Result};
use crate::memory::{bytes_of, Memory};
use crate::stream::{Held, StreamInner};
use crate::{Context, DeviceBuffer, Element, Error, Event, EventOptions, Status, Stream};
use libspark_sys as sys;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Between what work of which stream memory exists; by default between calls of the host.
#[derive(Default)]
pub(crate) struct Order {
    first: Option<First>,
    last: Mutex<Option<Arc<StreamInner>>>,
}

/// The stream that allocates it, and the point there from which on it exists.
struct First {
    stream: Stream,
    event: Event,
    passed: AtomicBool,
}

impl Order {
    /// The stream that frees it.
    pub fn last(&self) -> Option<Arc<StreamInner>> {
        lock(&self.last).take()
    }
}

impl Memory {
    /// Waits until it exists, before a capture begins. In a capture waiting is refused, and `ready` says so.
    pub fn settle(&self) {
        if let Some(first) = &self.order.first {
            first.passed.fetch_or(first.event.synchronize().is_ok(), Ordering::AcqRel);
        }
    }

    /// Makes work that is enqueued on a stream come after its allocation.
    pub fn ready(&self, held: &Held<'_>) -> Result<()> {
        let first = match &self.order.first {
            Some(first) if !first.passed.load(Ordering::Acquire) => first,
            _ => return Ok(()),
        };
        let recording = held.recording();
        if !recording && Arc::ptr_eq(&first.stream.inner, &held.stream.inner) {
            return Ok(());
        }
        if first.event.is_done().unwrap_or(false) {
            first.passed.store(true, Ordering::Release);
            return Ok(());
        }
        if !recording {
            return first.event.precede(&held.stream.inner);
        }
        let message = "a buffer that was allocated in a capture, in stream order, may not be there yet".into();
        Err(Error::new(Status::INVALID_CAPTURE, message))
    }
}

/// Frees memory when the work so far of a stream, and of others, is done.
pub(crate) fn free(address: u64, stream: &Arc<StreamInner>, after: &[Arc<StreamInner>]) -> Result<()> {
    for other in after.iter().filter(|other| !Arc::ptr_eq(other, stream)) {
        let event = Event::with(&Context { shared: other.shared.clone() }, EventOptions::new().timing(false))?;
        event.note(other)?;
        event.precede(stream)?;
    }
    // SAFETY: context and stream are live, and the last owner of the memory is gone.
    check(|err| unsafe { sys::spark_mem_free_async(stream.shared.raw, address, stream.raw, err) })
}

impl<T: Element> DeviceBuffer<T> {
    /// Memory with whatever was in it, allocated in the order of a stream, without waiting. Work on other streams is
    /// made to wait for that; [`Stream::capture`] waits for it. Not in a capture, unless that is relaxed.
    ///
    /// ```
    /// # fn main() -> libspark::Result<()> {
    /// use libspark::{Context, DeviceBuffer, Stream};
    ///
    /// let ctx = Context::new(0)?;
    /// let stream = Stream::new(&ctx)?;
    /// let mut y = DeviceBuffer::<u8>::zeroed(&stream, 4)?;
    /// let mut scratch = DeviceBuffer::uninit_async(&stream, 4)?;
    /// scratch.fill_bytes(&stream, 7)?;
    /// y.copy_from(&stream, &scratch)?;
    /// scratch.free_async(&stream)?; // nothing was waited for
    /// assert_eq!(y.to_vec(&stream)?, [7; 4]);
    /// # Ok(()) }
    /// ```
    pub fn uninit_async(stream: &Stream, len: usize) -> Result<DeviceBuffer<T>> {
        let (ctx, bytes) = (stream.context(), bytes_of::<T>(len)?);
        let event = Event::with(&ctx, EventOptions::new().timing(false))?;
        let held = stream.hold(&[], None)?;
        let mut address = 0;
        // SAFETY: context and stream are live, and the pointers live for the call.
        check(|err| unsafe { sys::spark_mem_alloc_async(ctx.as_raw(), bytes, stream.as_raw(), &mut address, err) })?;
        if let Err(error) = event.note(&stream.inner) {
            // SAFETY: the context is live, and nothing uses the memory.
            let _ = check(|err| unsafe { sys::spark_mem_free(ctx.as_raw(), address, err) });
            return Err(error);
        }
        let first = First { stream: stream.clone(), event, passed: AtomicBool::new(false) };
        let memory = Memory::device(&ctx, address, Order { first: Some(first), last: Mutex::default() });
        memory.used_on(&stream.inner);
        let mut expected = lock(&ctx.shared.expected);
        expected.retain(|other| other.strong_count() > 0);
        expected.push(Arc::downgrade(&memory));
        drop((expected, held));
        Ok(DeviceBuffer::own(memory, len))
    }

    /// Frees the memory, of whatever origin, when the work so far of this stream is done, and of those that used it:
    /// nothing is waited for here. A graph that has recorded it keeps it as long as it lives. Where this is refused (in
    /// a capture, or on a stream of another context) the buffer ends as by `drop`.
    pub fn free_async(self, stream: &Stream) -> Result<()> {
        stream.inner.shared.same(&self.memory.shared, "the buffer")?;
        stream.not_capturing("freeing memory")?;
        *lock(&self.memory.order.last) = Some(stream.inner.clone());
        Ok(())
    }
}
