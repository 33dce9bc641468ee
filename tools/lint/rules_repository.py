# SPDX-License-Identifier: Apache-2.0
#
# Rules about the tree as a whole: who may name what, who includes whom, READMEs, links, environment variables, history.
import re
from pathlib import Path, PurePosixPath

import tree
from tree import Finding, rule

HOSTS = {"www.apache.org", "spdx.org", "github.com", "docs.nvidia.com", "developer.nvidia.com", "arxiv.org",
         "keepachangelog.com", "semver.org", "huggingface.co", "sqlite.org", "www.debian.org", "www.w3.org"}


def code_lines(name):
    """The numbered lines of a C or PTX file without comments."""
    blanked = re.sub(r"/\*.*?\*/", lambda comment: "\n" * comment[0].count("\n"), tree.text(name) or "", flags=re.S)
    for number, line in enumerate(blanked.split("\n"), 1):
        yield number, line.split("//", 1)[0]


DRIVER_NAMES = re.compile(
    r"\b(cu[A-Z]\w+|CUDA_ERROR_\w+|CU(?:device|context|stream|function|module|event|result)\w*)\b")


@rule("driver", "the CUDA driver's names occur in src/runtime/driver.* and in the emulator's facade alone")
def check_driver():
    allowed = ("src/runtime/driver", "emu/driver/", "emu/include/")
    for name in tree.matching("src/*", "include/*", "emu/*", "examples/*", "bench/*", "ptx/*"):
        if name.startswith(allowed) or tree.suffix(name) not in tree.C_LIKE | tree.PTX:
            continue
        for number, line in code_lines(name):
            found = DRIVER_NAMES.search(line)
            if found:
                yield Finding(name, number, f"names {found[1]}: only the driver table does")


@rule("paths", "no path of one machine: home folders and workplaces")
def check_paths():
    pattern = re.compile(r"(?<![\w$}.-])/(?:work|root|home/\w+|Users/\w+)/\w")
    for name in tree.files():
        for number, line in enumerate(tree.lines(name), 1):
            found = pattern.search(line)
            if found:
                yield Finding(name, number, f"a path of one machine: {line[found.start():][:30].split()[0]}")


@rule("hosts", "addresses lead to documentation or to the project; registries are reached by their clients' settings")
def check_hosts():
    for name in tree.files():
        for number, line in enumerate(tree.lines(name), 1):
            for host in re.findall(r"https?://([\w.-]+)", line):
                if host.lower() not in HOSTS:
                    yield Finding(name, number, f"an address at {host}; HOSTS in rules_repository.py lists what may be")


# Who may include whom inside src/: a module sees itself and what stands before it.
MODULES = {
    "core": (),
    "runtime": ("core", "dispatch/kernel.h", "dispatch/cost.h", "dispatch/memo.h", "dispatch/tuning.h"),
    "dispatch": ("core",),
    "ops": ("core", "dispatch", "runtime"),
    "api": ("core", "dispatch", "ops", "runtime"),
}


@rule("modules", "a module of src/ includes only what stands before it, and nothing of emu/ or tests/")
def check_modules():
    for name in tree.matching("src/*/*"):
        module = PurePosixPath(name).parts[1]
        if module not in MODULES:
            continue
        for number, line in enumerate(tree.lines(name), 1):
            found = re.match(r'\s*#\s*include\s+"([\w./-]+)"', line)
            if not found:
                continue
            target = found[1].removeprefix("src/")
            first = target.split("/")[0]
            if first in ("emu", "tests"):
                yield Finding(name, number, f"src/ includes {found[1]}")
            elif first in MODULES and first != module and not target.startswith(MODULES[module]):
                yield Finding(name, number, f"{module}/ includes {target}, which stands after it")


# The same inside emu/: text -> ir -> exec <-> mem, num; check listens to exec; driver stands on the engine's interface.
EMU_MODULES = {
    "text": ("engine_limits.h",),
    "mem": (),
    "num": (),
    "ir": ("text", "mem", "engine.h", "engine_limits.h"),
    "exec": ("ir", "mem", "num", "report", "engine.h", "engine_limits.h"),
    "report": ("exec", "engine.h"),
    "check": ("exec", "report"),
    "driver": ("include", "mem", "engine.h", "engine_limits.h"),
    "include": (),
    "tools": ("mem", "engine.h"),
}


@rule("emu", "a module of emu/ includes only what it stands on")
def check_emu():
    for name in tree.matching("emu/*/*"):
        module = PurePosixPath(name).parts[1]
        for number, line in enumerate(tree.lines(name), 1):
            found = re.match(r'\s*#\s*include\s+"([\w./-]+)"', line)
            if not found or str(PurePosixPath(name).parent / found[1]) in tree.files():
                continue
            target = found[1].removeprefix("emu/").removeprefix("../")
            if target.split("/")[0] not in (module, *EMU_MODULES.get(module, ())):
                yield Finding(name, number, f"{module}/ includes {target}, on which it does not stand")


def is_described_above(folder):
    """Its parent's README says what is in each of the parent's folders."""
    above = f"{PurePosixPath(folder).parent}/README.md"
    return above in tree.files() and any("In each:" in line for line in tree.lines(above))


@rule("readme", "each folder has a README.md of at most 25 lines, or its parent's says what is in each")
def check_readme():
    folders = {str(parent) for name in tree.files() for parent in PurePosixPath(name).parents if str(parent) != "."}
    for folder in sorted(folders):
        if "/." in f"/{folder}":
            continue
        name = f"{folder}/README.md"
        if name not in tree.files():
            if not is_described_above(folder):
                yield Finding(folder, 0, "no README.md")
        elif len(tree.lines(name)) - 1 > 25 and not tree.is_generated(name):
            yield Finding(name, 0, f"{len(tree.lines(name)) - 1} lines; at most 25, the rest belongs in docs/")


def anchors(name):
    """The anchors of a page's headings, as they are made from the words."""
    found, fenced = set(), False
    for line in tree.lines(name):
        fenced ^= line.startswith("```")
        if line.startswith("#") and not fenced:
            words = re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower())
            found.add(words.replace(" ", "-"))
    return found


@rule("links", "links between pages lead somewhere")
def check_links():
    for name in tree.matching("*.md"):
        fenced = False
        for number, line in enumerate(tree.lines(name), 1):
            fenced ^= line.lstrip().startswith("```")
            if fenced:
                continue
            for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
                if re.match(r"[a-z]+:", target):
                    continue
                path, _, anchor = target.partition("#")
                page = Path(tree.ROOT / name).parent / path if path else Path(tree.ROOT / name)
                page = page.resolve()
                if not page.exists():
                    yield Finding(name, number, f"{target} is not there")
                elif anchor and page.suffix == ".md" and anchor not in anchors(str(page.relative_to(tree.ROOT))):
                    yield Finding(name, number, f"{target}: no such heading")


@rule("knobs", "every LIBSPARK_ variable in the tree is in src/core/knobs.inc")
def check_knobs():
    listing = "src/core/knobs.inc"
    if listing not in tree.files():
        return
    known = set(re.findall(r"LIBSPARK_[A-Z]+", tree.text(listing)))
    for name in tree.matching("src/*", "emu/*", "include/*", "examples/*", "docs/*", "README.md", "tools/*"):
        if tree.suffix(name) not in tree.C_LIKE | {".md", ".py"}:
            continue
        for number, line in enumerate(tree.lines(name), 1):
            for variable in re.findall(r"\bLIBSPARK_[A-Z]+\b(?!_)", line):
                if variable not in known and not re.match(r"\s*#\s*(?:ifndef|define|endif)", line):
                    yield Finding(name, number, f"{variable} is not in {listing}")


@rule("commits", "subjects are one plain sentence: a capital, at most 120 characters, no full stop, finished")
def check_commits():
    for entry in tree.git("log", "--no-merges", "--format=%h %s").splitlines():
        commit, _, subject = entry.partition(" ")
        if not subject[:1].isupper():
            yield Finding(commit, 0, f"'{subject}' does not start with a capital")
        if len(subject) > 120:
            yield Finding(commit, 0, f"a subject of {len(subject)} characters; at most 120")
        if subject.endswith(".") or re.match(r"(?i)(wip|fixup!|squash!|tmp)\b", subject):
            yield Finding(commit, 0, f"'{subject}' ends in a full stop or is marked unfinished")
