# SPDX-License-Identifier: Apache-2.0
"""Writes what the next release might be: each operator has one more field, of 8 bytes, at the end of its struct.

Called by the build, for the library that callers_test.py holds programs of this release against.
"""
import argparse
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools/specgen"))
import header  # noqa: E402
import model  # noqa: E402
import tables  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=pathlib.Path, required=True)
    into = parser.parse_args().into
    families, enums = model.load_families(ROOT)
    for op in (op for family in families for op in family.ops):
        op.fields.append(model.Field("added", "u64", "New in the next release; 0 is its default.", offset=op.size))
        op.size += 8
    into.mkdir(parents=True, exist_ok=True)
    lines = (ROOT / "src/ops/first_sizes.txt").read_text().splitlines()
    first = dict(line.split() for line in lines if line and line[0] != "#")
    sizes = "".join(f"{op.name} {op.size}\n" for family in families for op in family.ops)
    (into / "spark.h").write_text(header.rewrite((ROOT / "include/spark.h").read_text(), families, enums))
    (into / "sizes.txt").write_text(sizes)
    (into / "reflection.cpp").write_text("".join(tables.reflection(family, enums, first) for family in families))


if __name__ == "__main__":
    main()
