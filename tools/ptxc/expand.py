# SPDX-License-Identifier: Apache-2.0
# Kernel file + variant -> plain PTX with line markers, the same bytes wherever the tree and the build folder are.
# Called by assemble.py, opcodes.py and `ptxc expand`. Knows nothing of ptxas.
"""Expand one variant."""

import hashlib
import json
import re
import zlib
from pathlib import Path

from kept import keep
from launch import flag_macros
from macro import expand_file, squeezed
from source import Fault, Place

TARGETS = {120: "sm_120f", 90: "sm_90"}
MARKER = re.compile(r'# (\d+) "([^"]*)"')


class ExpandError(Exception):
    """The file cannot be expanded: `file:line: sentence`."""


def entry_line(variant):
    """What SPARK_ENTRY stands for: everything between the header block and the kernel's `{`."""
    params = ", ".join(p.ptx for p in variant.params.params)
    bound = (f" .minnctapersm {variant.ctas_per_sm}" if variant.ctas_declared
             else f" .maxnreg {variant.maxnreg}" if variant.maxnreg else "")
    cluster = " .explicitcluster" if variant.cluster else ""
    return f".visible .entry {variant.name} ({params}) .maxntid {variant.block},1,1{bound}{cluster}"


def definitions(variant, sm):
    """The macros a kernel file sees, in a fixed order."""
    result = {"SPARK_SM": sm, "SPARK_TARGET": TARGETS[sm], "SPARK_BLOCK": variant.block, "SPARK_SMEM": variant.smem,
              "SPARK_ENTRY": entry_line(variant)}
    for axis, value in variant.axes.items():
        result[axis] = value
        result[f"{axis}_{value}"] = 1
    result.update(variant.constants)
    result.update(flag_macros(variant.params.flags))
    return result


def expand(variant, sm, root, fine=False):
    """(text, files read). Markers name the line of the kernel file that made what follows; with `fine` the line of the
    part. Paths in them are relative to the folder above `root` (the ptx folder)."""
    text, read, _ = _expanded(variant, sm, Path(root).resolve(), fine)
    return text, read


def expand_for(variant, chips, root):
    """({chip: text}, files read). What does not ask for the chip is expanded once: texts differ in .target alone."""
    root, texts, read = Path(root).resolve(), {}, []
    for chip in chips:
        text, files, asked = _expanded(variant, chip, root)
        read += files
        if "SPARK_SM" not in asked:
            said = f".target {TARGETS[chip]}"
            return {each: text.replace(said, f".target {TARGETS[each]}", 1) for each in chips}, read
        texts[chip] = text
    return texts, read


def expand_once(variant, chips, root, cache, tree):
    """expand_for(), which one of the build folders that share a cache does for all, until the digest of the tree
    changes."""
    root = Path(root).resolve()
    kept = Path(cache) / "texts" / hashlib.sha256(f"{variant.name} {tree}".encode()).hexdigest()
    if kept.is_file():
        texts, read = json.loads(zlib.decompress(kept.read_bytes()))
        texts = {int(chip): text for chip, text in texts.items()}
        if set(chips) <= set(texts):
            return {chip: texts[chip] for chip in chips}, [root.parent / name for name in read]
    texts, read = expand_for(variant, chips, root)
    names = [file.relative_to(root.parent).as_posix() for file in read]
    keep(kept, zlib.compress(json.dumps((texts, names)).encode(), 1))
    return texts, read


def tree_digest(root):
    """Of all that a text can depend on: which files there are, and what stands in them."""
    folders, digest = ((Path(root), "**/*.ptx*"), (Path(__file__).parent, "*.py")), hashlib.sha256()
    for folder, files in folders:
        for path in sorted(folder.glob(files)):
            content = path.read_bytes()
            digest.update(f"{path.relative_to(folder).as_posix()} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def _expanded(variant, sm, root, fine=False):
    """expand(), and the names of the definitions that were used."""
    try:
        lines, read, asked = expand_file(variant.file.path, root, definitions(variant, sm), fine)
    except Fault as fault:
        raise ExpandError(str(fault)) from None
    if fine:
        lines = [part for line in lines for part in _by_place(*line)]
    return marked((place, squeezed(found)) for place, found in lines), [root.parent / f for f in read], asked


def _by_place(place, found):
    """A line's pieces apart, by the place that each comes from."""
    parts = [(place, [])]
    for piece in found:
        if isinstance(piece, Place):
            parts.append((piece, []))
        else:
            parts[-1][1].append(piece)
    return parts


def marked(lines):
    """[(place, text)] as one text: with a marker wherever the place jumps, and without empty lines.
    None stands first: the driver takes a text for PTX only if it begins with a statement."""
    out, path, line = [], None, -1
    for place, words in lines:
        if not words:
            continue
        gap = place.line - line
        if out and place.path == path and 0 <= gap <= 4:
            out.extend([""] * gap)
        elif out:
            out.append(f'# {place.line} "{place.path}"')
        if out:
            path, line = place.path, place.line + 1
        out.append(words)
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
