# SPDX-License-Identifier: Apache-2.0
"""The arguments of an operator, and the forms in which one may be quantised, as the library describes them."""
from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, Dict, Iterator, Optional, Sequence, Tuple

from . import infer, sparkc
from .codes import Dtype

TENSOR_BYTES = 256
SCALARS = {sparkc.SPARK_KIND_F32: "=f", sparkc.SPARK_KIND_I32: "=i", sparkc.SPARK_KIND_U32: "=I",
           sparkc.SPARK_KIND_I64: "=q", sparkc.SPARK_KIND_U64: "=Q", sparkc.SPARK_KIND_ENUM: "=I"}
LAYOUTS = {"linear": sparkc.SPARK_SCALE_LINEAR, "tiled_128x4": sparkc.SPARK_SCALE_TILED_128X4}


def choices(text: Optional[str]) -> Dict[str, int]:
    """ "NONE=0 SILU=1" as a dictionary."""
    pairs = (entry.split("=") for entry in (text or "").split())
    return {name: int(value) for name, value in pairs}


def dtypes_of(mask: int) -> Tuple[Dtype, ...]:
    return tuple(dtype for dtype in Dtype if mask >> dtype & 1)


@dataclass(frozen=True)
class Form:
    """One legal form of a quantised argument."""

    name: str
    doc: str
    scheme: int
    dtypes: Tuple[Dtype, ...]
    scale_dtypes: Tuple[Dtype, ...] = ()
    zero_dtypes: Tuple[Dtype, ...] = ()
    layouts: Tuple[int, ...] = ()
    takes_global_scale: bool = False
    record: int = 0
    last_blocks: Tuple[int, ...] = ()

    @classmethod
    def of(cls, form: sparkc.spark_quant_form) -> Form:
        return cls(form.name, form.doc, form.scheme, dtypes_of(form.dtype_mask), dtypes_of(form.scale_dtype_mask),
                   dtypes_of(form.zero_dtype_mask),
                   tuple(layout for layout in LAYOUTS.values() if form.layout_mask >> layout & 1),
                   bool(form.flags & sparkc.SPARK_FORM_GLOBAL_SCALE), form.record, form.block[:form.num_blocks])

    @property
    def beside(self) -> Dict[str, Tuple[Dtype, ...]]:
        """Dtypes of the tensors that stand, or may stand, beside the data."""
        return {"scale": self.scale_dtypes, "zero_point": self.zero_dtypes,
                "global_scale": (Dtype.F32,) if self.takes_global_scale else ()}

    def block(self, ndim: int) -> Tuple[int, ...]:
        """Elements of each dimension that share a scale, 0 for all of them."""
        if self.scheme == sparkc.SPARK_QUANT_PER_TENSOR:
            return (0,) * ndim
        last = (0,) if self.scheme == sparkc.SPARK_QUANT_PER_ROW else self.last_blocks
        return (1,) * (ndim - len(last)) + last

    def __str__(self) -> str:
        data, scales = (" ".join(dtype.name for dtype in dtypes) for dtypes in (self.dtypes, self.scale_dtypes))
        if self.record:
            return f"{self.name} (records in {data})"
        each = {sparkc.SPARK_QUANT_PER_TENSOR: "of all", sparkc.SPARK_QUANT_PER_ROW: "of rows"}
        return f"{self.name} ({data}, scales {scales} {each.get(self.scheme) or f'of blocks {self.last_blocks}'})"


def _forms(op: int, index: int, count: int) -> Iterator[Form]:
    for form in (sparkc.spark_op_form(op, index, i) for i in range(count)):
        if form is not None:
            yield Form.of(form)


class Field:
    """One argument of an operator."""

    def __init__(self, op: int, index: int, field: sparkc.spark_field) -> None:
        self.name, self.doc, self.shape = field.name, field.doc, field.shape
        self.offset, self.dtype_mask, self.dtype_as = field.offset, field.dtype_mask, field.dtype_as
        self.is_tensor = field.kind == sparkc.SPARK_KIND_TENSOR
        self.is_reserved = field.kind == sparkc.SPARK_KIND_RESERVED
        self.kind = field.kind
        self.is_in = bool(field.flags & sparkc.SPARK_FIELD_IN)
        self.is_out = bool(field.flags & sparkc.SPARK_FIELD_OUT)
        self.optional = bool(field.flags & sparkc.SPARK_FIELD_OPTIONAL)
        self.is_required = bool(field.flags & sparkc.SPARK_FIELD_REQUIRED) or \
            self.is_tensor and self.is_in and not self.optional
        self.given, self.default = field.given, field.default_text
        self.forms: Sequence[Form] = tuple(_forms(op, index, field.num_forms))
        self.choices = choices(field.choices)
        self.dims = infer.parse(self.shape) if self.is_tensor else ()
        self._number = struct.Struct(SCALARS[field.kind]) if field.kind in SCALARS else None

    @property
    def dtypes(self) -> Tuple[Dtype, ...]:
        """Those that it may have beside that of the field it follows."""
        return dtypes_of(self.dtype_mask)

    @property
    def is_quantised(self) -> bool:
        return bool(self.forms)

    def put(self, raw: bytearray, value: Any) -> None:
        """Writes a scalar."""
        assert self._number is not None
        if self.choices and isinstance(value, str):
            if value.upper() not in self.choices:
                raise ValueError(f"{self.name} is {value!r}; one of {', '.join(self.choices)} wanted")
            value = self.choices[value.upper()]
        try:
            self._number.pack_into(raw, self.offset, value)
        except struct.error as why:
            kind = ValueError if isinstance(value, int) else TypeError
            raise kind(f"{self.name} is {value!r}: {why}") from None
        except OverflowError:
            raise ValueError(f"{self.name} is {value!r}, which 32 bits cannot hold") from None
