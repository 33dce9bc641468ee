// SPDX-License-Identifier: Apache-2.0
//! Events: points in the work of streams.
use crate::context::Shared;
use crate::error::{check, Result};
use crate::stream::StreamInner;
use crate::{Context, Stream};
use libspark_sys as sys;
use std::mem::size_of;
use std::sync::Arc;

/// What an event is like: `EventOptions::new().timing(false)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventOptions {
    untimed: bool,
    blocking_sync: bool,
}

impl EventOptions {
    /// Those of [`Event::new`].
    pub fn new() -> EventOptions {
        EventOptions::default()
    }

    /// Whether [`Event::since`] can use it; without, it is cheaper.
    pub fn timing(mut self, on: bool) -> EventOptions {
        self.untimed = !on;
        self
    }

    /// Whether a thread that waits for it sleeps, instead of asking again and again.
    pub fn blocking_sync(mut self, on: bool) -> EventOptions {
        self.blocking_sync = on;
        self
    }
}

/// A point in the work of a stream.
pub struct Event {
    pub(crate) inner: Arc<EventInner>,
}

pub(crate) struct EventInner {
    pub shared: Arc<Shared>,
    raw: u64,
}

impl Event {
    /// An event that nothing was recorded in: it counts as done.
    pub fn new(ctx: &Context) -> Result<Event> {
        Event::with(ctx, EventOptions::new())
    }

    /// The same without timing, or one for which threads sleep.
    pub fn with(ctx: &Context, options: EventOptions) -> Result<Event> {
        let desc = sys::spark_event_desc {
            struct_size: size_of::<sys::spark_event_desc>() as u32,
            flags: (if options.untimed { sys::SPARK_EVENT_NO_TIMING } else { sys::SPARK_EVENT_NONE })
                | (if options.blocking_sync { sys::SPARK_EVENT_BLOCKING_SYNC } else { sys::SPARK_EVENT_NONE }),
        };
        let mut raw = 0;
        // SAFETY: the context is live, and the pointers live for the call.
        check(|err| unsafe { sys::spark_event_create(ctx.as_raw(), &desc, &mut raw, err) })?;
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

    /// Milliseconds from `begin` to this one; both have been recorded, are done, and have timing.
    pub fn since(&self, begin: &Event) -> Result<f32> {
        self.inner.shared.same(&begin.inner.shared, "the other event")?;
        let mut milliseconds = 0.0;
        let (ctx, from, to) = (self.inner.shared.raw, begin.inner.raw, self.inner.raw);
        // SAFETY: context and events are live, and the pointers live for the call.
        check(|err| unsafe { sys::spark_event_elapsed(ctx, from, to, &mut milliseconds, err) })?;
        Ok(milliseconds)
    }

    /// As `record`, without regard to captures.
    pub(crate) fn note(&self, stream: &StreamInner) -> Result<()> {
        // SAFETY: context, stream and event are live.
        check(|err| unsafe { sys::spark_event_record(stream.shared.raw, self.inner.raw, stream.raw, err) })
    }

    /// Makes later work of a stream wait for it, without regard to captures.
    pub(crate) fn precede(&self, stream: &StreamInner) -> Result<()> {
        // SAFETY: context, stream and event are live.
        check(|err| unsafe { sys::spark_stream_wait_event(stream.shared.raw, stream.raw, self.inner.raw, err) })
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
