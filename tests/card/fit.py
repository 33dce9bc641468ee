#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes emu/num/mufu_segments.inc from what sweep.py brought from a card of compute capability 9.0.

    fit.py SWEEP_DIR OUT        needs numpy

The card computes c0 + c1 low + c2 square(low) of a segment, cut to a float: published work on such units gives the
shape (table, truncated squarer, one sum), the sweep the widths and every number. With the squarer known, c1 and c2
are what least squares say, rounded to their grid, and c0 is the one value for which no input of the segment differs;
if there is none the fit fails.
"""
import pathlib
import sys
import zipfile

import numpy

import sweep

LOW = 1 << 17      # places of a segment
X = numpy.arange(LOW)


def square(low):
    """low^2 / 2^19 of the 17 bits of `low`, but without the products of bits that stand for less than 1."""
    high, rest = low >> 9, low & 511
    total = (high * high) >> 1
    for i in range(1, 8):
        total += (high >> (8 - i) & 1) * (rest >> (i + 1))
    return total


S = square(X)


def segment(y, step, c1_grid, c2_grid, first):
    """c1, c2 and the least and largest c0, all in 2^-17 of the unit of y, for which y <= c0 + .. < y + step."""
    x, s = X[::LOW // len(y)], S[::LOW // len(y)]
    c1, c2 = numpy.linalg.lstsq(numpy.stack([x / LOW, s / 32768.0, numpy.ones(len(x))], 1),
                                y + (step - 1) / 2 - y[0], rcond=None)[0][:2]
    c1, c2 = int(numpy.rint(c1 / c1_grid)) * c1_grid, int(numpy.rint(4 * c2 / c2_grid)) * c2_grid
    rest = (y * LOW - c1 * x - c2 * s)[first:]
    low, high = int(rest.max()), int((rest + LOW * step[first:]).min())
    if low >= high:
        raise SystemExit(f"fit.py: no c0 for y[0] = {y[0]}, c1 = {c1}, c2 = {c2}: off by {(low - high) / LOW}")
    return c1, c2, low, high


def integers(bits, unit, scale=1):
    """Results as whole multiples of 2^unit, cut, and the distance to the next larger result."""
    bits = bits.astype(numpy.int64)
    exponent, significand = (bits >> 23) - 150 - unit, bits & 0x7fffff | 1 << 23
    up, down = numpy.maximum(exponent, 0), numpy.minimum(numpy.maximum(-exponent, 0), 40)
    return numpy.where(bits == 0, 0, significand << up >> down), 1 << up


def function(name, unit, parts, grids, length=LOW, but_first=False):
    """Lines of a table: segments of so many inputs in units of the grids of c0, c1 and c2 (those in 2^-17, 1 and 1/4 of
    the unit of y, 2^unit), and the bias: the part of every c0 that lies below its grid."""
    found = [segment(y[k:k + length], step[k:k + length], *grids[1:], int(but_first and k == 0 and part == 0))
             for part, (y, step) in enumerate(parts) for k in range(0, len(y), length)]
    bias = max(low % grids[0] for _, _, low, _ in found)
    rows = []
    for c1, c2, low, high in found:
        c0 = low // grids[0]
        if not low <= c0 * grids[0] + bias < high:
            raise SystemExit(f"fit.py: {name}: no common bias")
        rows.append(f"{{{c0}, {c1 // grids[1]}, {c2 // grids[2]}}}")
    print(f"{name}: {len(rows)} segments, bias {bias}, c0 to {max(low // grids[0] for _, _, low, _ in found)}")
    lines, line = [], f"SEGMENTS({name}, {unit}, {bias}, {', '.join(map(str, grids))},"
    for i, row in enumerate(rows):
        row += ")" if i + 1 == len(rows) else ","
        if len(line) + 1 + len(row) > 119:
            lines, line = [*lines, line], "   "
        line += " " + row
    return [*lines, line]


class Sweep:
    def __init__(self, folder):
        self.members = {}
        for path in sorted(pathlib.Path(folder).glob("sweep-*.zip")):
            file = zipfile.ZipFile(path)
            self.members |= {name: file for name in file.namelist()}

    def member(self, name):
        return self.members[name].read(name)

    def full(self, function, first):
        return sweep.unpack(self.member(f"full/{function}/{first:08x}"))

    def binade(self, function, exponent, unit, take=1):
        return integers(self.full(function, exponent + 127 << 23)[::take], unit)


def quarter_turn(data):
    """sin of each multiple of 2^-25 of a turn below a quarter, in units of 2^-24; from sin, and cos for some."""
    table = numpy.full(1 << 23, -1, numpy.int64)
    factor = float(numpy.float32(0.15915493667125702))
    for function, mirror in (("sin.ftz", False), ("cos.ftz", True)):
        for exponent in (-12, -10, -8, *range(-7, 3)):
            x = (numpy.arange(sweep.BINADE) + (exponent + 127 << 23)).astype(numpy.uint32).view(numpy.float32)
            product = (x.astype(float) * factor).view(numpy.uint64) & numpy.uint64(~0x1fffffff & (1 << 64) - 1)
            place = numpy.floor(product.view(float) * 2.0**25).astype(numpy.int64)
            near = place < 1 << 23
            at = place[near]
            table[(1 << 23) - 1 - at if mirror else at] = integers(
                data.full(function, exponent + 127 << 23)[near], -24)[0]
    assert (table >= 0).all()
    return table, numpy.ones(1 << 23, numpy.int64)


def tanh_parts(data):
    """One binade after the other, its inputs cut to the bits that count; units of the last bit of the result."""
    places = {-8: 1, -7: 1, -6: 1, -5: 2, -4: 2, -3: 4, -2: 4, -1: 4, 0: 8, 1: 16, 2: 8}
    return [data.binade("tanh", e, min(e, 0) - 24, 64 // count) for e, count in places.items()]


def main():
    data = Sweep(sys.argv[1])
    lines = ["// SPDX-License-Identifier: Apache-2.0",
             "// Written by tests/card/fit.py from a sweep of an NVIDIA H200. SEGMENTS(function, last place, bias,",
             "// grids of c0, c1 and c2, {c0, c1, c2}...): see mufu.cpp."]
    lines += function("rcp", -24, [data.binade("rcp.ftz", 0, -24)], (1 << 15, 2, 4), LOW // 2)
    lines += function("rsqrt", -24, [data.binade("rsqrt.ftz", e, -24) for e in (0, 1)], (1 << 15, 2, 8),
                      but_first=True)
    lines += function("sqrt", -23, [data.binade("sqrt.ftz", e, -23) for e in (0, 1)], (1 << 15, 1, 2))
    lines += function("ex2", -23, [data.binade("ex2.ftz", 0, -22)], (1 << 15, 4, 4))
    y, step = data.binade("lg2.ftz", 1, -23)  # from 1 to 2
    lines += function("lg2", -23, [(y - (1 << 23), step)], (1 << 14, 4, 8))
    lines += function("sin", -24, [quarter_turn(data)], (1 << 16, 16, 16))
    lines += function("tanh", -24, tanh_parts(data), (1 << 17, 4, 8))
    pathlib.Path(sys.argv[2]).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
