# SPDX-License-Identifier: Apache-2.0
"""Device memory with an owner, and what the library's element types are on the host."""
from __future__ import annotations

from functools import partial
from typing import Any, Iterable, Optional, Set, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import sparkc
from .codes import Dtype
from .context import Context
from .errors import Unsupported
from .event import Event
from .stream import Stream

AnyArray = npt.NDArray[Any]
DtypeLike = Union[Dtype, str, npt.DTypeLike]

BITS = {dtype: sparkc.spark_dtype_bits(dtype) for dtype in Dtype if dtype}

# What a tensor of this type is in NumPy: itself where NumPy has it, else its bytes. BF16 is float32, see `from_host`.
NUMPY = {Dtype.F32: "f4", Dtype.TF32: "f4", Dtype.F16: "f2", Dtype.F64: "f8", Dtype.I8: "i1", Dtype.U8: "u1",
         Dtype.I32: "i4", Dtype.U32: "u4", Dtype.I64: "i8", Dtype.U64: "u8", Dtype.BOOL8: "?", Dtype.DEVPTR: "u8"}
_FROM_NUMPY = {np.dtype(name): dtype for dtype, name in NUMPY.items() if dtype not in (Dtype.TF32, Dtype.DEVPTR)}


def as_dtype(dtype: DtypeLike) -> Dtype:
    """A dtype from its name ("bf16"), its number, or NumPy's."""
    if isinstance(dtype, Dtype):
        return dtype
    if isinstance(dtype, str) and dtype.upper() in Dtype.__members__:
        return Dtype[dtype.upper()]
    try:
        return _FROM_NUMPY[np.dtype(dtype)]
    except (KeyError, TypeError):
        raise TypeError(f"{dtype!r} is not a dtype of the library: {', '.join(d.name for d in BITS)}") from None


def bytes_for(elements: int, dtype: Dtype) -> int:
    return (elements * BITS[dtype] + 7) // 8


def to_host_form(array: AnyArray, dtype: Dtype) -> AnyArray:
    """The bytes that the device is to have, C-contiguous; floats become BF16 rounded to nearest even."""
    if dtype in NUMPY:
        return np.ascontiguousarray(array, dtype=NUMPY[dtype])
    if dtype == Dtype.BF16:
        bits = np.ascontiguousarray(array, dtype="f4").view("u4")
        rounded = (bits.astype("u8") + 0x7FFF + (bits >> 16 & 1)) >> 16
        quiet = bits >> 16 | 0x40
        return np.where((bits & 0x7FFFFFFF) > 0x7F800000, quiet, rounded).astype("u2")
    if array.dtype != np.uint8:
        raise TypeError(f"NumPy has no {dtype.name}: its bytes as uint8 wanted, found {array.dtype}")
    return np.ascontiguousarray(array)


def empty_host(elements: int, dtype: Dtype) -> AnyArray:
    """Room for what the device has."""
    if dtype in NUMPY:
        return np.empty(elements, NUMPY[dtype])
    if dtype == Dtype.BF16:
        return np.empty(elements, "u2")
    return np.empty(bytes_for(elements, dtype), "u1")


def from_host(array: AnyArray, dtype: Dtype) -> AnyArray:
    """What users see of it: BF16 as float32, which holds every value exactly."""
    return (array.astype("u4") << 16).view("f4") if dtype == Dtype.BF16 else array


class Memory:
    """One allocation. It is freed after the work of every stream that was given it."""

    __slots__ = ("ctx", "address", "bytes", "stream", "used", "_home", "_first", "__weakref__")

    def __init__(self, ctx: Context, size: int, stream: Stream, ordered: bool = False) -> None:
        self.ctx, self.bytes, self.stream = ctx, size, stream
        self.address: Optional[int] = None  # None: freed
        self.used: Set[Stream] = set()
        self._home = stream
        self._first: Optional[Event] = None  # where its stream allocates it, until that has certainly happened
        stream.not_capturing("making an array")
        if ordered:
            self.address = sparkc.spark_mem_alloc_async(ctx.handle, size, stream.live())
            self.used.add(stream)
            self._first = Event(ctx, timing=False)
            self._first.record(stream)
            ctx.expected.add(self)
        else:
            self.address = sparkc.spark_mem_alloc(ctx.handle, size)
        ctx.adopt(self)

    def use(self, stream: Stream) -> None:
        """Notes that work on this stream has it."""
        if self._first is not None:
            self._expect(stream, self._first)
        self.used.add(stream)
        self.stream = stream

    def _expect(self, stream: Stream, first: Event) -> None:
        """Makes work on a stream come after the allocation."""
        recording = stream.may_be_recording()
        if stream is self._home and not recording:
            return
        if first.is_done():
            self._there()
        elif recording:
            raise ValueError("the array was allocated in stream order and may not be there yet: wait before a capture")
        else:
            stream.wait(first)

    def settle(self) -> None:
        """Waits until it is there."""
        if self._first is not None:
            self._first.synchronize()
            self._there()

    def _there(self) -> None:
        self._first = None
        self.ctx.expected.discard(self)

    @property
    def current(self) -> Stream:
        """The stream on which it was last used; after that stream's end, the context's default one."""
        return self.stream if self.stream.handle else self.ctx.stream()

    def live(self) -> int:
        if self.address is None:
            raise ValueError("the array was freed")
        return self.address

    def close(self, last: Optional[Stream] = None) -> None:
        """Frees it: after its work, or in the order of the stream `last`."""
        address, self.address = self.address, None
        self._first = None
        if address and self.ctx.handle:
            ctx, used = self.ctx.handle, tuple(self.used)
            if last is None:
                self.ctx.leave(lambda: sparkc.spark_mem_free(ctx, address), used)
            else:
                self.ctx.leave(partial(free_in_order, ctx, address, used, last))

    def __del__(self) -> None:
        if getattr(self, "address", None):
            self.close()


def free_in_order(ctx: int, address: int, used: Iterable[Stream], last: Stream) -> None:
    """Frees memory when the work so far of `last` is done, and of those that used it: without waiting, where the driver
    has that and all of them certainly live."""
    others = [stream for stream in used if stream is not last and stream.handle and stream.ctx.handle]
    try:
        if last.handle and all(other.lives() for other in others):
            for other in others:
                event = Event(other.ctx, timing=False)
                event.record(other)
                sparkc.spark_stream_wait_event(ctx, last.handle, event.handle)
            sparkc.spark_mem_free_async(ctx, address, last.handle)
            return
    except Unsupported:
        pass
    for stream in used:
        stream.finish()
    sparkc.spark_mem_free(ctx, address)


Shape = Tuple[int, ...]
