# SPDX-License-Identifier: Apache-2.0
#
# The builds: which folder each preset has, how it is configured and built.
# Called by __main__.py and testplan.py. The build itself is CMake's; nothing here says what is compiled.
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import ptxas
import steps
import wheels

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
PINNED = BUILD / "pinned"
PRESETS = ("release", "asan", "tsan", "fuzz")


def folder(preset):
    return BUILD / preset


def jobs():
    return str(len(os.sched_getaffinity(0)))


def fresh_log(preset, what):
    log = folder(preset) / "log" / f"{what}.txt"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_bytes(b"")
    return log


def assembler(say):
    """The path of ptxas. The decompressor's source is fetched meanwhile; where that fails, CMake says so."""
    with ThreadPoolExecutor() as pool:
        pool.submit(wheels.fetch, "zstd-source", PINNED)
        return ptxas.locate(PINNED, say)


def compile(reporter, step, preset, targets=()):
    """Configures and builds one preset; the step says how it went."""
    log = fresh_log(preset, "build")
    try:
        path = assembler(reporter.say)
    except wheels.FetchError as error:
        log.write_text(str(error))
        step.log = log
        return step.fail("no ptxas")
    configure = ["cmake", "--preset", preset, f"-DSPARK_PTXAS={path}", f"-DPython3_EXECUTABLE={sys.executable}"]
    if steps.run(reporter, step, configure, log, limit=300, cwd=ROOT) != 0:
        return step.fail("configuring failed")
    command = ["cmake", "--build", folder(preset), "--parallel", jobs()]
    if targets:
        command += ["--target", *targets]
    code = steps.run(reporter, step, command, log, limit=3000, cwd=ROOT)
    if code != 0:
        return step.fail("building took too long" if code == 124 else "building failed")
    return step.done()


def release(reporter, targets=()):
    """Builds the release preset for a command that needs its programs; True when it is there."""
    step = steps.Step("build release")
    compile(reporter, step, "release", targets)
    reporter.end(step)
    if step.state != "ok":
        print(steps.complaint(step.log))
        print(f"The whole log is {step.log.relative_to(ROOT)}.")
    return step.state == "ok"


def program(name):
    """A program of the release build, or None."""
    path = folder("release") / "bin" / name
    return path if path.exists() else None


def environment():
    """What a program of this build needs to find its library and its driver, unless the user has said otherwise."""
    env = dict(os.environ)
    env.setdefault("LIBSPARK_DRIVER", "auto")
    return env


def call(command):
    """Runs a program in the foreground, its output and its exit code being the user's."""
    return subprocess.run([str(word) for word in command], env=environment(), cwd=ROOT).returncode


def clean():
    if BUILD.exists():
        shutil.rmtree(BUILD)
        print("removed build/")
    else:
        print("build/ is not there")
    return 0
