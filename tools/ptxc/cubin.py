# SPDX-License-Identifier: Apache-2.0
# Reads what assemble.py must know of a cubin: its kernels, where their parameters lie, their machine code.
# A cubin is an ELF file; sections `.text.NAME` hold code and `.nv.info.NAME` facts, among them, for each parameter,
# attribute 0x17: u32 index, u16 ordinal, u16 offset, u32 with the size in bytes from bit 18 up.
# Knows nothing of headers or builds.
"""A minimal reader of cubins."""

import re
import struct

INSTRUCTION = 16
PARAM_INFO = 0x17
FORMAT_SIZED = 4  # the other formats carry their two bytes of value in the place of a size


class CubinError(Exception):
    """These bytes are no cubin."""


class Cubin:
    def __init__(self, data):
        if data[:4] != b"\x7fELF" or data[4] != 2:
            raise CubinError("not a 64-bit ELF file")
        offset, = struct.unpack_from("<Q", data, 0x28)
        size, count, names = struct.unpack_from("<HHH", data, 0x3A)
        headers = [struct.unpack_from("<IIQQQQ", data, offset + i * size) for i in range(count)]
        base = headers[names][4]
        self.sections = {}
        for name, kind, _, _, start, length in headers:
            end = data.index(b"\0", base + name)
            body = b"" if kind == 8 else data[start:start + length]
            self.sections[data[base + name:end].decode()] = body

    def kernels(self):
        return sorted(n[len(".text."):] for n in self.sections if n.startswith(".text."))

    def code(self):
        """Machine code by section: what is compared between chips."""
        return {n: b for n, b in self.sections.items() if n.startswith((".text.", ".nv.constant2"))}

    def instructions(self, kernel):
        """How many there are in the kernel's code, of 16 bytes each; what fills up its last line among them."""
        return len(self.sections[f".text.{kernel}"]) // INSTRUCTION

    def maker(self):
        """The version of the ptxas that wrote this, such as 13.0.88."""
        found = re.search(rb"V(\d+(?:\.\d+)+)", self.sections.get(".note.nv.tkinfo", b""))
        return found[1].decode() if found else "unknown"

    def params(self, kernel):
        """[(offset, size)] in order."""
        info, at, found = self.sections.get(f".nv.info.{kernel}", b""), 0, {}
        while at + 4 <= len(info):
            form, attribute, value = struct.unpack_from("<BBH", info, at)
            at += 4
            if form != FORMAT_SIZED:
                continue
            if attribute == PARAM_INFO:
                _, ordinal, offset, word = struct.unpack_from("<IHHI", info, at)
                found[ordinal] = (offset, word >> 18)
            at += value
        return [found[k] for k in sorted(found)]
