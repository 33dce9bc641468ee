# SPDX-License-Identifier: Apache-2.0
# A variant from its kernel file to code: expand, assemble for each chip, hold the result against what the header
# declares, and write the images, NAME.json and a depfile. The build runs it once for each kernel file that changed.
# Knows nothing of C++.
"""Assemble one variant and enforce its budgets."""

import hashlib
import json
import os
import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cubin import Cubin
from expand import MARKER, TARGETS, ExpandError, expand, expand_for, expand_once, tree_digest
from header import kernel_paths, parse_file
from kept import keep
from kernel_file import ARCHS, KINDS, HeaderError

TWIN = "sm_121f"  # runs 12.0's code: tests/ptx/chips_test.py assembles for it and compares
IMAGE_ORDER = [(kind, arch) for kind in KINDS for arch in ARCHS]
EVERY = {arch: KINDS for arch in ARCHS}
KEY_FORM = 1  # of the cache's keys and files: count it up when either changes its meaning


class AssembleError(Exception):
    """The kernel cannot be built, or is not what its header says; one finding a line."""


def find_variants(names, root, path=None):
    """The variant of each name, with its file. Only headers are read, and only of the file when it is known."""
    known, broken = {}, []
    for each in [Path(path)] if path else kernel_paths(root):
        try:
            known |= {variant.name: variant for variant in parse_file(each, root).variants}
        except HeaderError as error:
            broken += error.findings
    missing = next((name for name in names if name not in known), None)
    if missing is None:
        return [known[name] for name in names]
    if broken:
        raise HeaderError(broken)
    near = [name for name, variant in known.items() if variant.contract == missing or name.startswith(missing)]
    hint = f"; did you mean {', '.join(near[:8])}?" if near else ""
    raise AssembleError(f"no kernel is called '{missing}'{hint}")


def find_variant(name, root, path=None):
    return find_variants([name], root, path)[0]


def _where(variant):
    return f"{variant.file.relative}:{variant.line}"


def _statements(text):
    """The PTX without markers and line breaks."""
    return " ".join(line for line in text.splitlines() if not MARKER.match(line))


# What a dependent kernel may do before it waits: nothing that touches memory, leaves, or meets other threads.
BEFORE_WAIT = re.compile(r"(\.reg|\.pragma|mov|ld\.param)\b")
# Behind a launch of its own plan it may read and branch, but write, leave, or meet others no earlier.
NOT_BEFORE_WAIT = re.compile(r"(@!?\w+\s+)?(st|red|atom|cp|bar|barrier|mbarrier|ret|exit|griddepcontrol)\b")
WAIT = "griddepcontrol.wait"


def _first_behind_own(body):
    """WAIT, or the statement before it that a kernel behind a launch of its own plan must not have there: all ways lead
    to one."""
    bare = [re.sub(r"^([{}]\s*|\w+:\s*)+", "", s) for s in body]
    at = bare.index(WAIT) if WAIT in bare else len(bare)
    labels = set(re.findall(r"(\w+):", " ".join(body[:at + 1])))
    labels |= {name for s in body for name in re.findall(r"(\w+):[\s{}]*" + re.escape(WAIT), s)}
    for statement in bare[:at]:
        to = re.search(r"\bbra(?:\.uni)?\s+(\w+)$", statement)
        if NOT_BEFORE_WAIT.match(statement) or (to and to[1] not in labels):
            return statement
    return WAIT if at < len(bare) else ""


def check_wait(variant, flat):
    """That a dependent kernel waits for the launches before it, first and whatever its arguments, and no other does."""
    body = [s.strip() for s in flat.partition(".entry")[2].partition("{")[2].split(";")]
    where = f"{_where(variant)}: {variant.name}"
    if variant.file.behind_own:
        first = _first_behind_own(body)
    else:
        first = next((s for s in body if not BEFORE_WAIT.match(s)), "")
    if variant.file.dependent and first != WAIT:
        return [f"{where}: it is dependent, and '{first}' stands before {WAIT} (GRID_WAIT)"]
    if not variant.file.dependent and WAIT in flat:
        return [f"{where}: {WAIT} without 'dependent yes' in the header: its launch waits anyway"]
    return []


def check_text(variant, text, sm):
    """What the expanded text must show, whatever the assembler says. A list of findings."""
    flat, where, findings = _statements(text), _where(variant), []
    entries = re.findall(r"\.entry\s+([\w$]+)", flat)
    if entries != [variant.name]:
        found = ", ".join(entries) or "none"
        findings.append(f"{where}: {variant.name}: the text must hold one entry, made by SPARK_ENTRY; found {found}")
    else:
        listed = re.search(r"\.entry\s+[\w$]+\s*\(([^)]*)\)", flat)
        names = re.findall(r"([\w$]+)(?:\[\d+\])?\s*(?:,|\Z)", listed[1].strip()) if listed else []
        declared = [p.name for p in variant.params.params]
        if names != declared:
            findings.append(f"{where}: {variant.name}: .param list ({' '.join(names)}) is not the header's "
                            f"({' '.join(declared)})")
        if f".maxntid {variant.block},1,1" not in flat:
            findings.append(f"{where}: {variant.name}: .maxntid {variant.block},1,1 is missing")
    if not text.startswith(".version "):
        findings.append(f"{where}: {variant.name}: the text must begin with .version (include base.ptxh first)")
    target = re.findall(r"\.target\s+([\w, ]+?)\s*(?=\.|\Z)", flat)
    if target != [TARGETS[sm]]:
        findings.append(f"{where}: {variant.name}: .target must be {TARGETS[sm]}, found {' '.join(target) or 'none'} "
                        "(include base.ptxh, once)")
    return findings + check_wait(variant, flat)


def run_ptxas(ptxas, source, target, output, root):
    """(facts, findings) of one run of ptxas; facts are registers, spills, stack, static shared bytes, barriers."""
    command = [ptxas, "-v", f"-arch={target}", source, "-o", output]
    try:
        done = subprocess.run(command, cwd=root.parent, capture_output=True, text=True, check=False)
    except OSError as error:
        raise AssembleError(f"cannot run ptxas '{ptxas}': {error.strerror}") from None
    said = done.stdout + done.stderr
    if done.returncode:
        lines = [l for l in said.splitlines() if "ptxas info" not in l]
        raise AssembleError("\n".join(_readable(l, source) for l in lines) or f"ptxas failed with {done.returncode}")
    facts = {"regs": r"Used (\d+) registers", "stack": r"(\d+) bytes stack frame", "smem_static": r"(\d+) bytes smem",
             "spill_stores": r"(\d+) bytes spill stores", "spill_loads": r"(\d+) bytes spill loads",
             "barriers": r"used (\d+) barriers", "local": r"(\d+) bytes lmem"}
    result = {}
    for name, pattern in facts.items():
        found = re.findall(pattern, said)
        result[name] = max(map(int, found)) if found else 0
    if not re.search(facts["regs"], said):
        raise AssembleError(f"ptxas -v printed no register count for {target}; is this ptxas supported?\n{said}")
    warnings = [_readable(l, source) for l in said.splitlines() if re.search(r"warning|\(C\d+\)", l)]
    return result, warnings


def _readable(line, source):
    """ptxas says `ptxas FILE, line N; error : ...`; make it FILE:N: error: ..."""
    match = re.match(r"ptxas\s+(.*), line (\d+); (\w+)\s*:\s*(.*)", line)
    return f"{match[1]}:{match[2]}: {match[3]}: {match[4]}" if match else line.replace(source, "(expanded text)")


def check_facts(variant, facts, target):
    """Findings of ptxas's numbers against the header's."""
    name, where = f"{variant.name} for {target}", _where(variant)
    findings = []
    if facts["regs"] > variant.regs:
        findings.append(f"{where}: {name}: {facts['regs']} registers used, regs={variant.regs} declared")
    for key, words in (("spill_stores", "bytes spilled to memory (stores)"),
                       ("spill_loads", "bytes spilled to memory (loads)"), ("stack", "bytes of stack frame"),
                       ("local", "bytes of local memory"),
                       ("smem_static", "bytes of static shared memory; declare it all in 'smem' and use smem[]")):
        if facts[key]:
            findings.append(f"{where}: {name}: {facts[key]} {words}; none is allowed")
    return findings


def check_cubin(variant, cubin, target):
    """The host's view of the parameters against the assembled code's."""
    where, findings = _where(variant), []
    if cubin.kernels() != [variant.name]:
        return [f"{where}: {target}: the code holds {' '.join(cubin.kernels()) or 'no kernel'}, not {variant.name}"]
    found = cubin.params(variant.name)
    wanted = [(p.offset, p.size) for p in variant.params.params]
    if variant.params.tensor_maps:  # ptxas aligns them where they will lie, which is for the driver to know
        found, wanted = [size for _, size in found], [size for _, size in wanted]
    if found != wanted:
        findings.append(f"{where}: {variant.name} for {target}: parameters lie at {found}, the header says {wanted}")
    return findings


def image_list(variant, archs):
    """(kind, arch) of the variant's images that `archs`, {chip: kinds}, asks for, in table order."""
    return [(kind, arch) for kind, arch in IMAGE_ORDER if arch in variant.archs and kind in archs.get(arch, ())]


def machine_code(ptxas, text, target, root, cache):
    """(cubin, facts, findings). With a cache folder, the same statements are assembled once for all build folders:
    line markers are no part of the key, since they leave no trace in a cubin."""
    made_by = os.stat(ptxas) if os.path.exists(ptxas) else None
    key = hashlib.sha256(repr((KEY_FORM, os.path.realpath(ptxas), made_by and (made_by.st_size, made_by.st_mtime_ns),
                               target, _statements(text))).encode()).hexdigest()
    kept = Path(cache) / key[:2] / key[2:] if cache else None
    if kept and kept.is_file():
        head, _, image = kept.read_bytes().partition(b"\n")
        return image, json.loads(head), []
    with tempfile.TemporaryDirectory() as scratch:
        source, binary = Path(scratch) / "k.ptx", Path(scratch) / "k.cubin"
        source.write_text(text, encoding="utf-8")
        facts, findings = run_ptxas(ptxas, str(source), target, str(binary), root)
        image = binary.read_bytes()
    if kept and not findings:
        keep(kept, json.dumps(facts).encode() + b"\n" + image)
    return image, facts, findings


def _in_parts(variant, sm, root, ptxas, found):
    """Errors of ptxas, which name lines of the kernel, with the lines of the parts that those lines used."""
    text, _ = expand(variant, sm, root, fine=True)
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "k.ptx"
        source.write_text(text, encoding="utf-8")
        try:
            run_ptxas(ptxas, str(source), TARGETS[sm], str(Path(scratch) / "k.cubin"), root)
            return found
        except AssembleError as error:
            finer = str(error).splitlines()
    if len(finer) != len(found):
        return found
    places = [re.match(r"\S+:\d+(?=: )", line) for line in found]
    return [f"{fine} (from {place[0]})" if place and not fine.startswith(place[0] + ":") else fine
            for place, fine in zip(places, finer)]


def assemble(variant, root, out, ptxas, archs=EVERY, cache=None, tree=None):
    """Build the images of a variant below `out`. `tree`: tree_digest(), where it was just taken. Returns the record
    that goes to NAME.json, and files read."""
    root, out = Path(root).resolve(), Path(out)
    out.mkdir(parents=True, exist_ok=True)
    record = {"name": variant.name, "file": variant.file.relative, "line": variant.line, "images": [], "regs": {},
              "barriers": {}, "text": {}}
    findings, images = [], image_list(variant, archs)
    chips = [sm for kind, sm in images if kind == "ptx"]
    texts, files = (expand_once(variant, chips, root, cache, tree or tree_digest(root)) if cache else
                    expand_for(variant, chips, root))
    read = [str(variant.file.path), *map(str, variant.file.depends), *files]
    for sm, text in texts.items():
        findings += check_text(variant, text, sm)
        if findings:
            continue
        record["images"].append(_keep(out, variant, "ptx", sm, text.encode()))
        record["text"][str(sm)] = hashlib.sha256(_statements(text).encode()).hexdigest()
        if ("cubin", sm) not in images:
            continue
        try:
            code, facts, warnings = machine_code(ptxas, text, TARGETS[sm], root, cache)
        except AssembleError as error:
            raise AssembleError("\n".join(_in_parts(variant, sm, root, ptxas, str(error).splitlines()))) from None
        findings += warnings + check_facts(variant, facts, TARGETS[sm]) + check_cubin(variant, Cubin(code), TARGETS[sm])
        if findings:
            continue
        record["images"].append(_keep(out, variant, "cubin", sm, code))
        record["regs"][str(sm)], record["barriers"][str(sm)] = facts["regs"], facts["barriers"]
        record["ptxas"] = Cubin(code).maker()
    if findings:
        raise AssembleError("\n".join(dict.fromkeys(findings)))
    record["images"].sort(key=lambda i: IMAGE_ORDER.index((i["kind"], i["arch"])))
    (out / f"{variant.name}.json").write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return record, sorted(dict.fromkeys(os.path.normpath(f) for f in read))


def assemble_all(variants, root, *how):
    """assemble() of each variant, several at a time: what takes long is ptxas. Returns the files read; raises what is
    wrong with all of them."""
    tree = tree_digest(root)

    def one(variant):
        try:
            return assemble(variant, root, *how, tree=tree)[1], None
        except (AssembleError, ExpandError) as error:
            return [], str(error)

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        done = list(pool.map(one, variants))
    wrong = [error for _, error in done if error]
    if wrong:
        raise AssembleError("\n".join(dict.fromkeys(wrong)))
    return sorted({name for read, _ in done for name in read})


def _keep(out, variant, kind, arch, image):
    """Writes an image as it is. Returns its entry in the record."""
    name = f"{variant.name}.{arch}.{kind}"
    (out / name).write_bytes(image)
    return {"kind": kind, "arch": arch, "file": name, "size": len(image)}


def write_depfile(path, target, files):
    """A make rule that Ninja and Make read: `target: files`."""
    def quoted(name):
        return str(name).replace("\\", "\\\\").replace(" ", "\\ ").replace("#", "\\#").replace("$", "$$")
    body = " \\\n ".join(quoted(f) for f in files)
    Path(path).write_text(f"{quoted(target)}: {body}\n", encoding="utf-8")
