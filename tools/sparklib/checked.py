# SPDX-License-Identifier: Apache-2.0
#
# The record of what was checked on cards: what tests/card/run.py wrote goes into docs/checked.json; the page is made
# from that. Called by `tools/spark check --record` and by the lint, which compares page and record. Checks nothing.
import json
import subprocess
import sys
from pathlib import Path

import record
from record import Refused

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "docs" / "checked.json"
PAGE = ROOT / "docs" / "checked.md"
KERNELS = [sys.executable, str(ROOT / "tools" / "ptxc"), "list"]

HEAD = """# What was checked on cards

Written by `tools/spark check --record` from checked.json, which `tests/card/run.py` measured; do not edit.

Columns: kernels that ran; their results over all cases, the random ones included (each of several launches, compared
with an oracle in double precision); results whose bits are the emulator's, and those that differ within their bounds;
kernels whose repeated launches gave the same bits; kernels that compute-sanitizer finds clean, of those that it looked
at. Nothing stands here for a card that it was not run on.
"""


def adopt(measured):
    """Puts one run into the record, in the place of an older one of the same card, and writes the page."""
    run = json.loads(Path(measured).read_text())
    if "cases" not in run["phases"]:
        raise Refused("the run has no cases: tests/card/run.py --phases cases,...")
    if run["emulated"]:
        raise Refused("an emulated run is not recorded: no card was checked")
    run |= record.named(("src", "ptx", "tests", "include"))
    ran = {kernel for kernels in run["phases"]["cases"]["kernels"].values() for kernel in kernels}
    run["not_run"] = sorted(set(all_kernels()) - ran)
    entries = record.with_newest(load(), run)
    RECORD.write_text(json.dumps(entries, indent=1) + "\n")
    PAGE.write_text(page(entries))


def all_kernels():
    listed = subprocess.run(KERNELS, capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in listed.splitlines() if "__" in line.split(" ")[0]]


def load():
    return json.loads(RECORD.read_text()) if RECORD.exists() else []


def is_kernel(name):
    return not name.startswith("(")


def total(kernels, state):
    return sum(numbers.get(state, 0) for numbers in kernels.values())


def of_bits(phase, op):
    numbers = phase.get("operators", {}).get(op)
    return f"{numbers['equal']} equal, {numbers['within_bounds']} within bounds" if numbers else "-"


def of_draws(numbers):
    return "".join(f", {number} of {op}" for op, number in sorted(numbers.items()))


def of_repeats(phase, op):
    kernels = phase.get("kernels", {}).get(op)
    return f"{sum('failed' not in numbers for numbers in kernels.values())} of {len(kernels)}" if kernels else "-"


def of_sanitizer(phase, op):
    kernels = phase.get("kernels", {}).get(op)
    if not kernels:
        return "-"
    states = list(kernels.values())
    late = states.count("over the limit")
    return f"{states.count('clean')} of {len(states)}" + (f", {late} over the limit" if late else "")


def of_model(phase):
    """A prefill with the demo's model: whose launches give the emulator's bits from the same inputs."""
    told = ", ".join(f"`{label}` {n['equal']} of {n['launches']}" for label, n in phase["launches"].items())
    logits = phase["logits"]
    return ("\nA prefill with the language model of the demo. Launches that give the emulator's bits when each begins "
            f"with the emulator's inputs: {told}. From the prompt on each by itself: {logits['equal']} of "
            f"{logits['number']} logits equal, the others off by at most {logits['off']:.4g}.")


def section(run):
    phases = run["phases"]
    get = lambda name: phases.get(name, {})  # noqa: E731
    release = f"release {run['driver_release']}, " if run["driver_release"] else ""
    name, _, capability = run["device"].partition(", ")
    cases = phases["cases"]
    out = [f"## {name}\n",
           f"{capability[:1].upper()}{capability[1:]}; driver {release}interface {run['driver']}; "
           f"commit {run['commit']}, {run['date']}. Tier {cases['tier']}, {cases['random']} random cases "
           f"an operator{of_draws(cases.get('random_of', {}))}, seed {cases['seed']}; "
           f"{get('repeats').get('launches', 0)} repeated launches.\n",
           "| operator | kernels | passed | failed | bits beside the emulator | repeats | memcheck | racecheck |",
           "|---|---|---|---|---|---|---|---|"]
    for op, kernels in cases["kernels"].items():
        out.append(f"| {op} | {sum(map(is_kernel, kernels))} | {total(kernels, 'passed')} | {total(kernels, 'failed')} "
                   f"| {of_bits(get('both'), op)} | {of_repeats(get('repeats'), op)} "
                   f"| {of_sanitizer(get('memcheck'), op)} | {of_sanitizer(get('racecheck'), op)} |")
    programs = get("api").get("programs", {})
    told = ", ".join(f"`{name}` {n['passed']} passed, {n['failed']} failed" for name, n in programs.items())
    out.append(f"\nTests of the C API: {told or 'not run'}.")
    if "programs" in get("languages"):
        programs = ", ".join(get("languages")["programs"])
        out.append(f"\nThe example `decode_step` in {programs}: the same tokens and, in its last logits, the same bits "
                   f"(`{get('languages')['logits']}`), but for the failures below.")
    if "launches" in get("model"):
        out.append(of_model(get("model")))
    out += [f"\n{name.capitalize()}: {phase['skipped']}." for name, phase in phases.items() if "skipped" in phase]
    if run["not_run"]:
        out.append(f"\nKernels that no case of this run reached: {', '.join(f'`{k}`' for k in run['not_run'])}.")
    wrong = [(name, line) for name, phase in phases.items() for line in phase.get("failures", [])]
    number = sum(phase.get("failed", 0) for phase in phases.values())
    out.append(f"\nFailures: {number or 'none'}." + (" The first of them:\n" if wrong else ""))
    out += [f"- {name}: `{line}`" for name, line in wrong]
    return "\n".join(out) + "\n"


def page(entries):
    return "\n".join([HEAD, *map(section, entries)])
