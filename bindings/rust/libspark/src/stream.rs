// SPDX-License-Identifier: Apache-2.0
//! Streams, events and graphs.
use crate::context::{lock, Kept, Leaving, Record, Shared, What};
use crate::error::{check, Result};
use crate::memory::Memory;
use crate::{Context, Error, Status};
use libspark_sys as sys;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// A queue of work on the device. A clone is the same stream. What was enqueued is finished before it is destroyed.
#[derive(Clone)]
pub struct Stream {
    pub(crate) inner: Arc<StreamInner>,
}

pub(crate) struct StreamInner {
    pub shared: Arc<Shared>,
    pub raw: u64,
    owned: bool,
    capturing: AtomicBool,
}

impl Stream {
    /// A stream that does not wait for the legacy default stream.
    pub fn new(ctx: &Context) -> Result<Stream> {
        let mut raw = 0;
        // SAFETY: the context is live, and the pointers live for the call.
        check(|err| unsafe { sys::spark_stream_create(ctx.as_raw(), std::ptr::null(), &mut raw, err) })?;
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
        // SAFETY: context and stream are live.
        check(|err| unsafe { sys::spark_stream_synchronize(self.context_raw(), self.inner.raw, err) })
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
            unsafe { sys::spark_stream_wait_event(ctx, stream, event.inner.raw, err) }
        })
    }

    /// Records what `record` enqueues, on this stream and on those that wait for its events, instead of running it.
    ///
    /// The graph keeps alive whatever it uses. While it is recorded, buffers that are dropped are freed later; making
    /// one, and copies from and to the host, are errors. Operators must be prepared: a capture loads no code.
    ///
    /// ```
    /// # fn main() -> libspark::Result<()> {
    /// use libspark::{ops::Rmsnorm, Context, DeviceBuffer, Stream};
    ///
    /// let ctx = Context::new(0)?;
    /// let stream = Stream::new(&ctx)?;
    /// let x = DeviceBuffer::from_slice(&stream, &[2.0f32; 64])?;
    /// let mut y = DeviceBuffer::<f32>::zeroed(&stream, 64)?;
    ///
    /// let norm = Rmsnorm::new().x(x.view(&[1, 64])?).y(y.view_mut(&[1, 64])?).eps(0.0);
    /// norm.prepare(&ctx)?;
    /// let graph = stream.capture(|stream| norm.launch(stream))?;
    /// assert_eq!(y.to_vec(&stream)?[0], 0.0); // recorded, not run
    /// graph.launch(&stream)?;
    /// assert_eq!(y.to_vec(&stream)?[0], 1.0);
    /// # Ok(()) }
    /// ```
    pub fn capture(&self, record: impl FnOnce(&Stream) -> Result<()>) -> Result<Graph> {
        // SAFETY: context and stream are live.
        let made = self.inner.shared.begin(|err| unsafe {
            sys::spark_graph_begin(self.context_raw(), self.inner.raw, std::ptr::null(), err)
        })?;
        self.inner.capturing.store(true, Ordering::Release);
        let mut capture = Capture { stream: self, record: made, ended: false };
        let outcome = record(self);
        let graph = capture.end();
        outcome.and(graph)
    }

    fn context_raw(&self) -> *mut sys::spark_context {
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
        let shared = &self.inner.shared;
        for memory in memory {
            shared.same(&memory.shared, "a tensor")?;
        }
        let captures = shared.reading();
        for capture in captures.iter() {
            let mut kept = lock(&capture.kept);
            kept.push(self.inner.clone());
            kept.extend(memory.iter().map(|&memory| memory.clone() as Kept));
            kept.extend(also.clone());
        }
        for memory in memory {
            memory.used_on(self);
        }
        check(|err| call(shared.raw, self.inner.raw, err))
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

/// Adds a stream to those that something was used on.
pub(crate) fn remember(used: &mut Vec<Arc<StreamInner>>, stream: &Stream) {
    if !used.iter().any(|other| Arc::ptr_eq(other, &stream.inner)) {
        used.push(stream.inner.clone());
    }
}

/// A capture that ends also when the recording panics.
struct Capture<'a> {
    stream: &'a Stream,
    record: Arc<Record>,
    ended: bool,
}

impl Capture<'_> {
    fn end(&mut self) -> Result<Graph> {
        self.ended = true;
        let inner = &self.stream.inner;
        let mut raw = 0;
        // SAFETY: context and stream are live, this thread began the capture, and the pointers live for the call.
        let outcome = inner
            .shared
            .end(&self.record, |err| unsafe { sys::spark_graph_end(inner.shared.raw, inner.raw, &mut raw, err) });
        inner.capturing.store(false, Ordering::Release);
        outcome?;
        let kept = std::mem::take(&mut *lock(&self.record.kept));
        let shared = inner.shared.clone();
        Ok(Graph { inner: Arc::new(GraphInner { shared, raw, kept: Mutex::new(kept), used: Mutex::default() }) })
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        if !self.ended {
            drop(self.end());
        }
    }
}

/// Recorded work, to be launched as often as wanted. It keeps alive the memory that it uses.
pub struct Graph {
    inner: Arc<GraphInner>,
}

struct GraphInner {
    shared: Arc<Shared>,
    raw: u64,
    kept: Mutex<Vec<Kept>>,
    used: Mutex<Vec<Arc<StreamInner>>>,
}

impl Graph {
    /// Enqueues the recorded work on a stream.
    pub fn launch(&self, stream: &Stream) -> Result<()> {
        self.inner.shared.same(&stream.inner.shared, "the graph")?;
        let mut used = lock(&self.inner.used); // also because the driver takes one launch of a graph at a time
        remember(&mut used, stream);
        stream.enqueue(&[], Some(self.inner.clone()), |ctx, stream, err| {
            // SAFETY: context, graph and stream are live.
            unsafe { sys::spark_graph_launch(ctx, self.inner.raw, stream, err) }
        })
    }

    /// The handle of the C library. It stays this object's.
    pub fn as_raw(&self) -> u64 {
        self.inner.raw
    }

    /// The CUgraphExec as an integer, for other software. It stays this object's.
    pub fn native(&self) -> Result<u64> {
        let (ctx, mut native) = (self.inner.shared.raw, 0);
        // SAFETY: context and graph are live, and the pointers live for the call.
        check(|err| unsafe { sys::spark_graph_native(ctx, self.inner.raw, &mut native, err) })?;
        Ok(native)
    }
}

impl std::fmt::Debug for Graph {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Graph({:#x})", self.inner.raw)
    }
}

impl Drop for GraphInner {
    fn drop(&mut self) {
        let (after, kept) = (std::mem::take(&mut *lock(&self.used)), std::mem::take(&mut *lock(&self.kept)));
        self.shared.leave(Leaving { what: What::Graph(self.raw), after, kept });
    }
}

/// A point in the work of a stream.
pub struct Event {
    inner: Arc<EventInner>,
}

struct EventInner {
    shared: Arc<Shared>,
    raw: u64,
}

impl Event {
    /// An event that nothing was recorded in: it counts as done.
    pub fn new(ctx: &Context) -> Result<Event> {
        let mut raw = 0;
        // SAFETY: the context is live, and the pointers live for the call.
        check(|err| unsafe { sys::spark_event_create(ctx.as_raw(), std::ptr::null(), &mut raw, err) })?;
        Ok(Event { inner: Arc::new(EventInner { shared: ctx.shared.clone(), raw }) })
    }

    /// It is done when the stream's work up to here is.
    pub fn record(&self, stream: &Stream) -> Result<()> {
        self.inner.shared.same(&stream.inner.shared, "the event")?;
        stream.enqueue(&[], Some(self.inner.clone()), |ctx, stream, err| {
            // SAFETY: context, event and stream are live.
            unsafe { sys::spark_event_record(ctx, self.inner.raw, stream, err) }
        })
    }

    /// Waits for it.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: context and event are live.
        check(|err| unsafe { sys::spark_event_synchronize(self.inner.shared.raw, self.inner.raw, err) })
    }

    /// Whether it has happened.
    pub fn is_done(&self) -> Result<bool> {
        let mut done = 0;
        // SAFETY: context and event are live, and the pointers live for the call.
        check(|err| unsafe { sys::spark_event_query(self.inner.shared.raw, self.inner.raw, &mut done, err) })?;
        Ok(done != 0)
    }

    /// Milliseconds from `begin` to this one; both have been recorded and are done.
    pub fn since(&self, begin: &Event) -> Result<f32> {
        self.inner.shared.same(&begin.inner.shared, "the other event")?;
        let mut milliseconds = 0.0;
        let (ctx, from, to) = (self.inner.shared.raw, begin.inner.raw, self.inner.raw);
        // SAFETY: context and events are live, and the pointers live for the call.
        check(|err| unsafe { sys::spark_event_elapsed(ctx, from, to, &mut milliseconds, err) })?;
        Ok(milliseconds)
    }

    /// The handle of the C library. It stays this object's.
    pub fn as_raw(&self) -> u64 {
        self.inner.raw
    }

    /// The CUevent as an integer, for other software. It stays this object's.
    pub fn native(&self) -> Result<u64> {
        let (ctx, mut native) = (self.inner.shared.raw, 0);
        // SAFETY: context and event are live, and the pointers live for the call.
        check(|err| unsafe { sys::spark_event_native(ctx, self.inner.raw, &mut native, err) })?;
        Ok(native)
    }
}

impl std::fmt::Debug for Event {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Event({:#x})", self.inner.raw)
    }
}

impl Drop for EventInner {
    fn drop(&mut self) {
        // SAFETY: the last owner. The driver lets an event that is waited for end when that is over.
        let _ = check(|err| unsafe { sys::spark_event_destroy(self.shared.raw, self.raw, err) });
    }
}
