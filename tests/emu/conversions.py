#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Conversions between integers and floats, in every rounding, against exact fractions.

    conversions.py [--keep FOLDER] [arguments of run.py]

One kernel for each pair of types and each direction, which converts what lies at and beside the edges of both
(powers of two, halves, ties, the ends of the integer, subnormals, infinities, NaN) and drawn numbers; what must come
out is counted here in integers and fractions. `--driver gpu` asks a card.
"""
import argparse
import math
import pathlib
import random
import sys
import tempfile
from fractions import Fraction

import run

VALUES = 512
INTEGERS = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"]
FLOATS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}  # bits of exponent and of mantissa
KERNEL = """// SPDX-License-Identifier: Apache-2.0
//! grid {blocks} block 128
//! in a u64[{count}] = {values}
{results}
.version 8.0
.target sm_{chip}
.address_size 64

.visible .entry k(.param .u64 a, {params}) {{
    .reg .b32 t, b, narrow;
    .reg .b64 from, to, at, wide;
    .reg .{source_reg} x;
    .reg .{result_reg} y;
    mov.u32 t, %tid.x;
    mov.u32 b, %ctaid.x;
    mad.lo.u32 t, b, 128, t;
    mul.wide.u32 at, t, 8;
    ld.param.u64 from, [a];
    add.u64 from, from, at;
    ld.global.{load} x, [from];
{body}    ret;
}}
"""


class Float:
    def __init__(self, name):
        exponent, self.mantissa = FLOATS[name]
        self.name = name
        self.width = 1 + exponent + self.mantissa
        self.bias = (1 << exponent - 1) - 1
        self.special = (1 << exponent) - 1  # the exponent of infinities and NaN

    def sign(self):
        return 1 << self.width - 1

    def infinity(self):
        return self.special << self.mantissa

    def value(self, bits):
        """A fraction, or "nan", "inf", "-inf"."""
        negative, bits = bits & self.sign(), bits & self.sign() - 1
        if bits >= self.infinity():
            return "nan" if bits > self.infinity() else "-inf" if negative else "inf"
        exponent, fraction = bits >> self.mantissa, bits & (1 << self.mantissa) - 1
        if exponent:
            fraction += 1 << self.mantissa
        size = Fraction(fraction) * power(max(exponent, 1) - self.bias - self.mantissa)
        return -size if negative else size

    def bits(self, value, rounding):
        """The float of a fraction, rounded."""
        sign, size = (self.sign() if value < 0 else 0), abs(value)
        if not size:
            return 0
        exponent = size.numerator.bit_length() - size.denominator.bit_length()  # or one more than that of the size
        exponent = max(exponent - (power(exponent) > size), 1 - self.bias)
        if value < 0:
            rounding = {"rm": "rp", "rp": "rm"}.get(rounding, rounding)
        steps = rounded(size * power(self.mantissa - exponent), rounding)
        bits = steps + ((exponent + self.bias - 1) << self.mantissa)
        if bits >= self.infinity():
            bits = self.infinity() - (rounding in ("rz", "rm"))
        return sign | bits

    def edges(self):
        """Where floats, or integers made of them, change."""
        out = [0, 1, 2, (1 << self.mantissa) - 1, 1 << self.mantissa, self.infinity() - 1, self.infinity()]
        out += [self.infinity() + 1, self.infinity() | 1 << self.mantissa - 1, self.sign() - 1]
        for exponent in (-1, 0, 1, 2, 7, 8, 15, 16, 23, 24, 31, 32, 52, 53, 62, 63, 64, 65):
            for offset in (0, 1, -1, *(Fraction(n, 1024) for n in (512, -512, 1536, 256, -1))):
                at = self.bits(power(exponent) + offset, "rn") & self.sign() - 1
                out += [at, at + 1, max(at - 1, 0)]
        return out

    def drawn(self, draw):
        """Of any size, or, as often, about as large as integers are."""
        bits = draw.getrandbits(self.width)
        if draw.random() < 0.5:
            exponent = min(self.bias + draw.randint(-2, 65), self.special)
            bits = bits & (self.sign() | (1 << self.mantissa) - 1) | exponent << self.mantissa
        return bits


def power(exponent):
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def rounded(value, rounding):
    """A fraction to an integer."""
    return {"rn": round, "rz": math.trunc, "rm": math.floor, "rp": math.ceil}[rounding](value)


def width_of(integer):
    return int(integer[1:])


def ends(integer):
    width = width_of(integer)
    return (-(1 << width - 1), (1 << width - 1) - 1) if integer[0] == "s" else (0, (1 << width) - 1)


def to_integer(bits, form, integer, rounding, flush):
    value = form.value(bits)
    low, high = ends(integer)
    if value == "nan":  # as the PTX manual says it
        wide = form.name == "f64" or width_of(integer) == 64
        number = 1 << width_of(integer) - 1 if wide else 0
        number -= (number > high) << width_of(integer)
    elif value in ("inf", "-inf"):
        number = high if value == "inf" else low
    else:
        if flush and abs(value) < power(1 - form.bias):
            value = Fraction(0)
        number = min(max(rounded(value, rounding), low), high)
    return number & (1 << int(holder(integer)[1:])) - 1


def to_float(bits, integer, form, rounding, saturate):
    low, high = ends(integer)
    number = bits - (bits > high) * (1 << width_of(integer)) if low else bits
    return form.bits(Fraction(min(max(number, 0), 1) if saturate else number), rounding)


def integers(integer, draw):
    width = width_of(integer)
    out = [0, 1]
    for exponent in range(1, width + 1):
        for offset in (-1, 0, 1):
            out += [(1 << exponent) + offset, -(1 << exponent) + offset]
    for digits in (8, 11, 24, 53):  # ties of each float, and what is beside them
        for shift in range(1, width - digits + 1):
            for odd in (0, 1):
                tie = ((1 << digits - 1) + odd << shift) + (1 << shift - 1)
                out += [tie, tie + 1, tie - 1, -tie, -tie + 1]
    draw.shuffle(out)
    out = [0, 1, -1, 1 << width - 1, (1 << width - 1) - 1, (1 << width) - 1] + out[: VALUES // 2]
    while len(out) < VALUES:
        out.append(draw.getrandbits(draw.randint(1, width)) * draw.choice((1, -1)))
    return [v & (1 << width) - 1 for v in out]


def floats(form, draw):
    out = form.edges()
    draw.shuffle(out)
    out = [form.infinity(), form.infinity() + 1, 1] + out[: VALUES // 3]
    out += [bits ^ form.sign() for bits in out]
    while len(out) < VALUES:
        out.append(form.drawn(draw))
    return out[:VALUES]


def kernel(values, load, source_reg, result_reg, forms, chip):
    """forms: (opcode, results)."""
    lines, params, body = [], [], ""
    wide = {"b64": "to_b64", "f64": "f64"}.get(result_reg)
    for number, (opcode, results) in enumerate(forms):
        name = f"d{number}"
        lines += [f"//! out {name} u64[{len(values)}]", f"//! expect {name} = {','.join(map(hex, results))}"]
        params.append(f".param .u64 {name}")
        body += f"    {opcode} y, x;\n"
        if wide:
            body += "    mov.b64 wide, y;\n"
        else:
            body += "    cvt.u32.u16 narrow, y;\n" if result_reg == "b16" else "    mov.b32 narrow, y;\n"
            body += "    cvt.u64.u32 wide, narrow;\n"
        body += f"    ld.param.u64 to, [{name}];\n    add.u64 to, to, at;\n    st.global.u64 [to], wide;\n"
    return KERNEL.format(blocks=len(values) // 128, count=len(values), values=",".join(map(hex, values)),
                         results="\n".join(lines), params=", ".join(params), source_reg=source_reg,
                         result_reg=result_reg, load=load, body=body, chip=chip)


def holder(kind):
    """The register of a type."""
    if kind in ("f32", "f64"):
        return kind
    return {"16": "b16", "64": "b64"}.get(kind[-2:], "b32")


def kernels():
    draw = random.Random(63)
    for name in FLOATS:
        form, chip = Float(name), 90 if name == "bf16" else 80
        for integer in INTEGERS:
            if name == "bf16" and integer in ("u8", "s8"):
                continue
            values, forms = floats(form, draw), []
            for rounding in ("rn", "rz", "rm", "rp"):
                for more in {"f32": ("", ".ftz", ".sat"), "bf16": ("",)}.get(name, ("", ".sat")):
                    results = [to_integer(v, form, integer, rounding, more == ".ftz") for v in values]
                    forms.append((f"cvt.{rounding}i{more}.{integer}.{name}", results))
            load = f"b{form.width}" if form.width == 16 else name
            yield f"{integer}_from_{name}", kernel(values, load, holder(name), holder(integer), forms, chip)
            values, forms = integers(integer, draw), []
            for rounding in ("rn", "rz", "rm", "rp"):
                for more in ("",) if name == "bf16" else ("", ".sat"):
                    results = [to_float(v, integer, form, rounding, more == ".sat") for v in values]
                    forms.append((f"cvt.{rounding}{more}.{name}.{integer}", results))
            yield f"{name}_from_{integer}", kernel(values, integer, holder(integer), holder(name), forms, chip)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=pathlib.Path, help="leave the kernels here")
    args, rest = parser.parse_known_args()
    with tempfile.TemporaryDirectory(prefix="conversions-") as scratch:
        folder = (args.keep or pathlib.Path(scratch)) / "insn"
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in kernels():
            (folder / f"{name}.ptx").write_text(text)
        sys.argv = ["run.py", *rest, str(folder)]
        return run.main()


if __name__ == "__main__":
    sys.exit(main())
