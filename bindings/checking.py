# SPDX-License-Identifier: Apache-2.0
"""What the check.py of every language does: options, the environment of an installed libspark, tools, decode_step."""
import argparse
import os
import shutil
import sys
from pathlib import Path

EXPECTED = Path(__file__).resolve().parent  # PROGRAM.txt: what it prints on the emulator, in every language
SKIPPED = 77


def skip(sentence):
    print(f"{Path(sys.argv[0]).name}: {sentence}: nothing is tested here")
    sys.exit(SKIPPED)


def read_options(about, **more):
    """`more`: options that one language has besides, each a required folder."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--prefix", type=Path, required=True, help="where libspark is installed")
    parser.add_argument("--into", type=Path, required=True, help="the folder for what is built and fetched")
    parser.add_argument("--driver", default="gpu", help="LIBSPARK_DRIVER: gpu, emu, or the path of an emulator")
    for name, what in more.items():
        parser.add_argument(f"--{name}", type=Path, required=True, help=what)
    options = parser.parse_args()
    options.prefix, options.into = options.prefix.resolve(), options.into.resolve()
    return options


def needs_pkg_config():
    if not shutil.which("pkg-config"):
        skip("there is no pkg-config")


def environment(options, **more):
    """Leads pkg-config and the loader to the installed library, and the library to its driver."""
    found = next(options.prefix.rglob("libspark.pc"), None) or sys.exit(f"no libspark.pc in {options.prefix}")
    return dict(os.environ, PKG_CONFIG_PATH=str(found.parent), LD_LIBRARY_PATH=str(found.parents[1]),
                LIBSPARK_DRIVER=options.driver) | more


def toolchains(program):
    """Every one to use: the one in PATH, and the distribution's."""
    found = [Path(path) for path in (shutil.which(program), f"/usr/bin/{program}") if path and Path(path).exists()]
    return list(dict.fromkeys(found)) or skip(f"there is no {program}")


def compare(said, driver, who, program="decode_step"):
    """An example prints what it prints in every language, but for the device."""
    expected = EXPECTED / f"{program}.txt"
    if driver != "gpu" and said.partition("on ")[0] != expected.read_text():
        sys.exit(f"check.py: {who}: {program} does not say what {expected.name} says:\n{said}")
