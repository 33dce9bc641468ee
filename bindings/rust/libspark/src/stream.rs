// SPDX-License-Identifier: Apache-2.0
//! Streams: work in order.
use crate::context::{lock, Kept, Leaving, Record, Shared, What};
use crate::error::{check, Result};
use crate::memory::Memory;
use crate::{Context, Error, Event, Status};
use libspark_sys as sys;
use std::mem::size_of;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLockReadGuard};

/// What a stream is like: `StreamOptions::new().priority(-1)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamOptions {
    priority: i32,
    blocking: bool,
}

impl StreamOptions {
    /// Those of [`Stream::new`].
    pub fn new() -> StreamOptions {
        StreamOptions::default()
    }

    /// 0 is least urgent, as all other streams; below 0 is more urgent. What the device does not have is refused with
    /// `INVALID_VALUE`, and the sentence says from where to where it goes.
    pub fn priority(mut self, priority: i32) -> StreamOptions {
        self.priority = priority;
        self
    }

    /// Whether it waits for work on the legacy default stream, and that one for its.
    pub fn blocking(mut self, on: bool) -> StreamOptions {
        self.blocking = on;
        self
    }
}

/// A queue of work on the device. A clone is the same stream. What was enqueued is finished before it is destroyed.
#[derive(Clone)]
pub struct Stream {
    pub(crate) inner: Arc<StreamInner>,
}

pub(crate) struct StreamInner {
    pub shared: Arc<Shared>,
    pub raw: u64,
    owned: bool,
    pub capturing: AtomicBool,
}

impl Stream {
    /// A stream that does not wait for the legacy default stream.
    pub fn new(ctx: &Context) -> Result<Stream> {
        Stream::with(ctx, StreamOptions::new())
    }

    /// A stream with a priority, or one that waits for the legacy default stream.
    pub fn with(ctx: &Context, options: StreamOptions) -> Result<Stream> {
        let desc = sys::spark_stream_desc {
            struct_size: size_of::<sys::spark_stream_desc>() as u32,
            flags: if options.blocking { sys::SPARK_STREAM_BLOCKING } else { sys::SPARK_STREAM_NONE },
            priority: options.priority,
            ..Default::default()
        };
        let mut raw = 0;
        // SAFETY: the context is live, and the pointers live for the call.
        check(|err| unsafe { sys::spark_stream_create(ctx.as_raw(), &desc, &mut raw, err) })?;
        Ok(Stream::wrap(ctx, raw, true))
    }

    /// The legacy default stream of the context.
    pub fn legacy_default(ctx: &Context) -> Stream {
        Stream::wrap(ctx, 0, false)
    }

    /// A stream of other software: a CUstream as an integer, as cudarc's `stream.cu_stream() as u64`. It stays theirs.
    ///
    /// # Safety
    /// It is a stream of this context's CUcontext. It lives until the result, its clones, and every buffer and graph
    /// that was used with them are gone. Work is not recorded on it but through the result.
    pub unsafe fn from_raw(ctx: &Context, raw: u64) -> Stream {
        Stream::wrap(ctx, raw, false)
    }

    fn wrap(ctx: &Context, raw: u64, owned: bool) -> Stream {
        let capturing = AtomicBool::new(false);
        Stream { inner: Arc::new(StreamInner { shared: ctx.shared.clone(), raw, owned, capturing }) }
    }

    /// The handle of the C library, or the number that it was made from. It stays this object's.
    pub fn as_raw(&self) -> u64 {
        self.inner.raw
    }

    /// The CUstream as an integer, for other software, as cudarc's. It stays this object's.
    pub fn native(&self) -> Result<u64> {
        let (ctx, mut native) = (self.context_raw(), 0);
        // SAFETY: context and stream are live, and the pointers live for the call.
        check(|err| unsafe { sys::spark_stream_native(ctx, self.inner.raw, &mut native, err) })?;
        Ok(native)
    }

    /// The context it belongs to.
    pub fn context(&self) -> Context {
        Context { shared: self.inner.shared.clone() }
    }

    /// Waits until all its work has finished, and says how that ended.
    pub fn synchronize(&self) -> Result<()> {
        self.not_capturing("waiting for a stream")?;
        self.inner.wait()
    }

    /// Whether all its work has finished.
    pub fn is_done(&self) -> Result<bool> {
        self.not_capturing("asking a stream")?;
        let mut done = 0;
        // SAFETY: context and stream are live, and the pointers live for the call.
        check(|err| unsafe { sys::spark_stream_query(self.context_raw(), self.inner.raw, &mut done, err) })?;
        Ok(done != 0)
    }

    /// Makes later work of this stream wait for the event.
    pub fn wait(&self, event: &Event) -> Result<()> {
        self.inner.shared.same(&event.inner.shared, "the event")?;
        self.enqueue(&[], Some(event.inner.clone()), |ctx, stream, err| {
            // SAFETY: context, stream and event are live.
            unsafe { sys::spark_stream_wait_event(ctx, stream, event.as_raw(), err) }
        })
    }

    pub(crate) fn context_raw(&self) -> *mut sys::spark_context {
        self.inner.shared.raw
    }

    /// Calls that wait cannot be recorded, and the driver would give up the whole capture.
    pub(crate) fn not_capturing(&self, what: &str) -> Result<()> {
        if !self.inner.capturing.load(Ordering::Acquire) {
            return Ok(());
        }
        Err(Error::new(Status::INVALID_CAPTURE, format!("the stream is capturing: {what} cannot be recorded")))
    }

    /// Makes a call that enqueues work on this stream: the memory it uses, and `also`, live until that work is done.
    pub(crate) fn enqueue(
        &self,
        memory: &[&Arc<Memory>],
        also: Option<Kept>,
        call: impl FnOnce(*mut sys::spark_context, u64, *mut sys::spark_error) -> sys::spark_status,
    ) -> Result<()> {
        for memory in memory {
            self.inner.shared.same(&memory.shared, "a tensor")?;
        }
        let _held = self.hold(memory, also)?;
        check(|err| call(self.inner.shared.raw, self.inner.raw, err))
    }

    /// Keeps memory, of any context, and `also` for work that is enqueued before the result ends: until it is done, or
    /// as long as a graph that records it.
    pub(crate) fn hold(&self, memory: &[&Arc<Memory>], also: Option<Kept>) -> Result<Held<'_>> {
        let captures = self.inner.shared.reading();
        let held = Held { stream: self, captures };
        for memory in memory {
            memory.ready(&held)?;
        }
        for capture in held.captures.iter() {
            let mut kept = lock(&capture.kept);
            kept.push(self.inner.clone());
            kept.extend(memory.iter().map(|&memory| memory.clone() as Kept));
            kept.extend(also.clone());
        }
        for memory in memory {
            memory.used_on(&self.inner);
        }
        Ok(held)
    }
}

/// While it lives no capture of the stream's context begins or ends.
pub(crate) struct Held<'a> {
    pub stream: &'a Stream,
    captures: RwLockReadGuard<'a, Vec<Arc<Record>>>,
}

impl Held<'_> {
    /// Whether work that is enqueued now may be recorded instead of run. Streams join captures through events: only the
    /// driver knows of those, and does not answer threads that capture elsewhere.
    pub fn recording(&self) -> bool {
        let (inner, mut done) = (&self.stream.inner, 0);
        if self.captures.is_empty() || inner.capturing.load(Ordering::Acquire) {
            return !self.captures.is_empty();
        }
        // SAFETY: context and stream are live, and the pointers live for the call.
        check(|err| unsafe { sys::spark_stream_query(inner.shared.raw, inner.raw, &mut done, err) }).is_err()
    }
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Stream({:#x})", self.inner.raw)
    }
}

impl Drop for StreamInner {
    fn drop(&mut self) {
        let what = What::Stream { raw: self.raw, owned: self.owned };
        self.shared.leave(Leaving { what, after: Vec::new(), kept: Vec::new() });
    }
}

impl StreamInner {
    /// Waits until all its work has finished.
    pub fn wait(&self) -> Result<()> {
        // SAFETY: the context is live, and so is the stream: its owner waits, or is kept by who waits.
        check(|err| unsafe { sys::spark_stream_synchronize(self.shared.raw, self.raw, err) })
    }
}

/// Adds a stream to those that something was used on.
pub(crate) fn remember(used: &mut Vec<Arc<StreamInner>>, stream: &Arc<StreamInner>) {
    if !used.iter().any(|other| Arc::ptr_eq(other, stream)) {
        used.push(stream.clone());
    }
}
