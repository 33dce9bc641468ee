#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Runs a command with the path of the pinned model in place of the word MODEL; exit code 77, for skipped, where nobody
# has fetched it. usage: with_model.py COMMAND... MODEL ...
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "sparklib"))
import build  # noqa: E402
import wheels  # noqa: E402

model = wheels.present("model", build.PINNED)
if not model:
    print("the model has not been fetched: skipped")
    sys.exit(77)
sys.exit(subprocess.run([str(model) if word == "MODEL" else word for word in sys.argv[1:]]).returncode)
