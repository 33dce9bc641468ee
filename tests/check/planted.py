#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""spark-check finds every fault that it can plant: each kind, in each operator that offers a place for it.

usage: planted.py SPARK_CHECK

Runs the oracle as the device, so that only the comparison is on trial. A fault that goes unseen in a case fails it,
and so does a failure whose last line is not the command that replays it.
"""
import re
import subprocess
import sys

# Each kind in every operator, but where none of an operator's cases offers a place for it, and where one operator is
# enough since the fault ends the process.
KINDS = ["off-by-one", "one-unit", "skip-last-row", "skip-last-column", "swap-rows", "nan-hidden", "inf-hidden",
         "wrong-padding", "guard-before", "guard-after", "input-changed", "flaky", "crash", "hang"]
COPIES = ["embedding", "kv_append", "kv_copy", "kv_gather", "quantize", "repack"]  # bits, not numbers
EXACT = [*COPIES, "dequantize", "amax", "cast", "sample", "add"]  # one right result: a second run that differs is wrong
NUMBERLESS = [*COPIES, "sample"]  # sample: one packed row of tokens
NO_PLACE = {"nan-hidden": NUMBERLESS, "inf-hidden": NUMBERLESS, "flaky": EXACT, "swap-rows": ["sample"],
            "off-by-one": ["amax"], "wrong-padding": ["attention", "sample", "amax"]}  # rows of one element, packed
ONLY = {"crash": ["gemm"], "hang": ["embedding"]}
# The faults that end the process are slow to wait for: one case is enough.
EVERY_FOURTH = ["--shard", "0/4"]  # of the named cases
FEW = {"crash": ["--shape", "tile_64.*"], "hang": ["--shape", "one_id.bf16.*", "--timeout", "0.5"]}


def problems(check, kind, op):
    command = [check, "--driver", "oracle", "--op", op, "--plant", kind, *FEW.get(kind, EVERY_FOURTH)]
    done = subprocess.run(command, capture_output=True, text=True)
    summary = re.search(r"^(\d+) passed, (\d+) failed$", done.stdout, re.M)
    if not summary:
        return [f"no summary: {done.stdout[-300:]}{done.stderr[-300:]}"]
    passed, failed = int(summary[1]), int(summary[2])
    found = []
    if passed:
        found.append(f"{passed} planted faults went unseen")
    if failed == 0 or done.returncode == 0:
        found.append("nothing was found at all")
    for block in re.split(r"^FAIL  ", done.stdout, flags=re.M)[1:]:
        lines = [line for line in block.splitlines() if line.startswith("      ")]
        if not lines or not lines[-1].strip().startswith("spark-check --driver oracle --op " + op):
            found.append("a failure does not end with its replay command: " + block.splitlines()[0])
            break
    print(f"{kind:17} {op:10} {failed:5} found, {passed} unseen{'' if not found else '   <-- ' + found[0]}", flush=True)
    return found


def operators(check):
    listed = subprocess.run([check, "--list"], capture_output=True, text=True, check=True).stdout
    return sorted({line.split("/")[0] for line in listed.splitlines() if "/" in line})


def main():
    bad, every = 0, operators(sys.argv[1])
    for kind in KINDS:
        for op in ONLY.get(kind, every):
            if op not in NO_PLACE.get(kind, []):
                bad += bool(problems(sys.argv[1], kind, op))
    print("every planted fault was found" if not bad else f"{bad} kinds were missed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
