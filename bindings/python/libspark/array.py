# SPDX-License-Identifier: Apache-2.0
"""Arrays in device memory: enough to feed operators and to meet NumPy, PyTorch, CuPy and JAX, and no more."""
from __future__ import annotations

import struct
from typing import Any, Callable, Dict, Optional, Sequence, Tuple, Union

import numpy as np

from . import sparkc
from .codes import Dtype
from .context import LEGACY, Context, default_context, same_context
from .memory import (BITS, NUMPY, AnyArray, DtypeLike, Memory, Shape, as_dtype, bytes_for, empty_host, from_host,
                     to_host_form)
from .pinned import PinnedArray
from .stream import Stream

MAX_NDIM = sparkc.SPARK_MAX_NDIM
_TENSOR = struct.Struct("=QQIIII6q6q128x")  # spark_tensor, without quantisation
Index = Union[int, slice, "ellipsis", None, Tuple[Any, ...]]  # noqa: F821  known to type checkers alone


def packed_strides(shape: Sequence[int]) -> Shape:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def reach(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Elements from the first to the last, both counted."""
    return 0 if 0 in shape else 1 + sum((size - 1) * step for size, step in zip(shape, strides))


def describe(address: int, size_bytes: int, dtype: Dtype, shape: Sequence[int], strides: Sequence[int]) -> bytes:
    """A spark_tensor."""
    count = len(shape)
    if not 1 <= count <= MAX_NDIM:
        raise ValueError(f"the shape {tuple(shape)} has {count} dimensions; 1 to {MAX_NDIM} wanted")
    if len(strides) != count:
        raise ValueError(f"{len(strides)} strides for {count} dimensions")
    if any(size < 0 for size in shape):
        raise ValueError(f"the shape {tuple(shape)} has a negative dimension")
    if any(size > 1 for size in shape) and not any(strides):
        raise ValueError("all strides are 0, which would mean packed")
    rest = (0,) * (MAX_NDIM - count)
    try:
        return _TENSOR.pack(address, size_bytes, dtype, count, 0, 0, *shape, *rest, *strides, *rest)
    except struct.error:
        raise ValueError(f"the shape {tuple(shape)} or the strides {tuple(strides)} do not fit 64 bits") from None


def as_shape(shape: Union[int, Sequence[int]]) -> Shape:
    return (shape,) if isinstance(shape, int) else tuple(int(size) for size in shape)


class TensorSpec:
    """A tensor without memory, for plans: a launch refuses it. With the address of other software's memory, which has
    to live until the work on it is done, it can be launched too."""

    def __init__(self, shape: Union[int, Sequence[int]], dtype: DtypeLike, strides: Optional[Sequence[int]] = None,
                 address: int = 0) -> None:
        self.shape, self.dtype = as_shape(shape), as_dtype(dtype)
        self.strides = packed_strides(self.shape) if strides is None else tuple(strides)
        self._raw = describe(address, 0, self.dtype, self.shape, self.strides)


class DeviceArray:
    """Elements of one dtype in device memory, with a shape and strides; views share the memory.

    The memory is freed with its last array, after the work of every stream that was given it. It speaks DLPack and
    __cuda_array_interface__: `torch.from_dlpack(a)`, `cupy.asarray(a)`. Order between streams is the caller's.
    """

    __slots__ = ("shape", "strides", "dtype", "_memory", "_offset", "_raw", "__weakref__")

    def __init__(self, memory: Memory, dtype: Dtype, shape: Shape, strides: Shape, offset: int = 0) -> None:
        """A view of memory from byte `offset` on; use `empty`, `zeros` and `from_numpy`."""
        self.shape, self.strides, self.dtype = shape, strides, dtype
        self._memory, self._offset = memory, offset
        room = memory.bytes - offset
        if min(strides, default=0) < 0 or offset < 0 or bytes_for(reach(shape, strides), dtype) > room:
            raise ValueError(f"shape {shape}, strides {strides}: they reach beyond the {max(room, 0)} bytes there are")
        address = memory.live()
        self._raw = describe(address + offset if address else 0, room, dtype, shape, strides)

    # ---- making ----

    @classmethod
    def empty(cls, shape: Union[int, Sequence[int]], dtype: DtypeLike, *, stream: Optional[Stream] = None,
              ctx: Optional[Context] = None, ordered: bool = False) -> DeviceArray:
        """Memory with whatever was in it. The emulator reports what reads it before it was written. `ordered`: it is
        allocated in the order of the stream, without waiting; other streams are made to wait for that."""
        shape, dtype = as_shape(shape), as_dtype(dtype)
        ctx = ctx or (stream.ctx if stream else default_context())
        describe(0, 0, dtype, shape, packed_strides(shape))  # refuses what is no shape before there is memory
        size = bytes_for(reach(shape, packed_strides(shape)), dtype)
        return cls(Memory(ctx, size, stream or ctx.stream(), ordered), dtype, shape, packed_strides(shape))

    @classmethod
    def zeros(cls, shape: Union[int, Sequence[int]], dtype: DtypeLike, *, stream: Optional[Stream] = None,
              ctx: Optional[Context] = None) -> DeviceArray:
        """Memory full of zeros, when this returns."""
        made = cls.empty(shape, dtype, stream=stream, ctx=ctx)
        made.fill_bytes(0)
        made.stream.synchronize()
        return made

    @classmethod
    def from_numpy(cls, array: Any, dtype: Optional[DtypeLike] = None, *, stream: Optional[Stream] = None,
                   ctx: Optional[Context] = None) -> DeviceArray:
        """A copy of host memory, converted to `dtype` if one is given. BF16 is rounded from floats; a type that
        NumPy does not have is given as its bytes, as many as the array then has elements."""
        array = np.asarray(array)
        wanted = as_dtype(array.dtype if dtype is None else dtype)
        if BITS[wanted] < 8:
            raise TypeError(f"{wanted.name} is smaller than a byte: make it with empty and fill it with write")
        made = cls.empty(array.shape, wanted, stream=stream, ctx=ctx)
        made.write(array)
        return made

    # ---- what it is ----

    @property
    def ctx(self) -> Context:
        return self._memory.ctx

    @property
    def stream(self) -> Stream:
        """The stream on which its memory was last used."""
        return self._memory.current

    @property
    def memories(self) -> Tuple[Memory, ...]:
        """What a graph that uses it has to keep."""
        return (self._memory,)

    @property
    def address(self) -> int:
        """In device memory; 0 if it has no bytes."""
        address = self._memory.live()
        return address + self._offset if address else 0

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many elements it has."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        """Bytes from its first element to its last."""
        return bytes_for(reach(self.shape, self.strides), self.dtype)

    def is_packed(self) -> bool:
        """Row-major without gaps."""
        return 0 in self.shape or all(size == 1 or step == packed for size, step, packed in
                                      zip(self.shape, self.strides, packed_strides(self.shape)))

    def __array__(self, *_: object, **__: object) -> AnyArray:
        raise TypeError("a DeviceArray is no host memory: numpy() makes a copy there")

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        state = f"at {self.address:#x}" if self._memory.address is not None else "freed"
        return f"DeviceArray({self.dtype.name}, {self.shape}, {state})"

    # ---- views ----

    def _view(self, shape: Shape, strides: Shape, skipped: int) -> DeviceArray:
        bits = skipped * BITS[self.dtype]
        if bits % 8:
            raise ValueError(f"element {skipped} does not begin at a byte")
        return DeviceArray(self._memory, self.dtype, shape, strides, self._offset + bits // 8)

    def reshape(self, *shape: int) -> DeviceArray:
        """The same elements in another shape; -1 stands for what is left."""
        known = int(np.prod([size for size in shape if size != -1], dtype=np.int64))
        if shape.count(-1) == 1 and known:
            shape = tuple(self.size // known if size == -1 else size for size in shape)
        if not self.is_packed() or int(np.prod(shape, dtype=np.int64)) != self.size or -1 in shape:
            raise ValueError(f"{self.shape} with strides {self.strides} cannot be seen as {shape}")
        return self._view(shape, packed_strides(shape), 0)

    def strided(self, shape: Sequence[int], strides: Sequence[int], offset: int = 0) -> DeviceArray:
        """A view with any strides, in elements, from element `offset` of this one on."""
        return self._view(as_shape(shape), as_shape(strides), offset)

    def __getitem__(self, index: Index) -> DeviceArray:
        """Numbers, slices with a positive step, `...` and None (a new dimension), as in NumPy."""
        key = index if isinstance(index, tuple) else (index,)
        given = sum(entry is not None and entry is not Ellipsis for entry in key)
        if given > self.ndim or key.count(Ellipsis) > 1:
            raise IndexError(f"{index!r} does not fit {self.ndim} dimensions")
        if Ellipsis not in key:
            key += (Ellipsis,)
        at = key.index(Ellipsis)
        key = key[:at] + (slice(None),) * (self.ndim - given) + key[at + 1:]
        shape, strides, skipped, axis = [], [], 0, 0
        for entry in key:
            if entry is None:
                shape.append(1)
                strides.append(1)
                continue
            size, step = self.shape[axis], self.strides[axis]
            axis += 1
            if isinstance(entry, slice):
                chosen = range(size)[entry]
                if chosen.step < 1:
                    raise IndexError(f"{entry} goes backwards")
                shape.append(len(chosen))
                strides.append(step * chosen.step)
                skipped += chosen.start * step if len(chosen) else 0
            else:
                skipped += range(size)[entry] * step
        return self._view(tuple(shape) or (1,), tuple(strides) or (1,), skipped)

    # ---- copies ----

    def numpy(self, stream: Optional[Stream] = None) -> AnyArray:
        """A copy on the host, when the stream's work so far is done. BF16 comes as float32; a type that NumPy does
        not have comes as its bytes."""
        stream = stream or self.stream
        stream.not_capturing("a copy to the host")
        whole = BITS[self.dtype] >= 8
        if not whole and not self.is_packed():
            raise ValueError("elements smaller than a byte can be copied packed only")
        host = empty_host(reach(self.shape, self.strides), self.dtype)
        if host.nbytes:
            sparkc.spark_mem_copy_to_host(self.ctx.handle, host.ctypes.data, self.address, host.nbytes, stream.handle)
        if not whole:
            return host
        width = host.itemsize
        if 0 not in self.shape:
            seen = np.lib.stride_tricks.as_strided(host, self.shape, [step * width for step in self.strides])
            return from_host(np.ascontiguousarray(seen), self.dtype)
        return from_host(host.reshape(self.shape), self.dtype)

    def write(self, values: Any, stream: Optional[Stream] = None) -> None:
        """Copies from the host, in stream order, and done on return. The forms are those of `from_numpy`."""
        stream = stream or self.stream
        stream.not_capturing("a copy from the host")
        if not self.is_packed():
            raise ValueError(f"a copy from the host goes to packed elements; the strides are {self.strides}")
        host = to_host_form(np.asarray(values), self.dtype)
        if host.nbytes != self.nbytes:
            raise ValueError(f"{host.nbytes} bytes for {self.nbytes}: the shapes are {host.shape} and {self.shape}")
        if host.nbytes:
            sparkc.spark_mem_copy_to_device(self.ctx.handle, self.address, host.ctypes.data, host.nbytes, stream.handle)
        self._memory.use(stream)

    def copy_from(self, source: DeviceArray, stream: Optional[Stream] = None) -> None:
        """Enqueues a copy of a packed array of the same size, byte by byte."""
        stream = stream or self.stream
        self._fits(source)
        if source.ctx is not self.ctx:
            raise ValueError("the source belongs to another context")
        to, start = self.address, source.address
        for memory in (self._memory, source._memory):
            memory.use(stream)
        stream.keep(self, source)
        sparkc.spark_mem_copy(self.ctx.handle, to, start, self.nbytes, stream.handle)

    def _fits(self, source: DeviceArray) -> None:
        if not (self.is_packed() and source.is_packed() and source.nbytes == self.nbytes):
            raise ValueError(f"two packed arrays of one size wanted; found {source!r} for {self!r}")

    def copy_from_peer(self, source: DeviceArray, stream: Optional[Stream] = None) -> None:
        """As `copy_from`, from an array of another context, as a rule of another device; the stream is of either. Needs
        no peer access."""
        stream = stream or self.stream
        self._fits(source)
        if stream.ctx not in (self.ctx, source.ctx):
            raise ValueError("the stream belongs to neither of the two contexts")
        to, start = self.address, source.address
        for memory in (self._memory, source._memory):
            if memory.ctx is stream.ctx:
                memory.use(stream)
            else:
                memory.used.add(stream)
        stream.keep(self, source)
        sparkc.spark_mem_copy_peer(self.ctx.handle, to, source.ctx.handle, start, self.nbytes, stream.live())

    def write_async(self, source: PinnedArray, stream: Optional[Stream] = None) -> None:
        """Enqueues a copy of pinned memory of the same dtype and size; may be recorded, and then reads it at every
        launch."""
        self._copy_async(source, stream, lambda to, host, size, on: sparkc.spark_mem_copy_to_device_async(
            self.ctx.handle, to, host, size, on))

    def read_async(self, target: PinnedArray, stream: Optional[Stream] = None) -> None:
        """Enqueues a copy to pinned memory of the same dtype and size; may be recorded. `target.array` waits for it."""
        self._copy_async(target, stream, lambda start, host, size, on: sparkc.spark_mem_copy_to_host_async(
            self.ctx.handle, host, start, size, on))

    def _copy_async(self, host: PinnedArray, stream: Optional[Stream],
                    call: Callable[[int, int, int, int], None]) -> None:
        stream = stream or self.stream
        if not self.is_packed() or (host.dtype, host.nbytes) != (self.dtype, self.nbytes):
            raise ValueError(f"packed elements of one dtype and number wanted; found {host!r} for {self!r}")
        same_context(self.ctx, stream.ctx, "the array")
        address = self.address
        self._memory.use(stream)
        stream.keep(self, host)
        host.memory.copy(stream, lambda: call(address, host.address, self.nbytes, stream.live()))

    def fill_bytes(self, value: int, stream: Optional[Stream] = None) -> None:
        """Enqueues setting every byte."""
        stream = stream or self.stream
        if not self.is_packed():
            raise ValueError(f"packed elements wanted; the strides are {self.strides}")
        address = self.address
        self._memory.use(stream)
        stream.keep(self)
        sparkc.spark_mem_set(self.ctx.handle, address, value, self.nbytes, stream.handle)

    def free(self, stream: Optional[Stream] = None) -> None:
        """Frees the memory now, for every view of it; their later use is an error. With a stream: when its work so far
        is done, and that of others that used the memory, without waiting."""
        if stream is not None:
            same_context(self.ctx, stream.ctx, "the array")
            stream.not_capturing("freeing memory")
        self._memory.close(stream)
        self.ctx.frees += 1

    # ---- exchange ----

    def _follow(self, stream: Optional[int]) -> None:
        """Makes a consumer's stream, as DLPack numbers it, wait for what was enqueued here."""
        if stream == -1:
            return
        handle = LEGACY if stream in (None, 0) else stream
        if handle not in (self.stream.handle, self.stream.native):
            self.ctx.stream(int(handle or LEGACY)).wait(self.stream.record())

    def __dlpack__(self, *, stream: Optional[int] = None, max_version: Optional[Tuple[int, int]] = None,
                   dl_device: Optional[Tuple[int, int]] = None, copy: Optional[bool] = None) -> object:
        if copy or (dl_device is not None and tuple(dl_device) != self.__dlpack_device__()):
            raise BufferError("only the memory itself is exported, where it is")
        self._memory.live()
        self._follow(stream)
        versioned = max_version is not None and max_version[0] >= 1
        return sparkc.dlpack_make(self, bytearray(self._raw), self.ctx.device, int(versioned))

    def __dlpack_device__(self) -> Tuple[int, int]:
        return 2, self.ctx.device  # kDLCUDA

    @property
    def __cuda_array_interface__(self) -> Dict[str, object]:
        if self.dtype not in NUMPY:
            raise AttributeError(f"__cuda_array_interface__ has no type for {self.dtype.name}; DLPack has")
        width = BITS[self.dtype] // 8
        return {"version": 3, "shape": self.shape, "strides": tuple(step * width for step in self.strides),
                "typestr": np.dtype(NUMPY[self.dtype]).str, "data": (self.address, False),
                "stream": self.stream.native}
