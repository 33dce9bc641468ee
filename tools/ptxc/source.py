# SPDX-License-Identifier: Apache-2.0
# Kernel files and parts (.ptx, .ptxh) as trees of nodes: lines of text, definitions, conditions, loops. The language is
# described in docs/ptx-language.md. Used by macro.py, which expands what is read here.
# Knows nothing of what a name stands for.
"""Read a file of the macro language."""

import functools
import re
from dataclasses import dataclass
from typing import NamedTuple

# Words, numbers, and what lies between them. Parentheses and commas stand alone, since they part arguments.
PIECE = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|##|\$\(|[(),]|\"[^\"]*\"|(?:(?!##|\$\()[^\w(),\"])+|.")
NAME = re.compile(r"[A-Z]\w*\Z")
WORD = re.compile(r"[A-Za-z_]\w*\Z")


class Place(NamedTuple):
    """Where something is written. It stands among the pieces of a text, for those that follow it."""
    path: str
    line: int

    def __str__(self):
        return f"{self.path}:{self.line}"


class Fault(Exception):
    """What is wrong, and where: `file:line: sentence`."""

    def __init__(self, place, sentence):
        self.place, self.sentence = place, sentence
        super().__init__(f"{place}: {sentence}")


# Elements of a template that are no plain piece.
class Parameter(NamedTuple):
    """An argument or the value of a loop's variable."""
    name: str


class Paste(NamedTuple):
    """Elements that become one piece: a##b."""
    parts: tuple


class Value(NamedTuple):
    """$(expression): its value, as one number."""
    template: tuple
    place: Place


class Defined(NamedTuple):
    """defined(NAME): 1 or 0."""
    name: str


class Rest(NamedTuple):
    """, ##__VA_ARGS__: the further arguments after a comma, or nothing."""


# Nodes.
@dataclass
class Text:
    place: Place
    template: tuple

    @functools.cached_property
    def bare(self):
        """The template without places."""
        return tuple(_joined(element for element in self.template if not isinstance(element, Place)))


@dataclass
class Define:
    place: Place
    name: str
    parameters: tuple  # None: takes no list of arguments
    body: list
    uses: list = None  # what capture.py found

    @functools.cached_property
    def plain(self):
        """Whether the body is text alone, as a #define's is."""
        return len(self.body) == 1 and isinstance(self.body[0], Text)


@dataclass
class Include:
    place: Place
    name: str


@dataclass
class If:
    place: Place
    branches: list  # [(place, condition: a template, or True, nodes)]


@dataclass
class For:
    place: Place
    variable: str
    first: tuple
    end: tuple
    body: list


@dataclass
class Error:
    place: Place
    sentence: str


def pieces(text):
    """The text as pieces; those that no macro can be, since all names of macros begin with a capital, are joined."""
    result, run = [], []
    for piece in PIECE.findall(text):
        if piece in ("(", ")", ",", "##", "$(") or NAME.match(piece):
            if run:
                result.append("".join(run))
                run = []
            result.append(piece)
        else:
            run.append(piece)
    return result + ["".join(run)] if run else result


def template(lines, names):
    """[(place, text)] as a tuple of elements; `names`: parameters and loop variables that are in scope."""
    result = []
    for place, text in lines:
        result += [place, *_elements(place, iter(PIECE.findall(re.sub(r"\s+", " ", text))), names)]
    return tuple(result)


def _elements(place, found, names, closing=False):
    flat, depth = [], 0
    for piece in found:
        if piece == "$(":
            flat.append(Value(tuple(_elements(place, found, names, True)), place))
            continue
        depth += (piece == "(") - (piece == ")")
        if closing and depth < 0:
            return _joined(_pasted(place, flat))
        flat.append(Parameter(piece) if piece in names else piece)
    if closing:
        raise Fault(place, "$( has no )")
    return _joined(_pasted(place, flat))


def _pasted(place, flat):
    """Folds a ## b into Paste, and `, ##__VA_ARGS__` into Rest."""
    result, at = [], 0
    while at < len(flat):
        if flat[at] != "##":
            result.append(flat[at])
            at += 1
            continue
        while result and isinstance(result[-1], str) and result[-1].isspace():
            result.pop()
        at += 1
        while at < len(flat) and isinstance(flat[at], str) and flat[at].isspace():
            at += 1
        if not result or at == len(flat):
            raise Fault(place, "## stands between two pieces")
        if result[-1] == "," and flat[at] == Parameter("__VA_ARGS__"):
            result[-1] = Rest()
        elif isinstance(result[-1], Paste):
            result[-1] = Paste((*result[-1].parts, flat[at]))
        else:
            result[-1] = Paste((result[-1], flat[at]))
        at += 1
    return result


def _joined(elements):
    """Neighbouring plain pieces that no macro can be as one."""
    result = []
    for element in elements:
        plain = isinstance(element, str) and element not in ("(", ")", ",") and not NAME.match(element)
        if plain and result and result[-1][0]:
            result[-1] = (True, result[-1][1] + element)
        else:
            result.append((plain, element))
    return [element for _, element in result]


def condition(place, text, names):
    """The template of an expression, in which defined(NAME) may stand."""
    parts = re.split(r"\bdefined\s*\(\s*(\w+)\s*\)", text)
    result = [place]
    for index, part in enumerate(parts):
        result += [Defined(part)] if index % 2 else _elements(place, iter(PIECE.findall(part)), names)
    if not text.strip():
        raise Fault(place, "an expression is missing")
    return tuple(result)


def _logical_lines(path, text):
    """[(place, directive or '', text or physical lines)]; a line ending in \\ goes on in the next one."""
    numbered = iter(enumerate(text.splitlines(), 1))
    for number, line in numbered:
        parts = [(Place(path, number), line)]
        while parts[-1][1].endswith("\\"):
            parts[-1] = (parts[-1][0], parts[-1][1][:-1])
            number, line = next(numbered, (number, ""))
            parts.append((Place(path, number), line))
        parts = [(place, _code(words)) for place, words in parts]
        match = re.match(r"\s*#\s*([a-z]+)\b", parts[0][1])
        if match:
            parts[0] = (parts[0][0], parts[0][1][match.end():])
        yield parts[0][0], match[1] if match else "", parts


def _code(line):
    """The line without its comment."""
    return line if "//" not in line else re.match(r'(?:[^"/]|"[^"]*"|/(?!/))*', line)[0]


@functools.cache
def read(path, text):
    """The nodes of a file. Kept, since a kernel is expanded for each chip."""
    return Reader(path, text).file()


class Reader:
    """One file to nodes."""

    def __init__(self, path, text):
        self.lines = _logical_lines(path, text)
        self.names = []  # parameters and loop variables of the blocks that are open
        self.inside = False  # a macro or a loop
        self.rest = ""  # what stands behind the directive that closed the last block

    def file(self):
        return self.block((), None)[0]

    def block(self, closing, opened):
        """Nodes up to one of the closing directives: (nodes, its place, its word)."""
        nodes = []
        for place, word, parts in self.lines:
            words = " ".join(text for _, text in parts).strip()
            if word in ("endif", "else", "elif", "endfor", "endmacro"):
                if word not in closing:
                    raise Fault(place, f"#{word} closes nothing" if not closing else
                                f"#{word} stands where #{' or #'.join(closing)} is due")
                self.rest = words
                return nodes, place, word
            if word:
                nodes.append(self.directive(place, word, words, parts))
            elif words:
                nodes.append(Text(place, template(self.whole(parts), self.names)))
        if closing:
            raise Fault(opened, f"#{' or #'.join(closing)} is missing")
        return nodes, None, ""

    def whole(self, parts):
        """The lines of a text, up to the one that closes the last parenthesis."""
        while sum(text.count("(") - text.count(")") for _, text in parts) > 0:
            place, word, more = next(self.lines, (None, "#", None))
            if word:
                raise Fault(parts[0][0], "a parenthesis is not closed")
            parts = parts + more
        return parts

    def directive(self, place, word, words, parts):
        if word in ("if", "ifdef", "ifndef"):
            return self.condition(place, word, words)
        if word == "for":
            return self.loop(place, words)
        if word == "error":
            return Error(place, words)
        if word not in ("define", "macro", "include"):
            raise Fault(place, f"there is no directive #{word}")
        if self.inside:
            raise Fault(place, f"#{word} stands in a macro or a loop")
        if word == "include":
            match = re.fullmatch(r'"([^"]+)"', words)
            if not match:
                raise Fault(place, 'write #include "file"')
            return Include(place, match[1])
        return self.definition(place, word, parts)

    def condition(self, place, word, words):
        if word == "ifdef":
            words = f"defined({words})"
        elif word == "ifndef":
            words = f"!defined({words})"
        branches, test, here = [], condition(place, words, self.names), place
        while True:
            due = ("endif",) if test is True else ("endif", "elif", "else")
            nodes, at, end = self.block(due, place)
            branches.append((here, test, nodes))
            if end == "endif":
                return If(place, branches)
            here, test = at, True if end == "else" else condition(at, self.rest, self.names)

    def loop(self, place, words):
        match = re.fullmatch(r"(\w+)\s+in\s+(.+?)\s*\.\.\s*(.+)", words)
        if not match or not re.fullmatch(r"[a-z]\w*", match[1]):
            raise Fault(place, "write #for name in first .. end, name in lower case; end is not reached")
        if match[1] in self.names:
            raise Fault(place, f"'{match[1]}' is a parameter or loop variable already")
        first, end = condition(place, match[2], self.names), condition(place, match[3], self.names)
        self.names.append(match[1])
        outside, self.inside = self.inside, True
        body, _, _ = self.block(("endfor",), place)
        self.names.pop()
        self.inside = outside
        return For(place, match[1], first, end, body)

    def definition(self, place, word, parts):
        text = parts[0][1]
        match = re.match(r"\s+(\w+)(?:\(([^()]*)\))?", text)
        if not match or not NAME.match(match[1]):
            raise Fault(place, f"#{word} needs a name that begins with a capital")
        parameters = None
        if match[2] is not None:
            parameters = tuple(w.strip().replace("...", "__VA_ARGS__") for w in match[2].split(",") if w.strip())
            if not all(map(WORD.match, parameters)) or len(set(parameters)) < len(parameters):
                raise Fault(place, f"#{word} {match[1]}: parameters are distinct words")
        parts = [(parts[0][0], text[match.end():]), *parts[1:]]
        self.names = list(parameters or ())
        if word == "define":
            body = [Text(place, template([(at, words.strip() + " ") for at, words in parts], self.names))]
        else:
            if any(words.strip() for _, words in parts):
                raise Fault(place, f"the body of #macro {match[1]} begins on the next line")
            self.inside = True
            body, _, _ = self.block(("endmacro",), place)
        self.names, self.inside = [], False
        return Define(place, match[1], parameters, body)
