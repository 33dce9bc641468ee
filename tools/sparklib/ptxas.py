# SPDX-License-Identifier: Apache-2.0
#
# Which ptxas the build uses: a CUDA toolkit's when it is new enough, else the pinned wheel's.
# Called by tools/spark and, through `python3 tools/sparklib ptxas`, by cmake/SparkPtxas.cmake.
import os
import re
import shutil
import subprocess
from pathlib import Path

import wheels

OLDEST = (13, 0)


def version(path):
    """(major, minor) of a ptxas, or None when it does not run."""
    try:
        text = subprocess.run([str(path), "--version"], capture_output=True, text=True, timeout=30).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"release (\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else None


def toolkits():
    """The ptxas programs of installed toolkits: PATH first, then /usr/local/cuda*, newest first."""
    on_path = shutil.which("ptxas")
    if on_path:
        yield Path(on_path)
    for home in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH")):
        if home:
            yield Path(home) / "bin" / "ptxas"
    number = lambda path: [int(n) for n in re.findall(r"\d+", path.name)]
    for folder in sorted(Path("/usr/local").glob("cuda*"), key=number, reverse=True):
        yield folder / "bin" / "ptxas"


def locate(into, say=lambda text: None):
    """The path of a ptxas of 13.0 or newer; fetched into the folder `into` when no toolkit has one."""
    for path in toolkits():
        found = version(path) if path.exists() else None
        if found and found >= OLDEST:
            return path
        if found:
            say(f"{path} is release {found[0]}.{found[1]}, older than {OLDEST[0]}.{OLDEST[1]}: passed over")
    return wheels.fetch("ptxas", into, say)
