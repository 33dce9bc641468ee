#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Builds generate and serve against an installed libspark, as bindings/rust/check.py does with the crates, runs their
# own tests, clippy and rustfmt, and installs OpenAI's client for the tests of the server. Ends with 77 and a sentence
# where there is no cargo, an older one than the programs ask for, or no way to fetch what they depend on.
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "bindings" / "rust"))
import check as rust  # noqa: E402


def skip(sentence):
    print(f"build.py: {sentence}: the programs are not tested")
    sys.exit(rust.SKIPPED)


def version(text):
    return tuple(int(number) for number in re.search(r"(\d+)\.(\d+)", text).groups())


def build(options):
    program = shutil.which("cargo") or skip("there is no cargo")
    if not shutil.which("pkg-config"):
        skip("there is no pkg-config")
    cargo = rust.Cargo(Path(program), options, HERE.parent)
    cargo.env["CARGO_TARGET_DIR"] = str(options.into / "target")
    wanted = re.search(r'rust-version = "(.*)"', (HERE.parent / "Cargo.toml").read_text())[1]
    if version(cargo.compiler()) < version(wanted):
        skip(f"{cargo.compiler().strip()} is older than Rust {wanted}")
    if not cargo.call("fetch", "--locked", "--offline", quiet=True) and not cargo.call("fetch", "--locked"):
        skip("the crates of Cargo.lock cannot be fetched")
    cargo.run("build")
    cargo.run("test")
    cargo.lint()


def install_client(into):
    """OpenAI's client, each file of it fixed by its hash; once for each requirements.txt."""
    wanted, folder = HERE / "requirements.txt", into / "client"
    stamp = folder / "requirements.txt"
    if stamp.exists() and stamp.read_bytes() == wanted.read_bytes():
        return
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
               "--root-user-action=ignore", "--require-hashes", "--only-binary", ":all:", "--target", folder,
               "-r", wanted]
    if subprocess.run(command).returncode != 0:
        skip("pip cannot install OpenAI's client")
    shutil.copy(wanted, stamp)


def main():
    options = rust.read_options("Build generate and serve against an installed libspark.")
    build(options)
    install_client(options.into)


if __name__ == "__main__":
    main()
