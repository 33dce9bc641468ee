#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Builds generate and serve against an installed libspark, as bindings/rust/check.py does with the crates, runs their
# own tests, clippy and rustfmt, and installs OpenAI's client for the tests of the server. Where cargo is older than the
# programs ask for, Debian's newer one is unpacked into the build folder. Ends with 77 and a sentence where there is no
# cargo that serves, or no way to fetch what they depend on.
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(ROOT / "bindings"), str(ROOT / "bindings" / "rust")]
import check as rust  # noqa: E402
from checking import needs_pkg_config, read_options, skip  # noqa: E402


def version(text):
    return tuple(int(number) for number in re.search(r"(\d+)\.(\d+)", text).groups())


def unpack(folder):
    """The newer Rust that Debian has beside its own, for browsers; not installed, since it would replace the other."""
    apt = ["apt-get", "-q"]
    planned = subprocess.run([*apt, "--simulate", "--no-install-recommends", "install", "rustc-web", "cargo-web"],
                             capture_output=True, text=True)
    packages = re.findall(r"^Inst (\S+)", planned.stdout, re.M)
    folder.mkdir(parents=True, exist_ok=True)
    if not packages or subprocess.run([*apt, "download", *packages], cwd=folder, capture_output=True).returncode != 0:
        return None
    for package in folder.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", package, folder], check=True)
        package.unlink()
    return packages


def unpacked(options, folder):
    """A Cargo of what unpack has fetched, once for each build folder; None if that cannot be had."""
    program = folder / "usr" / "bin" / "cargo"
    if not shutil.which("apt-get") or not (program.exists() or unpack(folder)):
        return None
    libraries = ":".join(map(str, (folder / "usr" / "lib").glob("*-linux-gnu")))
    os.environ["LD_LIBRARY_PATH"] = libraries
    cargo = rust.Cargo(program, options, HERE.parent)
    cargo.env["LD_LIBRARY_PATH"] += ":" + libraries
    return cargo


def clippy(cargo):
    """clippy as the compiler of these programs alone: cargo clippy would compile all that they depend on once more."""
    if not cargo.has_clippy():
        return
    print(f"---- {cargo.version}: cargo build, by clippy", flush=True)
    done = subprocess.run([cargo.program, "build", "--all-targets", "--locked", "--offline"], cwd=cargo.crates,
                          env=cargo.env | {"RUSTC_WORKSPACE_WRAPPER": "clippy-driver"}, capture_output=True, text=True)
    print(done.stderr, flush=True)
    if done.returncode or re.search("^(warning|error)", done.stderr, re.M):
        sys.exit("build.py: clippy finds faults")


def build(options):
    program = shutil.which("cargo") or skip("there is no cargo")
    needs_pkg_config()
    wanted = re.search(r'rust-version = "(.*)"', (HERE.parent / "Cargo.toml").read_text())[1]
    installed = cargo = rust.Cargo(Path(program), options, HERE.parent)
    if version(cargo.compiler()) < version(wanted):
        cargo = unpacked(options, options.into / "rust")
        if not cargo or version(cargo.compiler()) < version(wanted):
            skip(f"{installed.compiler().strip()} is older than Rust {wanted}, and no other can be had")
    cargo.env["CARGO_TARGET_DIR"] = str(options.into / "target")
    if not cargo.call("fetch", "--locked", "--offline", quiet=True) and not cargo.call("fetch", "--locked"):
        skip("the crates of Cargo.lock cannot be fetched")
    cargo.run("build")
    cargo.run("test")
    if cargo is installed:  # clippy and rustfmt are of the installed compiler
        clippy(cargo)
        cargo.compare_format()


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
    options = read_options("Build generate and serve against an installed libspark.")
    build(options)
    install_client(options.into)


if __name__ == "__main__":
    main()
