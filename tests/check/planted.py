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
COPIES = ["compress", "embedding", "kv_append", "kv_copy", "kv_gather", "quantize", "repack"]  # bits, not numbers
# One right result: a second run that differs is wrong.
EXACT = [*COPIES, "dequantize", "amax", "cast", "sample", "add", "delayed_scale", "requantize"]
NUMBERLESS = [*COPIES, "sample"]  # sample: one packed row of tokens
NO_PLACE = {"nan-hidden": NUMBERLESS, "inf-hidden": NUMBERLESS, "flaky": EXACT, "swap-rows": ["sample"],
            "off-by-one": ["amax"], "wrong-padding": ["attention", "sample", "amax"]}  # rows of one element, packed
ONLY = {"crash": ["gemm"], "hang": ["embedding"]}
# The faults that end the process are slow to wait for: one case is enough, and no other fault is put into it.
EVERY_FOURTH = ["--shard", "0/4"]  # of the named cases
ALONE = {"crash": ["--shape", "tile_64.*"], "hang": ["--shape", "one_id.bf16.*", "--timeout", "0.5"]}


def problems(check, kinds, op):
    """What is wrong with the search for these kinds of faults in an operator's cases: (kind, sentence) each."""
    command = [check, "--driver", "oracle", "--op", op, "--plant", ",".join(kinds), *ALONE.get(kinds[0], EVERY_FOURTH)]
    done = subprocess.run(command, capture_output=True, text=True)
    if not re.search(r"^\d+ passed, \d+ failed$", done.stdout, re.M):
        return [(kind, f"no summary: {done.stdout[-300:]}{done.stderr[-300:]}") for kind in kinds]
    counts = {m[1]: (int(m[2]), int(m[3]))
              for m in re.finditer(r"^# planted (\S+): (\d+) found, (\d+) unseen$", done.stdout, re.M)}
    if kinds[0] in ALONE:  # the process that could tell the kind is gone
        counts = {kinds[0]: (done.stdout.count("\nFAIL  "), 0)}
    found = []
    for kind in kinds:
        failed, unseen = counts.get(kind, (0, 0))
        if unseen:
            found.append((kind, f"{unseen} planted faults went unseen"))
        if failed == 0 or done.returncode == 0:
            found.append((kind, "nothing was found at all"))
        print(f"{kind:17} {op:10} {failed:5} found, {unseen} unseen", flush=True)
    for block in re.split(r"^FAIL  ", done.stdout, flags=re.M)[1:]:
        lines = [line for line in block.splitlines() if line.startswith("      ")]
        if not lines or not lines[-1].strip().startswith("spark-check --driver oracle --op " + op):
            found.append((kinds[0], "a failure does not end with its replay command: " + block.splitlines()[0]))
            break
    return found


def operators(check):
    listed = subprocess.run([check, "--list"], capture_output=True, text=True, check=True).stdout
    return sorted({line.split("/")[0] for line in listed.splitlines() if "/" in line})


def main():
    check, bad = sys.argv[1], set()
    for op in operators(check):
        wanted = [kind for kind in KINDS if op in ONLY.get(kind, [op]) and op not in NO_PLACE.get(kind, [])]
        alone = [[kind] for kind in wanted if kind in ALONE]
        for kinds in [[kind for kind in wanted if kind not in ALONE], *alone]:
            for kind, sentence in problems(check, kinds, op):
                print(f"{kind:17} {op:10} <-- {sentence}", flush=True)
                bad.add((kind, op))
    print("every planted fault was found" if not bad else f"{len(bad)} kinds were missed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
