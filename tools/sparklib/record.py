# SPDX-License-Identifier: Apache-2.0
#
# The record of measurements: what spark-bench wrote goes into docs/performance.json; the page is made from that.
# Called by `tools/spark bench --record` and by the lint, which compares page and record. Measures nothing itself.
import datetime
import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "docs" / "performance.json"
PAGE = ROOT / "docs" / "performance.md"

HEAD = """# Performance

Written by `tools/spark bench --record` from performance.json; do not edit. Each figure is a median, and a fraction of
the ceiling that the same run measured on the same card: the register-resident `mma` loop, the copy or the read. Nothing
stands here for a card that it was not run on.
"""


class Refused(Exception):
    """A sentence for the user: why a measurement is not recorded."""


def git(*words):
    return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True).stdout.strip()


def adopt(measured):
    """Puts one run into the record, in the place of an older one of the same card, and writes the page."""
    run = json.loads(Path(measured).read_text())
    if run["emulated"]:
        raise Refused("an emulated run is not recorded: its times mean nothing")
    if git("status", "--porcelain", "--untracked-files=no", "--", "src", "ptx", "bench", "include"):
        raise Refused("src, ptx, bench or include differ from the last commit, and a record names a commit")
    run["commit"] = git("rev-parse", "--short=10", "HEAD")
    run["date"] = datetime.date.today().isoformat()
    others = [entry for entry in load() if entry["device"] != run["device"]]
    entries = sorted([*others, run], key=lambda entry: entry["device"])
    RECORD.write_text(json.dumps(entries, indent=1) + "\n")
    PAGE.write_text(page(entries))


def load():
    return json.loads(RECORD.read_text()) if RECORD.exists() else []


def figure(row):
    return f"{row['rate'] / 1e12:.2f} {'TFLOPS' if row['unit'] == 'FLOP/s' else 'TB/s'}"


def page(entries):
    out = [HEAD]
    for run in entries:
        out.append(f"## {run['device']}\n")
        out.append(f"Compute capability {run['cc']}, {run['sm_count']} multiprocessors, driver {run['driver']}; "
                   f"commit {run['commit']}, {run['date']}, {run['rounds']} rounds.\n")
        out.append("| row | shape | kernel | median | rate | of the ceiling |\n|---|---|---|---|---|---|")
        for row in run["rows"]:
            share = f"{100 * row['fraction']:.1f} % of {row['ceiling']}" if row["ceiling"] else "is one"
            kernel = f"`{row['kernel']}`" if row["kernel"] else ""
            out.append(f"| {row['name']} | {row['shape']} | {kernel} | {row['median_us']:.2f} us | {figure(row)} "
                       f"| {share} |")
        out.append("")
    return "\n".join(out)
