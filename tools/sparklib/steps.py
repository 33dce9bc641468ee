# SPDX-License-Identifier: Apache-2.0
#
# Long work, shown while it goes: one line a step, a counter or the last line of output, a log, a table at the end.
# Called by build.py and testplan.py. Knows nothing of compilers and tests but the counters that ninja and ctest print.
import os
import re
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path

COUNTER = re.compile(r"^\s*\[?\s*(\d+)/(\d+)\]?\s")      # ninja: [3/80] ...   ctest: 3/40 Test #7: ...
QUIET_SECONDS = 30                                      # without a terminal: a line this often


def clock(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


class Step:
    """What one step came to: passed and failed count its tests, or 1 and 0 for a step that has none."""

    def __init__(self, name):
        self.name, self.state, self.note = name, "not run", ""
        self.said = ""  # what there is to say about a failure, when it is not the end of the log
        self.passed = self.failed = self.skipped = 0
        self.seconds = 0.0
        self.log = None

    def fail(self, note, count=1):
        self.state, self.note, self.failed = "FAILED", note, count
        return self

    def done(self, note="", passed=1):
        self.state, self.note, self.passed = "ok", note, passed
        return self


class Reporter:
    """Prints progress: rewrites one line on a terminal, adds a line now and then elsewhere."""

    def __init__(self):
        self.began = time.monotonic()
        self.live = sys.stdout.isatty()
        self.spoke = 0.0

    def say(self, text):
        if self.live:
            sys.stdout.write("\r\x1b[K")
        print(f"[{clock(time.monotonic() - self.began)}] {text}", flush=True)
        self.spoke = time.monotonic()

    def tick(self, step, started, text):
        now = time.monotonic()
        if self.live:
            width = os.get_terminal_size().columns - 1
            line = f"[{clock(now - self.began)}] {step.name} {clock(now - started)}  {text}"
            sys.stdout.write("\r\x1b[K" + line[:width])
            sys.stdout.flush()
        elif now - self.spoke >= QUIET_SECONDS:
            self.say(f"{step.name}: {text[:100]}")

    def end(self, step):
        tail = f"  {step.note}" if step.note else ""
        self.say(f"{step.name}: {step.state} in {clock(step.seconds)}{tail}")


def run(reporter, step, command, log, limit, env=None, cwd=None):
    """Runs command with its output in log and its progress shown; returns the exit code, 124 after `limit` seconds."""
    Path(log).parent.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    step.log = Path(log)
    with open(log, "ab") as sink:
        sink.write(f"$ {' '.join(map(str, command))}\n".encode())
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, env=env, cwd=cwd, start_new_session=True)
        try:
            code = follow(reporter, step, process, sink, started, limit)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    step.seconds += time.monotonic() - started
    return code


def follow(reporter, step, process, sink, started, limit):
    watch = selectors.DefaultSelector()
    watch.register(process.stdout, selectors.EVENT_READ)
    rest, shown = b"", "started"
    while True:
        if watch.select(timeout=1.0):
            chunk = os.read(process.stdout.fileno(), 65536)
            if not chunk:
                return process.wait()
            sink.write(chunk)
            sink.flush()
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                text = line.decode(errors="replace").strip()
                if COUNTER.match(text) or (text and not COUNTER.match(shown)):
                    shown = text
        if time.monotonic() - started > limit:
            sink.write(f"\nstopped: it took longer than {limit} s\n".encode())
            return 124
        reporter.tick(step, started, shown)


def last(text, lines):
    """The last lines of a text, indented."""
    return "\n".join("    " + line for line in text.rstrip().splitlines()[-lines:])


def complaint(log):
    """What a failed build says: from the first failed command on when there is one, else the end of the log."""
    text = Path(log).read_text(errors="replace")
    found = re.search(r"^FAILED: ", text, re.M)
    return last("\n".join(text[found.start():].splitlines()[:60]) if found else text, 60)


def table(steps, total_seconds):
    """The closing table; its last line is the one that machines read."""
    width = max(len(step.name) for step in steps)
    print(f"\n{'step':{width}}  {'time':>6}  {'passed':>6}  {'failed':>6}  {'skipped':>7}  result")
    for step in steps:
        print(f"{step.name:{width}}  {clock(step.seconds):>6}  {step.passed:>6}  {step.failed:>6}  {step.skipped:>7}  "
              f"{step.state}{', ' + step.note if step.note else ''}")
    print(f"{'total':{width}}  {clock(total_seconds):>6}\n")
    print(f"{sum(s.passed for s in steps)} passed, {sum(s.failed for s in steps)} failed", flush=True)
