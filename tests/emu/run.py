#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the .ptx tests of this folder through ptx-run, on the emulator or on a card, and keeps WITNESS.json.

    run.py [--driver emu|gpu|PATH] [--seeds N] [--json FILE] [FOLDER or FILE ...]
    run.py --witness            each file on the card and on the emulator; compares bits; writes WITNESS.json
    run.py --check-witness      lists files that changed since a card last ran them (a warning, never a failure)
    run.py --counts [--write]   says docs/emulator.md how many defects and right kernels there are? makes it say so

Defects and right kernels come first: if a planted fault goes unseen, nothing else is believed. A crash is one failed
file. The last line is always `N passed, N failed`; the exit code is 0 if nothing failed.
"""
import argparse
import concurrent.futures
import datetime
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FOLDERS = ["defects", "right", "insn", "maps", "mma"]
WITNESS = HERE / "WITNESS.json"
PAGE = ROOT / "docs" / "emulator.md"
COUNTED = "plants {} defects and holds {} right but tricky kernels"
LEAST = (90, 100)
PROFILES = {"9.0": "h200", "12.0": "rtx5090", "12.1": "gb10"}  # of emulators, by compute capability
TOO_NEW = "Unsupported .version"  # the driver's word for a text that is newer than it knows: says nothing of the card
CHUNK = 24  # files that one ptx-run process takes


def find_tool(given):
    """ptx-run of a build, or one compiled now: a machine with a card needs no build of the project."""
    if given:
        return given
    for place in [ROOT / "build" / "bin" / "ptx-run", *sorted(ROOT.glob("build*/**/bin/ptx-run"))]:
        if place.exists():
            return str(place)
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if not compiler:
        sys.exit("run.py: no ptx-run (give one with --ptx-run) and no C++ compiler to make one")
    tool = pathlib.Path(tempfile.mkdtemp(prefix="ptx-run-")) / "ptx-run"
    sources = sorted(str(p) for p in (HERE / "tools").glob("*.cpp"))
    subprocess.run([compiler, "-std=c++20", "-O1", *sources, "-o", str(tool), "-ldl"], check=True)
    return str(tool)


def collect(names):
    files = []
    for name in names or FOLDERS:
        path = pathlib.Path(name)
        if not path.exists():
            path = HERE / name
        if path.is_dir():
            files += sorted(path.glob("*.ptx"))
        elif path.exists():
            files.append(path)
        else:
            sys.exit(f"run.py: no such test: {name}")
    files = [f.resolve() for f in files]
    return sorted(files, key=lambda f: FOLDERS.index(f.parent.name) if f.parent.name in FOLDERS else 9)


def configs_of(folder, seeds):
    """What a kernel of this folder must stand: schedules, places where lanes meet, times at which copies land."""
    if folder == "defects":
        return ["", "sched=random,seed=3", "sched=starve_low"]
    if folder != "right":
        return [""]
    out = ["", "merge=late", "sched=starve_low", "sched=starve_high", "async=early", "late_reads=1", "global_races=1"]
    for seed in range(1, seeds + 1):
        out.append(f"seed={seed},sched=random,merge=random,async=random,late_reads={seed % 2}")
    return out


def run_process(tool, driver, configs, files, dump, timeout, emulator):
    environment = os.environ | ({"LIBSPARK_EMU": emulator} if emulator else {})
    command = [tool, "--driver", driver]
    for config in configs:
        command += ["--config", config]
    if dump:
        command.append("--dump")
    try:
        done = subprocess.run(command + [str(f) for f in files], capture_output=True, text=True, timeout=timeout,
                              errors="replace", env=environment)
        return done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        text = late.stdout or b""
        return "timeout", text.decode(errors="replace") if isinstance(text, bytes) else text, ""


def parse(output, files):
    """file -> {verdict, detail, dump}; and the DEVICE line."""
    results, device, dump, last = {}, "", {}, None
    names = {str(f): f for f in files}
    for line in output.splitlines():
        word, _, rest = line.partition(" ")
        if word == "DEVICE":
            device = rest
        elif word == "DUMP":
            name, _, data = rest.partition(" ")
            dump[name] = data
        elif word in ("PASS", "FAIL", "SKIP") and rest.split(": ", 1)[0] in names:
            name, _, detail = rest.partition(": ")
            last = results[names[name]] = {"verdict": word, "detail": detail, "dump": dump}
            dump = {}
        elif last is not None and last["verdict"] == "FAIL":
            last["detail"] += "\n" + line
    return results, device


def run_files(tool, driver, files, seeds, jobs, dump=False, timeout=300, emulator=""):
    single = driver == "gpu"  # an error on a card spoils its whole process
    groups = []
    for folder in dict.fromkeys(f.parent.name for f in files):
        mine = [f for f in files if f.parent.name == folder]
        step = 1 if single else CHUNK
        configs = [] if single or dump else configs_of(folder, seeds)
        groups += [(mine[k:k + step], configs) for k in range(0, len(mine), step)]
    results, device = {}, ""

    def one(group):
        mine, configs = group
        code, out, err = run_process(tool, driver, configs, mine, dump, timeout, emulator)
        found, where = parse(out, mine)
        for f in mine:
            if f in found:
                continue
            if len(mine) > 1:  # the process died: each of the rest on its own
                more, _ = one(([f], configs))
                found.update(more)
            else:
                lines = err.strip().splitlines()
                detail = f"ptx-run ended with {code}: {' '.join(lines[-2:])}"
                found[f] = {"verdict": "FAIL", "detail": detail, "dump": {}}
        return found, where

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for found, where in pool.map(one, groups):
            results.update(found)
            device = where or device
    return results, device


def short(path):
    return str(path.relative_to(HERE)) if path.is_relative_to(HERE) else str(path)


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def report(results, files, verbose):
    passed = failed = skipped = 0
    for f in files:
        r = results.get(f, {"verdict": "FAIL", "detail": "not run"})
        passed += r["verdict"] == "PASS"
        failed += r["verdict"] == "FAIL"
        skipped += r["verdict"] == "SKIP"
        if r["verdict"] == "FAIL" or verbose:
            print(f"{r['verdict']} {short(f)}" + (f": {r['detail']}" if r["detail"] else ""))
    return passed, failed, skipped


def has_bound(path):
    return any(line.startswith("//! approx") for line in path.read_text().splitlines())


def of_card(device):
    """What makes an emulator claim to be a card of that compute capability."""
    return next((f"profile={name}" for cc, name in PROFILES.items() if f" cc {cc} " in device), "")


def witness(args, tool):
    files = [f for f in collect(args.names or FOLDERS[1:]) if f.parent.name != "defects"]
    card, device = run_files(tool, "gpu", files, 0, args.jobs, dump=True)
    if not device:
        first = next(iter(card.values()), {"detail": ""})
        sys.exit(f"run.py: no card answered: {first['detail']}")
    emulator = {}
    try:
        emulator, _ = run_files(tool, args.emulator, files, 0, args.jobs, dump=True, emulator=of_card(device))
    except OSError as error:
        print(f"the emulator could not be run: {error}")
    record = json.loads(WITNESS.read_text()) if WITNESS.exists() else {"files": {}}
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    counts = {}
    for f in files:
        c, e = card[f], emulator.get(f, {"verdict": "FAIL", "dump": {}, "detail": "not run"})
        if c["verdict"] == "SKIP" or TOO_NEW in c["detail"]:
            verdict = "not run: " + c["detail"]
        elif c["verdict"] == "FAIL":
            verdict = "card disagrees with the expectation"
        elif e["verdict"] == "FAIL":
            verdict = "card as expected"
            if e["dump"] or "ptx-run ended" not in e["detail"]:
                verdict += ", emulator not"
        elif c["dump"] == e["dump"]:
            verdict = "same bits"
        else:
            verdict = "within the bound" if has_bound(f) else "bits differ"
        counts[verdict.split(":")[0]] = counts.get(verdict.split(":")[0], 0) + 1
        if not verdict.startswith("not run"):
            record["files"][short(f)] = {"sha256": digest(f), "verdict": verdict, "card": device, "date": now}
        if verdict not in ("same bits", "within the bound") and not verdict.startswith("not run"):
            print(f"{short(f)}: {verdict}")
            for who, r in (("card", c), ("emulator", e)):
                if r["detail"]:
                    print(f"    {who}: {r['detail']}")
            if verdict == "bits differ":
                for name, data in c["dump"].items():
                    other = e["dump"].get(name, "")
                    at = next((k for k in range(0, len(data), 8) if data[k:k + 8] != other[k:k + 8]), None)
                    if at is not None:
                        print(f"    {name} at byte {at // 2}: card {data[at:at + 8]}, emulator {other[at:at + 8]}")
    record["last"] = {"card": device, "date": now, "counts": counts}
    record["files"] = dict(sorted(record["files"].items()))
    target = pathlib.Path(args.out) if args.out else WITNESS
    target.write_text(json.dumps(record, indent=1) + "\n")
    print(f"card: {device}")
    print(", ".join(f"{v} {k}" for k, v in sorted(counts.items())))
    good = counts.get("same bits", 0) + counts.get("within the bound", 0)
    skipped = counts.get("not run", 0)
    bad = sum(counts.values()) - good - skipped
    print(f"{good} passed, {bad} failed")
    return bad


def check_witness():
    known = json.loads(WITNESS.read_text())["files"] if WITNESS.exists() else {}
    stale = never = 0
    for f in collect(FOLDERS[1:]):
        entry = known.get(short(f))
        if entry is None:
            never += 1
            print(f"warning: {short(f)} was never run on a card")
        elif entry["sha256"] != digest(f):
            stale += 1
            print(f"warning: {short(f)} changed since {entry['card']} ran it on {entry['date']}")
    print(f"{len(known)} witnessed, {stale} changed since, {never} never run on a card")
    print(f"{len(known) - stale} passed, 0 failed")


def counts(write):
    """What PAGE says of the folders of defects and of right kernels, against what they hold."""
    held = tuple(len(list((HERE / folder).glob("*.ptx"))) for folder in FOLDERS[:2])
    page, said = PAGE.read_text(), COUNTED.format(*held)
    if any(count < least for count, least in zip(held, LEAST)):
        sys.exit(f"run.py: it {said}: at least {LEAST[0]} and {LEAST[1]} are wanted")
    if write:
        PAGE.write_text(re.sub(COUNTED.format(r"\d+", r"\d+"), said, page))
    elif said not in page:
        sys.exit(f"{PAGE.relative_to(ROOT)} must say that tests/emu {said}: run.py --counts --write")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="folders or files (default: all)")
    parser.add_argument("--driver", default="emu")
    parser.add_argument("--emulator", default="emu", help="driver that --witness compares the card with")
    parser.add_argument("--ptx-run", dest="tool")
    parser.add_argument("--seeds", type=int, default=6, help="random schedules for each right kernel")
    parser.add_argument("--jobs", type=int, default=min(4, os.cpu_count() or 1))
    parser.add_argument("--json")
    parser.add_argument("--out", help="write the witness record here instead")
    parser.add_argument("--witness", action="store_true")
    parser.add_argument("--check-witness", action="store_true")
    parser.add_argument("--counts", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("-v", "--verbose", action="store_true")
    args = parser.parse_args()
    if args.check_witness:
        return check_witness() or 0
    if args.counts:
        return counts(args.write) or 0
    tool = find_tool(args.tool)
    if args.witness:
        return 1 if witness(args, tool) else 0
    files = collect(args.names)
    results, device = run_files(tool, args.driver, files, args.seeds, args.jobs)
    passed, failed, skipped = report(results, files, args.verbose)
    if args.json:
        rows = [{"file": short(f), **{k: results[f][k] for k in ("verdict", "detail")}} for f in files]
        pathlib.Path(args.json).write_text(json.dumps({"device": device, "files": rows}, indent=1) + "\n")
    print(f"device: {device}")
    if skipped:
        print(f"{skipped} skipped")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
