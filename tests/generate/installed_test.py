#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The example as an integrator builds it: a build is installed into a folder, and the files of the example are compiled
# against that folder through pkg-config alone. Then the program runs on the small model.
# usage: installed_test.py BUILD FOLDER
import subprocess
import sys
from pathlib import Path

import synthetic

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "sparklib"))
import build  # noqa: E402
import demo  # noqa: E402


def main():
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    program = demo.from_installed(Path(sys.argv[1]), folder / "prefix", print)
    model = folder / "installed.gguf"
    model.write_bytes(synthetic.build(synthetic.values(), synthetic.tensors())[0])
    command = [program, "--model", model, "--check", Path(__file__).with_name("synthetic.txt")]
    return subprocess.run(command, env=build.environment()).returncode


if __name__ == "__main__":
    sys.exit(main())
