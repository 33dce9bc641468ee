# SPDX-License-Identifier: Apache-2.0
"""Shapes of outputs, from the shapes that reflection writes for an operator's tensors."""
from __future__ import annotations

import struct
from typing import Collection, Dict, List, Optional, Sequence, Tuple

Dims = Tuple[str, ...]
Shape = Tuple[int, ...]
REST = "..."
HALF = "/2 if "  # "N/2 if GATED": half of N where that flag is set
_SHAPE = struct.Struct("=II8x6q")  # dtype, ndim, ..., shape: spark_tensor from byte 16 on


def parse(text: Optional[str]) -> Dims:
    """ "[B?, M, K]" as ("B?", "M", "K")."""
    return tuple(part.strip() for part in (text or "[]")[1:-1].split(","))


def told(raw: bytearray, offset: int) -> Tuple[Shape, int]:
    """Shape and dtype of a tensor in a structure; no shape if it is absent."""
    dtype, count, *shape = _SHAPE.unpack_from(raw, offset + 16)
    return tuple(shape[:count]), dtype


def learn(known: Dict[str, Shape], dims: Dims, shape: Shape) -> None:
    """What each letter stands for; a rank that does not fit is the library's to refuse."""
    fixed = [dim for dim in dims if dim != REST and not dim.endswith("?")]
    lead, trail = len(shape) - len(fixed), shape[len(shape) - len(fixed):]
    if lead < 0:
        return
    if dims[0] == REST:
        known.setdefault(REST, shape[:lead])
    elif dims[0].endswith("?") and lead == 1:
        known.setdefault(dims[0], shape[:1])
    for letter, size in zip(fixed, trail):
        known.setdefault(letter, (size,))


def shape(dims: Dims, tensors: Sequence[Tuple[Dims, Shape]], flags: Collection[str] = ()) -> Shape:
    """The shape of an output of a call with these flags. LookupError names the letter that no tensor tells."""
    known: Dict[str, Shape] = {}
    for other, found in tensors:
        learn(known, other, found)
    out: List[int] = []
    for dim in dims:
        letter, _, flag = dim.partition(HALF)
        if dim.isdigit():
            out.append(int(dim))
        elif flag and letter in known:
            out.append(known[letter][0] // (2 if flag.lower() in flags else 1))
        elif dim in known:
            out.extend(known[dim])
        elif not dim.endswith("?"):
            raise LookupError(dim)
    return tuple(out)
