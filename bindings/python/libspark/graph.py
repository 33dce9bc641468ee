# SPDX-License-Identifier: Apache-2.0
"""Graphs: work that is recorded once and launched often."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, List, Literal, Optional, Set, Tuple

from . import sparkc
from .context import same_context
from .errors import SparkError
from .event import Event

if TYPE_CHECKING:
    from .stream import Stream

DOES_NOT_FIT = 910  # what the driver answers to an update that cannot be; other ends of a capture have the same status
CaptureMode = Literal["thread_local", "global", "relaxed"]
MODES = {"thread_local": sparkc.SPARK_CAPTURE_THREAD_LOCAL, "global": sparkc.SPARK_CAPTURE_GLOBAL,
         "relaxed": sparkc.SPARK_CAPTURE_RELAXED}
Kept = List[Tuple["Stream", Tuple[Any, ...]]]  # what recorded work uses, and on which stream


class Graph:
    """Recorded work, to be launched as often as wanted. It keeps alive the memory that it uses.

    It may use the workspace of the stream that recorded it: launch it there, or while that stream has nothing to do.
    """

    def __init__(self, stream: Stream) -> None:
        self.handle = 0
        self.ctx, self.stream = stream.ctx, stream
        self.kept: Kept = []
        self._before: List[Tuple[Kept, List[Event]]] = []  # what updates replaced, and behind its launches
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

    def update(self, work: Callable[[], object], stream: Optional[Stream] = None, *,
               mode: CaptureMode = "thread_local") -> bool:
        """Calls `work` to record it anew, for later launches: cheaper than another graph. Addresses, sizes and numbers
        may differ. False where operations or their order do: the graph stays as it was (the log tells which).

        By default `stream`, on which `work` has to enqueue, is the one that recorded the graph. `mode`: see `capture`.
        """
        stream = stream or self.stream
        same_context(self.ctx, stream.ctx, "the graph")
        if not self.handle:
            raise ValueError("the graph is not recorded yet, or closed")
        kept: Kept = []
        with stream._recording(kept, mode, self._end_update) as outcome:
            work()
        if not outcome[0]:
            return False
        before, self.kept = self.kept, kept
        self._last, self._frees = stream, self.ctx.frees
        self._retire(before)
        return True

    def _retire(self, kept: Kept) -> None:
        """Keeps what an update replaced until the launches under way are done: at the next update, or at the end."""
        streams, events = [stream for stream in self._used if stream.handle], []
        try:
            self._before = [(old, ends) for old, ends in self._before
                            if not ends or not all(event.is_done() for event in ends)]
            if all(stream.lives() for stream in streams):
                events = [stream.record() for stream in streams]
        except SparkError:  # under another capture nothing can be asked
            pass
        if streams:
            self._before.append((kept, events))

    def _end_update(self, ctx: int, stream: int) -> bool:
        try:
            sparkc.spark_graph_end_update(ctx, stream, self.handle)
        except SparkError as refused:
            discard(ctx, stream)  # what is refused before the driver is asked goes on capturing
            if refused.driver_code != DOES_NOT_FIT:
                raise
            return False
        return True

    def _look_again(self, stream: Stream) -> None:
        """Its memory is still there, and used on this stream from now on."""
        for _, things in self.kept:
            for memory in (memory for thing in things for memory in getattr(thing, "memories", ())):
                memory.live()
                memory.use(stream)
        self._last, self._frees = stream, self.ctx.frees

    @property
    def native(self) -> int:
        """The CUgraphExec as an integer, for other software. It stays this graph's."""
        return sparkc.spark_graph_native(self.ctx.handle, self.handle)

    def close(self) -> None:
        """Destroys it, when its work is done."""
        handle, self.handle = self.handle, 0
        if handle and self.ctx.handle:
            ctx, kept, before = self.ctx.handle, self.kept, self._before

            def destroy() -> None:
                sparkc.spark_graph_destroy(ctx, handle)
                kept.clear()
                before.clear()
            self.ctx.leave(destroy, tuple(self._used))

    def __del__(self) -> None:
        if self.handle:
            self.close()

    def __repr__(self) -> str:
        return f"Graph({self.handle:#x})"


def discard(ctx: int, stream: int) -> None:
    """Ends a capture, if there is one, and keeps nothing."""
    try:
        sparkc.spark_graph_destroy(ctx, sparkc.spark_graph_end(ctx, stream))
    except SparkError:
        pass
