// SPDX-License-Identifier: Apache-2.0
//! Graphs: work that is recorded once and launched often.
use crate::context::{lock, Kept, Leaving, Record, Shared, What};
use crate::error::{check, Result};
use crate::memory::Memory;
use crate::stream::{remember, StreamInner};
use crate::Stream;
use libspark_sys as sys;
use std::mem::size_of;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

/// Which threads may not do, while a stream captures, what cannot be recorded: allocating, waiting, asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CaptureMode {
    /// The thread that captures.
    #[default]
    ThreadLocal = sys::SPARK_CAPTURE_THREAD_LOCAL as isize,
    /// All threads of the process, in every context.
    Global = sys::SPARK_CAPTURE_GLOBAL as isize,
    /// None. Calls on the stream that captures are refused all the same.
    Relaxed = sys::SPARK_CAPTURE_RELAXED as isize,
}

/// What the driver answers to an update that cannot be; other ends of a capture have the same status.
const DOES_NOT_FIT: i32 = 910;

impl Stream {
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
        self.capture_in(CaptureMode::ThreadLocal, record)
    }

    /// The same in another mode. In `CaptureMode::Relaxed` buffers can be made meanwhile.
    pub fn capture_in(&self, mode: CaptureMode, record: impl FnOnce(&Stream) -> Result<()>) -> Result<Graph> {
        let mut capture = Capture::begin(self, mode)?;
        let outcome = record(self);
        let graph = capture.end();
        outcome.and(graph)
    }
}

/// A capture that ends also when the recording panics.
struct Capture<'a> {
    stream: &'a Stream,
    record: Arc<Record>,
    ended: bool,
}

impl<'a> Capture<'a> {
    fn begin(stream: &'a Stream, mode: CaptureMode) -> Result<Capture<'a>> {
        let desc = sys::spark_graph_desc {
            struct_size: size_of::<sys::spark_graph_desc>() as u32,
            mode: mode as u32,
            ..Default::default()
        };
        // SAFETY: context and stream are live, and the pointers live for the call.
        let record = stream
            .inner
            .shared
            .begin(|err| unsafe { sys::spark_graph_begin(stream.context_raw(), stream.inner.raw, &desc, err) })?;
        stream.inner.capturing.store(true, Ordering::Release);
        Ok(Capture { stream, record, ended: false })
    }

    /// Ends it by a call; gives what the recorded work uses.
    fn end_by(&mut self, call: impl FnOnce(*mut sys::spark_error) -> sys::spark_status) -> Result<Vec<Kept>> {
        self.ended = true;
        let inner = &self.stream.inner;
        let outcome = inner.shared.end(&self.record, call);
        inner.capturing.store(false, Ordering::Release);
        outcome?;
        Ok(std::mem::take(&mut *lock(&self.record.kept)))
    }

    fn end(&mut self) -> Result<Graph> {
        let shared = self.stream.inner.shared.clone();
        let (ctx, stream, mut raw) = (shared.raw, self.stream.inner.raw, 0);
        // SAFETY: context and stream are live, this thread began the capture, and the pointers live for the call.
        let kept = self.end_by(|err| unsafe { sys::spark_graph_end(ctx, stream, &mut raw, err) })?;
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
        remember(&mut used, &stream.inner);
        stream.enqueue(&[], Some(self.inner.clone()), |ctx, stream, err| {
            // SAFETY: context, graph and stream are live.
            unsafe { sys::spark_graph_launch(ctx, self.inner.raw, stream, err) }
        })
    }

    /// Records what `record` enqueues and gives it to this graph, for its later launches: cheaper than another graph.
    /// Addresses, sizes and numbers may differ. False where nodes or their order do: the graph stays as it was (the log
    /// at the level `Debug` tells which node).
    ///
    /// ```
    /// # fn main() -> libspark::Result<()> {
    /// use libspark::{Context, DeviceBuffer, Stream};
    ///
    /// let ctx = Context::new(0)?;
    /// let stream = Stream::new(&ctx)?;
    /// let mut x = DeviceBuffer::<u8>::zeroed(&stream, 2)?;
    /// let graph = stream.capture(|stream| x.fill_bytes(stream, 1))?;
    /// assert!(graph.update(&stream, |stream| x.fill_bytes(stream, 7))?);
    /// graph.launch(&stream)?;
    /// assert_eq!(x.to_vec(&stream)?, [7, 7]);
    /// # Ok(()) }
    /// ```
    pub fn update(&self, stream: &Stream, record: impl FnOnce(&Stream) -> Result<()>) -> Result<bool> {
        self.update_in(CaptureMode::ThreadLocal, stream, record)
    }

    /// The same in another mode of capture.
    pub fn update_in(
        &self,
        mode: CaptureMode,
        stream: &Stream,
        record: impl FnOnce(&Stream) -> Result<()>,
    ) -> Result<bool> {
        self.inner.shared.same(&stream.inner.shared, "the graph")?;
        let mut capture = Capture::begin(stream, mode)?;
        record(stream)?;
        let used = lock(&self.inner.used); // no launch meanwhile
        let (ctx, raw, graph) = (stream.context_raw(), stream.as_raw(), self.inner.raw);
        let outcome = capture.end_by(|err| {
            // SAFETY: context, stream and graph are live, and this thread began the capture.
            let status = unsafe { sys::spark_graph_end_update(ctx, raw, graph, err) };
            if status != sys::SPARK_OK {
                discard(ctx, raw); // what is refused before the driver is asked goes on capturing
            }
            status
        });
        match outcome {
            Ok(kept) => {
                let before = std::mem::replace(&mut *lock(&self.inner.kept), kept);
                let streams = used.clone();
                drop(used);
                // Launches under way use what the graph no longer keeps.
                streams.iter().for_each(|stream| before.iter().for_each(|thing| used_on(thing, stream)));
                Ok(true)
            }
            Err(error) if error.driver_code() == DOES_NOT_FIT => Ok(false),
            Err(error) => Err(error),
        }
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

/// Ends a capture, if there is one, and keeps nothing.
fn discard(ctx: *mut sys::spark_context, stream: u64) {
    let mut raw = 0;
    // SAFETY: context and stream are live, and nothing else knows the graph.
    let _ = check(|err| unsafe { sys::spark_graph_end(ctx, stream, &mut raw, err) })
        .and_then(|()| check(|err| unsafe { sys::spark_graph_destroy(ctx, raw, err) }));
}

/// Notes that work on a stream uses a thing that a graph kept.
fn used_on(thing: &Kept, stream: &Arc<StreamInner>) {
    if let Some(memory) = thing.downcast_ref::<Memory>() {
        memory.used_on(stream);
    } else if let Some(graph) = thing.downcast_ref::<GraphInner>() {
        remember(&mut lock(&graph.used), stream);
    }
}
