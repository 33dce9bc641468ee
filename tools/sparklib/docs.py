# SPDX-License-Identifier: Apache-2.0
#
# `tools/spark docs`: builds the documentation site of tools/site into build/site, or serves it while it is written.
# Called by __main__.py and by tests/docs. MkDocs and its theme are installed once into the build tree, by their hashes.
import hashlib
import os
import shutil
import subprocess
import sys

import build
from wheels import FetchError

SITE = build.ROOT / "tools" / "site"
REQUIREMENTS = SITE / "requirements.txt"


def installed(into, say=lambda text: None):
    """The folder that holds MkDocs; filled from Python's package index unless the pinned set is there."""
    pinned = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:16]
    target = into / f"site-{pinned}"
    if target.exists():
        return target
    say("fetching MkDocs and the theme Material")
    part = into / f"site-{pinned}.{os.getpid()}"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
               "--only-binary", ":all:", "--require-hashes", "--target", part, "-r", REQUIREMENTS]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if result.returncode:
        shutil.rmtree(part, ignore_errors=True)
        raise FetchError(f"pip could not install tools/site/requirements.txt:\n{result.stderr.strip()}")
    if not target.exists():
        part.rename(target)
    shutil.rmtree(part, ignore_errors=True)
    return target


def mkdocs(*words, say=lambda text: None):
    """Runs MkDocs on the site; its exit code."""
    env = dict(os.environ, PYTHONPATH=str(installed(build.PINNED, say)), PYTHONDONTWRITEBYTECODE="1",
               NO_MKDOCS_2_WARNING="1")
    return subprocess.run([sys.executable, "-m", "mkdocs", *words, "--config-file", SITE / "mkdocs.yml"], env=env,
                          cwd=build.ROOT).returncode


def carry_out(serve, into):
    try:
        if serve:
            return mkdocs("serve", "--watch", build.ROOT / "README.md", say=print)
        code = mkdocs("build", "--site-dir", into, say=print)
    except FetchError as error:
        print(error)
        return 1
    if code == 0:
        print(f"{into / 'index.html'}")
    return code
