# SPDX-License-Identifier: Apache-2.0
# The kernels of tests/ptx/launch as the library has its own: launch_kernels.h, their types and parameters; and
# launch_kernels.cpp, their PTX for each chip. Called by the build.
"""launch_kernels.py FOLDER"""
import shutil
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tools" / "ptxc"))

from assemble import EVERY
from expand import expand
from header import parse_tree
from table import header_text, quote


def main(into):
    root = into / "ptx"
    shutil.copytree(TOP / "ptx" / "lib", root / "lib", dirs_exist_ok=True)
    shutil.copytree(TOP / "tests" / "ptx" / "launch", root / "launch", dirs_exist_ok=True)
    files = parse_tree(root)
    (into / "launch_kernels.h").write_text(header_text(files, EVERY), encoding="utf-8")
    lines = ['#include "launch_kernels.h"', "namespace spark::kernels {"]
    for variant in (v for f in files for v in f.variants):
        lines.append(f"const char* {variant.name}_text(uint32_t arch) {{")
        lines += [f"    if (arch == {arch}) return {quote(expand(variant, arch, root)[0])};" for arch in EVERY]
        lines += ["    return nullptr;", "}"]
    (into / "launch_kernels.cpp").write_text("\n".join([*lines, "}"]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
