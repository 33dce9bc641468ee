#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Runs the pinned Zig compiler on the package here, against an installed libspark: tests, the example, formatting.
# Ends with 77 and a sentence where there is no compiler to be had.
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE.parent), str(HERE.parents[1] / "tools" / "sparklib")]
import checking  # noqa: E402
import wheels  # noqa: E402


def compiler(pinned):
    try:
        return wheels.fetch("zig", pinned.resolve(), print)
    except wheels.FetchError as error:
        checking.skip(error)


def main():
    options = checking.read_options("Run the Zig package's tests against an installed libspark.",
                                    pinned="the folder for the compiler")
    checking.needs_pkg_config()
    zig = compiler(options.pinned)
    env = checking.environment(options, ZIG_GLOBAL_CACHE_DIR=str(options.into / "global"),
                               ZIG_LOCAL_CACHE_DIR=str(options.into / "local"))

    def run(*words, output=None):
        print(f"---- zig {' '.join(map(str, words))}", flush=True)
        done = subprocess.run([zig, *words], cwd=HERE, env=env, stdout=output, text=True)
        return done.stdout if done.returncode == 0 else sys.exit(f"check.py: zig {words[0]} {words[1]} failed")

    run("fmt", "--check", ".")
    run("build", "test", "--summary", "all", "--prefix", options.into)
    said = run("build", "decode_step", "--prefix", options.into, output=subprocess.PIPE)
    print(said, end="")
    checking.compare(said, options.driver, "zig")
    refused = subprocess.run([zig, "build", "refused", "--prefix", options.into], cwd=HERE, env=env, text=True,
                             capture_output=True)
    if refused.returncode == 0 or "error: the operator rmsnorm needs .eps" not in refused.stderr:
        sys.exit(f"check.py: the compiler does not ask for what a call has to name:\n{refused.stderr}")


if __name__ == "__main__":
    main()
