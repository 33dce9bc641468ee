# SPDX-License-Identifier: Apache-2.0
# What the tests of packages share: their options, running a command, and installing the build. Tests import it; it
# knows nothing of them.
import argparse
import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXPECTED = ROOT / "bindings" / "decode_step.txt"
SKIPPED = 77

options = argparse.Namespace()


def run(*command, code=0, **settings):
    """What a command says; it has to end with `code`."""
    env = dict(os.environ, **settings.pop("env", {}))
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL, env=env, **settings)
    if done.returncode != code:
        raise AssertionError(f"{' '.join(map(str, command))}\nended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def install(prefix, *components):
    for component in components:
        run("cmake", "--install", options.build, "--prefix", prefix, "--component", component)
    return prefix


def library_folder(prefix):
    return next(Path(prefix).rglob("libspark.pc")).parents[1]


def needed(program):
    """The libraries that a program or library asks the loader for."""
    return set(re.findall(r"\(NEEDED\).*\[(.+?)\]", run("readelf", "-d", program)))


def compare_decode_step(test, said):
    test.assertIn("on ", said)
    if options.driver != "gpu":
        test.assertEqual(said.partition("on ")[0], EXPECTED.read_text())


def missing(*tools):
    """A sentence about the first of the programs that is not here; None when all are."""
    return next((f"{tool} is not here: this is not tested" for tool in tools if not shutil.which(tool)), None)


def main(skip=None):
    """The tests of the calling module; `skip` is a sentence that says why they cannot run here."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True, help="the build folder that is installed from")
    parser.add_argument("--into", type=Path, required=True, help="a folder for what the tests make")
    parser.add_argument("--driver", default="gpu", help="LIBSPARK_DRIVER: gpu, emu, or the path of an emulator")
    parser.add_argument("--ptxas", default="", help="the assembler, for tests that configure the project again")
    parser.add_argument("--kernels", default="", help="a folder of assembled kernels, so that those tests are quick")
    _, rest = parser.parse_known_args(namespace=options)
    options.build, options.into = options.build.resolve(), options.into.resolve()
    if skip:
        print(skip)
        sys.exit(SKIPPED)
    options.into.mkdir(parents=True, exist_ok=True)
    unittest.main(module="__main__", argv=[sys.argv[0], *rest], verbosity=2)
