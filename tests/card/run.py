#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks a build on a card and writes one file of results, which `tools/spark check --record FILE` takes into the tree.

    run.py --build build/release --out checked.json      on the machine with the card; needs only bin/ and lib/ of
                                                         the build (phase api: and libcmocka.so.0 in lib/; a card
                                                         of compute capability 9.0: and libspark-sm90.bin there)
    run.py --driver emu ...                              a rehearsal without one; it is not recorded

What runs, in this order (--phases picks some; a file that exists keeps what other phases found):
    cases      spark-check: every case of every operator, and random ones
    both       the same on card and emulator: are the bits equal?
    api        the tests of the C API
    repeats    one case of each kernel again and again: the same bits each time?
    memcheck   compute-sanitizer, one case of each kernel: stray accesses
    racecheck  the same: races in shared memory
    languages  (with --programs DIR) the same decode step in each language, a program each: the same bits from all?
    model      (with --model FILE) a prefill launch by launch on card and emulator: which operators give the same bits
The case of a kernel is the named one that took the median time among those of its that passed.
Exit code: 0 nothing failed, 1 something did, 2 it could not run.
"""
import argparse
import collections
import concurrent.futures
import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PHASES = ["cases", "both", "api", "repeats", "memcheck", "racecheck", "languages", "model"]
API = [f"api-{name}" for name in ("contract", "exec", "negative", "negative_gemm", "negative_quant", "launch",
                                  "neighbours", "threads")] + ["ptx-launch"]
SHARD = 16           # the fewest cases that one spark-check process takes
SHARDS = 64          # into so many at most are the cases of an operator divided
DRAWS = ["40", "attention=2000"]  # random cases: layouts, masks, types and heads of attention meet in many ways
KEPT = 12            # failures of a phase that are kept in full
SANITIZER_SAYS = 86  # an exit code that spark-check has no use for


class Unusable(Exception):
    """A sentence: why nothing can be checked here."""


class CannotStart(Exception):
    """What the loader said."""


PATH = re.compile(r"(?<![\w.~/-])/(?:[\w.@+~-]+/)+[\w.@+~-]+")  # absolute, of two names or more
SYSTEM = ("/usr/", "/lib/", "/lib64/", "/opt/", "/etc/", "/proc/", "/sys/", "/dev/")


def without_paths(text, root=ROOT):
    """The text without the places of this machine, or of the one that built: a file of the tree keeps its path in the
    tree, any other its name."""
    def short(found):
        path = found[0]
        names = path.strip("/").split("/")
        inside = ["/".join(names[i:]) for i in range(len(names)) if (root / names[i]).is_dir()]
        return path if path.startswith(SYSTEM) else next((p for p in inside if (root / p).exists()), names[-1])
    return PATH.sub(short, text)


class Runner:
    """Programs of the build, several at a time, each with a limit; counts how far the phase is."""

    def __init__(self, args):
        self.args = args
        self.bin = args.build / "bin"
        self.check = self.bin / "spark-check"
        if not self.check.exists():
            raise Unusable(f"{self.check} is not there: build spark-check, or say --build")
        self.running = set()
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="spark-card-"))
        path = [str(args.build / "lib"), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
        self.env = {**os.environ, "LIBSPARK_DRIVER": args.driver, "LD_LIBRARY_PATH": ":".join(path)}
        # The emulator beside a card should choose the same kernels; the cores are taken by other processes.
        self.emulator_words = "" if args.driver == "emu" else f"profile={args.profile}"
        self.env.setdefault("LIBSPARK_EMU", f"threads=1,{self.emulator_words}".rstrip(","))

    def run(self, command, limit, env=None):
        """Exit code (None: over the limit) and what was said."""
        child = subprocess.Popen([str(word) for word in command], env={**self.env, **(env or {})}, text=True,
                                 errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT)
        self.running.add(child)
        try:
            said = child.communicate(timeout=limit)[0]
            return child.returncode, without_paths(said)
        except subprocess.TimeoutExpired:
            child.kill()
            return None, without_paths(child.communicate()[0])
        finally:
            self.running.discard(child)

    def end(self):
        """Takes along what it has started."""
        for child in list(self.running):
            child.kill()

    def each(self, phase, jobs, work):
        """work(job) for all jobs, in the order in which they end; shows progress."""
        begin, results = time.monotonic(), []
        with concurrent.futures.ThreadPoolExecutor(self.args.jobs) as pool:
            waiting = [pool.submit(work, job) for job in jobs]
            for done in concurrent.futures.as_completed(waiting):
                results.append(done.result())
                show(f"{phase}: {len(results)} of {len(jobs)}", time.monotonic() - begin)
        show(f"{phase}: {len(jobs)} jobs", time.monotonic() - begin, end="\n")
        return results


def show(text, seconds, end=""):
    if end or sys.stderr.isatty():
        print(f"\r\033[K{text}, {seconds:.0f} s" if sys.stderr.isatty() else f"{text}, {seconds:.0f} s", end=end,
              file=sys.stderr, flush=True)


def spark_check(runner, job, limit):
    """One spark-check run; its results, and what went wrong with the run as a whole."""
    out = runner.scratch / f"{abs(hash(tuple(job)))}.json"
    code, said = runner.run([runner.check, *job, "--json", out], limit)
    name = " ".join(job)
    if code == 77:
        raise Unusable(said.strip().splitlines()[-1])
    try:
        results = json.loads(without_paths(out.read_text()))["results"]
    except (OSError, ValueError):
        results = []
    failed = any(r["status"] == "failed" for r in results)
    trouble = []
    if code is None:
        trouble.append(f"spark-check {name}: not done within {limit} s")
    elif code not in (0, 1) or (code == 1 and not failed and "but the drivers differ" not in said):
        trouble.append(f"spark-check {name}: exit code {code}: {said.strip()[-300:]}")
    return results, trouble


def case_jobs(runner, driver, tier):
    """Arguments of spark-check runs that together are all cases, the random ones among them."""
    code, listed = runner.run([runner.check, "--list", "--tier", tier, "--op", runner.args.op], 60)
    names = re.findall(r"^(\w+)/", listed, re.M)
    if code or not names:
        raise Unusable(f"spark-check --list says: {listed.strip()[-300:]}")
    jobs = []
    for op, count in collections.Counter(names).items():
        number = drawn(runner.args.random, op)
        shards = min(SHARDS, -(-(count + number) // SHARD))
        jobs += [["--driver", driver, "--op", op, "--tier", tier, "--random", str(number), "--seed",
                  str(runner.args.seed), "--timeout", "300", "--shard", f"{i}/{shards}"] for i in range(shards)]
    return jobs


def draws(words):
    """{operator, or "" for all others: random cases}, of the words N and OPERATOR=N."""
    found = {op: int(number) for op, _, number in (word.rpartition("=") for word in words)}
    return {"": 0, **found}


def drawn(random, op):
    return random.get(op, random[""])


def by_kernel(results):
    """{operator: {kernel: [results]}}"""
    table = {}
    for r in results:
        table.setdefault(r["op"], {}).setdefault(r["kernel"] or "(none)", []).append(r)
    return table


def counts(results):
    """{operator: {kernel: {passed, failed, skipped}}}"""
    return {op: {kernel: dict(sorted(collections.Counter(r["status"] for r in of).items()))
                 for kernel, of in sorted(kernels.items())} for op, kernels in sorted(by_kernel(results).items())}


def failures(results, trouble):
    lines = [f"{r['op']}/{r['case']} {r['kernel']} on {r['driver']}: {' '.join(r['faults'])}"[:400]
             for r in results if r["status"] == "failed"]
    lines += trouble
    return {"failed": len(lines), "failures": lines[:KEPT]}


def cases(runner, record):
    driver = runner.args.driver
    tier = runner.args.tier or ("quick" if driver == "emu" else "card")
    ran = runner.each("cases", case_jobs(runner, driver, tier),
                      lambda job: spark_check(runner, job, runner.args.limit))
    results, trouble = [r for some, _ in ran for r in some], [t for _, some in ran for t in some]
    if not results:
        raise Unusable(trouble[0] if trouble else "no case ran")
    record["device"] = results[0]["device"]
    record["picks"] = {op: {kernel: pick(of) for kernel, of in kernels.items() if pick(of)}
                       for op, kernels in by_kernel(results).items()}
    random = dict(runner.args.random)
    return {"kernels": counts(results), "tier": tier, "random": random.pop(""), "random_of": random,
            "seed": runner.args.seed, **failures(results, trouble)}


def pick(results):
    """The case by which a kernel is looked at again: not random, since its name is to be read; not an extreme."""
    good = [r for r in results if r["status"] == "passed" and r["kernel"][:1] != "(" and r["case"][:7] != "random_"]
    good.sort(key=lambda r: (r["seconds"], r["case"]))
    return good[len(good) // 2]["case"] if good else None


def both(runner, record):
    drivers = ["emu", "gpu"]
    if runner.args.driver == "emu":
        return {"skipped": "no card: a rehearsal"}
    ran = runner.each("both", case_jobs(runner, "both", "quick"),
                      lambda job: spark_check(runner, job, runner.args.limit))
    results, trouble = [r for some, _ in ran for r in some], [t for _, some in ran for t in some]
    hashes = {}
    for r in results:
        if r["status"] == "passed":
            hashes.setdefault((r["op"], r["case"], r["kernel"], r["exact"]), {})[r["driver"]] = r["hash"]
    ops = {}
    for (op, case, kernel, exact), of in sorted(hashes.items()):
        entry = ops.setdefault(op, {"equal": 0, "within_bounds": 0, "alone": 0})
        same = len(set(of.values())) == 1
        entry["alone" if len(of) < len(drivers) else "equal" if same else "within_bounds"] += 1
        if exact and not same:
            trouble.append(f"{op}/{case} {kernel}: only exact instructions, but the drivers differ")
    return {"operators": ops, **failures(results, trouble)}


def api(runner, record):
    def place(name):
        beside = runner.args.build / "lib" / name  # one that reads the library's images itself
        return beside if beside.exists() else runner.bin / name

    def one(name):
        code, said = runner.run([place(name)], runner.args.limit)
        passed = re.search(r"PASSED\s*\] (\d+) test", said)
        failed = re.search(r"FAILED\s*\] (\d+) test", said)
        skipped = re.search(r"SKIPPED\s*\] (\d+) test", said)
        number = [int(found[1]) if found else 0 for found in (passed, failed, skipped)]
        if code == 127:  # the loader's word for: a library is missing
            raise CannotStart(said.strip())
        trouble = [] if code == 0 else [f"{name}: exit code {code}: {said.strip()[-300:]}"]
        return name, dict(zip(("passed", "failed", "skipped"), number)), trouble
    try:
        ran = sorted(runner.each("api", [name for name in API if place(name).exists()], one))
    except CannotStart as why:
        return {"skipped": str(why)}
    return {"programs": {name: number for name, number, _ in ran},
            **failures([], [t for _, _, some in ran for t in some])}


def picks(runner, record):
    """(operator, kernel, case) of each kernel that `cases` has seen pass."""
    if "picks" not in record:
        raise Unusable("which case stands for a kernel is found by the phase 'cases': run it first")
    wanted = re.compile(re.escape(runner.args.op).replace(r"\*", ".*") + "$")
    return [(op, kernel, case) for op, kernels in sorted(record["picks"].items()) if wanted.match(op)
            for kernel, case in sorted(kernels.items())]


def one_case(runner, pick):
    op, kernel, case = pick
    return ["--driver", runner.args.driver, "--op", op, "--shape", case, "--kernel", kernel, "--seed",
            str(runner.args.seed), "--timeout", str(runner.args.limit)]


def repeats(runner, record):
    def one(pick):
        return spark_check(runner, [*one_case(runner, pick), "--repeats", str(runner.args.repeats)], runner.args.limit)
    ran = runner.each("repeats", picks(runner, record), one)
    results = [r for some, _ in ran for r in some]
    return {"kernels": counts(results), "launches": runner.args.repeats,
            **failures(results, [t for _, some in ran for t in some])}


def sanitized(tool):
    def phase(runner, record):
        if runner.args.driver == "emu":
            return {"skipped": "no card: a rehearsal"}
        sanitizer = shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")
        if not sanitizer:
            return {"skipped": "no compute-sanitizer on this machine"}

        def one(pick):
            code, said = runner.run([sanitizer, "--tool", tool, "--error-exitcode", SANITIZER_SAYS, runner.check,
                                     "--single", *one_case(runner, pick)], runner.args.limit)
            clean = code == 0 and re.search(r"(ERROR|RACECHECK) SUMMARY: 0 ", said)
            heart = [line for line in said.splitlines() if line.startswith("=========") and line.strip("= ")]
            said = " / ".join(line.strip("= ") for line in heart[1:4]) or said.strip()[-300:]
            state = "clean" if clean else "over the limit" if code is None else "not clean"
            return pick, state, f"{pick[0]}/{pick[2]} {pick[1]}: {state}: {said}"[:400]
        ran = runner.each(tool, picks(runner, record), one)
        table = {}
        for (op, kernel, _), state, _ in sorted(ran):
            table.setdefault(op, {})[kernel] = state
        late = sum(state == "over the limit" for _, state, _ in ran)
        wrong = [text for _, state, text in sorted(ran) if state == "not clean"]
        return {"kernels": table, "over_the_limit": late, "limit_s": runner.args.limit, **failures([], wrong)}
    return phase


def languages(runner, record):
    if not runner.args.programs:
        return {"skipped": "no programs: --programs DIR"}
    said = {}
    for program in sorted(runner.args.programs.iterdir()):
        code, text = runner.run([program], runner.args.limit)
        lines = re.findall(r"^(?:step|logits) .*\n", text, re.M)
        said[program.stem] = "".join(lines) if code == 0 else text.strip()[-300:]
    usual = collections.Counter(said.values()).most_common(1)[0][0]
    return {"programs": sorted(said), "logits": usual.split()[-1],
            **failures([], [f"{name}: {text}" for name, text in said.items() if text != usual])}


def model(runner, record):
    """The emulator writes what each launch wrote; the card follows, from the same inputs each time, and then alone."""
    if not runner.args.model:
        return {"skipped": "no model: --model FILE"}
    file = runner.scratch / "launches"

    def bits(way, driver):
        code, said = runner.run([runner.bin / "generate-bits", "--model", runner.args.model, way, file],
                                runner.args.limit, {"LIBSPARK_DRIVER": driver, "LIBSPARK_EMU": runner.emulator_words})
        if code:
            raise Unusable(f"generate-bits {way}: {said.strip()[-300:]}")
        kinds = {label: {"launches": int(n), "equal": int(equal)}
                 for n, equal, label in re.findall(r"^launches +(\d+) equal +(\d+) (.+)$", said, re.M)}
        logits = re.search(r"logits (\d+) equal (\d+) off (\S+)", said)
        return kinds, logits and {"number": int(logits[1]), "equal": int(logits[2]), "off": float(logits[3])}

    bits("--write", str(runner.args.build / "lib" / "libspark-emu.so"))
    launches, _ = bits("--follow", runner.args.driver)
    return {"launches": launches, "logits": bits("--alone", runner.args.driver)[1], **failures([], [])}


DO = {"cases": cases, "both": both, "api": api, "repeats": repeats, "memcheck": sanitized("memcheck"),
      "racecheck": sanitized("racecheck"), "languages": languages,
      "model": model}


def driver_version(args):
    """The interface version that the driver answers for, and the release that nvidia-smi names."""
    library = "libcuda.so.1" if args.driver == "gpu" else str(args.build / "lib" / "libspark-emu.so")
    version = ctypes.c_int(0)
    try:
        ctypes.CDLL(library).cuDriverGetVersion(ctypes.byref(version))
    except (OSError, AttributeError):
        pass
    release = ""
    if args.driver == "gpu" and shutil.which("nvidia-smi"):
        asked = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
                               capture_output=True, text=True)
        release = asked.stdout.split("\n")[0].strip() if asked.returncode == 0 else ""
    return version.value, release


def parse():
    top = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"),
                     help="bin/ and lib/ of a build (default build/release)")
    top.add_argument("--out", type=pathlib.Path, required=True, help="the file of results")
    top.add_argument("--driver", choices=("gpu", "emu"), default="gpu")
    top.add_argument("--profile", default="h200", help="what the emulator beside the card claims to be (default h200)")
    top.add_argument("--phases", default=",".join(PHASES), help="some of " + ",".join(PHASES))
    top.add_argument("--op", default="*", help="operators whose name matches ('*' stands for anything)")
    top.add_argument("--tier", choices=("quick", "longer", "card"),
                     help="of the cases; card is all of them, and the default on a card")
    top.add_argument("--random", nargs="+", default=DRAWS, metavar="N",
                     help=f"random cases an operator; OPERATOR=N of that one (default {' '.join(DRAWS)})")
    top.add_argument("--repeats", type=int, default=1000, help="launches of the phase repeats (default 1000)")
    top.add_argument("--programs", type=pathlib.Path, help="a folder of programs, the example decode_step each")
    top.add_argument("--model", type=pathlib.Path, help="a GGUF file as tools/spark demo fetches it")
    top.add_argument("--seed", type=int, default=1)
    top.add_argument("--jobs", type=int, default=os.cpu_count(), help="programs at a time (default: one a core)")
    top.add_argument("--limit", type=int, default=240, help="seconds for one program (default 240)")
    args = top.parse_args()
    args.build, args.phases = args.build.resolve(), args.phases.split(",")
    try:
        args.random = draws(args.random)
    except ValueError:
        top.error(f"--random takes N and OPERATOR=N, not {' '.join(args.random)}")
    if unknown := set(args.phases) - set(PHASES):
        top.error(f"no such phase: {', '.join(sorted(unknown))}")
    return args


def main():
    args = parse()
    record = json.loads(args.out.read_text()) if args.out.exists() else {"phases": {}}
    try:
        runner = Runner(args)
        signal.signal(signal.SIGTERM, lambda *_: (runner.end(), os._exit(128 + signal.SIGTERM)))
        record["driver"], record["driver_release"] = driver_version(args)
        for phase in [name for name in PHASES if name in args.phases]:
            begin = time.monotonic()
            found = DO[phase](runner, record)
            record["phases"][phase] = {**found, "seconds": round(time.monotonic() - begin, 1)}
            record["emulated"] = "[emulated]" in record.get("device", "")
            args.out.write_text(json.dumps(record, indent=1) + "\n")
            told = found.get("skipped") or f"{found['failed']} failed"
            print(f"{phase:10} {record['phases'][phase]['seconds']:6.1f} s  {told}", flush=True)
            for line in found.get("failures", []):
                print(f"    {line}", flush=True)
        shutil.rmtree(runner.scratch)
    except Unusable as why:
        print(f"run.py: {why}", file=sys.stderr)
        return 2
    return 1 if any(record["phases"][name].get("failed") for name in args.phases) else 0


if __name__ == "__main__":
    sys.exit(main())
