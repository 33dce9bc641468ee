# SPDX-License-Identifier: Apache-2.0
# Kernel file + variant -> plain PTX: runs the C preprocessor and tidies its line markers, so that the text is the
# same whatever the compiler and wherever the build folder is. Called by assemble.py, lint.py and `ptxc expand`.
# Knows nothing of ptxas.
"""Expand one variant with the C preprocessor."""

import os
import re
import subprocess
import tempfile
from pathlib import Path

from header import PARAM_TYPES
from launch import flag_macros

MARKER = re.compile(r'# (\d+) "([^"]*)"')


class ExpandError(Exception):
    """The preprocessor refused the file; the text is its own, with file and line."""


def entry_line(variant):
    """What SPARK_ENTRY stands for: everything between the header block and the kernel's `{`."""
    params = ", ".join(f".param {PARAM_TYPES[p.type][1]} {p.name}" for p in variant.params.params)
    bound = f" .minnctapersm {variant.ctas_per_sm}" if variant.ctas_declared else ""
    return f".visible .entry {variant.name} ({params}) .maxntid {variant.block},1,1{bound}"


def definitions(variant, sm):
    """The macros a kernel file sees, in a fixed order."""
    result = {"SPARK_SM": sm, "SPARK_BLOCK": variant.block, "SPARK_SMEM": variant.smem,
              "SPARK_ENTRY": entry_line(variant)}
    for axis, value in variant.axes.items():
        result[axis] = value
        result[f"{axis}_{value}"] = 1
    result.update(variant.constants)
    result.update(flag_macros(variant.params.flags))
    return result


def preprocess(words, folder, cc):
    """What the C preprocessor makes of these files and options, with nothing of the host's in it."""
    command = [cc, "-E", "-undef", "-nostdinc", "-x", "assembler-with-cpp", *map(str, words)]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except OSError as error:
        raise ExpandError(f"cannot run the preprocessor '{cc}': {error.strerror}") from None
    if done.returncode:
        raise ExpandError(done.stderr.strip() or f"{cc} -E failed with {done.returncode}")
    return done.stdout


def expand(variant, sm, root, cc="cc"):
    """(text, files read). Paths in markers are relative to the folder above `root` (the ptx folder)."""
    root = Path(root).resolve()
    with tempfile.TemporaryDirectory() as scratch:
        depfile = os.path.join(scratch, "d")
        words = ["-I", f"{root.name}/lib", "-I", root.name, "-MD", "-MF", depfile, "-MT", "x",
                 *(f"-D{name}={value}" for name, value in definitions(variant, sm).items()),
                 f"{root.name}/{variant.file.path.relative_to(root).as_posix()}"]
        text = preprocess(words, root.parent, cc)
        read = _files_of(Path(depfile).read_text(encoding="utf-8"))
    return tidy(text), [os.path.normpath(root.parent / f) for f in read]


def _files_of(depfile):
    body = depfile.replace("\\\n", " ").partition(":")[2]
    return [w.replace("\\ ", " ") for w in re.findall(r"(?:\\ |\S)+", body)]


def tidy(text):
    """Drop blank lines and the preprocessor's own markers; keep one marker wherever the place jumps.
    None stands first: the driver takes a text for PTX only if it begins with a statement."""
    out, path, line, told_path, told_line = [], "", 0, None, -1
    for raw in text.splitlines():
        marker = MARKER.match(raw)
        if marker:
            line, path = int(marker[1]), os.path.normpath(marker[2])
            continue
        words = re.sub(r"[ \t]+", " ", raw.strip())
        if words:
            gap = line - told_line
            if not out:
                out.append(words)
                line += 1
                continue
            if path == told_path and 0 <= gap <= 4:
                out.extend([""] * gap)
            else:
                out.append(f'# {line} "{path}"')
            out.append(words)
            told_path, told_line = path, line + 1
        line += 1
    return "\n".join(out) + "\n"


def pretty(text):
    """One statement a line, indented by braces, without markers: for reading."""
    out, depth = [], 0
    for raw in text.splitlines():
        if MARKER.match(raw) or not raw:
            continue
        for piece in re.findall(r"[^;{}]*;|[^;{}]*[{}]|[^;{}]+\Z", _shield(raw)):
            words = _unshield(piece).strip()
            if not words or words == ";":
                continue
            if words.endswith("}"):
                depth = max(0, depth - 1)
            out.append("    " * depth + words)
            if words.endswith("{"):
                depth += 1
    return "\n".join(out) + "\n"


def _shield(raw):
    """Braces of vector operands, {a, b}, are not blocks."""
    return re.sub(r"\{([^{};]*)\}", "\x01\\1\x02", raw)


def _unshield(text):
    return text.replace("\x01", "{").replace("\x02", "}")
