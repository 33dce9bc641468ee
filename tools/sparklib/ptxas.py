# SPDX-License-Identifier: Apache-2.0
#
# Which ptxas the build uses: the one that SPARK_PTXAS names, else a CUDA toolkit's of a version that the tests know
# (pins.toml), else the pinned wheel's. An assembler that is new to the tests may turn right kernels into wrong code.
# Called by tools/spark and, through `python3 tools/sparklib ptxas`, by cmake/SparkPtxas.cmake.
import os
import re
import shutil
import subprocess
from pathlib import Path

import wheels

OLDEST = (13, 0)
TOOLKITS = Path("/usr/local")


def version(path):
    """(major, minor, build) of a ptxas, or None when it does not run or says something else."""
    try:
        done = subprocess.run([str(path), "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"\bV(\d+)\.(\d+)\.(\d+)\b", done.stdout) if done.returncode == 0 else None
    return tuple(map(int, found.groups())) if found else None


def known():
    return {tuple(map(int, each.split("."))) for each in wheels.pin("ptxas")["known"]}


def toolkits():
    """The ptxas programs of installed toolkits: PATH first, then /usr/local/cuda*, newest first."""
    on_path = shutil.which("ptxas")
    if on_path:
        yield Path(on_path)
    for home in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH")):
        if home:
            yield Path(home) / "bin" / "ptxas"
    number = lambda path: [int(n) for n in re.findall(r"\d+", path.name)]
    for folder in sorted(TOOLKITS.glob("cuda*"), key=number, reverse=True):
        yield folder / "bin" / "ptxas"


def objection(found):
    """Why a ptxas of this version is not taken unless it is asked for by its path; None when nothing is wrong."""
    if found is None:
        return "does not run, or does not say its version"
    text, oldest = ".".join(map(str, found)), ".".join(map(str, OLDEST))
    if found < OLDEST:
        return f"is {text}, older than {oldest}"
    return None if found in known() else f"is {text}, which the tests do not know"


def given(name, say):
    """The path of the ptxas that the user has named: taken, whatever the tests know, if it can do the work."""
    path = shutil.which(name)
    found = version(path) if path else None
    wrong = objection(found)
    if found is None or found < OLDEST:
        raise wheels.FetchError(f"SPARK_PTXAS is '{name}', which {wrong if path else 'is not a program'}")
    if wrong:
        say(f"{name} {wrong}: used, as SPARK_PTXAS asks")
    return Path(path).absolute()


def locate(into, say=lambda text: None):
    """The path of the ptxas to use; fetched into the folder `into` when no toolkit has one that the tests know."""
    if os.environ.get("SPARK_PTXAS"):
        return given(os.environ["SPARK_PTXAS"], say)
    for path in dict.fromkeys(toolkits()):
        if not path.exists():
            continue
        found = version(path)
        wrong = objection(found)
        if not wrong:
            return path
        insist = f"; SPARK_PTXAS={path} takes it all the same" if found and found >= OLDEST else ""
        say(f"{path} {wrong}: passed over{insist}")
    return wheels.fetch("ptxas", into, say)
