#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants a race for every width and kind of access to shared memory, beside its twin that is in order.

    races.py [--keep FOLDER] [arguments of run.py]

Writes the kernels, faults into defects/ and twins into right/, and runs them as run.py runs those folders. For each
access: two lanes of one instruction meet; a plain access of a word by another warp, or by another lane of the same
warp, before or after it, meets its last word; it meets itself. Twins: the same with a barrier (of the block, of the
warp), lanes that write the same, and neighbours that only touch.

Then data handed over by a flag: every way to raise one with every way to wait for it, of which one that releases with
one that acquires is in order, and all others are not.
"""
import argparse
import pathlib
import sys
import tempfile

import run

FRAME = """// SPDX-License-Identifier: Apache-2.0
//! block 64
//! in a u32[1024] = iota
//! out d u32[64]
{verdict}
.version 8.8
.target sm_90
.address_size 64

.visible .entry k(.param .u64 a, .param .u64 d) {{
    .shared .align 16 .b8 s[4096];
    .reg .b32 t, lane, at, val, same, r<8>;
    .reg .b64 src, from, x<4>, wide, out;
    .reg .b128 q;
    .reg .pred first, second, lead, none;
    mov.u32 t, %tid.x;
    and.b32 lane, t, 31;
    setp.lt.u32 first, t, 32;
    setp.ge.u32 second, t, 32;
    ld.param.u64 src, [a];
    ld.param.u64 out, [d];
    mad.wide.u32 out, t, 4, out;
    mov.u32 same, 7;
    mov.u32 at, s;
    mad.lo.u32 at, t, 64, at;
    st.shared.v4.b32 [at], {{same, same, same, same}};
    st.shared.v4.b32 [at+16], {{same, same, same, same}};
    st.shared.v4.b32 [at+32], {{same, same, same, same}};
    st.shared.v4.b32 [at+48], {{same, same, same, same}};
    bar.sync 0;
{body}    st.global.u32 [out], same;
    ret;
}}
"""


class Access:
    """One kind: its bytes, what it does, and its lines at the shared address `at`; `!` marks the access itself."""

    def __init__(self, name, width, kind, *lines):
        self.name, self.width, self.kind, self.lines = name, width, kind, lines

    def writes(self):
        return self.kind != "read"

    def text(self, on):
        out = []
        for line in self.lines:
            fault = line.startswith("!")
            out.append(f"    {on}{line.lstrip('!')};{' // FAULT' if fault else ''}\n")
        return "".join(out)


def stores():
    wide = "mov.b64 wide, {same, val}"
    for width in (1, 2, 4):
        yield Access(f"st_b{8 * width}", width, "write", f"!st.shared.b{8 * width} [at], val")
        yield Access(f"st_v2_b{8 * width}", 2 * width, "write", f"!st.shared.v2.b{8 * width} [at], {{same, val}}")
        yield Access(f"st_v4_b{8 * width}", 4 * width, "write",
                     f"!st.shared.v4.b{8 * width} [at], {{same, same, same, val}}")
        yield Access(f"st_wide_b{8 * width}", width, "write", "cvt.u64.u32 wide, val",
                     f"!st.shared.u{8 * width} [at], wide")
        yield Access(f"st_generic_b{8 * width}", width, "write", "cvt.u64.u32 x0, at", "cvta.shared.u64 x0, x0",
                     f"!st.b{8 * width} [x0], val")
    yield Access("st_b64", 8, "write", wide, "!st.shared.b64 [at], wide")
    yield Access("st_v2_b64", 16, "write", wide, "mov.u64 x1, 0", "!st.shared.v2.b64 [at], {x1, wide}")
    yield Access("st_b128", 16, "write", wide, "mov.u64 x1, 0", "mov.b128 q, {x1, wide}", "!st.shared.b128 [at], q")
    yield Access("st_generic_v4", 16, "write", "cvt.u64.u32 x0, at", "cvta.shared.u64 x0, x0",
                 "!st.v4.b32 [x0], {same, same, same, val}")
    for count, registers in ((1, "val"), (2, "val, val"), (4, "val, val, val, val")):
        yield Access(f"stmatrix_x{count}", 16, "write",
                     f"!stmatrix.sync.aligned.m8n8.x{count}.shared.b16 [at], {{{registers}}}")


def copies():
    for width, cache in ((4, "ca"), (8, "ca"), (16, "ca"), (16, "cg")):
        yield Access(f"cp_async_{cache}{width}", width, "copy", "mad.wide.u32 from, val, 16, src",
                     f"!cp.async.{cache}.shared.global [at], [from], {width}", "cp.async.wait_all")


def loads():
    for width in (1, 2, 4):
        yield Access(f"ld_b{8 * width}", width, "read", f"!ld.shared.b{8 * width} r0, [at]", "add.u32 r0, r0, r0")
        yield Access(f"ld_v2_b{8 * width}", 2 * width, "read", f"!ld.shared.v2.b{8 * width} {{r0, r1}}, [at]")
        yield Access(f"ld_v4_b{8 * width}", 4 * width, "read",
                     f"!ld.shared.v4.b{8 * width} {{r0, r1, r2, r3}}, [at]")
        yield Access(f"ld_generic_b{8 * width}", width, "read", "cvt.u64.u32 x0, at", "cvta.shared.u64 x0, x0",
                     f"!ld.b{8 * width} r0, [x0]")
    yield Access("ld_b64", 8, "read", "!ld.shared.b64 x1, [at]")
    yield Access("ld_v2_b64", 16, "read", "!ld.shared.v2.b64 {x1, x2}, [at]")
    yield Access("ld_b128", 16, "read", "!ld.shared.b128 q, [at]")
    yield Access("ld_generic_b128", 16, "read", "cvt.u64.u32 x0, at", "cvta.shared.u64 x0, x0", "!ld.b128 q, [x0]")
    for count, registers in ((1, "r0"), (2, "r0, r1"), (4, "r0, r1, r2, r3")):
        for trans in ("", ".trans"):
            yield Access(f"ldmatrix_x{count}{trans[:2].replace('.', '_')}", 16, "read",
                         f"!ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {{{registers}}}, [at]")


def atomics():
    yield Access("atom_add_u32", 4, "atomic", "!atom.shared.add.u32 r0, [at], val")
    yield Access("atom_add_u64", 8, "atomic", "cvt.u64.u32 wide, val", "!atom.shared.add.u64 x1, [at], wide")
    yield Access("atom_cas_b16", 2, "atomic", "!atom.shared.cas.b16 h0, [at], h1, h1")
    yield Access("atom_exch_b64", 8, "atomic", "cvt.u64.u32 wide, val", "!atom.shared.exch.b64 x1, [at], wide")
    yield Access("red_add_u32", 4, "atomic", "!red.shared.add.u32 [at], val")
    yield Access("red_add_f16x2", 4, "atomic", "!red.shared.add.noftz.f16x2 [at], val")
    yield Access("atom_generic", 4, "atomic", "cvt.u64.u32 x0, at", "cvta.shared.u64 x0, x0",
                 "!atom.add.u32 r0, [x0], val")


PLAIN = [Access("st", 4, "write", "!st.shared.u32 [at], val"), Access("ld", 4, "read", "!ld.shared.u32 r7, [at]")]


def place(on, index, stride, offset=0):
    """`at` of each lane; `index` is a register."""
    return f"    {on}mov.u32 at, s;\n    {on}mad.lo.u32 at, {index}, {stride}, at;\n" + (
        f"    {on}add.u32 at, at, {offset};\n" if offset else "")


def one_instruction(access, sharing, value):
    """Lanes that share an address: all of them, or two and two."""
    return (f"    shr.u32 r6, lane, {sharing};\n" + place("@first ", "r6", access.width) +
            f"    mov.u32 val, {value};\n" + access.text("@first "))


def two_warps(one, other, stride, offsets, barrier):
    """Warp 0 makes one access, warp 1 the other, each at its offset into the lane's bytes."""
    return ("    mov.u32 val, 5;\n" + place("", "lane", stride, offsets[0]) + one.text("@first ") +
            ("    bar.sync 0;\n" if barrier else "") +
            place("", "lane", stride, offsets[1]) + other.text("@second "))


def two_lanes(one, other, stride, offsets, sync):
    """Each lane of warp 0 makes one access to its own place, then the other to its neighbour's."""
    return ("    mov.u32 val, 5;\n    xor.b32 r5, lane, 1;\n" + place("", "lane", stride, offsets[0]) +
            one.text("@first ") + ("    bar.warp.sync 0xffffffff;\n" if sync else "") +
            place("", "r5", stride, offsets[1]) + other.text("@first "))


# How lane 0 raises the flag at `at`: does the data come before it? And how a lane waits for it.
RAISE = [
    ("release", True, "st.release.cta.shared.u32 [at], val"),
    ("release_gpu", True, "st.release.gpu.shared.u32 [at], val"),
    ("fence_relaxed", True, "fence.acq_rel.cta", "st.relaxed.cta.shared.u32 [at], val"),
    ("membar_volatile", True, "membar.cta", "st.volatile.shared.u32 [at], val"),
    ("membar_exch", True, "membar.gl", "atom.shared.exch.b32 r1, [at], val"),
    ("atom_release", True, "atom.release.cta.shared.exch.b32 r1, [at], val"),
    ("red_release", True, "red.release.cta.shared.add.u32 [at], val"),
    ("relaxed", False, "st.relaxed.cta.shared.u32 [at], val"),
    ("volatile", False, "st.volatile.shared.u32 [at], val"),
    ("exch", False, "atom.shared.exch.b32 r1, [at], val"),
    ("fence_after", False, "st.volatile.shared.u32 [at], val", "membar.cta"),
    ("plain", False, "membar.cta", "st.shared.u32 [at], val"),
    ("release_elsewhere", False, "st.release.cta.shared.u32 [at+4], val", "st.relaxed.cta.shared.u32 [at], val"),
    ("atom_release_elsewhere", False, "atom.release.cta.shared.exch.b32 r1, [at+4], val",
     "st.relaxed.cta.shared.u32 [at], val"),
]
AWAIT = [
    ("acquire", True, "ld.acquire.cta.shared.u32 r2, [at]", ""),
    ("relaxed_fence", True, "ld.relaxed.cta.shared.u32 r2, [at]", "fence.acq_rel.cta"),
    ("volatile_membar", True, "ld.volatile.shared.u32 r2, [at]", "membar.cta"),
    ("atom_membar", True, "atom.shared.or.b32 r2, [at], 0", "membar.gl"),
    ("atom_acquire", True, "atom.acquire.cta.shared.add.u32 r2, [at], 0", ""),
    ("relaxed", False, "ld.relaxed.cta.shared.u32 r2, [at]", ""),
    ("volatile", False, "ld.volatile.shared.u32 r2, [at]", ""),
    ("atom", False, "atom.shared.add.u32 r2, [at], 0", ""),
    ("acquire_elsewhere", False, "ld.relaxed.cta.shared.u32 r2, [at]", "ld.acquire.cta.shared.u32 r1, [at+4]"),
]


def hand_over(raising, waiting, gather=True, alone=False, meet=True):
    """Warp 0 writes words and lane 0 raises the flag; warp 1 waits (its first lane, or all) and reads the words."""
    flag = "    setp.eq.u32 lead, lane, 0;\n    mov.u32 val, 1;\n"
    flag += place("", "lane", 4) + "    @second bra.uni wait;\n    st.shared.u32 [at], t; // FAULT\n"
    flag += "    bar.warp.sync 0xffffffff;\n" if gather else ""
    flag += "    mov.u32 at, s;\n    add.u32 at, at, 2048;\n    @!lead bra done;\n"
    flag += "".join(f"    {line}; // FAULT\n" for line in raising) + "    bra done;\nwait:\n"
    flag += "    mov.u32 at, s;\n    add.u32 at, at, 2048;\n"
    flag += "    @!lead bra go;\n" if alone else ""
    flag += f"spin:\n    {waiting[0]}; // FAULT\n    setp.eq.u32 none, r2, 7;\n    @none bra spin;\n"
    flag += f"    {waiting[1]};\n" if waiting[1] else ""
    flag += "go:\n" + ("    bar.warp.sync 0xffffffff;\n" if alone and meet else "") + place("", "lane", 4)
    return flag + "    ld.shared.u32 same, [at]; // FAULT\ndone:\n"


def hand_overs():
    """(folder, name, verdict, body) of data behind a flag, which holds 7 before it is raised."""
    clean, fault = "//! clean", "//! must-report race"
    good = {"raise": [RAISE[0], RAISE[3]], "await": [AWAIT[0], AWAIT[2]]}
    for raising in RAISE:
        for waiting in AWAIT:
            right = raising[1] and waiting[1]
            if not (raising[1] or waiting[1]) or (not right and raising not in good["raise"] and
                                                  waiting not in good["await"]):
                continue
            yield ("right" if right else "defects", f"flag_{raising[0]}__{waiting[0]}", clean if right else fault,
                   hand_over(raising[2:], waiting[2:]))
    for raising in good["raise"]:
        for waiting in good["await"]:
            name = f"flag_{raising[0]}__{waiting[0]}"
            yield "defects", f"{name}_lanes_not_met", fault, hand_over(raising[2:], waiting[2:], gather=False)
            yield "right", f"{name}_one_waits", clean, hand_over(raising[2:], waiting[2:], alone=True)
            alone = hand_over(raising[2:], waiting[2:], alone=True, meet=False)
            yield "defects", f"{name}_one_waits_alone", fault, alone


def kernels():
    """(folder, name, verdict, body)"""
    yield from hand_overs()
    fault, clean = "//! must-report race|async", "//! clean"
    everything = [*stores(), *copies(), *loads(), *atomics()]
    for access in everything:
        if access.writes():
            allowed = access.kind == "atomic"
            folder, verdict = ("right", clean) if allowed else ("defects", fault)
            for sharing, who in ((1, "pairs"), (5, "all")):
                yield folder, f"{access.name}_lanes_{who}", verdict, one_instruction(access, sharing, "lane")
                if not access.name.startswith("stmatrix"):
                    yield "right", f"{access.name}_same_{who}", clean, one_instruction(access, sharing, "r6")
            yield "right", f"{access.name}_own", clean, one_instruction(access, 0, "lane")
        stride = 2 * access.width
        others = [(plain, access.width - 4) for plain in PLAIN if access.width >= 4]
        pairs = [("before_itself", access, access, (0, 0))]
        pairs += [(f"before_{plain.name}", access, plain, (0, last)) for plain, last in others]
        pairs += [(f"after_{plain.name}", plain, access, (last, 0)) for plain, last in others]
        for order, one, two, offsets in pairs:
            meet = (one.writes() or two.writes()) and not (one.kind == two.kind == "atomic")
            body = two_warps(one, two, stride, offsets, False)
            yield "defects" if meet else "right", f"{access.name}_{order}", fault if meet else clean, body
            yield "right", f"{access.name}_{order}_barrier", clean, two_warps(one, two, stride, offsets, True)
        for order, one, two, offsets in pairs:
            meet = (one.writes() or two.writes()) and not (one.kind == two.kind == "atomic")
            body = two_lanes(one, two, stride, offsets, False)
            yield "defects" if meet else "right", f"{access.name}_{order}_lane", fault if meet else clean, body
            yield "right", f"{access.name}_{order}_warp_sync", clean, two_lanes(one, two, stride, offsets, True)
        beside = two_warps(access, access, stride, (0, access.width), False)
        yield "right", f"{access.name}_beside_itself", clean, beside


def write(folder):
    for kind in ("defects", "right"):
        (folder / kind).mkdir(parents=True, exist_ok=True)
    count = 0
    for kind, name, verdict, body in kernels():
        text = FRAME.format(verdict=verdict, body=body)
        if "h0" in body:
            text = text.replace("    .reg .b128 q;", "    .reg .b16 h<2>;\n    .reg .b128 q;").replace(
                "    mov.u32 same, 7;", "    mov.u32 same, 7;\n    mov.b16 h1, 7;")
        (folder / kind / f"{name}.ptx").write_text(text)
        count += 1
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=pathlib.Path, help="leave the kernels here")
    args, rest = parser.parse_known_args()
    with tempfile.TemporaryDirectory(prefix="races-") as scratch:
        folder = args.keep or pathlib.Path(scratch)
        print(f"{write(folder)} kernels")
        sys.argv = ["run.py", *rest, str(folder / "defects"), str(folder / "right")]
        return run.main()


if __name__ == "__main__":
    sys.exit(main())
