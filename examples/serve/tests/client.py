# SPDX-License-Identifier: Apache-2.0
#
# What the tests of the server share: the server as a process, OpenAI's client for it, and what /health says.
# Imported by http_test.py and model_test.py, which call begin() first.
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
LIMIT = 120  # seconds for anything that is waited for: an emulated model is slow on a busy machine
SKIPPED = 77


def begin(into, prefix, driver):
    """Finds what build.py made in a folder; ends with 77 where it was skipped."""
    if not (Path(into) / "client").exists():
        print("the programs have not been built: skipped")
        sys.exit(SKIPPED)
    sys.path.insert(0, str(Path(into) / "client"))
    library = next(Path(prefix).resolve().rglob("libspark.pc")).parents[1]
    os.environ.update(LD_LIBRARY_PATH=str(library), LIBSPARK_DRIVER=driver)
    return Path(into) / "target" / "debug"


def wait_for(what, true):
    end = time.monotonic() + LIMIT
    while not true():
        if time.monotonic() > end:
            raise AssertionError(f"waited in vain until {what}")
        time.sleep(0.02)


class Server:
    """A server on a port of its own; `with` stops it."""

    def __init__(self, program, model, *options, descriptors=None):
        command = [program, "--model", model, "--listen", "127.0.0.1:0", *map(str, options)]
        if descriptors:
            command = ["sh", "-c", f'ulimit -n {descriptors} && exec "$@"', "sh", *command]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        said = self.process.stdout.readline()
        if not said.startswith("listening on "):
            self.process.stdout.close()
            raise AssertionError(f"the server ended with {self.process.wait(LIMIT)}, said '{said}'")
        self.address = said.split()[-1]
        self.model = Path(model).stem

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def client(self):
        import openai
        return openai.OpenAI(base_url=f"http://{self.address}/v1", api_key="none", max_retries=0, timeout=LIMIT)

    def health(self):
        with urllib.request.urlopen(f"http://{self.address}/health", timeout=LIMIT) as answer:
            return json.load(answer)

    def wait_until(self, **wanted):
        """Until /health says so."""
        wait_for(f"/health says {wanted}", lambda: wanted.items() <= self.health().items())

    def connect(self, sent=b""):
        """A client that does no more than it is told."""
        host, port = self.address.split(":")
        one = socket.create_connection((host, int(port)), timeout=LIMIT)
        one.sendall(sent)
        return one

    def peak(self):
        """The most memory that the server has had, in MB."""
        said = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s*(\d+) kB", said)[1]) / 1024

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def end(self):
        """The exit code of a server that was told to stop."""
        return self.process.wait(timeout=LIMIT)
