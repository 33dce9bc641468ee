# SPDX-License-Identifier: Apache-2.0
# How a kernel is launched, as its header says it: the lines `flags`, `grid`, `cluster`, and the C++ they become.
# Called by header.py, expand.py and table.py. Knows nothing of files.
"""The grid of a launch, its clusters, and the bits of its flags."""

import ast
import math
import re
from dataclasses import dataclass

from expression import evaluate

CHOSEN = "?"  # a dimension that no parameter tells: the plan gives it
DIMENSIONS = "xyz"
MOST_BLOCKS = (2**31 - 1, 65535, 65535)  # of a launch in each dimension
MOST_OF_CLUSTER = 8  # blocks, on every chip


@dataclass(frozen=True)
class Flag:
    """Some bits of the parameter `flags`."""
    name: str
    at: int
    bits: int

    @property
    def mask(self):
        return ((1 << self.bits) - 1) << self.at


def parse_flags(text):
    """[Flag] of `log:8 activation:4-6`. Raises ValueError with a sentence."""
    flags, taken = [], 0
    for word in text.split():
        match = re.fullmatch(r"([a-z][a-z0-9_]*):(\d+)(?:-(\d+))?", word)
        if not match:
            raise ValueError(f"'{word}': write name:bit or name:first-last")
        first, last = int(match[2]), int(match[3] or match[2])
        if not first <= last <= 31:
            raise ValueError(f"'{word}': bits are 0 to 31, the lower first")
        flag = Flag(match[1], first, last - first + 1)
        if flag.mask & taken or any(f.name == flag.name for f in flags):
            raise ValueError(f"'{word}' is given twice, or a bit of it")
        taken |= flag.mask
        flags.append(flag)
    return tuple(flags)


def flag_macros(flags):
    """{name: value} for kernels: FLAG_X is the mask in its place, FLAG_X_AT and FLAG_X_BITS are what bfe takes."""
    result = {}
    for flag in flags:
        name = f"FLAG_{flag.name.upper()}"
        result[name] = flag.mask
        if flag.bits > 1:
            result[f"{name}_AT"], result[f"{name}_BITS"] = flag.at, flag.bits
    return result


def flags_struct(struct, flags):
    """Lines of C++: the flags by name, and what the parameter holds of them."""
    bits = " | ".join(f"({f.name} & {(1 << f.bits) - 1}u) << {f.at}" for f in flags)
    return [f"struct {struct} {{", *(f"    uint32_t {f.name} = 0;" for f in flags),
            f"    constexpr operator uint32_t() const {{ return {bits}; }}", "};"]


def parse_grid(text, params, constants):
    """The dimensions of `ceil(m,TM)*ceil(n,TN) batch ?` in C++, CHOSEN where the plan says. Raises ValueError."""
    words = text.split()
    if not 1 <= len(words) <= len(DIMENSIONS):
        raise ValueError("write one to three dimensions, without blanks inside one")
    return tuple(CHOSEN if word == CHOSEN else _in_cpp(word, params, constants) for word in words)


def _in_cpp(text, params, constants):
    def walk(node):
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return f"int64_t{{{node.value}}}"
        if isinstance(node, ast.Name) and node.id == "BLOCK":
            return "int64_t{block}"
        if isinstance(node, ast.Name) and node.id in constants:
            return f"int64_t{{{node.id}}}"
        if isinstance(node, ast.Name) and node.id in params:
            return f"static_cast<int64_t>(p.{node.id})"
        if isinstance(node, ast.Name):
            raise ValueError(f"'{node.id}' is neither a parameter nor a constant of every variant")
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div)):
            sign = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}[type(node.op)]
            return f"({walk(node.left)} {sign} {walk(node.right)})"
        if isinstance(node, ast.Call) and len(node.args) == 2 and getattr(node.func, "id", "") in FUNCTIONS:
            return f"{FUNCTIONS[node.func.id]}({walk(node.args[0])}, {walk(node.args[1])})"
        raise ValueError(f"'{text}': only parameters, constants, BLOCK, integers, + - * / and ceil(a,b), min(a,b), "
                         "max(a,b) are allowed")

    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError:
        raise ValueError(f"'{text}' is not an expression") from None
    return walk(tree.body)


def parse_cluster(text, constants):
    """(x, y, z) of `CX 2`, () of nothing. Raises ValueError."""
    words = text.split()
    if len(words) > len(DIMENSIONS):
        raise ValueError("write one to three dimensions, without blanks inside one")
    size = tuple(evaluate(word, constants) for word in words)
    if any(n < 1 for n in size) or math.prod(size) > MOST_OF_CLUSTER:
        raise ValueError(f"{' x '.join(map(str, size))} blocks: at least 1 along each dimension and {MOST_OF_CLUSTER} "
                         "in all")
    return size and size + (1,) * (len(DIMENSIONS) - len(size))


FUNCTIONS = {"ceil": "ceil_div", "min": "std::min", "max": "std::max"}


def grid_function(grid, clusters):
    """Lines of C++: the member of a kernel's type that makes the grid of a launch, in whole clusters if it has some."""
    asked = [f", int64_t {axis}" for axis, size in zip(DIMENSIONS, grid) if size == CHOSEN]
    sizes = [axis if size == CHOSEN else size for axis, size in zip(DIMENSIONS, grid)]
    made = f"make_grid({', '.join(sizes)})"
    if clusters:
        made = f"whole_clusters({made}, cluster)"
    return [f"    constexpr Grid grid([[maybe_unused]] const Params& p{''.join(asked)}) const {{",
            f"        return {made};", "    }"]
