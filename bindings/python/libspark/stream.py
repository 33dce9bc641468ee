# SPDX-License-Identifier: Apache-2.0
"""Streams, events and graphs."""
from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import Any, Iterator, List, Optional, Set, Tuple

from . import sparkc
from .context import LEGACY, Context, default_context
from .errors import SparkError


def same_context(ctx: Context, other: Context, what: str) -> None:
    if ctx is not other:
        raise ValueError(f"{what} belongs to another context than the stream")


class Stream:
    """A queue of work on the device. What was enqueued is finished before it is destroyed."""

    def __init__(self, ctx: Optional[Context] = None) -> None:
        self.handle = 0
        self.ctx = ctx or default_context()
        self.owned = True
        self.capturing = False
        self.handle = sparkc.spark_stream_create(self.ctx.handle, None)
        self.ctx.adopt(self)

    @classmethod
    def wrap(cls, ctx: Context, handle: int, owner: object = None) -> Stream:
        """A stream of other software. It stays theirs; with `owner`, which is kept alive, arrays that were used on it
        wait for its work before they are freed."""
        stream = cls.__new__(cls)
        stream.ctx, stream.handle, stream.owned, stream.capturing = ctx, handle or LEGACY, False, False
        stream._owner = owner
        return stream

    _owner: object = None

    def synchronize(self) -> None:
        """Waits until all its work has finished, and says how that ended."""
        self.not_capturing("waiting for a stream")
        sparkc.spark_stream_synchronize(self.ctx.handle, self.live())

    def is_done(self) -> bool:
        """Whether all its work has finished."""
        self.not_capturing("asking a stream")
        return bool(sparkc.spark_stream_query(self.ctx.handle, self.live()))

    def record(self) -> Event:
        """A point in the work of this stream: after all that was enqueued so far."""
        event = Event(self.ctx)
        event.record(self)
        return event

    def wait(self, event: Event) -> None:
        """Makes later work of this stream wait for the event."""
        same_context(self.ctx, event.ctx, "the event")
        self.keep(event)
        sparkc.spark_stream_wait_event(self.ctx.handle, self.live(), event.handle)

    @contextmanager
    def capture(self) -> Iterator[Graph]:
        """Records what the block enqueues, on this stream and on those that wait for its events, and runs nothing.

        The graph keeps alive whatever it uses. In the block, arrays cannot be made, and arrays that end are freed
        later. Operators must be prepared: a capture loads no code.
        """
        graph = Graph(self)
        ctx, kept, handle = self.ctx, graph.kept, self.live()
        ctx.begin(lambda: sparkc.spark_graph_begin(ctx.handle, handle, None), kept)
        self.capturing = True
        def end() -> int:
            self.capturing = False
            return sparkc.spark_graph_end(ctx.handle, handle)
        try:
            yield graph
        except BaseException:
            with suppress(SparkError):  # what went wrong in the block is what the caller wants to know
                graph.handle = ctx.end(end, kept)
            graph.close()
            raise
        graph.handle = ctx.end(end, kept)

    def live(self) -> int:
        if not self.handle:
            raise ValueError("the stream is closed")
        return self.handle

    def keep(self, *things: Any) -> None:
        """Tells the captures in progress what work on this stream uses."""
        for kept in self.ctx.captures:
            kept.append((self, things))

    def not_capturing(self, what: str) -> None:
        if self.capturing:
            raise ValueError(f"the stream is capturing: {what} cannot be recorded")

    def finish(self) -> None:
        """Waits, for the sake of what ends; other software's streams only as long as they certainly live."""
        if self.ctx.handle and self.handle and (self.owned or self._owner is not None):
            sparkc.spark_stream_synchronize(self.ctx.handle, self.handle)

    def close(self) -> None:
        """Waits for its work and destroys it."""
        self.not_capturing("closing a stream")
        handle, self.handle = self.handle, 0
        if self.owned and handle and self.ctx.handle:
            self.ctx.frees += 1
            ctx = self.ctx.handle

            def destroy() -> None:
                sparkc.spark_stream_synchronize(ctx, handle)
                sparkc.spark_stream_destroy(ctx, handle)
            self.ctx.leave(destroy)

    @property
    def native(self) -> int:
        """The CUstream as an integer, for other software. It stays this stream's."""
        return sparkc.spark_stream_native(self.ctx.handle, self.live())

    def __cuda_stream__(self) -> Tuple[int, int]:
        return 0, self.native

    def __del__(self) -> None:
        if self.handle:
            self.close()

    def __repr__(self) -> str:
        return f"Stream({self.handle:#x})"


class Graph:
    """Recorded work, to be launched as often as wanted. It keeps alive the memory that it uses.

    It may use the workspace of the stream that recorded it: launch it there, or while that stream has nothing to do.
    """

    def __init__(self, stream: Stream) -> None:
        self.handle = 0
        self.ctx, self.stream = stream.ctx, stream
        self.kept: List[Tuple[Stream, Tuple[Any, ...]]] = []
        self._used: Set[Stream] = set()
        self._last, self._frees = stream, self.ctx.frees
        self.ctx.adopt(self)

    def launch(self, stream: Optional[Stream] = None) -> None:
        """Enqueues the recorded work, by default on the stream that recorded it."""
        stream = stream or self.stream
        same_context(self.ctx, stream.ctx, "the graph")
        if not self.handle:
            raise ValueError("the graph is not recorded yet, or closed")
        if self._last is not stream or self._frees != self.ctx.frees:
            self._look_again(stream)
        self._used.add(stream)
        stream.keep(self)
        sparkc.spark_graph_launch(self.ctx.handle, self.handle, stream.live())

    @property
    def native(self) -> int:
        """The CUgraphExec as an integer, for other software. It stays this graph's."""
        return sparkc.spark_graph_native(self.ctx.handle, self.handle)

    def _look_again(self, stream: Stream) -> None:
        """Its memory is still there, and used on this stream from now on."""
        for _, things in self.kept:
            for memory in (memory for thing in things for memory in getattr(thing, "memories", ())):
                memory.live()
                memory.use(stream)
        self._last, self._frees = stream, self.ctx.frees

    def close(self) -> None:
        """Destroys it, when its work is done."""
        handle, self.handle = self.handle, 0
        if handle and self.ctx.handle:
            ctx, kept = self.ctx.handle, self.kept

            def destroy() -> None:
                sparkc.spark_graph_destroy(ctx, handle)
                kept.clear()
            self.ctx.leave(destroy, tuple(self._used))

    def __del__(self) -> None:
        if self.handle:
            self.close()

    def __repr__(self) -> str:
        return f"Graph({self.handle:#x})"


class Event:
    """A point in the work of a stream; before it is recorded it counts as done."""

    def __init__(self, ctx: Optional[Context] = None) -> None:
        self.handle = 0
        self.ctx = ctx or default_context()
        self.handle = sparkc.spark_event_create(self.ctx.handle, None)
        self.ctx.adopt(self)

    @property
    def native(self) -> int:
        """The CUevent as an integer, for other software. It stays this event's."""
        return sparkc.spark_event_native(self.ctx.handle, self.handle)

    def record(self, stream: Stream) -> None:
        """It is done when the stream's work up to here is."""
        same_context(self.ctx, stream.ctx, "the event")
        stream.keep(self)
        sparkc.spark_event_record(self.ctx.handle, self.handle, stream.live())

    def synchronize(self) -> None:
        """Waits for it."""
        sparkc.spark_event_synchronize(self.ctx.handle, self.handle)

    def is_done(self) -> bool:
        """Whether it has happened."""
        return bool(sparkc.spark_event_query(self.ctx.handle, self.handle))

    def since(self, begin: Event) -> float:
        """Milliseconds from `begin` to this one; both have been recorded and are done."""
        same_context(self.ctx, begin.ctx, "the other event")
        return sparkc.spark_event_elapsed(self.ctx.handle, begin.handle, self.handle)

    def close(self) -> None:
        """Destroys it; streams that wait for it still do."""
        handle, self.handle = self.handle, 0
        if handle and self.ctx.handle:
            sparkc.spark_event_destroy(self.ctx.handle, handle)

    def __del__(self) -> None:
        if self.handle:
            self.close()

    def __repr__(self) -> str:
        return f"Event({self.handle:#x})"
