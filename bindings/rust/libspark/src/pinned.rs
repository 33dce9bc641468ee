// SPDX-License-Identifier: Apache-2.0
//! Pinned memory of the host, and copies that do not wait.
use crate::context::lock;
use crate::error::{check, Result};
use crate::memory::{bytes_of, within, Memory};
use crate::stream::StreamInner;
use crate::{Context, DeviceBuffer, Element, Error, Event, EventOptions, Status, Stream};
use libspark_sys as sys;
use std::marker::PhantomData;
use std::mem::size_of;
use std::ops::{Bound, Range, RangeBounds};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Pinned memory of the host for `len` values of `T`: copies from and to it run beside the host.
///
/// A copy goes on after its call. Whoever looks at the values (`as_slice`, `as_mut_slice`, `read`, `write`) waits for
/// it, and no longer: later work of the stream goes on. Copies on several streams follow each other. The buffer may be
/// dropped at any time.
///
/// A graph that has recorded a copy repeats it at every launch. From then on `read` and `write` copy from and to the
/// values, in an order that is the caller's to keep ([`Stream::synchronize`]), and there are no slices.
///
/// ```
/// # fn main() -> libspark::Result<()> {
/// use libspark::{Context, DeviceBuffer, PinnedBuffer, Stream};
///
/// let ctx = Context::new(0)?;
/// let stream = Stream::new(&ctx)?;
/// let mut x = DeviceBuffer::<i32>::zeroed(&stream, 4)?;
/// let mut host = PinnedBuffer::from_slice(&ctx, &[1, 2, 3, 4])?;
/// x.write_async(&stream, 0, &host, ..)?;
/// x.write_async(&stream, 3, &host, ..1)?; // the first value, to the last place
/// x.read_async(&stream, 0, &mut host, ..)?;
/// assert_eq!(host.as_slice()?, [1, 2, 3, 1]); // waits for the copy
/// # Ok(()) }
/// ```
pub struct PinnedBuffer<T: Element> {
    memory: Arc<Memory>,
    len: usize,
    kind: PhantomData<T>,
    /// Behind the last copy, which came behind all others.
    copied: Mutex<Option<(Event, Arc<StreamInner>)>>,
    recorded: AtomicBool,
}

impl<T: Element> PinnedBuffer<T> {
    /// Memory full of zeros.
    pub fn zeroed(ctx: &Context, len: usize) -> Result<PinnedBuffer<T>> {
        let bytes = bytes_of::<T>(len)?;
        let mut made = std::ptr::null_mut();
        // SAFETY: the context is live, and the pointers live for the call.
        check(|err| unsafe { sys::spark_host_alloc(ctx.as_raw(), bytes, &mut made, err) })?;
        if !made.is_null() {
            // SAFETY: so many bytes have just been allocated.
            unsafe { std::ptr::write_bytes(made.cast::<u8>(), 0, bytes as usize) };
        }
        let memory = Memory::pinned(ctx, made as u64);
        let (copied, recorded) = Default::default();
        Ok(PinnedBuffer { memory, len, kind: PhantomData, copied, recorded })
    }

    /// A copy of other memory.
    pub fn from_slice(ctx: &Context, values: &[T]) -> Result<PinnedBuffer<T>> {
        let mut made = PinnedBuffer::zeroed(ctx, values.len())?;
        made.write(0, values)?;
        Ok(made)
    }

    /// How many values it holds.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The context it belongs to.
    pub fn context(&self) -> Context {
        Context { shared: self.memory.shared.clone() }
    }

    /// The values, when the copies so far are done.
    pub fn as_slice(&self) -> Result<&[T]> {
        self.not_recorded()?;
        self.wait()?;
        // SAFETY: so many values are there; copies to them take the buffer by `&mut`, and have been waited for.
        Ok(unsafe { std::slice::from_raw_parts(self.start(), self.len) })
    }

    /// The values, to be changed, when the copies so far are done.
    pub fn as_mut_slice(&mut self) -> Result<&mut [T]> {
        self.not_recorded()?;
        self.wait()?;
        // SAFETY: so many values are there; copies have been waited for, and others need the buffer.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.start(), self.len) })
    }

    /// Copies the values from `at` on, when the copies so far are done.
    pub fn read(&self, at: usize, values: &mut [T]) -> Result<()> {
        within(at, values.len(), self.len)?;
        self.wait()?;
        // SAFETY: both have so many values; a launch that writes meanwhile leaves bytes, which are values of T.
        unsafe { std::ptr::copy_nonoverlapping(self.start().add(at), values.as_mut_ptr(), values.len()) };
        Ok(())
    }

    /// Sets the values from `at` on, when the copies so far are done.
    pub fn write(&mut self, at: usize, values: &[T]) -> Result<()> {
        within(at, values.len(), self.len)?;
        self.wait()?;
        // SAFETY: both have so many values, and no slice of these is borrowed.
        unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), self.start().add(at), values.len()) };
        Ok(())
    }

    fn start(&self) -> *mut T {
        if self.len == 0 {
            return NonNull::dangling().as_ptr();
        }
        self.memory.address as *mut T
    }

    fn not_recorded(&self) -> Result<()> {
        if !self.recorded.load(Ordering::Acquire) {
            return Ok(());
        }
        let message = "a graph may have recorded copies of the pinned buffer: use read and write".into();
        Err(Error::new(Status::INVALID_CAPTURE, message))
    }

    fn wait(&self) -> Result<()> {
        match &*lock(&self.copied) {
            Some((event, _)) => event.synchronize(),
            None => Ok(()),
        }
    }

    /// Part of the values, as their address and count.
    fn part(&self, range: impl RangeBounds<usize>) -> Result<Range<usize>> {
        let from = match range.start_bound() {
            Bound::Included(&first) => first,
            Bound::Excluded(&before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let to = match range.end_bound() {
            Bound::Included(&last) => last.saturating_add(1),
            Bound::Excluded(&end) => end,
            Bound::Unbounded => self.len,
        };
        within(from, to.saturating_sub(from), self.len)?;
        Ok(from..to.max(from))
    }

    /// Enqueues a copy behind those of other streams, and notes where it ends.
    fn copy(
        &self,
        stream: &Stream,
        device: &Arc<Memory>,
        call: impl FnOnce(*mut sys::spark_context, u64, *mut sys::spark_error) -> sys::spark_status,
    ) -> Result<()> {
        stream.inner.shared.same(&self.memory.shared, "the pinned buffer")?;
        let (ctx, raw) = (stream.context_raw(), stream.as_raw());
        let mut copied = lock(&self.copied);
        let held = stream.hold(&[device, &self.memory], None)?;
        if held.recording() {
            self.recorded.store(true, Ordering::Release);
            return check(|err| call(ctx, raw, err));
        }
        let event = match copied.take() {
            Some((event, last)) => {
                let waits = if Arc::ptr_eq(&last, &stream.inner) { Ok(()) } else { event.precede(&stream.inner) };
                if waits.is_err() {
                    *copied = Some((event, last));
                    return waits;
                }
                event
            }
            None => Event::with(&stream.context(), EventOptions::new().timing(false))?,
        };
        let outcome = check(|err| call(ctx, raw, err));
        let noted = event.note(&stream.inner);
        *copied = Some((event, stream.inner.clone()));
        if noted.is_err() {
            stream.inner.wait()?; // so that nobody has to know where it ends
        }
        outcome.and(noted)
    }
}

impl<T: Element> std::fmt::Debug for PinnedBuffer<T> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "PinnedBuffer({:?}, {} at {:#x})", T::DTYPE, self.len, self.memory.address)
    }
}

impl<T: Element> DeviceBuffer<T> {
    /// Enqueues a copy of part of a pinned buffer to the values from `at` on.
    pub fn write_async(
        &mut self,
        stream: &Stream,
        at: usize,
        source: &PinnedBuffer<T>,
        part: impl RangeBounds<usize>,
    ) -> Result<()> {
        let part = source.part(part)?;
        let (address, bytes) = (self.place(stream, at, part.len())?, (part.len() * size_of::<T>()) as u64);
        source.copy(stream, &self.memory, |ctx, stream, err| {
            // SAFETY: context and stream are live, and both have so many bytes, until the copy is done.
            unsafe {
                let from = source.start().add(part.start).cast();
                sys::spark_mem_copy_to_device_async(ctx, address, from, bytes, stream, err)
            }
        })
    }

    /// Enqueues a copy of the values from `at` on to part of a pinned buffer, as many as that has.
    pub fn read_async(
        &self,
        stream: &Stream,
        at: usize,
        target: &mut PinnedBuffer<T>,
        part: impl RangeBounds<usize>,
    ) -> Result<()> {
        let part = target.part(part)?;
        let (address, bytes) = (self.place(stream, at, part.len())?, (part.len() * size_of::<T>()) as u64);
        target.copy(stream, &self.memory, |ctx, stream, err| {
            // SAFETY: context and stream are live, and both have so many bytes, until the copy is done; who looks at
            // them waits for that.
            unsafe {
                let to = target.start().add(part.start).cast();
                sys::spark_mem_copy_to_host_async(ctx, to, address, bytes, stream, err)
            }
        })
    }
}
