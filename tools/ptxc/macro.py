# SPDX-License-Identifier: Apache-2.0
# The macro language of kernel files (docs/ptx-language.md): reads a file and what it includes, and writes lines of PTX,
# each with the place that it comes from. Called by expand.py.
# Knows nothing of kernels and headers, and of PTX only what capture.py asks of it.
"""Expand a file of the macro language."""

import os
import re

from capture import captured, captures
from expression import value
from source import (Define, Defined, Error, Fault, For, If, Include, Parameter, Paste, Place, Rest, Text, Value,
                    pieces, read)

MOST_TURNS, MOST_TURNS_IN_ALL, MOST_DEPTH = 1024, 65536, 64
COMMAND = Place("(command line)", 1)


class Argument:
    """What a parameter stands for: as written, and expanded where that is needed."""

    def __init__(self, raw, expander=None):
        self.raw, self.expander, self.done = raw, expander, None if expander else raw

    @property
    def expanded(self):
        if self.done is None:
            known = self.expander.macros
            self.done = self.expander.scan(self.raw) if any(p in known for p in self.raw) else self.raw
        return self.done


class _End:
    """Stands behind what a macro stood for."""


END = _End()


class Expander:
    def __init__(self, find, definitions, places=True):
        """find(name, path of who asks) -> (path to be said, text) or None; definitions: {name: text}. Without places it
        is faster, and a Fault in a macro names the line that used it."""
        self.find, self.places = find, places
        self.macros = {name: Define(COMMAND, name, None, [Text(COMMAND, tuple(pieces(str(text))))])
                       for name, text in definitions.items()}
        self.asked = set()  # the names of those definitions that were used
        self.checked = set()  # (macro, arguments) that capture.py has seen
        self.frames = []  # (macro, where it was used) of all that are being expanded
        self.place, self.turns, self.depth = COMMAND, 0, 0
        self.lines = []  # [(place, [pieces and places])]

    def run(self, path, text):
        for node, env in self.texts(read(path, text), {}):
            self.place = node.place
            self.lines.append((node.place, self.scan(self.lines_of(node, env))))

    def fault(self, sentence, place=None):
        """A Fault here; inside macros it also says which one, and where the outermost was used."""
        if self.frames:
            sentence += f" (in {self.frames[-1][0].name}, from {self.frames[0][1]})"
        return Fault(place or self.place, sentence)

    def texts(self, nodes, env):
        """(Text, env) of each line that the conditions and loops let through; definitions take effect on the way."""
        for node in nodes:
            if isinstance(node, Text):
                yield node, env
            elif isinstance(node, If):
                chosen = next((body for place, test, body in node.branches
                               if test is True or self.value(test, env, place)), ())
                yield from self.texts(chosen, env)
            elif isinstance(node, For):
                first, end = self.value(node.first, env, node.place), self.value(node.end, env, node.place)
                self.turns += max(0, end - first)
                if end - first > MOST_TURNS or self.turns > MOST_TURNS_IN_ALL:
                    raise self.fault(f"#for {node.variable} has {end - first} turns, at most {MOST_TURNS} are allowed, "
                                     f"and {MOST_TURNS_IN_ALL} in a kernel", node.place)
                for turn in range(first, end):
                    yield from self.texts(node.body, {**env, node.variable: Argument([str(turn)])})
            elif isinstance(node, Define):
                self.define(node)
            elif isinstance(node, Include):
                self.include(node)
            elif isinstance(node, Error):
                raise self.fault(node.sentence, node.place)

    def define(self, node):
        before = self.macros.get(node.name)
        if before:
            raise Fault(node.place, f"{node.name} is defined already, at {before.place}")
        self.macros[node.name] = node

    def include(self, node):
        found = self.find(node.name, node.place.path)
        if found is None:
            raise Fault(node.place, f"{node.name} does not exist")
        if self.depth == MOST_DEPTH:
            raise Fault(node.place, f"parts include each other more than {MOST_DEPTH} deep")
        self.depth += 1
        self.run(*found)
        self.depth -= 1

    def value(self, template, env, place):
        """The value of an expression."""
        self.place = place
        text = "".join(p for p in self.scan(self.instance(template, env)) if isinstance(p, str))
        try:
            return value(text)
        except ValueError as error:
            raise self.fault(str(error), place) from None

    def lines_of(self, node, env):
        return self.instance(node.template if self.places else node.bare, env)

    def instance(self, template, env):
        """The pieces of a template, with what its parameters stand for."""
        result = []
        for element in template:
            kind = element.__class__
            if kind is str or kind is Place:
                result.append(element)
            elif kind is Parameter:
                result.extend(env[element.name].expanded)
            elif kind is Paste:
                result.extend(self.pasted(element, env))
            elif kind is Value:
                result.append(str(self.value(element.template, env, element.place)))
            elif kind is Defined:
                result.append("1" if element.name in self.macros else "0")
            elif kind is Rest and env["__VA_ARGS__"].raw:
                result += [",", *env["__VA_ARGS__"].raw]
        return result

    def pasted(self, paste, env):
        result = []
        for part in paste.parts:
            if isinstance(part, Parameter):
                more = env[part.name].raw
            else:
                more = self.instance((part,), env)
            if result and more:
                result[-1:] = pieces(result[-1] + more[0])
                more = more[1:]
            result += more
        return result

    def scan(self, tokens):
        """The pieces with all macros expanded, again and again until none is left."""
        stack, result, macros = tokens[::-1], [], self.macros
        while stack:
            token = stack.pop()
            if token.__class__ is not str:
                if token is END:
                    self.frames.pop()
                else:
                    self.place = token
                    result.append(token)
                continue
            macro = macros.get(token)
            if macro is None:
                result.append(token)
                continue
            arguments = None
            if macro.parameters is not None:
                arguments = self.arguments(macro, stack)
                if arguments is None:
                    result.append(token)
                    continue
            self.open(macro, arguments, stack)
        return result

    def open(self, macro, arguments, stack):
        """Puts on the stack what the macro stands for."""
        if len(self.frames) >= MOST_DEPTH:
            chain = " > ".join(m.name for m, _ in self.frames[-4:])
            raise self.fault(f"macros use each other more than {MOST_DEPTH} deep: .. > {chain}")
        here = self.place
        if macro.place is COMMAND:
            self.asked.add(macro.name)
        self.frames.append((macro, here))
        env = self.bound(macro, arguments)
        body = []
        for node, inner in ((macro.body[0], env),) if macro.plain else self.texts(macro.body, env):
            self.place = node.place
            body += self.lines_of(node, inner)
            body.append(" ")
        while body and body[-1].__class__ is str and body[-1].isspace():
            body.pop()
        self.place = here
        stack += (here, END) if self.places else (END,)
        body.reverse()
        stack += body

    def bound(self, macro, arguments):
        """{parameter: Argument}; refuses a wrong count, and arguments that the macro would capture."""
        names = macro.parameters or ()
        if arguments is None or (not names and arguments == [[]]):
            return {}
        if names and names[-1] == "__VA_ARGS__":
            rest = [p for a in arguments[len(names) - 1:] for p in (",", *a)][1:]
            arguments = [*arguments[:len(names) - 1], *([rest] if len(arguments) >= len(names) - 1 else [])]
        if len(arguments) != len(names):
            raise self.fault(f"{macro.name} takes {len(names)} arguments, here are {len(arguments)}",
                             self.frames[-1][1])
        env = {name: Argument(argument, self) for name, argument in zip(names, arguments)}
        key = (macro.name, *map(tuple, arguments)) if captures(macro) else None
        if key and key not in self.checked:
            self.checked.add(key)
            found = captured(macro, env)
            if found:
                raise self.fault(f"{found[0]} is given to {macro.name}, which has a {found[1]} of that name: "
                                 f"rename one of them", self.frames[-1][1])
        return env

    def arguments(self, macro, stack):
        """[pieces of each argument], taken from the stack; None where no parenthesis follows."""
        at = len(stack) - 1
        while at >= 0 and (stack[at].__class__ is not str or stack[at].isspace()):
            at -= 1
        if at < 0 or stack[at] != "(":
            return None
        for token in stack[at:]:
            if token is END:
                self.frames.pop()
        del stack[at:]
        result, depth = [[]], 1
        while stack:
            token = stack.pop()
            if token.__class__ is not str:
                if token is END:
                    self.frames.pop()
                continue
            depth += (token == "(") - (token == ")")
            if not depth:
                return [_trimmed(argument) for argument in result]
            if token == "," and depth == 1:
                result.append([])
            else:
                result[-1].append(token)
        raise self.fault(f"the arguments of {macro.name} have no )")


def _trimmed(argument):
    """Without space at the ends."""
    if argument:
        argument[0] = argument[0].lstrip()
    if argument:
        argument[-1] = argument[-1].rstrip()
    return [piece for piece in argument if piece]


def expand_file(path, root, definitions, places=False):
    """([(place, pieces)], files read, paths relative to the folder above `root`, names of the definitions used); with
    places among the pieces."""
    files = []

    def load(relative):
        files.append(relative)
        with open(root.parent / relative, encoding="utf-8") as file:
            return relative, file.read()

    def find(name, asked_by):
        for folder in (os.path.dirname(asked_by), f"{root.name}/lib", root.name):
            relative = os.path.normpath(os.path.join(folder, name))
            if (root.parent / relative).is_file():
                return load(relative)
        return None

    expander = Expander(find, definitions, places)
    try:
        expander.run(*load(os.path.relpath(path, root.parent)))
    except Fault:
        if places:
            raise
        return expand_file(path, root, definitions, True)  # which says the line of the part
    return expander.lines, files, expander.asked


def squeezed(found):
    """Pieces as one text, single spaces."""
    return re.sub(r"\s+", " ", "".join(p for p in found if p.__class__ is str)).strip()
