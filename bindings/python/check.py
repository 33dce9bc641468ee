#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Builds the wheel from an installed libspark, installs it with NumPy alone into a clean environment, and runs tests and
# examples there; then mypy --strict. What that takes is pinned in requirements/ and kept under --into, made anew only
# where the pins changed. Ends with 77 and a sentence where Python's headers or pip are not there.
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
REFERENCE = ROOT / "examples" / "generate" / "reference" / "smollm2-135m-instruct.txt"
GENERATED = 4  # tokens: by prefill, directly, and two by the graph

sys.path[:0] = [str(HERE.parent), str(ROOT / "tools" / "sparklib")]
import build  # noqa: E402
import checking  # noqa: E402
import wheels  # noqa: E402  the pinned model


def run(*command, env=None, cwd=None):
    """One step; the end of the whole check when it fails."""
    print("----", *(str(word).removeprefix(f"{HERE}/") for word in command), flush=True)
    if subprocess.run(list(map(str, command)), env=env, cwd=cwd).returncode != 0:
        sys.exit("check.py: that failed")


def pip(folder, *words, env=None):
    """pip for an environment that has none of its own."""
    run(sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "--quiet", "--disable-pip-version-check",
        *words, env=env)


def stamp_of(pins):
    return hashlib.sha256(pins.read_bytes() + sys.version.encode()).hexdigest()


def kept(folder, pins):
    """Whether a folder has what `pins` names; what else it has is removed."""
    stamp = folder / "pins.sha256"
    if stamp.exists() and stamp.read_text() == stamp_of(pins):
        return True
    shutil.rmtree(folder, ignore_errors=True)
    return False


def keep(folder, pins):
    (folder / "pins.sha256").write_text(stamp_of(pins))


def environment(folder, pins):
    """A virtual environment with what the file `pins` names, and nothing else."""
    if not kept(folder, pins):
        run(sys.executable, "-m", "venv", "--without-pip", folder)
        pip(folder, "install", "--require-hashes", "--only-binary", ":all:", "-r", pins)
        keep(folder, pins)
    return folder / "bin"


def build_wheel(options, builder):
    env = checking.environment(options, PATH=f"{builder}{os.pathsep}{os.environ['PATH']}")
    folder = options.into / "wheel"
    shutil.rmtree(folder, ignore_errors=True)
    words = ["--config-settings", f"build-dir={options.into / 'build'}"]
    if options.emulator:
        words += ["--config-settings", f"cmake.define.LIBSPARK_EMULATOR={options.emulator}"]
    pip(builder.parent, "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", folder, *words, HERE, env=env)
    wheel, = folder.glob("*.whl")
    if "-cp39-abi3-" not in wheel.name:
        sys.exit(f"check.py: {wheel.name} is not for every Python from 3.9 on")
    return wheel


def clean(options):
    """The variables of a user who has installed the wheel: none of them leads to this tree or to another library."""
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("PYTHON", "LD_LIBRARY", "LIBSPARK_"))}
    return env | {"PYTHONDONTWRITEBYTECODE": "1", "LIBSPARK_DRIVER": "emu" if options.emulator else "gpu"}


def check_same(options, python, env, program):
    """An example that other languages have too."""
    example = HERE / "examples" / f"{program}.py"
    said = subprocess.run([python, "-I", example], env=env, capture_output=True, text=True)
    print(said.stdout, said.stderr, sep="", flush=True)
    if said.returncode:
        sys.exit(f"check.py: examples/{example.name} failed")
    checking.compare(said.stdout, options.driver, "python", program)


def check_generate(options, python, env):
    """The greedy tokens of the reference's first prompt."""
    model = wheels.present("model", build.PINNED)
    if not model:
        print("check.py: the model has not been fetched: examples/generate.py is not run")
        return
    pins, packages = HERE / "requirements" / "generate.txt", options.into / "packages"
    if not kept(packages, pins):
        pip(options.into / "clean", "install", "--no-deps", "--require-hashes", "--only-binary", ":all:",
            "--target", packages, "-r", pins)
        keep(packages, pins)
    command = [python, HERE / "examples" / "generate.py", model, "--ids", "--tokens", str(GENERATED)]
    said = subprocess.run(command, env=env | {"PYTHONPATH": str(packages)}, capture_output=True, text=True)
    print(said.stdout, said.stderr, sep="", flush=True)
    wanted = [line.split()[1] for line in REFERENCE.read_text().splitlines() if line.startswith("token ")]
    if said.returncode or said.stdout.split()[:GENERATED] != wanted[:GENERATED]:
        sys.exit(f"check.py: examples/generate.py does not give the tokens {' '.join(wanted[:GENERATED])}")


def main():
    options = checking.read_options("Test the Python package against an installed libspark.")
    options.emulator = None if options.driver == "gpu" else Path(options.driver).resolve()
    if not (Path(sysconfig.get_path("include")) / "Python.h").exists():
        checking.skip("Python's headers are not here")
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode != 0:
        checking.skip("there is no pip")
    builder = environment(options.into / "builder", HERE / "requirements" / "build.txt")
    tools = environment(options.into / "tools", HERE / "requirements" / "tools.txt")
    python = environment(options.into / "clean", HERE / "requirements" / "run.txt") / "python"
    wheel = build_wheel(options, builder)
    pip(options.into / "clean", "install", "--no-index", "--no-deps", "--force-reinstall", wheel)

    env = clean(options)
    run(python, "-m", "unittest", "discover", "-s", HERE / "tests", env=env, cwd=options.into)
    for program in ("decode_step", "quantize"):
        check_same(options, python, env, program)
    check_generate(options, python, env)
    for what in (["-p", "libspark"], sorted(HERE.glob("examples/*.py"))):
        run(tools / "mypy", "--config-file", HERE / "pyproject.toml", "--python-executable", python,
            "--cache-dir", options.into / "mypy", *what, env=env, cwd=options.into)


if __name__ == "__main__":
    main()
