#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Runs cargo on the crates here, against an installed libspark: tests, doc examples, examples, clippy, rustfmt. With a
# second cargo in /usr/bin (a distribution's, beside rustup's) all of it runs with that one too: Debian 12's is the
# oldest that the crates promise to work with. Ends with 77 and a sentence where there is no cargo.
#
# Nothing is fetched where the distribution packages the one crate that is needed (Debian: librust-pkg-config-dev) in
# the version of Cargo.lock; elsewhere cargo fetches it once.
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGED = Path("/usr/share/cargo/registry")
sys.path.append(str(HERE.parent))
import checking  # noqa: E402


def rust_version():
    return re.search(r'rust-version = "(.*)"', (HERE / "libspark" / "Cargo.toml").read_text())[1]


class Cargo:
    """One cargo at work on the crates of a folder."""

    def __init__(self, program, options, crates=HERE):
        self.program, self.crates = program, crates
        asked = subprocess.run([program, "--version"], capture_output=True, text=True, cwd=crates)
        self.version = asked.stdout.strip() or "cargo"
        self.folder = options.into / re.sub(r"[^\w.]+", "-", self.version)
        self.env = checking.environment(
            options, PATH=f"{program.parent}{os.pathsep}{os.environ['PATH']}", CARGO_TARGET_DIR=str(self.folder),
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
        """The built examples print what they print in every language."""
        for program in ("decode_step", "quantize"):
            said = subprocess.run([self.folder / "debug" / "examples" / program], env=self.env, capture_output=True,
                                  text=True).stdout
            checking.compare(said, self.env["LIBSPARK_DRIVER"], self.version, program)

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
            checking.skip(f"{name} {version} cannot be fetched")

    def check(self):
        self.find_source()
        self.run("test", "--workspace")
        for example in sorted((HERE / "libspark" / "examples").glob("*.rs")):
            self.run("run", "--example", example.stem)
        self.compare()
        self.lint()

    def has_clippy(self):
        return self.call("clippy", "--version", quiet=True)

    def lint(self):
        if self.has_clippy():
            self.run("clippy", "--workspace", "--all-targets", "--", "-D", "warnings")
        self.compare_format()

    def compare_format(self):
        if self.call("fmt", "--version", quiet=True) and not self.call("fmt", "--check"):
            sys.exit("check.py: cargo fmt would change these")


def main():
    options = checking.read_options("Run the Rust crates' tests against an installed libspark.")
    programs = checking.toolchains("cargo")
    checking.needs_pkg_config()
    found = [Cargo(program, options) for program in programs]
    for cargo in found:
        cargo.check()
    oldest = [cargo for cargo in found if cargo.compiler().startswith(f"rustc {rust_version()}.")]
    print(f"check.py: Rust {rust_version()}, the oldest promised, {'was one of them' if oldest else 'is not here'}")


if __name__ == "__main__":
    main()
