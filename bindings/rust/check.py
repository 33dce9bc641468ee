#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Runs cargo on the crates here, against an installed libspark: tests, doc examples, examples, clippy, rustfmt. With a
# second cargo in /usr/bin (a distribution's, beside rustup's) all of it runs with that one too: Debian 12's is the
# oldest that the crates promise to work with. Ends with 77 and a sentence where there is no cargo.
#
# Nothing is fetched where the distribution packages the one crate that is needed (Debian: librust-pkg-config-dev) in
# the version of Cargo.lock; elsewhere cargo fetches it once.
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGED = Path("/usr/share/cargo/registry")
EXPECTED = HERE.parent / "decode_step.txt"  # on the emulator, in every language
SKIPPED = 77


def skip(sentence):
    print(f"check.py: {sentence}: the Rust crates are not tested")
    sys.exit(SKIPPED)


def toolchains():
    """Every cargo to use: the one in PATH, and the distribution's."""
    found = [Path(path) for path in (shutil.which("cargo"), "/usr/bin/cargo") if path and Path(path).exists()]
    return list(dict.fromkeys(found))


def rust_version():
    return re.search(r'rust-version = "(.*)"', (HERE / "libspark" / "Cargo.toml").read_text())[1]


class Cargo:
    """One cargo at work on the crates of a folder."""

    def __init__(self, program, options, crates=HERE):
        self.program, self.crates = program, crates
        asked = subprocess.run([program, "--version"], capture_output=True, text=True, cwd=crates)
        self.version = asked.stdout.strip() or "cargo"
        self.folder = options.into / re.sub(r"[^\w.]+", "-", self.version)
        library = next(options.prefix.rglob("libspark.pc"), None) or sys.exit(f"no libspark.pc in {options.prefix}")
        self.env = dict(os.environ, PATH=f"{program.parent}{os.pathsep}{os.environ['PATH']}",
                        CARGO_TARGET_DIR=str(self.folder), PKG_CONFIG_PATH=str(library.parent),
                        LD_LIBRARY_PATH=str(library.parents[1]), LIBSPARK_DRIVER=options.driver,
                        RUSTDOCFLAGS="-D warnings")
        self.source = []

    def call(self, *words, quiet=False):
        command = [self.program, *words]
        return subprocess.run(command, cwd=self.crates, env=self.env, capture_output=quiet).returncode == 0

    def compiler(self):
        return subprocess.run(["rustc", "--version"], env=self.env, capture_output=True, text=True).stdout

    def run(self, *words):
        """One step; the end of the whole check when it fails."""
        print(f"---- {self.version}: cargo {' '.join(words)}", flush=True)
        behind = list(words).index("--") if "--" in words else len(words)
        if not self.call(*words[:behind], "--locked", "--offline", *self.source, *words[behind:]):
            sys.exit(f"check.py: {self.version}: cargo {' '.join(words)} failed")

    def compare(self):
        """The built example decode_step prints what it prints in every language."""
        said = subprocess.run([self.folder / "debug" / "examples" / "decode_step"], env=self.env, capture_output=True,
                              text=True).stdout
        if self.env["LIBSPARK_DRIVER"] != "gpu" and said.partition("on ")[0] != EXPECTED.read_text():
            sys.exit(f"check.py: {self.version}: decode_step does not say what {EXPECTED.name} says:\n{said}")

    def find_source(self):
        """Where the locked crates come from: the distribution's copies, what cargo has, or its registry."""
        lock = (HERE / "Cargo.lock").read_text()
        name, version, checksum = re.search(r'name = "([^"]+)"\nversion = "([^"]+)"\nsource.*\nchecksum = "(\w+)"',
                                            lock).groups()
        packaged = PACKAGED / f"{name}-{version}"
        if packaged.exists():
            vendor = self.folder / "vendor"
            shutil.rmtree(vendor, ignore_errors=True)
            shutil.copytree(packaged, vendor / name)
            # The distribution answers for its copy; cargo wants to read the sum of the original.
            (vendor / name / ".cargo-checksum.json").write_text(json.dumps({"package": checksum, "files": {}}))
            self.source = ["--config", 'source.crates-io.replace-with="packaged"',
                           "--config", f'source.packaged.directory="{vendor}"']
            self.env["CARGO_HOME"] = str(self.folder / "home")
        elif not self.call("fetch", "--locked", "--offline", quiet=True) and not self.call("fetch", "--locked"):
            skip(f"{name} {version} cannot be fetched")

    def check(self):
        self.find_source()
        self.run("test", "--workspace")
        for example in sorted((HERE / "libspark" / "examples").glob("*.rs")):
            self.run("run", "--example", example.stem)
        self.compare()
        self.lint()

    def lint(self):
        if self.call("clippy", "--version", quiet=True):
            self.run("clippy", "--workspace", "--all-targets", "--", "-D", "warnings")
        if self.call("fmt", "--version", quiet=True) and not self.call("fmt", "--check"):
            sys.exit("check.py: cargo fmt would change these")


def read_options(about):
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--prefix", type=Path, required=True, help="where libspark is installed")
    parser.add_argument("--into", type=Path, required=True, help="the folder for what cargo builds")
    parser.add_argument("--driver", default="gpu", help="LIBSPARK_DRIVER: gpu, emu, or the path of an emulator")
    options = parser.parse_args()
    options.prefix, options.into = options.prefix.resolve(), options.into.resolve()
    return options


def main():
    options = read_options("Run the Rust crates' tests against an installed libspark.")
    found = toolchains() or skip("there is no cargo")
    if not shutil.which("pkg-config"):
        skip("there is no pkg-config")
    found = [Cargo(program, options) for program in found]
    for cargo in found:
        cargo.check()
    oldest = [cargo for cargo in found if cargo.compiler().startswith(f"rustc {rust_version()}.")]
    print(f"check.py: Rust {rust_version()}, the oldest promised, {'was one of them' if oldest else 'is not here'}")


if __name__ == "__main__":
    main()
