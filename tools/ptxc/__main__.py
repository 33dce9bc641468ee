# SPDX-License-Identifier: Apache-2.0
# The command line of the kernel compiler: `python3 tools/ptxc COMMAND`. Called by the build (generate, assemble,
# table), by tools/spark (list, new, expand, lint) and by people.
# Every command prints findings as file:line and returns 1 when there are any, 2 when it was called wrongly.
"""ptxc: kernel files in, checked and embedded code out."""

import argparse
import fnmatch
import json
import os
import sys
from pathlib import Path

import expand
import lint
import page
import scaffold
import table
from assemble import EVERY, AssembleError, assemble_all, find_variant, find_variants, write_depfile
from cubin import Cubin
from header import parse_tree
from images import fnv1a
from kernel_file import ARCHS, KINDS, HeaderError

ROOT = Path(__file__).resolve().parents[2] / "ptx"


def arch_list(text):
    """"120;90-virtual" -> {120: both kinds of image, 90: PTX alone}, as CMake's CUDA_ARCHITECTURES names them."""
    words = [w for w in text.replace(",", ";").split(";") if w]
    chips = {str(a): (a, KINDS) for a in ARCHS} | {f"{a}-virtual": (a, KINDS[1:]) for a in ARCHS}
    if not words or any(word not in chips for word in words):
        raise argparse.ArgumentTypeError(f"'{text}': chips are {', '.join(chips)}, separated by ; or ,")
    return dict(chips[word] for word in words)


def made(variant, results):
    """What the assembler made of the kernel, for the first of its chips."""
    arch = variant.archs[0]
    used = json.loads((results / f"{variant.name}.json").read_text(encoding="utf-8"))["regs"][str(arch)]
    code = Cubin((results / f"{variant.name}.{arch}.cubin").read_bytes()).instructions(variant.name)
    return f"  used {used:3}  instructions {code:5}"


def loops(variant, results):
    """The inner loop on each chip that the kernel was assembled for, a line each."""
    for arch in variant.archs:
        loop = page.loop_of(variant, results, arch)
        if loop is not None:
            ahead = loop.pop("ahead")
            kinds = ", ".join(f"{n} {kind}" for kind, n in loop.items() if kind != "all")
            print(f"    {arch / 10}: {loop['all']} in the inner loop: {kinds}"
                  f"{'' if ahead is None else f'; fragments {ahead} products ahead'}")


def cmd_list(args):
    variants = [(i, v) for i, v in enumerate(v for f in parse_tree(args.root) for v in f.variants)
                if fnmatch.fnmatchcase(v.name, args.kernels)]
    if args.json:
        print(json.dumps([{
            "name": v.name, "contract": v.contract, "way": v.way, "file": v.file.relative, "line": v.line,
            "family": v.file.family, "maths": v.maths, "id": f"0x{fnv1a(v.name.encode()):016x}", "index": i,
            "block": v.block, "smem": v.smem, "regs": v.regs, "ctas_per_sm": v.ctas_per_sm,
            "deterministic": v.deterministic, "order": v.order, "archs": list(v.archs), "axes": v.axes,
            "constants": v.constants, "limits": [str(l) for l in v.limits],
            "params": [{"name": p.name, "type": p.type, "offset": p.offset} for p in v.params.params]}
            for i, v in variants], indent=1))
        return 0
    width = max((len(v.name) for _, v in variants), default=0)
    for _, v in variants:
        print(f"{v.name:{width}}  block {v.block:4}  smem {v.smem:6}  regs {v.regs:3}"
              f"{made(v, args.results) if args.results else ''}  {v.file.relative}")
        if args.results and args.loops:
            loops(v, args.results)
    return 0


def cmd_expand(args):
    variant = find_variant(args.kernel, args.root, args.file)
    text, _ = expand.expand(variant, args.sm, args.root)
    sys.stdout.write(expand.pretty(text) if args.pretty else text)
    return 0


def cmd_generate(args):
    table.generate(parse_tree(args.root), args.out, args.archs)
    return 0


def cmd_assemble(args):
    if not args.ptxas:
        raise AssembleError("no assembler: give --ptxas FILE or set SPARK_PTXAS (CUDA 13.0 or newer)")
    variants = find_variants(args.kernels, args.root, args.file)
    read = assemble_all(variants, args.root, args.out, args.ptxas, args.archs, args.cache)
    if args.depfile:
        tool = sorted(str(p) for p in Path(__file__).parent.glob("*.py") if p.stem in BUILD_MODULES)
        write_depfile(args.depfile, Path(args.out).resolve() / f"{variants[0].name}.json", read + tool)
    return 0


# A change of these may change what is assembled; the other modules only report.
BUILD_MODULES = ("assemble", "capture", "cubin", "expand", "expression", "header", "macro", "rules", "source")


def cmd_table(args):
    text, images, testing = table.source_text(parse_tree(args.root), args.results, args.archs, args.cache)
    args.out.write_text(text, encoding="utf-8")
    args.out.with_name("spark_images.S").write_text(images, encoding="utf-8")
    if args.testing and testing is not None:
        args.testing.write_bytes(testing)
    return 0


def cmd_page(args):
    return page.run(args.root, args.results, args.check, args.cc)


def cmd_lint(args):
    return lint.run(args.root, args.cc, args.similar, args.results)


def cmd_new(args):
    return scaffold.run(args.root, args.name, args.family)


def parser(name):
    top = argparse.ArgumentParser(prog=name, description="The kernel compiler: reads ptx/, checks it, builds it.")
    top.add_argument("--root", type=Path, default=ROOT, help="the ptx folder (default: this tree's)")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name, function, words):
        sub = commands.add_parser(name, help=words, description=words[0].upper() + words[1:] + ".")
        sub.set_defaults(function=function)
        return sub

    def compiler(sub):
        sub.add_argument("--cc", default=os.environ.get("CC", "cc"), help="C compiler whose preprocessor is used")

    def cache(sub):
        sub.add_argument("--cache", type=Path, help="a folder that build folders share, so that nothing is made twice")

    def chips(sub):
        sub.add_argument("--archs", type=arch_list, default=EVERY,
                         help="chips to build for, such as '120;90-virtual' (of the second PTX alone)")

    sub = command("list", cmd_list, "print the kernels of the tree")
    sub.add_argument("kernels", nargs="?", default="*", help="a pattern of their names, such as 'softmax*'")
    sub.add_argument("--results", type=Path, help="folder with the NAME.json files: adds registers used, instructions")
    sub.add_argument("--loops", action="store_true", help="with --results: what inner loops are made of")
    sub.add_argument("--json", action="store_true", help="everything the headers say, as JSON")
    sub = command("expand", cmd_expand, "print the PTX of one kernel as the assembler sees it")
    sub.add_argument("kernel", help="a full name, such as gemm_bf16_any__generic")
    sub.add_argument("--file", type=Path, help="its file, which may stand outside of the ptx folder")
    sub.add_argument("--sm", type=int, choices=ARCHS, default=120, help="chip (default 120)")
    sub.add_argument("--pretty", action="store_true", help="one statement a line, for reading")
    sub = command("generate", cmd_generate, "write spark_kernels.h and kernels.cmake")
    sub.add_argument("--out", type=Path, required=True, help="folder for the results")
    chips(sub)
    sub = command("assemble", cmd_assemble, "build kernels and hold them against their headers")
    sub.add_argument("kernels", nargs="+", metavar="KERNEL", help="a full name")
    sub.add_argument("--file", type=Path, help="the file of them all, when known (saves the search)")
    sub.add_argument("--out", type=Path, required=True, help="folder for each NAME.json and the images")
    sub.add_argument("--depfile", type=Path, help="also write what was read, as a make rule")
    cache(sub)
    sub.add_argument("--ptxas", default=os.environ.get("SPARK_PTXAS"), help="the assembler (default: $SPARK_PTXAS)")
    chips(sub)
    sub = command("table", cmd_table, "write spark_kernels.cpp and spark_images.S from the results of assemble")
    sub.add_argument("--results", type=Path, required=True, help="folder with the NAME.json files")
    sub.add_argument("--out", type=Path, required=True, help="the file to write")
    sub.add_argument("--testing", type=Path, help="also write the images that are not in the library, to this file")
    cache(sub)
    chips(sub)
    sub = command("page", cmd_page, "write ptx/KERNELS.md and ptx/LOOPS.md")
    sub.add_argument("--results", type=Path, help="folder with the NAME.json files: fills in the registers used")
    sub.add_argument("--check", action="store_true", help="write nothing, fail when the page is out of date")
    compiler(sub)
    sub = command("lint", cmd_lint, "check names, sizes, layers, opcodes and rows of the kernel tree")
    sub.add_argument("--results", type=Path, help="kernels of a build: read where they are newer than the tree")
    sub.add_argument("--similar", action="store_true", help="also name pairs of kernel files that share most lines")
    compiler(sub)
    sub = command("new", cmd_new, "start a kernel file")
    sub.add_argument("name", help="the contract, such as gemm_bf16_tn, or family/contract; "
                                     "family/contract.WORD is another algorithm for it")
    sub.add_argument("--family", help="the folder (default: the first word of the name)")
    return top


def main(arguments=None):
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    first.add_argument("--as", dest="name", default="ptxc")  # the tool that calls, for help and complaints
    called, rest = first.parse_known_args(arguments)
    args = parser(called.name).parse_args(rest)
    try:
        return args.function(args)
    except (HeaderError, AssembleError, expand.ExpandError) as error:
        print(error, file=sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0


if __name__ == "__main__":
    sys.exit(main())
