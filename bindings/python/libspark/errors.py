# SPDX-License-Identifier: Apache-2.0
"""What the library says about a call that failed, as exceptions: each is also the one that Python has for the like."""
from __future__ import annotations

from typing import Optional

from . import sparkc
from .codes import Status

OUT_OF_DEVICE_MEMORY = 2  # CUresult


class SparkError(RuntimeError):
    """A call of the library failed: `status` to decide by, `operator` and `field` that were wrong, and a sentence."""

    def __init__(self, status: int, driver_code: int, op: int, field: int, message: str) -> None:
        super().__init__(f"{sparkc.spark_status_name(status)}: {message}")
        self.status = status
        self.driver_code = driver_code
        self.message = message
        described = sparkc.spark_op_describe(op)
        self.operator: Optional[str] = described.name if described else None
        found = sparkc.spark_op_field(op, field)
        self.field: Optional[str] = found.name if found else None


class InvalidArgument(SparkError, ValueError):
    """The caller's mistake: repeating the same call cannot succeed."""


class Unsupported(SparkError, NotImplementedError):
    """Meaningful, but this library, driver or device does not do it."""


class OutOfMemory(SparkError, MemoryError):
    """The device or the host has no memory left."""


def make(status: int, driver_code: int, op: int, field: int, message: str) -> SparkError:
    kind = {1: InvalidArgument, 2: Unsupported}.get(status // 1000, SparkError)
    if status in (Status.HOST_MEMORY, Status.DEVICE_MEMORY) or driver_code == OUT_OF_DEVICE_MEMORY:
        kind = OutOfMemory
    return kind(status, driver_code, op, field, message)


sparkc.on_error(make)
