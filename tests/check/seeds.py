#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One case of each kernel of an operator, in each way the emulator schedules, under many seeds.

usage: seeds.py SPARK_CHECK OPERATOR [--seeds 64] [--shard I/N] [--kernel PATTERN]

All cases in few schedules find what depends on the case; this finds what depends on the order of events: races, stages
that are freed early, fences and waits that are missing. Of the cases that a kernel is legal for it takes the one in the
middle of what they cost, so that there are several tiles and steps, and no extreme.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

# Each with the seed; late: what is read or copied arrives as late as it may.
WAYS = ["random:{}", "random:{}+late_reads=1+async=random", "random:{}+merge=random+async=early",
        "round_robin+seed={}+merge=random+async=random", "starve_low+seed={}+late_reads=1+async=late",
        "starve_high+seed={}+merge=random"]


def run(check, scratch, *words):
    """Results of one run of spark-check, and whether it ended well; what it says of failures is passed on."""
    out = scratch / "results.json"
    out.unlink(missing_ok=True)
    done = subprocess.run([check, "--driver", "emu", *words, "--json", out], capture_output=True, text=True)
    if done.returncode:
        print(done.stdout[-3000:], done.stderr[-1000:], flush=True)
    return json.loads(out.read_text())["results"] if out.exists() else [], done.returncode == 0


def picks(results):
    """{kernel: its case}; names in brackets are no kernels."""
    cases = {}
    for r in results:
        if r["status"] == "passed" and r["kernel"][:1] not in ("", "("):
            cases.setdefault(r["kernel"], []).append((r["warp_instructions"], r["case"]))
    return {kernel: sorted(of)[len(of) // 2][1] for kernel, of in sorted(cases.items())}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("check")
    parser.add_argument("operator")
    parser.add_argument("--seeds", type=int, default=64)
    parser.add_argument("--shard", default="0/1", help="every N-th kernel, from the I-th on")
    parser.add_argument("--kernel", default="*", help="kernels whose name matches")
    options = parser.parse_args()
    first, step = map(int, options.shard.split("/"))
    scheds = ",".join(way.format(seed) for seed in range(1, options.seeds + 1) for way in WAYS)
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        found, good = run(options.check, scratch, "--op", options.operator, "--kernel", options.kernel)
        wanted = list(picks(found).items())[first::step]
        if not wanted:
            sys.exit("seeds.py: no kernel has a case")
        runs = 0
        for kernel, case in wanted:
            results, fine = run(options.check, scratch, "--op", options.operator, "--shape", case, "--kernel", kernel,
                                "--timeout", "600", "--sched", scheds)
            passed = sum(r["status"] == "passed" for r in results)
            enough = fine and passed >= options.seeds * len(WAYS)
            good, runs = good and enough, runs + passed
            print(f"{kernel:44} {case:40} {passed} of {len(results)} passed{'' if enough else ': FAILED'}", flush=True)
    print(f"{len(wanted)} kernels, {runs} runs in {len(WAYS)} ways with {options.seeds} seeds each")
    sys.exit(0 if good else "seeds.py: not every run gives a right result without a finding")


if __name__ == "__main__":
    main()
