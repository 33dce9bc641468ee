# SPDX-License-Identifier: Apache-2.0
"""Devices, contexts, and the order in which things of a context end."""
from __future__ import annotations

import atexit
import os
import struct
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Optional, Protocol, Tuple, Union
from weakref import WeakSet, WeakValueDictionary

import numpy as np

from . import sparkc
from .codes import Status
from .errors import SparkError

if TYPE_CHECKING:
    from .graph import Kept
    from .memory import Memory
    from .stream import Stream

LEGACY = 1  # the legacy default stream, as the library and DLPack number it
_DESC = struct.Struct("=IIiIQQQ")  # spark_context_desc
PathLike = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]


_living: WeakSet[Context] = WeakSet()


def same_context(ctx: Context, other: Context, what: str) -> None:
    if ctx is not other:
        raise ValueError(f"{what} belongs to another context than the stream")


class Closable(Protocol):
    """A thing of a context that ends with it."""

    def close(self) -> None: ...


@dataclass(frozen=True)
class DeviceInfo:
    """A device as the library sees it; -1 is the device of an offline context."""

    device: int
    compute_capability: Tuple[int, int]
    sm_count: int
    driver_version: int
    memory_bytes: int
    supported: bool
    reason: str
    emulated: bool
    name: str

    @classmethod
    def of(cls, info: sparkc.spark_device_info) -> DeviceInfo:
        return cls(info.device, (info.cc_major, info.cc_minor), info.sm_count, info.driver_version, info.memory_bytes,
                   bool(info.supported), info.reason, bool(info.emulated), info.name)


def version() -> str:
    """Of the library that runs."""
    number = sparkc.spark_version()
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def device_count() -> int:
    """How many devices the driver has."""
    return sparkc.spark_device_count()


def device_info(device: int = 0) -> DeviceInfo:
    """Says what a device is, also one that is not supported."""
    return DeviceInfo.of(sparkc.spark_device_query(device))


class Context:
    """A context of the library on one device, in the device's primary context unless another CUcontext is given.
    `tuning` is the path of a tuning file, which is read once, here; without one that of LIBSPARK_TUNE counts.

    Streams, arrays and graphs keep their context alive. `close`, or the end of a `with` block, ends them all at once:
    it waits for their work, and their later use is an error.
    """

    def __init__(self, device: int = 0, *, cu_context: int = 0, offline_arch: int = 0,
                 tuning: Optional[PathLike] = None) -> None:
        path = np.frombuffer(b"" if tuning is None else os.fsencode(tuning), np.uint8)
        desc = bytearray(_DESC.pack(_DESC.size, 0, device, offline_arch, cu_context, path.ctypes.data, path.nbytes))
        self.handle = sparkc.spark_context_create(desc)
        self.device = device
        self.frees = 0  # counts what was ended by hand: whoever holds addresses and handles looks again when it moves
        self.captures: List[Kept] = []  # of each one in progress: what it may record
        self.expected: WeakSet[Memory] = WeakSet()  # in the order of streams that may not have come to it
        self._deferred: List[Tuple[Callable[[], object], Iterable[Stream]]] = []
        self._lock = threading.RLock()
        self._things: WeakSet[Closable] = WeakSet()
        self._streams: WeakValueDictionary[int, Stream] = WeakValueDictionary()
        self.workspaces: Dict[int, Memory] = {}
        _living.add(self)

    @classmethod
    def offline(cls, arch: int, *, tuning: Optional[PathLike] = None) -> Context:
        """A context without a device (120, 121, or 90 for testing): it answers query, explain and kernels."""
        return cls(offline_arch=arch, tuning=tuning)

    @property
    def info(self) -> DeviceInfo:
        """The device of this context."""
        return DeviceInfo.of(sparkc.spark_context_device(self.handle))

    def memory(self) -> Tuple[int, int]:
        """Free and total bytes of device memory."""
        free, total = sparkc.spark_mem_info(self.handle)
        return free, total

    def preload(self) -> None:
        """Loads the code of every operator's kernels, so that no later launch has to."""
        sparkc.spark_context_preload(self.handle, 0)

    def can_access(self, peer: Context) -> bool:
        """Whether kernels of this context can be let read and write memory of `peer`; not where both are on one
        device."""
        return bool(sparkc.spark_peer_can_access(self.handle, peer.handle))

    def enable_peer(self, peer: Context) -> None:
        """Lets them, until one of the two contexts ends; the other direction takes a call of its own. Memory that was
        allocated in stream order stays out of reach. Operators here still take arrays of their own context, and
        `DeviceArray.copy_from_peer` becomes faster."""
        sparkc.spark_peer_enable(self.handle, peer.handle)

    def stream(self, handle: int = LEGACY) -> Stream:
        """A stream of other software, a CUstream as an integer, which stays theirs; the legacy default stream."""
        from .stream import Stream
        known = self._streams.get(handle)
        if known is None:
            known = self._streams[handle] = Stream.wrap(self, handle)
        return known

    def adopt(self, thing: Closable) -> None:
        """Notes what has to end before this context does."""
        with self._lock:
            self._things.add(thing)

    def begin(self, call: Callable[[], object], kept: Kept) -> None:
        """Begins a capture, which from here on is told what work may be recorded. Its graph may run on any stream, so
        memory that is expected has to be there."""
        with self._lock:
            for memory in list(self.expected):
                memory.settle()
            call()
            self.captures.append(kept)

    def end(self, call: Callable[[], Any], kept: Kept) -> Any:
        """Ends it, and frees what waited for that."""
        with self._lock:
            try:
                return call()
            finally:
                self.captures[:] = [other for other in self.captures if other is not kept]
                self._sweep()

    def leave(self, free: Callable[[], object], after: Iterable[Stream] = ()) -> None:
        """Frees a thing when the work of these streams is done: at once, or after the captures in progress, which
        waiting and freeing would break."""
        with self._lock:
            self._deferred.append((free, after))
            self._sweep()

    def _sweep(self) -> None:
        """Frees what was left, unless a capture is in progress. Under a capture of another context that may be refused,
        and is tried again with the next thing that ends."""
        waiting, self._deferred = ([], self._deferred) if self.captures else (self._deferred, [])
        failures = []
        for free, after in waiting:
            try:
                for stream in after:
                    stream.finish()
                free()
            except SparkError as error:
                if error.status == Status.INVALID_CAPTURE:
                    self._deferred.append((free, after))
                else:
                    failures.append(error)
        if failures:
            raise failures[0]

    def close(self) -> None:
        """Ends everything made in this context, then the context."""
        with self._lock:
            if not self.handle:
                return
            if self.captures:
                raise ValueError("a stream of this context is capturing: it can be closed when that is over")
            from .stream import Stream
            things = [*self.workspaces.values(), *self._things]
            for thing in sorted(things, key=lambda thing: isinstance(thing, Stream)):  # streams last: the others wait
                thing.close()
            self.workspaces.clear()
            self._deferred.clear()
            sparkc.spark_context_destroy(self.handle)
            self.handle = 0

    def __enter__(self) -> Context:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_things", None) is not None:
            self.close()

    def __repr__(self) -> str:
        return f"Context({self.info.name})" if self.handle else "Context(closed)"


@atexit.register
def _close_all() -> None:
    """While the interpreter is whole: what ends later ends in no order."""
    for ctx in list(_living):
        ctx.close()


_defaults: Dict[int, Context] = {}
_defaults_lock = threading.Lock()


def default_context(device: int = 0) -> Context:
    """The context that arrays and calls use when none is named: one per device, made when first needed."""
    found = _defaults.get(device)
    if found is None or not found.handle:
        with _defaults_lock:
            found = _defaults.get(device)
            if found is None or not found.handle:
                found = _defaults[device] = Context(device)
    return found
