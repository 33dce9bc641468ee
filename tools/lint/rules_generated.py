# SPDX-License-Identifier: Apache-2.0
#
# Rules that other tools of the tree answer: committed results of generators, and the kernels' headers.
import subprocess
import sys

import checked
import goals
import record
import tree
from tree import Finding, rule


def ask(*words):
    """Runs a tool of the tree; its complaints as findings, none when it agrees."""
    tool = words[0]
    if not (tree.ROOT / tool).exists():
        return
    result = subprocess.run([sys.executable, *words], cwd=tree.ROOT, capture_output=True, text=True,
                            stdin=subprocess.DEVNULL)
    if result.returncode == 0:
        return
    said = [line for line in (result.stdout + result.stderr).splitlines() if line.strip()]
    for line in said[-20:] or [f"exit code {result.returncode}, and nothing said"]:
        yield Finding(" ".join(words), 0, line)


def built_kernels():
    """The option that leads tools/ptxc to the kernels of the release build, where there is one."""
    results = tree.ROOT / "build" / "release" / "ptx"
    return ["--results", str(results)] if results.exists() else []


@rule("operators", "what specgen makes from op.toml is committed and up to date")
def check_operators():
    yield from ask("tools/specgen", "--check")


@rule("kernels", "kernel headers hold together, no kernel is without a row, no row without a kernel")
def check_kernels():
    yield from ask("tools/ptxc", "lint", *built_kernels())


@rule("kernel-page", "ptx/KERNELS.md and ptx/LOOPS.md are what tools/ptxc prints")
def check_kernel_page():
    yield from ask("tools/ptxc", "page", "--check", *built_kernels())


@rule("planted", "docs/emulator.md says how many defects and right kernels tests/emu holds")
def check_planted():
    yield from ask("tests/emu/run.py", "--counts")


def same_page(kind, page, command):
    """docs/<page>.md says what docs/<page>.json says."""
    found = tree.text(f"docs/{page}.md") if kind.PAGE.exists() else ""
    if found != (kind.page(kind.load()) if kind.RECORD.exists() else ""):
        yield Finding(f"docs/{page}.md", 0, f"does not say what {page}.json says: tools/spark {command} --record")


@rule("performance", "docs/performance.md is what docs/performance.json says")
def check_performance():
    yield from same_page(record, "performance", "bench")


@rule("goals", "docs/goals.md is what bench/goals.toml and docs/performance.json say")
def check_goals():
    if tree.text("docs/goals.md") != goals.page(record.load()):
        yield Finding("docs/goals.md", 0, "is not what the goals and the record say: tools/spark bench --goals")


@rule("checked", "docs/checked.md is what docs/checked.json says")
def check_checked():
    yield from same_page(checked, "checked", "check")
