#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Runs the pinned Zig compiler on the package here, against an installed libspark: tests, the example, formatting.
# Ends with 77 and a sentence where there is no compiler to be had.
import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXPECTED = HERE.parent / "decode_step.txt"
sys.path.append(str(HERE.parents[1] / "tools" / "sparklib"))
import wheels  # noqa: E402
SKIPPED = 77


def skip(sentence):
    print(f"check.py: {sentence}: the Zig package is not tested")
    sys.exit(SKIPPED)


def compiler(pinned):
    try:
        return wheels.fetch("zig", pinned.resolve(), print)
    except wheels.FetchError as error:
        skip(error)


def environment(options):
    library = next(options.prefix.rglob("libspark.pc"), None) or sys.exit(f"no libspark.pc in {options.prefix}")
    return dict(os.environ, PKG_CONFIG_PATH=str(library.parent), LD_LIBRARY_PATH=str(library.parents[1]),
                LIBSPARK_DRIVER=options.driver, ZIG_GLOBAL_CACHE_DIR=str(options.into / "global"),
                ZIG_LOCAL_CACHE_DIR=str(options.into / "local"))


def main():
    parser = argparse.ArgumentParser(description="Run the Zig package's tests against an installed libspark.")
    parser.add_argument("--prefix", type=Path, required=True, help="where libspark is installed")
    parser.add_argument("--into", type=Path, required=True, help="the folder for what Zig builds")
    parser.add_argument("--pinned", type=Path, required=True, help="the folder for the compiler")
    parser.add_argument("--driver", default="gpu", help="LIBSPARK_DRIVER: gpu, emu, or the path of an emulator")
    options = parser.parse_args()
    options.prefix, options.into = options.prefix.resolve(), options.into.resolve()
    if not shutil.which("pkg-config"):
        skip("there is no pkg-config")
    zig, env = compiler(options.pinned), environment(options)

    def run(*words, output=None):
        print(f"---- zig {' '.join(map(str, words))}", flush=True)
        done = subprocess.run([zig, *words], cwd=HERE, env=env, stdout=output, text=True)
        return done.stdout if done.returncode == 0 else sys.exit(f"check.py: zig {words[0]} {words[1]} failed")

    run("fmt", "--check", ".")
    run("build", "test", "--summary", "all", "--prefix", options.into)
    said = run("build", "decode_step", "--prefix", options.into, output=subprocess.PIPE)
    print(said, end="")
    if options.driver != "gpu" and said.partition("on ")[0] != EXPECTED.read_text():
        sys.exit(f"check.py: decode_step does not say what {EXPECTED.name} says")


if __name__ == "__main__":
    main()
