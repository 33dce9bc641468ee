# SPDX-License-Identifier: Apache-2.0
# Whether a macro captures what it is given: an argument that names a register or a label is meant as its user's, but
# where the macro has one of that name in the same braces the assembler would take that. Called by macro.py.
# Of PTX it knows `.reg`, labels and braces, and that names are looked for from the inside out.
"""Find captured names."""

import re

from source import For, If, Parameter, Paste, Text

WORDS = re.compile(r"[A-Za-z_]\w*|\d+|::|[{}<>:;,.]")
NAMES = re.compile(r"[A-Za-z_]\w*")


class _Scope:
    def __init__(self):
        self.registers, self.labels, self.uses = {}, {}, []


def _elements(nodes):
    """The elements of a macro's body in order, whatever its conditions say."""
    for node in nodes:
        if isinstance(node, Text):
            for element in node.template:
                if isinstance(element, str):
                    yield from WORDS.findall(element)
                elif isinstance(element, (Parameter, Paste)):
                    yield element
        elif isinstance(node, For):
            yield from _elements(node.body)
        elif isinstance(node, If):
            for _, _, body in node.branches:
                yield from _elements(body)


def uses(nodes):
    """[(Parameter or Paste, {name: "register" or "label"} of the macro that can be seen there)]."""
    scopes, result, declaring, before = [_Scope()], [], False, ["", ""]
    for element in _elements(nodes):
        if isinstance(element, (Parameter, Paste)):
            use = (element, {name: "register" for scope in scopes for name in scope.registers})
            result.append(use)
            scopes[-1].uses.append(use)
        elif element == "{":
            scopes.append(_Scope())
        elif element == "}" and len(scopes) > 1:
            _close(scopes)
        elif element == ":" and NAMES.match(str(before[1])) and before[0] in ("{", "}", ";", ")", ":", ""):
            scopes[-1].labels[before[1]] = "label"
        elif element == "reg" and before[1] == ".":
            declaring = True
        elif element == ";":
            declaring = False
        elif declaring and NAMES.match(element) and before[1] in (",", *TYPES):
            scopes[-1].registers[element] = "register"
        elif declaring and element.isdigit() and before[1] == "<":
            for number in range(int(element)):
                scopes[-1].registers[f"{before[0]}{number}"] = "register"
        before = [before[1], element]
    while scopes:
        _close(scopes)
    return [(element, names) for element, names in result if names]


TYPES = ("pred", *(f"{kind}{bits}" for kind in "busf" for bits in (8, 16, 32, 64)), "f16x2", "b128")


def _close(scopes):
    """A label is seen from everywhere in its braces."""
    scope = scopes.pop()
    for _, names in scope.uses:
        names.update(scope.labels)
    if scopes:
        scopes[-1].uses += scope.uses


def captures(macro):
    """Whether the macro has names of its own where arguments stand."""
    if macro.uses is None:
        macro.uses = uses(macro.body)
    return bool(macro.uses)


def captured(macro, env):
    """(name, "register" or "label") of the first name in the arguments that the macro captures, or None."""
    for element, names in macro.uses:
        if isinstance(element, Parameter):
            given = NAMES.findall("".join(p for p in env[element.name].expanded if isinstance(p, str))) \
                if element.name in env else ()
        else:
            given = ("".join(_text(part, env) for part in element.parts),)
        for name in given:
            if name in names:
                return name, names[name]
    return None


def _text(part, env):
    if isinstance(part, Parameter):
        return "".join(env[part.name].raw) if part.name in env else "0"
    return part if isinstance(part, str) else ""
