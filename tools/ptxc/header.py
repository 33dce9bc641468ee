# SPDX-License-Identifier: Apache-2.0
# The `//!` block of a kernel file: its grammar, its parser, and every check that needs no compiler.
# Knows nothing of cpp, ptxas, C++ or CMake.
"""Read kernel headers. Every error is `file:line: sentence`."""

import itertools
import re
from pathlib import Path

from expression import evaluate
from kernel_file import ARCHS, PARAM_TYPES, HeaderError, KernelFile, Limit, Param, ParamList, Variant
from launch import MOST_BLOCKS, parse_cluster, parse_flags, parse_grid
from rules import BLOCK_SMEM, check_contract, check_way, ctas_per_sm

KEYS = ("kernel", "for", "archs", "block", "params", "flags", "grid", "cluster", "dependent", "limits", "smem",
        "deterministic", "order", "variant")
REQUIRED = ("kernel", "block", "params", "grid", "smem", "deterministic", "variant")
REPEATED = ("for", "variant")
RELATIONS = {"%": "multiple_of", "<=": "at_most", ">=": "at_least", "==": "equal"}
MAX_VARIANTS = 13
LONGEST_NAME = 47  # and a NUL: Kernel::name of src/dispatch/kernel.h
CPP_WORDS = set("""alignas alignof and asm auto bool break case catch char class const continue default delete do
    double else enum explicit export extern false float for friend goto if inline int long mutable namespace new
    not or private protected public register return short signed sizeof static struct switch template this throw
    true try typedef typename union unsigned using virtual void volatile while xor""".split())


class _Parser:
    """One file's header: collects findings, so that one run shows all of them."""

    def __init__(self, path, root):
        self.path, self.root = path, root
        self.relative = f"ptx/{path.relative_to(root).as_posix()}" if path.is_relative_to(root) else path.name
        self.file = KernelFile(path, self.relative)
        self.findings = []
        self.entries = []  # (line, key, text)
        self.last_line = 1

    def fail(self, line, sentence):
        self.findings.append(f"{self.relative}:{line}: {sentence}")

    def read(self):
        for number, text in enumerate(self.path.read_text(encoding="utf-8").splitlines(), 1):
            if not text.startswith("//!"):
                continue
            self.last_line = number
            body = text[3:]
            if re.match(r"\s{8,}\S", body):
                if not self.entries:
                    self.fail(number, "a continuation line (eight spaces) has no line to continue")
                    continue
                line, key, before = self.entries[-1]
                self.entries[-1] = (line, key, f"{before} {body.strip()}")
                continue
            match = re.match(r"\s*([a-z]+)(?:\s+(.*))?\Z", body.rstrip())
            if not match or match[1] not in KEYS:
                self.fail(number, f"'{body.strip()}' starts with no known key: {' '.join(KEYS)}")
                continue
            self.entries.append((number, match[1], (match[2] or "").strip()))
        keys = [key for _, key, _ in self.entries]
        for line, key, text in self.entries:
            if key not in REPEATED and keys.count(key) > 1:
                first = next(l for l, k, _ in self.entries if k == key)
                if line != first:
                    self.fail(line, f"'{key}' is given twice (first on line {first})")
            if not text:
                self.fail(line, f"'{key}' says nothing")
        for key in REQUIRED:
            if key not in keys:
                self.fail(self.last_line, f"the header has no '{key}' line")

    def one(self, key):
        for line, found, text in self.entries:
            if found == key:
                return line, text
        return self.last_line, ""

    def groups(self):
        """[(line, axes, its variants' lines)]: with several `for` lines each is of the variants below it."""
        result, rows = [], [(line, text) for line, key, text in self.entries if key == "variant"]
        lines = [(line, text) for line, key, text in self.entries if key == "for"] or [(self.last_line, "")]
        for i, (line, text) in enumerate(lines):
            first = 0 if i == 0 else line
            end = lines[i + 1][0] if i + 1 < len(lines) else float("inf")
            result.append((line, self.axes(line, text), [row for row in rows if first < row[0] < end]))
            if not result[-1][2]:
                self.fail(line, "no variant stands below this 'for' line and above the next")
        return result

    def axes(self, line, text):
        result = {}
        for part in filter(None, (p.split() for p in text.split(";"))):
            axis, values = part[0], part[1:]
            if not re.fullmatch(r"[A-Z][A-Z0-9]*", axis):
                self.fail(line, f"'{axis}' is no axis name: capital letters and digits")
            elif axis in result:
                self.fail(line, f"axis {axis} is given twice")
            elif not values or len(set(values)) != len(values):
                self.fail(line, f"axis {axis} needs distinct values: for {axis} bf16 f16")
            elif any(not re.fullmatch(r"[a-z0-9]+", v) for v in values):
                self.fail(line, f"values of axis {axis} are lower-case words: {' '.join(values)}")
            else:
                result[axis] = values
        return result

    def archs(self):
        line, text = self.one("archs")
        if not text:
            return ARCHS
        if not all(w.isdigit() and int(w) in ARCHS for w in text.split()):
            self.fail(line, f"archs '{text}': only {' '.join(map(str, ARCHS))} are built")
            return ARCHS
        return tuple(a for a in ARCHS if str(a) in text.split())

    def params(self):
        line, text = self.one("params")
        first, *more = text.split() or [""]
        if not first.startswith("@"):
            return self.declared(line, text.split(), [])
        if self.one("flags")[1] and not more:
            self.fail(self.one("flags")[0], f"flags are {first[1:]}'s, as the parameters")
        other = self.path.parent / first[1:]
        if not other.is_file() or other == self.path:
            self.fail(line, f"params {first}: no such other file in {self.path.parent.name}/")
            return None
        self.file.depends.append(other)
        source = _Parser(other, self.root)
        source.read()
        if source.one("params")[1].startswith("@"):
            self.fail(line, f"params {first}: that file refers to another one; name the one that declares them")
            return None
        theirs = source.params()
        return self.declared(line, more, theirs.params) if more else theirs

    def declared(self, line, words, before):
        """The list of `words`, behind the parameters of another file's."""
        result, seen = list(before), {p.name for p in before}
        offset = result[-1].offset + result[-1].size if result else 0
        for word in words:
            name, colon, kind = word.partition(":")
            if not colon or kind not in PARAM_TYPES:
                self.fail(line, f"param '{word}': write name:type with type one of {' '.join(PARAM_TYPES)}")
                continue
            if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or name in CPP_WORDS:
                self.fail(line, f"param '{name}' is no usable name: lower case, and no word of C++")
                continue
            if name in seen:
                self.fail(line, f"param '{name}' is given twice")
                continue
            seen.add(name)
            align = PARAM_TYPES[kind][3]
            result.append(Param(name, kind, -(-offset // align) * align))
            offset = result[-1].offset + result[-1].size
        if offset > 4096:
            self.fail(line, f"params take {offset} bytes; a launch has 4096")
        return ParamList(self.relative, self.file.stem, tuple(result), self.flags(seen))

    def flags(self, params):
        line, text = self.one("flags")
        if ("flags" in params) != bool(text):
            self.fail(line, "the parameter flags and the line flags need each other")
        try:
            return parse_flags(text)
        except ValueError as error:
            self.fail(line, f"flags: {error}")
            return ()

    def grid(self, params, variants):
        """The launch's grid, and that all variants have the constants it may name."""
        line, text = self.one("grid")
        names = [set(constants) for _, _, constants, *_ in variants]
        for (at, way, *_), other in zip(variants, names):
            if other != names[0]:
                self.fail(at, f"variant {way}: {' '.join(sorted(other ^ names[0]))} must stand in all variants or none")
        try:
            return parse_grid(text, {p.name for p in params.params}, names[0])
        except ValueError as error:
            self.fail(line, f"grid: {error}")
            return ()

    def cluster(self, constants):
        line, text = self.one("cluster")
        try:
            return parse_cluster(text, constants)
        except ValueError as error:
            self.fail(line, f"cluster: {error}")
            return ()

    def limits(self, constants, line):
        result = []
        for word in self.one("limits")[1].split():
            match = re.fullmatch(r"([a-z][a-z0-9_]*)(%|<=|>=|==)(\S+)", word)
            if not match:
                self.fail(self.one("limits")[0], f"limit '{word}': write name%N name<=N name>=N or name==N")
                continue
            try:
                value = evaluate(match[3], constants)
            except ValueError as error:
                self.fail(self.one("limits")[0], f"limit '{word}': {error}")
                continue
            if match[2] == "%" and value < 1:
                self.fail(line, f"limit '{word}': a divisor is at least 1, here {value}")
                continue
            result.append(Limit(match[1], match[2], value))
            self.check_blocks(word, result[-1], constants)
        return tuple(result)

    def check_blocks(self, word, limit, constants):
        """What a limit a<=M lets through fits a dimension ceil(a,N) of the grid, if that is one block for each N."""
        for size, blocks in zip(self.one("grid")[1].split(), MOST_BLOCKS):
            match = re.fullmatch(r"ceil\((\w+),(\w+)\)", size)
            each = match and str(constants.get(match[2], match[2]))
            if not each or not each.isdigit() or (limit.fact, limit.relation) != (match[1], "<="):
                continue
            if limit.value > blocks * int(each):
                self.fail(self.one("limits")[0], f"limit '{word}': {size} is at most {blocks} blocks, for {match[1]} "
                                                 f"up to {blocks * int(each)}")

    def order(self, constants):
        """The order of sums, {NAME} in it replaced by that constant; the kernel's own where the header says nothing."""
        line, text = self.one("order")
        text = re.sub(r"\{([A-Z][A-Z0-9_]*)\}", lambda match: str(constants.get(match[1], match[0])), text)
        if text and not re.fullmatch(r"[a-z][a-z0-9_]*", text):
            self.fail(line, f"order '{text}': none, or lower case, digits, _ and {{CONSTANT}} of every variant")
        return text

    def variant(self, line, text):
        """The line's own words: (way, constants, budgets)."""
        way, *words = text.split() or ["?"]
        problem = check_way(way)
        if problem:
            self.fail(line, problem)
        constants, budgets = {}, {}
        for word in words:
            name, equals, value = word.partition("=")
            number = int(value, 0) if re.fullmatch(r"0x[0-9a-fA-F]+|[1-9]\d*|0", value) else None
            if not equals or number is None:
                self.fail(line, f"variant {way}: '{word}' is not NAME=integer")
            elif name in ("smem", "regs", "ctas_per_sm", "maxnreg"):
                budgets[name] = number
            elif re.fullmatch(r"[A-Z][A-Z0-9_]*", name):
                if name in constants:
                    self.fail(line, f"variant {way}: {name} is given twice")
                constants[name] = number
            else:
                self.fail(line, f"variant {way}: '{name}' is neither a constant (capitals) nor smem, regs, "
                                "ctas_per_sm, maxnreg")
        for name in ("smem", "regs"):
            if name not in budgets:
                self.fail(line, f"variant {way}: {name}= is missing")
        return way, constants, budgets

    def budget(self, line, way, constants, budgets):
        """Block, shared bytes, registers and blocks per SM, each checked against the others and the chip."""
        block_line, block_text = self.one("block")
        smem_line, smem_text = self.one("smem")
        block, smem, regs = 32, budgets.get("smem", 0), budgets.get("regs", 1)
        try:
            block = evaluate(block_text, constants)
        except ValueError as error:
            self.fail(block_line, f"block '{block_text}': {error}")
        if block < 1 or block > 1024 or block % 32:
            self.fail(block_line, f"block {block}: a multiple of 32 from 32 to 1024 is needed")
            block = 32
        try:
            computed = evaluate(smem_text, {**constants, "BLOCK": block})
            if computed != smem:
                self.fail(line, f"variant {way}: smem={smem} is declared, but {smem_text} gives {computed}")
        except ValueError as error:
            self.fail(smem_line, f"smem '{smem_text}': {error}")
        if smem > BLOCK_SMEM:
            self.fail(line, f"variant {way}: smem={smem} is more than one block may have on 12.x ({BLOCK_SMEM})")
        if not 1 <= regs <= 255:
            self.fail(line, f"variant {way}: regs={regs} is outside 1..255")
            regs = 255
        fit, reason = ctas_per_sm(block, min(smem, BLOCK_SMEM), regs)
        declared = budgets.get("ctas_per_sm")
        if fit < 1:
            self.fail(line, f"variant {way}: block {block} with regs={regs} and smem={smem} does not fit one SM "
                            f"({reason})")
        elif declared is not None and declared > fit:
            self.fail(line, f"variant {way}: ctas_per_sm={declared} is declared, but only {fit} fit one SM ({reason})")
        most = budgets.get("maxnreg", 0)
        if most and (most > regs or declared is not None):
            self.fail(line, f"variant {way}: maxnreg={most} bounds regs={regs} and stands without ctas_per_sm")
        return block, smem, regs, fit if declared is None else declared, declared is not None, most

    def parsed(self, line, text):
        """A variant's line, for each contract of its group: (line, way, constants, budget, limits, order, cluster)."""
        way, constants, budgets = self.variant(line, text)
        return (line, way, constants, self.budget(line, way, constants, budgets), self.limits(constants, line),
                self.order(constants), self.cluster(constants))

    def name_variants(self, pattern, maths, axes, group):
        """Adds the kernels of a group: every contract that its axes make, each with every variant."""
        for (line, way, *_), (_, other, *_) in itertools.combinations(group, 2):
            if way == other:
                self.fail(line, f"variant {way} is given twice")
        for combination in itertools.product(*axes.values()):
            values = dict(zip(axes, combination))
            contract, words = pattern, maths
            for axis, value in values.items():
                contract, words = contract.replace(f"{{{axis}}}", value), words.replace(f"{{{axis}}}", value)
            problem = check_contract(contract)
            if problem:
                self.fail(self.one("kernel")[0], problem)
            for line, way, constants, budget, limits, order, cluster in group:
                for axis in set(values) & set(constants):
                    self.fail(line, f"variant {way}: {axis} is an axis of the 'for' line already")
                self.file.variants.append(Variant(self.file, line, contract, way, words, values, constants,
                                                  *budget, limits, self.one("deterministic")[1] == "yes",
                                                  order or f"{contract}__{way}", cluster))

    def check_variants(self):
        of_contract = {}
        for variant in self.file.variants:
            of_contract.setdefault(variant.contract, []).append(variant)
            if len(variant.name) > LONGEST_NAME:
                self.fail(variant.line, f"{variant.name} has {len(variant.name)} characters; a name has at most "
                                        f"{LONGEST_NAME}")
        for contract, found in of_contract.items():
            if len(found) > MAX_VARIANTS:
                self.fail(found[MAX_VARIANTS].line,
                          f"{len(found)} variants of {contract}; a file has at most {MAX_VARIANTS} of a contract")

    def build(self):
        self.read()
        if self.findings:
            raise HeaderError(self.findings)
        self.file.archs = self.archs()
        self.file.params = self.params()
        groups = self.groups()
        name_line, name_text = self.one("kernel")
        pattern, _, maths = name_text.partition(" ")
        if not maths.strip():
            self.fail(name_line, "'kernel' needs the name and, after it, what it computes")
        used = set(re.findall(r"\{([^}]*)\}", pattern))
        for _, axes, _ in groups:
            for axis in sorted(used ^ set(axes)):
                self.fail(name_line, f"{{{axis}}} stands in only one of the kernel name and the 'for' line")
        stem = self.path.name.split(".")[0]
        if not (pattern == stem or pattern.startswith(stem + "_")):
            self.fail(name_line, f"'{pattern}' does not start with the file's stem '{stem}'")
        det_line, det = self.one("deterministic")
        if det not in ("yes", "no"):
            self.fail(det_line, f"deterministic '{det}': yes or no")
        dependent_line, dependent = self.one("dependent")
        if dependent not in ("", "yes", "own", "no"):
            self.fail(dependent_line, f"dependent '{dependent}': yes, own or no")
        self.file.dependent, self.file.behind_own = dependent in ("yes", "own"), dependent == "own"
        if self.findings:
            raise HeaderError(self.findings)
        parsed = [[self.parsed(*row) for row in found] for _, _, found in groups]
        if self.file.params:
            self.file.grid = self.grid(self.file.params, [variant for group in parsed for variant in group])
        for (_, axes, _), group in zip(groups, parsed):
            self.name_variants(pattern, maths.strip(), axes, group)
        self.check_variants()
        if self.findings:
            raise HeaderError(dict.fromkeys(self.findings))
        return self.file


def parse_file(path, root):
    """The KernelFile of one .ptx below root (the ptx folder)."""
    return _Parser(Path(path).resolve(), Path(root).resolve()).build()


def kernel_paths(root):
    """Every kernel file: ptx/<family>/<stem>[.<word>].ptx, lib/ aside, in table order."""
    return sorted(p for p in Path(root).glob("*/*.ptx") if p.parent.name != "lib")


def parse_tree(root):
    """All kernel files below root. Raises HeaderError with the findings of all of them."""
    files, findings, names, structs = [], [], {}, {}
    for path in kernel_paths(root):
        try:
            files.append(parse_file(path, root))
        except HeaderError as error:
            findings += error.findings
    for kernel_file in files:
        for variant in kernel_file.variants:
            where = f"{kernel_file.relative}:{variant.line}"
            if variant.name in names:
                findings.append(f"{where}: {variant.name} is also declared at {names[variant.name]}")
            names.setdefault(variant.name, where)
        owner = structs.setdefault(kernel_file.params.struct, kernel_file.params.owner)
        if owner != kernel_file.params.owner:
            findings.append(f"{kernel_file.relative}:1: {kernel_file.params.struct} would also come from {owner}")
    if findings:
        raise HeaderError(findings)
    return files
