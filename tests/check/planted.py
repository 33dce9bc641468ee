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

# kind -> operators in which at least one case must have offered a place for it
KINDS = {
    "off-by-one": ["rmsnorm", "gemm", "embedding", "attention"],
    "one-unit": ["rmsnorm", "gemm", "embedding", "attention"],
    "skip-last-row": ["rmsnorm", "gemm", "embedding", "attention"],
    "skip-last-column": ["rmsnorm", "gemm", "embedding", "attention"],
    "swap-rows": ["rmsnorm", "gemm", "embedding", "attention"],
    "nan-hidden": ["rmsnorm", "gemm", "attention"],
    "inf-hidden": ["rmsnorm", "gemm", "attention"],
    "wrong-padding": ["rmsnorm", "gemm", "embedding"],
    "guard-before": ["rmsnorm", "gemm", "embedding", "attention"],
    "guard-after": ["rmsnorm", "gemm", "embedding", "attention"],
    "input-changed": ["rmsnorm", "gemm", "embedding", "attention"],
    "flaky": ["rmsnorm", "gemm", "attention"],
    "crash": ["gemm"],
    "hang": ["embedding"],
}
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


def main():
    bad = 0
    for kind, ops in KINDS.items():
        for op in ops:
            bad += bool(problems(sys.argv[1], kind, op))
    print("every planted fault was found" if not bad else f"{bad} kinds were missed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
