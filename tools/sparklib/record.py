# SPDX-License-Identifier: Apache-2.0
#
# The record of measurements: what spark-bench wrote goes into docs/performance.json; the page is made from that.
# Called by `tools/spark bench --record` and by the lint, which compares page and record. Measures nothing itself.
import collections
import datetime
import json
import subprocess
from pathlib import Path

import decode
import goals

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "docs" / "performance.json"
PAGE = ROOT / "docs" / "performance.md"
BEATEN = 3  # spark-bench's exit status where a legal kernel beats the library's choice: that is recorded too
SOURCES = ("src", "ptx", "bench", "include")

HEAD = """# Performance

Written by `tools/spark bench --record` from performance.json; do not edit. Each figure is a median, and a fraction of
the ceiling that the same run measured on the same card: the register-resident `mma` or `fma` loop, the copy or the
read, whichever bounds the row. Nothing stands here for a card that it was not run on.
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
    run |= named(SOURCES)
    older = [entry for entry in load() if entry["device"] == run["device"]]
    run |= {part: entry[part] for entry in older for part in ("peers", "decode", "generation") if part in entry}
    write(with_newest(load(), run))


def named(sources):
    """The commit and the day that a record names; refused where the sources are not the commit's."""
    if git("status", "--porcelain", "--untracked-files=no", "--", *sources):
        raise Refused(f"{', '.join(sources[:-1])} or {sources[-1]} differ from the last commit, "
                      "and a record names a commit")
    return {"commit": git("rev-parse", "--short=10", "HEAD"), "date": datetime.date.today().isoformat()}


def with_newest(entries, run):
    """The entries with this run in the place of an older one of the same card, by the names of the cards."""
    others = [entry for entry in entries if entry["device"] != run["device"]]
    return sorted([*others, run], key=lambda entry: entry["device"])


def write(entries):
    RECORD.write_text(json.dumps(entries, indent=1) + "\n")
    PAGE.write_text(page(entries))
    goals.PAGE.write_text(goals.page(entries))


def load():
    return json.loads(RECORD.read_text()) if RECORD.exists() else []


def figure(row):
    return f"{row['rate'] / 1e12:.2f} {'TFLOPS' if row['unit'] == 'FLOP/s' else 'TB/s'}"


def generated(part):
    """The lines on text generation, from what generation.py recorded."""
    out = [f"Text generation: SmolLM2-135M-Instruct, greedy, one sequence; commit {part['commit']}, {part['date']}."]
    if part["peer"]:
        out[0] += " Peers on the same card and model: transformers {transformers}, PyTorch {torch}, {dtype}.".format(
            **part["peer"])
    out += ["", "| program | prompt, new tokens | until the first token | tokens a second |", "|---|---|---|---|"]
    for row in part["rows"]:
        figures = (f"failed: {row['failed']} | -" if "failed" in row
                   else f"{row['prefill_ms']:.1f} ms | {row['tokens_per_second']:.0f}")
        out.append(f"| {row['name']} | {row['prompt_tokens']}, {row['new_tokens']} | {figures} |")
    return [*out, ""]


def beside_others(part):
    """The lines on what others take for the same work, from what peers.py recorded."""
    loops = {name: f"{rate / 1e12:.{2 if name == 'read' else 0}f}" for name, rate in part["ceilings"].items()}
    out = ["### Beside others", "",
           f"One process, commit {part['commit']}, {part['date']}: `bench/peers/torch_peers.py` with PyTorch "
           f"{part['torch']}, CUDA {part['cuda']}, cuDNN {part['cudnn']}"
           f"{''.join(f', {name} {version}' for name, version in part.get('packages', {}).items())}; "
           f"{part['rounds']} rounds of graphs of up to "
           "20 launches, each with its fixed cost, operands that rotate over 256 MB. The bound is the larger of bytes "
           f"over the read stream ({loops['read']} TB/s) and FLOPs over the `mma` loop of that run (BF16 "
           f"{loops['mma_bf16']} TFLOPS, I8 {loops['mma_s8']} TOPS): `mma.sync`, which is what 12.x has; on 9.0 "
           "cuBLAS, cuDNN and humming use `wgmma`, which goes beyond it. tinygemm and FlexAttention are PyTorch's, "
           "`compiled` is its `torch.compile`.", "",
           "| row | bound | ours | of the bound | others, and their time over ours |", "|---|---|---|---|---|"]
    for row in part["rows"]:
        own = row["us"]["libspark"]
        others = "; ".join(f"{name} {us:.1f} us, {us / own:.2f}" if isinstance(us, float) else f"{name}: {us}"
                           for name, us in row["us"].items() if name != "libspark")
        share = f"{100 * row['bound_us'] / own:.0f} %"
        out.append(f"| {row['row']} | {row['bound_us']:.1f} us | {own:.1f} us | {share} | {others} |")
    return [*out, "", *held_against(part["rows"])]


def held_against(rows):
    """The lines on how near others' results were to ours; none of records that do not say."""
    found = {(row["row"], way): said for row in rows for way, said in row.get("compared", {}).items()}
    if not found:
        return []
    usual = collections.Counter(found.values())
    own = [f"- {row}: {way}: {said}" for (row, way), said in found.items() if not said.endswith("of the largest")]
    return ["Compared with ours, element by element, before they were timed: "
            + ", ".join(f"{count} {said}" for said, count in usual.items() if said.endswith("of the largest"))
            + (", and by what each may err:" if own else "."), "", *own, *([""] if own else [])]


def rival(row):
    """What the column on rivals says of a row: nothing of a ceiling."""
    if "best" not in row:
        return ""
    if row["best"] == row["kernel"]:
        return f"the choice, of {row['legal']}"
    return f"`{row['best']}`, {row['best_us'] / row['median_us']:.2f} of its time"


def beaten(rows):
    """The lines on rows where the library's choice was not the best legal kernel."""
    lost = [row for row in rows if row.get("beaten")]
    if not any("best" in row for row in rows):
        return []
    if not lost:
        return ["No other legal kernel beat the choice by more than 5 % and 0.3 us in any row.", ""]
    return [f"{len(lost)} rows in which another legal kernel beat the choice by more than 5 % and 0.3 us:", "",
            *(f"- {row['name']} {row['shape']}: `{row['kernel']}` {row['median_us']:.2f} us, `{row['best']}` "
              f"{row['best_us']:.2f} us" for row in lost), ""]


def page(entries):
    out = [HEAD]
    for run in entries:
        out.append(f"## {run['device']}\n")
        out.append(f"Compute capability {run['cc']}, {run['sm_count']} multiprocessors, driver {run['driver']}; "
                   f"commit {run['commit']}, {run['date']}, {run['rounds']} rounds.\n")
        rivals = any("best" in row for row in run["rows"])
        out.append("| row | shape | kernel | median | rate | of the ceiling |" + " best legal kernel |" * rivals +
                   "\n|---|---|---|---|---|---|" + "---|" * rivals)
        for row in run["rows"]:
            share = f"{100 * row['fraction']:.1f} % of {row['ceiling']}" if row["ceiling"] else "is one"
            kernel = f"`{row['kernel']}`" if row["kernel"] else ""
            out.append(f"| {row['name']} | {row['shape']} | {kernel} | {row['median_us']:.2f} us | {figure(row)} "
                       f"| {share} |" + f" {rival(row)} |" * rivals)
        out += ["", *beaten(run["rows"])]
        if "peers" in run:
            out += beside_others(run["peers"])
        if "decode" in run:
            out += decode.lines(run["decode"], run["device"])
        if "generation" in run:
            out += generated(run["generation"])
    return "\n".join(out)
