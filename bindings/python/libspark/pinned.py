# SPDX-License-Identifier: Apache-2.0
"""Pinned memory of the host, and its views in NumPy."""
from __future__ import annotations

import threading
import weakref
from typing import Any, Callable, Dict, Optional, Sequence, Set, Tuple, Union

import numpy as np

from . import sparkc
from .codes import Dtype
from .context import Context, default_context, same_context
from .event import Event
from .memory import BITS, AnyArray, DtypeLike, Shape, as_dtype, bytes_for, empty_host, to_host_form
from .stream import Stream


class _Views:
    """What views of the memory in NumPy are based on: they keep it, and it keeps the memory."""

    def __init__(self, memory: PinnedMemory) -> None:
        self.memory = memory
        self.__array_interface__: Dict[str, object] = {"version": 3, "shape": (memory.bytes,), "typestr": "|u1",
                                                       "data": (memory.live(), False)}

    def __del__(self) -> None:
        if self.memory.ended:
            self.memory.close()


class PinnedMemory:
    """One allocation of the host. It is freed after the copies from and to it, and never under a view of it."""

    __slots__ = ("ctx", "bytes", "used", "ended", "_address", "_views", "_copied", "_by", "_lock",
                 "__weakref__")

    def __init__(self, ctx: Context, size: int) -> None:
        self.ctx, self.bytes = ctx, size
        self.used: Set[Stream] = set()
        self.ended = False
        self._copied: Optional[Event] = None  # behind the last copy, which came behind all others
        self._by: Optional[Stream] = None
        self._lock = threading.Lock()
        self._views: Callable[[], Optional[_Views]] = lambda: None
        self._address = 0
        self._address = sparkc.spark_host_alloc(ctx.handle, size)
        ctx.adopt(self)

    def view(self) -> AnyArray:
        """Its bytes, in NumPy."""
        address = self.live()
        views = self._views()
        if views is None:
            views = _Views(self)
            self._views = weakref.ref(views)
        return np.asarray(views) if address else np.empty(0, "u1")

    def live(self) -> int:
        """Its address; 0 if it has no bytes."""
        if self.ended:
            raise ValueError("the pinned memory was freed")
        return self._address

    def use(self, stream: Stream) -> None:
        """Notes that work on this stream has it."""
        self.used.add(stream)

    def copy(self, stream: Stream, call: Callable[[], None]) -> None:
        """Enqueues a copy behind those of other streams, and notes where it ends. What a graph repeats has no end."""
        same_context(self.ctx, stream.ctx, "the pinned memory")
        self.use(stream)
        if stream.may_be_recording():
            return call()
        with self._lock:
            if self._copied is None:
                self._copied = Event(self.ctx, timing=False)
            elif self._by is not stream:
                stream.wait(self._copied)
            call()
            self._copied.record(stream)
            self._by = stream

    def wait(self) -> None:
        """Waits for the copies so far, and no longer."""
        if self._copied is not None:
            self._copied.synchronize()

    def close(self) -> None:
        """Frees it, or leaves that to the last view. A view that outlives the context keeps it until the process
        ends."""
        self.ended = True
        if self._views() is None and self._address and self.ctx.handle:
            ctx, address = self.ctx.handle, self._address
            self._address = 0
            self.ctx.leave(lambda: sparkc.spark_host_free(ctx, address), tuple(self.used))

    def __del__(self) -> None:
        if getattr(self, "_address", 0):
            self.close()


class PinnedArray:
    """Elements in pinned memory of the host: copies from and to it run beside the host.

    `array` is a view of it in NumPy. To ask for that waits for the copies so far, and no longer: later work of the
    stream goes on. Who holds the view, or has recorded copies in a graph, waits for the stream. The memory lives as
    long as a view of it; in a `with` block it is freed at the end, or with the last view.
    """

    __slots__ = ("dtype", "shape", "memory", "_form", "_offset")

    def __init__(self, memory: PinnedMemory, dtype: Dtype, shape: Shape, form: np.dtype[Any], offset: int = 0) -> None:
        """Part of pinned memory, from byte `offset` on; use `empty` and `from_numpy`."""
        self.memory, self.dtype, self.shape, self._form, self._offset = memory, dtype, shape, form, offset

    @classmethod
    def empty(cls, shape: Union[int, Sequence[int]], dtype: DtypeLike, *, ctx: Optional[Context] = None) -> PinnedArray:
        """Memory with whatever was in it. BF16 is there as its bits, and a dtype that NumPy does not have as its bytes,
        in one dimension."""
        sizes = (shape,) if isinstance(shape, int) else tuple(int(size) for size in shape)
        if any(size < 0 for size in sizes):
            raise ValueError(f"the shape {sizes} has a negative dimension")
        kind = as_dtype(dtype)
        count = int(np.prod(sizes, dtype=np.int64))
        size, form = bytes_for(count, kind), empty_host(0, kind).dtype
        fits = size == count * form.itemsize
        return cls(PinnedMemory(ctx or default_context(), size), kind, sizes if fits else (size,), form)

    @classmethod
    def from_numpy(cls, array: Any, dtype: Optional[DtypeLike] = None, *, ctx: Optional[Context] = None) -> PinnedArray:
        """A copy of other memory, converted to `dtype` if one is given, as for a DeviceArray."""
        array = np.asarray(array)
        kind = as_dtype(array.dtype if dtype is None else dtype)
        if BITS[kind] < 8:
            raise TypeError(f"{kind.name} is smaller than a byte: make it with empty and fill its array")
        made = cls.empty(array.shape, kind, ctx=ctx)
        made.array[...] = to_host_form(array, kind).reshape(made.shape)
        return made

    @property
    def array(self) -> AnyArray:
        """The elements themselves, when the copies so far are done."""
        view = self._view()
        self.memory.wait()
        return view

    def _view(self) -> AnyArray:
        part = self.memory.view()[self._offset:self._offset + self.nbytes]
        return part.view(self._form).reshape(self.shape)

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * self._form.itemsize

    @property
    def address(self) -> int:
        """In the memory of the host; 0 if there is none."""
        address = self.memory.live()
        return address + self._offset if address else 0

    @property
    def memories(self) -> Tuple[PinnedMemory, ...]:
        """What a graph that uses it has to keep."""
        return (self.memory,)

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> AnyArray:
        return np.array(self.array, dtype=dtype) if copy else np.asarray(self.array, dtype=dtype)

    def __getitem__(self, index: Any) -> PinnedArray:
        """Part of it, without gaps, for a copy."""
        whole = self._view()
        part = whole[index]
        if not isinstance(part, np.ndarray) or not part.flags.c_contiguous:
            raise IndexError(f"{index!r} is no part without gaps; a slice of the first dimension is one")
        offset = part.ctypes.data - whole.ctypes.data if part.size else 0
        return PinnedArray(self.memory, self.dtype, part.shape, self._form, self._offset + offset)

    def __len__(self) -> int:
        return self.shape[0]

    def free(self) -> None:
        """Frees the memory, for every part of it, when the copies are done; their later use is an error. Views in NumPy
        stay, and keep the memory."""
        self.memory.close()
        self.memory.ctx.frees += 1

    def __enter__(self) -> PinnedArray:
        return self

    def __exit__(self, *_: object) -> None:
        self.free()

    def __repr__(self) -> str:
        return f"PinnedArray({self.dtype.name}, {'freed' if self.memory.ended else self.shape})"
