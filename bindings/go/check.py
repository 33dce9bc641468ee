#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Runs Go's tools on the module here, against an installed libspark: gofmt, vet, the tests with the race detector and
# strict checks of the pointers that cgo passes, the benchmarks once, and the example as a module outside would build
# it. With a second go in /usr/bin (a distribution's) all of it runs with that one too: Debian 12's is the oldest that
# go.mod promises to work with. Ends with 77 and a sentence where there is no go. Nothing is fetched.
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
USER = "module example\n\ngo {}\n\nrequire libspark v0.0.0\n\nreplace libspark => {}\n"
sys.path.append(str(HERE.parent))
import checking  # noqa: E402


def oldest():
    return re.search(r"^go (\S+)$", (HERE / "go.mod").read_text(), re.M)[1]


class Go:
    def __init__(self, program, options):
        self.program = program
        self.version = subprocess.run([program, "env", "GOVERSION"], capture_output=True, text=True,
                                      cwd=HERE).stdout.strip().split()[0]
        self.folder = options.into / self.version
        self.env = checking.environment(
            options, CGO_ENABLED="1", GOCACHE=str(self.folder / "cache"), GOFLAGS="-buildvcs=false", GOPROXY="off",
            GOTOOLCHAIN="local", GOWORK="off")

    def strict(self):
        """What makes cgo check all pointers that pass: an experiment of the build since Go 1.21."""
        before = int(self.version.split(".")[1]) < 21
        return {"GODEBUG": "cgocheck=2"} if before else {"GOEXPERIMENT": "cgocheck2"}

    def run(self, *words, cwd=HERE, **env):
        """One step, and what it printed; the end of the whole check when it fails."""
        print(f"---- {self.version}: {' '.join(map(str, words))}", flush=True)
        said = subprocess.run(words, cwd=cwd, env=self.env | env, stdout=subprocess.PIPE, text=True)
        print(said.stdout, end="", flush=True)
        if said.returncode:
            sys.exit(f"check.py: {self.version}: {words[1]} failed")
        return said.stdout

    def example(self):
        """Builds the example as a module of its own, and holds what it prints against every other language."""
        folder = self.folder / "user"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "go.mod").write_text(USER.format(oldest(), HERE))
        shutil.copy(HERE / "examples" / "decode_step" / "main.go", folder)
        checking.compare(self.run(self.program, "run", ".", cwd=folder), self.env["LIBSPARK_DRIVER"], self.version)

    def check(self):
        if self.run(self.program.resolve().with_name("gofmt"), "-l", "."):
            sys.exit(f"check.py: {self.version}: gofmt would change these")
        self.run(self.program, "vet", "./...")
        self.run(self.program, "test", "-race", "-vet=off", "-count=1", "./...", **self.strict())
        self.run(self.program, "test", "-vet=off", "-count=1", "-bench=.", "-benchtime=100x", "./...")
        self.example()


def main():
    options = checking.read_options("Run the Go module's tests against an installed libspark.")
    programs = checking.toolchains("go")
    checking.needs_pkg_config()
    found = [Go(program, options) for program in programs]
    for go in found:
        go.check()
    tested = any(re.match(rf"go{re.escape(oldest())}\b", go.version) for go in found)
    print(f"check.py: Go {oldest()}, the oldest promised, {'was one of them' if tested else 'is not here'}")


if __name__ == "__main__":
    main()
