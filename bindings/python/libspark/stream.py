# SPDX-License-Identifier: Apache-2.0
"""Streams: work in order."""
from __future__ import annotations

import struct
from contextlib import contextmanager
from typing import Any, Callable, Iterator, List, Optional, Tuple

from . import sparkc
from .context import LEGACY, Context, default_context, same_context
from .errors import SparkError
from .event import Event
from .graph import MODES, CaptureMode, Graph, Kept, discard

LAST_NAMED = 2  # the per-thread default stream
_STREAM = struct.Struct("=IIiI")  # spark_stream_desc
_GRAPH = struct.Struct("=IIII")  # spark_graph_desc


class Stream:
    """A queue of work on the device. What was enqueued is finished before it is destroyed.

    `priority`: 0 is least urgent, as all other streams, and below 0 more urgent; what the device does not have is
    refused, with its range. `blocking`: it waits for work on the legacy default stream, and that one for its.
    """

    def __init__(self, ctx: Optional[Context] = None, *, priority: int = 0, blocking: bool = False) -> None:
        self.handle = 0
        self.ctx = ctx or default_context()
        self.owned = True
        self.capturing = False
        flags = sparkc.SPARK_STREAM_BLOCKING if blocking else sparkc.SPARK_STREAM_NONE
        desc = bytearray(_STREAM.pack(_STREAM.size, flags, priority, 0))
        self.handle = sparkc.spark_stream_create(self.ctx.handle, desc)
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
    def capture(self, mode: CaptureMode = "thread_local") -> Iterator[Graph]:
        """Records what the block enqueues, on this stream and on those that wait for its events, and runs nothing.

        The graph keeps alive whatever it uses. In the block, arrays cannot be made, and arrays that end are freed
        later. Operators must be prepared: a capture loads no code. `mode` says which threads may not do meanwhile what
        cannot be recorded: the one that captures ("thread_local"), all ("global"), or none ("relaxed").
        """
        graph = Graph(self)
        with self._recording(graph.kept, mode, sparkc.spark_graph_end) as outcome:
            yield graph
        graph.handle, = outcome

    @contextmanager
    def _recording(self, kept: Kept, mode: CaptureMode, end: Callable[[int, int], Any]) -> Iterator[List[Any]]:
        """Records the block into `kept`, and ends by a call; the list is for its outcome."""
        ctx, handle = self.ctx, self.live()
        if mode not in MODES:
            raise ValueError(f"the mode is {mode!r}; one of {', '.join(MODES)} wanted")
        desc = bytearray(_GRAPH.pack(_GRAPH.size, 0, MODES[mode], 0))
        ctx.begin(lambda: sparkc.spark_graph_begin(ctx.handle, handle, desc), kept)
        self.capturing = True

        def over() -> Any:
            self.capturing = False
            return end(ctx.handle, handle)
        outcome: List[Any] = []
        try:
            yield outcome
        except BaseException:  # what went wrong in the block is what the caller wants to know
            end = discard
            ctx.end(over, kept)
            kept.clear()
            raise
        outcome.append(ctx.end(over, kept))

    def may_be_recording(self) -> bool:
        """Whether work that is enqueued now may be recorded instead of run. Streams join captures through events: only
        the driver knows of those, and does not answer a thread that captures elsewhere."""
        if self.capturing or not self.ctx.captures:
            return self.capturing
        try:
            sparkc.spark_stream_query(self.ctx.handle, self.live())
        except SparkError:
            return True
        return False

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

    def lives(self) -> bool:
        """Certainly; of other software's streams that is not known."""
        known = self.owned or self._owner is not None or self.handle <= LAST_NAMED
        return bool(self.ctx.handle and self.handle and known)

    def finish(self) -> None:
        """Waits, for the sake of what ends; other software's streams only as long as they certainly live."""
        if self.lives():
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
