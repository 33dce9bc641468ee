#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The one generator: src/ops/*/op.toml and src/core/formats.toml -> what people read (header, reference pages, bindings,
# layout snapshot), committed, which `--check` compares; and with --build DIR what only the build reads.
import argparse
import subprocess
import sys
from pathlib import Path

import cpp
import elements
import go
import header
import layout
import pages
import python
import rust
import support
import tables
import zig
from model import SpecError, load_families

SNAPSHOT = "tests/api/layout.snapshot"


FIRST_SIZES = "src/ops/first_sizes.txt"


def first_sizes(root, families):
    """The file of the size of each args struct in the release that introduced it; a new operator's line is added."""
    text = (root / FIRST_SIZES).read_text(encoding="utf-8")
    known = {line.split()[0] for line in text.splitlines() if line and line[0] != "#"}
    return text + "".join(f"{op.name} {op.size}\n" for family in families for op in family.ops if op.name not in known)


def build_files(root):
    """{path in the build folder: text}: what a compiler reads and nobody else."""
    families, enums = load_families(root)
    text = (root / "include/spark.h").read_text(encoding="utf-8")
    sizes = dict(line.split() for line in first_sizes(root, families).splitlines() if line and line[0] != "#")
    out = {
        "core/dtypes.inc": tables.dtypes(),
        "core/records.inc": tables.records(),
        "core/scaled.inc": tables.scaled(),
        "ops/operators.inc": tables.operators(families),
        "api/forwards.cpp": tables.forwards(families),
        "libspark.map": layout.version_script(text),
        "link_check.c": layout.link_check(text),
        "layout_check.c": layout.layout_check(text),
    }
    for family in families:
        out[f"ops/{family.name}/fields.h"] = tables.fields(family)
        out[f"ops/{family.name}/reflection.cpp"] = tables.reflection(family, enums, sizes)
    return out


def write(folder, files):
    """Writes what differs; gives its names."""
    stale = [name for name, text in files.items()
             if not (folder / name).exists() or (folder / name).read_text(encoding="utf-8") != text]
    for name in stale:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(files[name], encoding="utf-8")
    return stale


def generate(root):
    """{path relative to root: text} of what is committed."""
    families, enums = load_families(root)
    text = header.rewrite((root / "include/spark.h").read_text(encoding="utf-8"), families, enums)
    out = {
        "include/spark.h": text,
        "include/spark_ops.hpp": cpp.operators(families),
        FIRST_SIZES: first_sizes(root, families),
        "tests/api/exports.txt": layout.symbol_list(text),
        SNAPSHOT: layout.snapshot(text),
        "docs/ops/README.md": pages.index(families) + support.support(families, support.kernels(root)),
        "docs/errors.md": support.errors(root, text),
    }
    out |= {f"docs/ops/{fam.name}.md": pages.page(fam, enums) for fam in families}
    for language in (rust, go, python):
        out |= language.files(text, families, enums)
    return out | zig.files(families) | elements.files(root)


def bindgen(root, *options):
    """The part of the Rust bindings that bindgen makes from the header; left alone where there is no bindgen."""
    code = subprocess.run([sys.executable, root / "bindings/rust/regenerate.py", *options]).returncode
    return 0 if code == 77 else code


def main():
    parser = argparse.ArgumentParser(description="Generate everything that follows from src/ops/*/op.toml.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a committed file differs")
    parser.add_argument("--allow-break", action="store_true", help="accept changed lines in the layout snapshot")
    parser.add_argument("--build", type=Path, metavar="DIR", help="write what only the build reads, and nothing else")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    options = parser.parse_args()
    try:
        if options.build:
            write(options.build, build_files(options.root))
            return 0
        results = generate(options.root)
    except (SpecError, ValueError) as problem:
        sys.exit(f"specgen: {problem}")
    old = {name: path.read_text(encoding="utf-8") if (path := options.root / name).exists() else ""
           for name in results}
    stale = [name for name in results if old[name] != results[name]]
    if options.check:
        for name in stale:
            print(f"specgen: {name} differs from a fresh generation; run tools/specgen", file=sys.stderr)
        return bindgen(options.root, "--check") or int(bool(stale))
    broken = layout.broken_lines(old[SNAPSHOT], results[SNAPSHOT])
    if broken and not options.allow_break:
        sys.exit("specgen: the ABI would break (--allow-break to accept):\n  " + "\n  ".join(broken))
    for name in write(options.root, results):
        print(name)
    return bindgen(options.root)


if __name__ == "__main__":
    sys.exit(main())
