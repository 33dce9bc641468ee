# SPDX-License-Identifier: Apache-2.0
"""Device memory with an owner, and what the library's element types are on the host."""
from __future__ import annotations

from typing import Any, Optional, Set, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import sparkc
from .codes import Dtype
from .context import Context
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

    __slots__ = ("ctx", "address", "bytes", "stream", "used", "__weakref__")

    def __init__(self, ctx: Context, size: int, stream: Stream) -> None:
        self.ctx, self.bytes, self.stream = ctx, size, stream
        self.address: Optional[int] = None  # None: freed
        self.used: Set[Stream] = set()
        stream.not_capturing("making an array")
        self.address = sparkc.spark_mem_alloc(ctx.handle, size)
        ctx.adopt(self)

    def use(self, stream: Stream) -> None:
        """Notes that work on this stream has it."""
        self.used.add(stream)
        self.stream = stream

    @property
    def current(self) -> Stream:
        """The stream on which it was last used; after that stream's end, the context's default one."""
        return self.stream if self.stream.handle else self.ctx.stream()

    def live(self) -> int:
        if self.address is None:
            raise ValueError("the array was freed")
        return self.address

    def close(self) -> None:
        address, self.address = self.address, None
        if address and self.ctx.handle:
            ctx = self.ctx.handle
            self.ctx.leave(lambda: sparkc.spark_mem_free(ctx, address), tuple(self.used))

    def __del__(self) -> None:
        if getattr(self, "address", None):
            self.close()


Shape = Tuple[int, ...]
