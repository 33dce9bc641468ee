#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lets ptxas assemble the tests of tests/emu: what the emulator runs is PTX.

    assemble.py --ptxas FILE      exit status 1 if ptxas refuses one that is not about being refused, or takes one that
                                  SEEN_BY_BOTH says it refuses
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

EMU = pathlib.Path(__file__).resolve().parents[1]
FOLDERS = ("defects", "right", "insn", "maps", "mma")
TARGET = re.compile(r"^\.target (sm_(\d+)[af]?)", re.M)
# Defects that ptxas sees too, where the emulator reports them at run time.
SEEN_BY_BOTH = {"bulk_odd_size.ptx"}


def complaint(ptxas, path, scratch):
    """What is wrong with ptxas's answer to a file; None if nothing."""
    text = path.read_text()
    target = TARGET.search(text)
    if "must-report refused" in text or not target:
        return None
    name, number = target[1], int(target[2])
    arch = name if not name[-1].isdigit() else "sm_90" if number <= 90 else "sm_120"
    done = subprocess.run([ptxas, "-arch", arch, path, "-o", scratch / "cubin"], capture_output=True, text=True)
    if path.name in SEEN_BY_BOTH:
        return None if done.returncode else f"{path}: ptxas takes it, though SEEN_BY_BOTH says that it does not"
    return done.stderr.splitlines()[0] if done.returncode else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptxas", required=True)
    args = parser.parse_args()
    files = [path for folder in FOLDERS for path in sorted((EMU / folder).glob("*.ptx"))]
    with tempfile.TemporaryDirectory() as scratch:
        said = [text for path in files if (text := complaint(args.ptxas, path, pathlib.Path(scratch)))]
    print(*said, f"{len(files)} files, {len(said)} otherwise than they must be", sep="\n")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
