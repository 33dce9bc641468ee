# SPDX-License-Identifier: Apache-2.0
#
# Reads GGUF files for the reference, in NumPy: from the format's definition, sharing nothing with the C reader.
import struct

import numpy as np

F32, F16, Q4_1, Q8_0 = 0, 1, 3, 8
BLOCK = {F32: (1, 4), F16: (1, 2), Q4_1: (32, 20), Q8_0: (32, 34)}  # elements and bytes of a block
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
TEXT, ARRAY = 8, 9


class Reader:
    """All values of a file by key, and its tensors by name: (type, shape with the fastest dimension last, bytes)."""

    def __init__(self, path):
        self.data = np.memmap(path, dtype=np.uint8, mode="r")
        self.at = 0
        magic, version, tensors, values = self.unpack("4sIQQ")
        if magic != b"GGUF" or version not in (2, 3):
            raise ValueError(f"{path}: not a GGUF file of version 2 or 3")
        self.values = {}
        for _ in range(values):
            key = self.text()
            self.values[key] = self.value(*self.unpack("I"))
        listed = [self.tensor_line() for _ in range(tensors)]
        alignment = self.values.get("general.alignment", 32)
        begin = -(-self.at // alignment) * alignment
        self.tensors = {}
        for name, shape, kind, offset in listed:
            elements, size = BLOCK[kind]
            size *= int(np.prod(shape)) // elements
            self.tensors[name] = kind, shape, self.data[begin + offset:begin + offset + size]

    def unpack(self, form):
        size = struct.calcsize("<" + form)
        found = struct.unpack("<" + form, self.data[self.at:self.at + size].tobytes())
        self.at += size
        return found

    def text(self):
        (size,) = self.unpack("Q")
        return self.unpack(f"{size}s")[0].decode()

    def value(self, kind):
        if kind == TEXT:
            return self.text()
        if kind == ARRAY:
            element, count = self.unpack("IQ")
            return [self.value(element) for _ in range(count)]
        return self.unpack(SCALARS[kind])[0]

    def tensor_line(self):
        name = self.text()
        (rank,) = self.unpack("I")
        shape = self.unpack(f"{rank}Q")[::-1]
        kind, offset = self.unpack("IQ")
        return name, shape, kind, offset

    def tensor(self, name):
        """A tensor in double precision."""
        kind, shape, data = self.tensors[name]
        return dequantize(kind, data).reshape(shape)


def dequantize(kind, data):
    """The values of blocks, exactly: every product and sum here fits a double."""
    if kind in (F32, F16):
        return data.view({F32: "<f4", F16: "<f2"}[kind]).astype(np.float64)
    blocks = data.reshape(-1, BLOCK[kind][1])
    scale = blocks[:, 0:2].copy().view("<f2").astype(np.float64)
    if kind == Q8_0:
        return (scale * blocks[:, 2:].view(np.int8)).ravel()
    least = blocks[:, 2:4].copy().view("<f2").astype(np.float64)
    nibbles = np.concatenate([blocks[:, 4:] & 15, blocks[:, 4:] >> 4], axis=1)  # 0 to 15, then 16 to 31
    return (scale * nibbles + least).ravel()
