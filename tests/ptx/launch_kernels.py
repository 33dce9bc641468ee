# SPDX-License-Identifier: Apache-2.0
# The kernels of tests/ptx/launch as the library has its own: launch_kernels.h, their types and parameters, and
# launch_kernels.cpp, their images, all of them PTX. Called by the build.
"""launch_kernels.py FOLDER"""
import shutil
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tools" / "ptxc"))

from assemble import image_list
from expand import expand
from header import parse_tree
from images import fnv1a, pack, rows
from kernel_file import ARCHS
from table import header_text


def image(name, arch, text):
    """(its bytes in C++, its row)"""
    packed, data = pack([text]), f"{name}_{arch}"
    row = (f"{{ImageKind::ptx, {arch}, 0, {len(text)}, 0, 1, {rows([text])}, {len(packed)}, 0, {data}, "
           f"0x{fnv1a(packed):016x}}}")
    return f"const unsigned char {data}[] = {{{', '.join(map(str, packed))}}};", row


def main(into):
    root = into / "ptx"
    shutil.copytree(TOP / "ptx" / "lib", root / "lib", dirs_exist_ok=True)
    shutil.copytree(TOP / "tests" / "ptx" / "launch", root / "launch", dirs_exist_ok=True)
    files = parse_tree(root)
    (into / "launch_kernels.h").write_text(header_text(files, ARCHS), encoding="utf-8")
    lines = ['#include "launch_kernels.h"', "namespace spark::kernels::detail {"]
    for variant in (v for f in files for v in f.variants):
        made = {arch: image(variant.name, arch, expand(variant, arch, root)[0].encode()) for arch in ARCHS}
        lines += [data for data, _ in made.values()]
        images = [made[arch][1] for _, arch in image_list(ARCHS)]
        lines.append(f"const Image {variant.name}_images[{len(images)}] = {{{', '.join(images)}}};")
    (into / "launch_kernels.cpp").write_text("\n".join([*lines, "}"]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
