# SPDX-License-Identifier: Apache-2.0
"""Events: points in the work of streams."""
from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Optional

from . import sparkc
from .context import Context, default_context, same_context

if TYPE_CHECKING:
    from .stream import Stream

_EVENT = struct.Struct("=II")  # spark_event_desc


class Event:
    """A point in the work of a stream; before it is recorded it counts as done.

    Without `timing` it is cheaper, and `since` refuses it. With `blocking_sync` a thread that waits for it sleeps,
    instead of asking again and again.
    """

    def __init__(self, ctx: Optional[Context] = None, *, timing: bool = True, blocking_sync: bool = False) -> None:
        self.handle = 0
        self.ctx = ctx or default_context()
        flags = sparkc.SPARK_EVENT_NONE if timing else sparkc.SPARK_EVENT_NO_TIMING
        flags |= sparkc.SPARK_EVENT_BLOCKING_SYNC if blocking_sync else sparkc.SPARK_EVENT_NONE
        self.handle = sparkc.spark_event_create(self.ctx.handle, bytearray(_EVENT.pack(_EVENT.size, flags)))
        self.ctx.adopt(self)

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
        """Milliseconds from `begin` to this one; both have been recorded, are done and have timing."""
        same_context(self.ctx, begin.ctx, "the other event")
        return sparkc.spark_event_elapsed(self.ctx.handle, begin.handle, self.handle)

    @property
    def native(self) -> int:
        """The CUevent as an integer, for other software. It stays this event's."""
        return sparkc.spark_event_native(self.ctx.handle, self.handle)

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
