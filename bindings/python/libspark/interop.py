# SPDX-License-Identifier: Apache-2.0
"""Tensors and streams of other software. None of it is imported here: objects are known by what they offer."""
from __future__ import annotations

from typing import Any, Dict, Optional, Protocol, Tuple, Union

import numpy as np

from . import sparkc
from .array import DeviceArray, TensorSpec, describe
from .memory import BITS, as_dtype
from .quantized import Quantized
from .stream import Stream


class SupportsDLPack(Protocol):
    """PyTorch, CuPy, JAX and others."""

    def __dlpack__(self, *, stream: Any = None) -> Any: ...


class SupportsCudaArray(Protocol):
    """Numba, CuPy and others."""

    @property
    def __cuda_array_interface__(self) -> Any: ...


Plain = Union[DeviceArray, TensorSpec, SupportsDLPack, SupportsCudaArray]
Tensor = Union[Plain, Quantized]
StreamLike = Union[Stream, int, Any]

HOST_MEMORY = "the memory is on the host; device memory wanted (DeviceArray.from_numpy makes a copy there)"
_HOST = (1, 3)  # kDLCPU, kDLCUDAHost
_CAPSULE, _CUDA_ARRAY = 0, -1
_ways: Dict[type, int] = {}  # of a class: one of the above, or the address of its table of functions


def way(value: Any) -> int:
    """How a tensor is read; found once for each class."""
    kind = type(value)
    known = _ways.get(kind)
    if known is None:
        table = getattr(kind, "__dlpack_c_exchange_api__", None)
        known = sparkc.exchange_of(table) if table is not None and not isinstance(table, int) else 0
        if not known:
            if hasattr(value, "__dlpack__"):
                known = _CAPSULE
            elif hasattr(value, "__cuda_array_interface__"):
                known = _CUDA_ARRAY
            else:
                raise TypeError(f"{kind.__name__} is no tensor: a DeviceArray, or an object with __dlpack__ or "
                                "__cuda_array_interface__ wanted")
        _ways[kind] = known
    return known


def read(value: Any, raw: bytearray, offset: int) -> Optional[Tuple[int, bool, object, int]]:
    """Writes a tensor of other software into a structure. Gives its device (-1: not told), whether it may only be
    read, what keeps its memory, and the stream on which that software works (-1: not told). None: `read_capsule`."""
    how = way(value)
    if how == _CAPSULE:
        return None
    if how == _CUDA_ARRAY:
        return _cuda_array(value.__cuda_array_interface__, raw, offset)
    device, read_only = sparkc.exchange_read(how, value, raw, offset)
    return device, read_only, value, sparkc.exchange_stream(how, device)


def read_capsule(value: Any, raw: bytearray, offset: int, stream: int) -> Tuple[int, bool, object, int]:
    """As `read`; the producer makes `stream` wait for its work."""
    try:
        try:
            capsule = value.__dlpack__(stream=stream, max_version=(1, 0))
        except TypeError:  # of before DLPack 1.0
            capsule = value.__dlpack__(stream=stream)
    except Exception:  # memory of the host has no streams, and says so in words of its own
        if value.__dlpack_device__()[0] in _HOST:
            raise ValueError(HOST_MEMORY) from None
        raise
    device, read_only = sparkc.dlpack_read(capsule, raw, offset)
    return device, read_only, capsule, -1


def _cuda_array(told: Dict[str, Any], raw: bytearray, offset: int) -> Tuple[int, bool, object, int]:
    address, read_only = told["data"]
    dtype = as_dtype(np.dtype(told["typestr"]))
    width = BITS[dtype] // 8
    shape, steps = told["shape"], told.get("strides")
    if steps is None:
        strides = tuple(width * int(np.prod(shape[i + 1:], dtype=np.int64)) for i in range(len(shape)))
    else:
        strides = steps
    if any(step % width for step in strides):
        raise ValueError(f"the strides {tuple(strides)} are no multiples of the {width} bytes of an element")
    raw[offset:offset + 256] = describe(address, 0, dtype, shape, [step // width for step in strides])
    stream = told.get("stream")
    return -1, read_only, told, -1 if stream is None else int(stream)


def stream_handle(stream: StreamLike) -> int:
    """Of a stream of this package, of PyTorch, CuPy, cuda.core, or a CUstream as an integer."""
    if isinstance(stream, (Stream, int)):
        return stream if isinstance(stream, int) else stream.live()
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    for name in ("cuda_stream", "ptr"):
        if hasattr(stream, name):
            return int(getattr(stream, name))
    raise TypeError(f"{type(stream).__name__} is no stream: a Stream, an integer, or an object with __cuda_stream__, "
                    "cuda_stream or ptr wanted")
