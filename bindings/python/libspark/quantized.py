# SPDX-License-Identifier: Apache-2.0
"""Quantised tensors: their form, found among those that an argument has, and their scales into its structure."""
from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Dict, Iterator, Optional, Sequence, Tuple, Union

from . import infer, sparkc
from .array import packed_strides, reach
from .codes import Dtype, Record
from .fields import LAYOUTS, TENSOR_BYTES, Field, Form
from .memory import bytes_for

if TYPE_CHECKING:
    from .interop import Plain

QUANT = 128  # offset of spark_tensor.quant
_QUANT = struct.Struct("=IIII6HH2B5Q6qq")
_DATA = struct.Struct("=Q")
_STRIDES = struct.Struct("=6q")  # of spark_tensor, from byte 80 on
Numbers = Tuple[int, ...]


class Quantized:
    """Numbers that are read as (q - zero_point) * scale * global_scale, in one of the forms that an argument has
    (`python -m libspark describe OP` lists them).

    `scale` has an element for each block of `data`, in its dimensions and with any strides; dimensions of one block may
    be left out. `zero_point` has the same shape and strides, `global_scale` one element, or one for each index of the
    first dimension. The form is the one that fits; where several do, `form` is its name, or `block` the elements of
    the last dimensions that share a scale, 0 for a whole one. Scales that lie in tiles say so with `layout`, and
    with `tile` which dimensions are the rows and columns, if these are not the last two.
    """

    def __init__(self, data: Plain, scale: Optional[Plain] = None, *, form: Optional[str] = None,
                 block: Optional[Sequence[int]] = None, record: Union[Record, str, int, None] = None,
                 zero_point: Optional[Plain] = None, global_scale: Optional[Plain] = None, layout: str = "linear",
                 tile: Sequence[int] = (0, 0)) -> None:
        if layout.lower() not in LAYOUTS:
            raise ValueError(f"the layout is {layout!r}; one of {', '.join(LAYOUTS)} wanted")
        self.data, self.scale, self.zero_point, self.global_scale = data, scale, zero_point, global_scale
        self.form = None if form is None else form.upper()
        self.block = None if block is None else tuple(block)
        self.record = Record[record.upper()] if isinstance(record, str) else None if record is None else Record(record)
        self.layout_name, self.tile = layout.lower(), tuple(tile)
        self.layout = LAYOUTS[self.layout_name]


class Records(Quantized):
    """Bytes that are records of a quantised format, each with its scale inside, as GGUF files hold them."""

    def __init__(self, data: Plain, record: Union[Record, str, int]) -> None:
        super().__init__(data, record=record)


class Part:
    """A tensor beside the data: its structure, and what it says."""

    def __init__(self) -> None:
        self.raw = bytearray(TENSOR_BYTES)

    @property
    def address(self) -> int:
        return int(_DATA.unpack_from(self.raw)[0])

    @property
    def dtype(self) -> Dtype:
        return Dtype(infer.told(self.raw, 0)[1])

    @property
    def shape(self) -> Numbers:
        return infer.told(self.raw, 0)[0]

    @property
    def strides(self) -> Numbers:
        found: Numbers = _STRIDES.unpack_from(self.raw, 80)[:len(self.shape)]
        return found if any(found) else packed_strides(self.shape)

    @property
    def bytes(self) -> int:
        return bytes_for(reach(self.shape, self.strides), self.dtype)

    def over(self, grid: Sequence[int]) -> Optional[Numbers]:
        """Its strides along a grid of blocks; None if it has another shape."""
        own = [pair for pair in zip(self.shape, self.strides) if pair[0] != 1]
        if [size for size, _ in own] != [size for size in grid if size != 1]:
            return None
        steps = iter(step for _, step in own)
        return tuple(0 if size == 1 else next(steps) for size in grid)


class Pending:
    """A quantised argument of a call, while its tensors are read."""

    def __init__(self, where: str, field: Field, value: Quantized) -> None:
        if not field.forms:
            raise TypeError(f"{where} takes no quantised tensor")
        self.where, self.field, self.value = where, field, value
        self.parts: Dict[str, Part] = {name: Part() for name in ("scale", "zero_point", "global_scale")
                                       if getattr(value, name) is not None}

    def tensors(self, raw: bytearray) -> Iterator[Tuple[Plain, bytearray, int]]:
        """What is to be read, and where to."""
        yield self.value.data, raw, self.field.offset
        for name, part in self.parts.items():
            yield getattr(self.value, name), part.raw, 0

    def write(self, raw: bytearray) -> None:
        """Puts into the structure how the data, which is there, is scaled."""
        shape, dtype = infer.told(raw, self.field.offset)
        form = self._form(Dtype(dtype), len(shape))
        try:
            quant = self._records(form) if form.record else self._scales(form, shape)
        except struct.error as why:
            raise ValueError(f"{self.where}: its scales do not fit their structure: {why}") from None
        raw[self.field.offset + QUANT:self.field.offset + TENSOR_BYTES] = quant

    def _form(self, dtype: Dtype, ndim: int) -> Form:
        """The one that it has."""
        found = [form for form in self.field.forms if dtype in form.dtypes and self._fits(form, ndim)]
        if len(found) == 1:
            return found[0]
        if found:
            raise ValueError(f"{self.where} could be any of {', '.join(map(str, found))}: form= says which")
        said = ", ".join([dtype.name, *self._said()])
        raise ValueError(f"{self.where} is {said}; one of {', '.join(map(str, self.field.forms))} wanted")

    def _fits(self, form: Form, ndim: int) -> bool:
        value = self.value
        named = value.form in (None, form.name) and value.record in (None, form.record)
        scaled = all(part.dtype in form.beside[name] for name, part in self.parts.items())
        if not named or not scaled or bool(form.record) == ("scale" in self.parts):
            return False
        if form.record:
            return value.block is None and not value.layout
        return value.layout in form.layouts and (
            value.block is None or form.block(ndim) == (1,) * (ndim - len(value.block)) + value.block)

    def _said(self) -> Iterator[str]:
        value = self.value
        if value.form is not None:
            yield f"form {value.form}"
        if value.record is not None:
            yield f"records {value.record.name}"
        for name, part in self.parts.items():
            yield f"{name} {part.dtype.name}"
        if value.block is not None:
            yield f"block {value.block}"
        if value.layout:
            yield f"layout {value.layout_name}"

    def _records(self, form: Form) -> bytes:
        return _QUANT.pack(form.scheme, *[0] * 9, form.record, *[0] * 14)

    def _scales(self, form: Form, shape: Numbers) -> bytes:
        """The scales that stand beside the data."""
        scale, zero, whole = self.parts["scale"], self.parts.get("zero_point"), self.parts.get("global_scale")
        block = form.block(len(shape))
        grid = [-(-size // many) if many else 1 for size, many in zip(shape, block)]
        steps: Numbers = ()
        if self.value.layout == sparkc.SPARK_SCALE_LINEAR:
            steps = self._steps("scale", scale, grid)
        elif scale.strides != packed_strides(scale.shape):
            raise ValueError(f"{self.where}: scale has the strides {scale.strides}; tiles have to be packed")
        if zero and (zero.shape, zero.strides) != (scale.shape, scale.strides):
            raise ValueError(f"{self.where}: zero_point has the shape {zero.shape} and the strides {zero.strides}; "
                             f"those of scale wanted, {scale.shape} and {scale.strides}")
        along = [1] if whole is None or reach(whole.shape, whole.strides) == 1 else list(shape[:1])
        return _QUANT.pack(
            form.scheme, self.value.layout, scale.dtype, zero.dtype if zero else 0,
            *_six(block if form.scheme == sparkc.SPARK_QUANT_BLOCK else ()), 0, *self.value.tile,
            scale.address, scale.bytes, zero.address if zero else 0, zero.bytes if zero else 0,
            whole.address if whole else 0, *_six(steps), self._steps("global_scale", whole, along)[0] if whole else 0)

    def _steps(self, name: str, part: Part, grid: Sequence[int]) -> Numbers:
        steps = part.over(grid)
        if steps is None:
            raise ValueError(f"{self.where}: {name} has the shape {part.shape}; {tuple(grid)} wanted")
        if max(grid, default=1) > 1 and not any(steps):
            raise ValueError(f"{self.where}: {name} has no stride but 0, which would mean packed")
        return steps


def _six(numbers: Sequence[int]) -> Numbers:
    return (*numbers, *[0] * (6 - len(numbers)))
