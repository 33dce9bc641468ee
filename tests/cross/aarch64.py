#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the library, the emulator and their tests for 64-bit Arm, runs them under qemu-user, and compares with here.

What runs there, and must give the same bits as this build: the instructions, lane maps and tensor-core sums of
tests/emu, buffer for buffer; for each operator some of its cases, kernel for kernel. What must pass there: the
contract and the launches of the C API, and what tests/package looks for in hardened files. Not there: refusals,
schedules and threads, which no host's numbers touch.

Ends with 77 and a sentence where a tool is missing. cmocka for Arm is Debian's package, unpacked into the build folder:
apt gets lists of its own for that, so that nothing of the system changes.
"""
import argparse
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(ROOT / "tests" / "emu"))
import run as instructions  # noqa: E402

SKIPPED = 77
# Signed return addresses with a quick cipher: the architecture's own takes most of the time of a call. And 8 GiB of
# addresses: qemu keeps a record of each page that the emulator reserves, for two seconds of each start with a card's.
QEMU = ["qemu-aarch64", "-cpu", "max,pauth-impdef=on", "-R", "0x200000000", "-L", "/usr/aarch64-linux-gnu"]
API = ["api-contract", "api-launch", "cross-ratio"]
TARGETS = ["spark", "spark_static", "spark-emu", "ptx-run", "spark-check", *API]
EVERY = {"short": 40, "long": 4}  # one case of so many: what qemu does in a minute or two, in a quarter of an hour
DEAR = {"attention": 4, "gemm": 4}  # of these one of so many times as many


def skip(sentence):
    print(f"aarch64.py: {sentence}: nothing is tested on Arm")
    sys.exit(SKIPPED)


def cmocka(folder):
    """The folder that has the package's include/ and lib/, for Arm."""
    usr = folder / "usr"
    if (usr / "include" / "cmocka.h").exists():
        return usr
    for name in ("lists", "archives"):
        (folder / name / "partial").mkdir(parents=True, exist_ok=True)
    settings = folder / "apt.conf"
    settings.write_text('APT::Architecture "arm64";\nAPT::Architectures { "arm64"; };\nAPT::Sandbox::User "root";\n'
                        f'Dir::State "{folder}";\nDir::State::status "/dev/null";\nDir::Cache "{folder}";\n')
    for words in (["update"], ["download", "libcmocka0", "libcmocka-dev"]):
        done = subprocess.run(["apt-get", "-q", *words], cwd=folder, env=dict(os.environ, APT_CONFIG=str(settings)),
                              capture_output=True, text=True)
        if done.returncode != 0:
            skip(f"apt-get {words[0]} for arm64 failed: {done.stderr.strip().splitlines()[-1]}")
    for package in folder.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", package, folder], check=True)
    return usr


def build(options):
    usr = cmocka(options.into / "cmocka")
    libraries = usr / "lib" / "aarch64-linux-gnu"
    settings = [f"-DSPARK_PTXAS={options.ptxas}", f"-DPython3_EXECUTABLE={sys.executable}",
                f"-DSPARK_KERNEL_CACHE={options.kernels}", "-DSPARK_ARCHS=120", f"-DCMAKE_LIBRARY_PATH={libraries}",
                f"-DCMAKE_CXX_FLAGS=-isystem {usr}/include",
                f"-DCMAKE_EXE_LINKER_FLAGS=-L{libraries} -Wl,-rpath,{libraries}"]
    folder = options.into / "build"
    toolchain = ROOT / "cmake" / "aarch64-linux-gnu.cmake"
    subprocess.run(["cmake", "-G", "Ninja", "-S", ROOT, "-B", folder, "--toolchain", toolchain, *settings], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", folder, "--parallel", str(options.jobs), "--target", *TARGETS], check=True)
    return folder


class Host:
    """A build and how its programs are started."""

    def __init__(self, folder, before):
        self.folder, self.before = folder, before
        self.emulator = folder / "lib" / "libspark-emu.so"
        self.env = dict(os.environ, LIBSPARK_DRIVER=str(self.emulator))

    def run(self, program, *words):
        command = [*self.before, self.folder / "bin" / program, *words]
        return subprocess.run(command, cwd=ROOT, env=self.env, capture_output=True, text=True)

    def cases(self, op, tier):
        """{case and kernel: its result}"""
        shard = f"0/{EVERY[tier] * DEAR.get(op, 1)}"
        with tempfile.NamedTemporaryFile() as out:
            done = self.run("spark-check", "--driver", "emu", "--op", op, "--shard", shard, "--random", "10",
                            "--timeout", "300", "--json", out.name)
            if done.returncode not in (0, 1):
                sys.exit(f"aarch64.py: spark-check {op} ended with {done.returncode}: {done.stdout}{done.stderr}")
            return {(r["case"], r["kernel"]): r for r in json.load(out)["results"]}


def compare_instructions(here, arm, scratch, jobs):
    starter = scratch / "ptx-run"
    starter.write_text("#!/bin/sh\nexec " + " ".join([*QEMU, str(arm.folder / "bin" / "ptx-run")]) + ' "$@"\n')
    starter.chmod(0o755)
    files = instructions.collect(["insn", "maps", "mma"])
    ran = [instructions.run_files(tool, str(host.emulator), files, 0, jobs, dump=True)[0]
           for host, tool in ((here, str(here.folder / "bin" / "ptx-run")), (arm, str(starter)))]
    wrong = [f"{file.name}: {there['verdict']} {there['detail']}" for file in files
             for ours, there in [(ran[0][file], ran[1][file])]
             if there["verdict"] == "FAIL" or any(there[what] != ours[what] for what in ("verdict", "dump"))]
    return len(files), wrong


def compare_operators(here, arm, tier, jobs):
    ops = [line.split()[0] for line in (ROOT / "src" / "ops" / "first_sizes.txt").read_text().splitlines()
           if line and line[0] != "#"]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(lambda op: (here.cases(op, tier), arm.cases(op, tier)), ops))
    count, wrong = 0, []
    for op, (ours, there) in zip(ops, results):
        count += len(there)
        for key in sorted(ours.keys() | there.keys()):
            a, b = ours.get(key), there.get(key)
            if not a or not b or b["status"] == "failed" or a["hash"] != b["hash"]:
                wrong.append(f"{op}/{key[0]} {key[1]}: {b['status'] if b else 'not run'}, "
                             f"{' '.join(b['faults']) if b and b['faults'] else 'not the bits of this host'}")
    return count, wrong


def run_api(arm, jobs):
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        done = list(pool.map(arm.run, API))
    return len(API), [f"{name}: {d.returncode} {d.stdout[-500:]}{d.stderr[-2000:]}" for name, d in zip(API, done)
                      if d.returncode != 0]


def look_for_hardening(arm, into):
    done = subprocess.run([sys.executable, ROOT / "tests" / "package" / "hardening_test.py", "--build", arm.folder,
                           "--into", into / "hardening"], capture_output=True, text=True)
    return 1, [done.stderr[-4000:]] if done.returncode != 0 else []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", type=Path, required=True, help="a build for this host, to compare with")
    parser.add_argument("--into", type=Path, required=True, help="the folder for the build for Arm")
    parser.add_argument("--ptxas", type=Path, required=True)
    parser.add_argument("--tier", choices=EVERY, default="short", help="how many cases of operators (short)")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="as many at a time (the cores)")
    parser.add_argument("--kernels", default="", help="the folder of assembled kernels that builds share")
    options = parser.parse_args()
    options.into, options.host = options.into.resolve(), options.host.resolve()
    for program in ("aarch64-linux-gnu-g++", QEMU[0], "apt-get", "ninja"):
        if not shutil.which(program):
            skip(f"there is no {program}")
    options.into.mkdir(parents=True, exist_ok=True)
    here, arm = Host(options.host, []), Host(build(options), QEMU)
    failed = 0
    for what, (count, wrong) in (("instruction tests", compare_instructions(here, arm, options.into, options.jobs)),
                                 ("results of operators", compare_operators(here, arm, options.tier, options.jobs)),
                                 ("programs of the API", run_api(arm, options.jobs)),
                                 ("looks for hardening", look_for_hardening(arm, options.into))):
        print(f"{count} {what}, {len(wrong)} wrong", *wrong[:12], sep="\n    ", flush=True)
        failed += len(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
