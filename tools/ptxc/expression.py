# SPDX-License-Identifier: Apache-2.0
# Constant expressions: C's operators and precedence over integers, and a few functions. Kernel headers and the
# conditions, bounds and $(...) of kernel files are made of them. Called by header.py and macro.py.
# Knows nothing of files.
"""Evaluate a constant expression."""

import functools
import re

TOKEN = re.compile(r"\s*(0[xX][0-9a-fA-F]+|\d+|[A-Za-z_]\w*|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%<>&|^!~?:(),])")
LEVELS = (("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", "<=", ">", ">="), ("<<", ">>"), ("+", "-"),
          ("*", "/", "%"))
ALLOWED = "only integers, constants, ( ), the operators of C, min, max, log2 and ceil_power2 are allowed"
BITS = 64  # beyond it nothing that is assembled can mean what was written


def divide(left, right):
    """C's division: towards zero."""
    if right == 0:
        raise ValueError("division by zero")
    return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


def shift(left, right):
    if not 0 <= right < BITS:
        raise ValueError(f"a shift by {right}")
    return left << right


def log2(value):
    if value < 1 or value & (value - 1):
        raise ValueError(f"log2({value}): a power of two is needed")
    return value.bit_length() - 1


def ceil_power2(value):
    """The smallest power of two that is not below."""
    if value < 1:
        raise ValueError(f"ceil_power2({value}): 1 or more is needed")
    return 1 << (value - 1).bit_length()


BINARY = {
    "||": lambda a, b: int(bool(a or b)), "&&": lambda a, b: int(bool(a and b)), "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b, "&": lambda a, b: a & b, "==": lambda a, b: int(a == b), "!=": lambda a, b: int(a != b),
    "<": lambda a, b: int(a < b), "<=": lambda a, b: int(a <= b), ">": lambda a, b: int(a > b),
    ">=": lambda a, b: int(a >= b), "<<": shift, ">>": lambda a, b: a >> min(max(b, 0), BITS),
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": divide,
    "%": lambda a, b: a - divide(a, b) * b}
UNARY = {"-": lambda a: -a, "+": lambda a: a, "!": lambda a: int(not a), "~": lambda a: ~a}
FUNCTIONS = {"min": (2, min), "max": (2, max), "log2": (1, log2), "ceil_power2": (1, ceil_power2)}


class _Reader:
    def __init__(self, text, names):
        self.text, self.names, self.tokens, at = text.strip(), names, [], 0
        while at < len(self.text):
            match = TOKEN.match(self.text, at)
            if not match:
                raise ValueError(ALLOWED)
            self.tokens.append(match[1])
            at = match.end()
        self.tokens.append("")
        self.at = 0
        self.skipping = 0  # inside what does not count: the rest of `0 && x`, `1 || x`, the other side of `?:`

    def next(self, *wanted):
        """The next token, taken if it is one of `wanted`, else ''."""
        token = self.tokens[self.at]
        if token not in wanted:
            return ""
        self.at += 1
        return token

    def need(self, token):
        if self.tokens[self.at] != token:
            raise ValueError(f"'{self.text}' is not an expression")
        self.at += 1

    def counts(self, counting, read, *arguments):
        """What `read` gives; where it does not count, faults in it do not either."""
        self.skipping += not counting
        value = read(*arguments)
        self.skipping -= not counting
        return value

    def choice(self):
        condition = self.binary(0)
        if not self.next("?"):
            return condition
        yes = self.counts(condition, self.choice)
        self.need(":")
        no = self.counts(not condition, self.choice)
        return yes if condition else no

    def binary(self, level):
        if level == len(LEVELS):
            return self.unary()
        left = self.binary(level + 1)
        while operator := self.next(*LEVELS[level]):
            counting = left if operator == "&&" else not left if operator == "||" else True
            right = self.counts(counting, self.binary, level + 1)
            left = 0 if self.skipping else BINARY[operator](left, right)
            if left.bit_length() > BITS:
                raise ValueError(f"'{self.text}' is beyond {BITS} bits")
        return left

    def unary(self):
        if operator := self.next(*UNARY):
            return UNARY[operator](self.unary())
        if self.next("("):
            value = self.choice()
            self.need(")")
            return value
        token = self.tokens[self.at]
        self.at += 1
        if token[:1].isdigit():
            return int(token, 16 if token[:2] in ("0x", "0X") else 10)
        if token in FUNCTIONS and self.next("("):
            count, function = FUNCTIONS[token]
            values = [self.choice()]
            for _ in range(count - 1):
                self.need(",")
                values.append(self.choice())
            self.need(")")
            return 0 if self.skipping else function(*values)
        if re.match(r"[A-Za-z_]", token):
            if self.next("("):
                raise ValueError(ALLOWED)
            if token not in self.names and not self.skipping:
                raise ValueError(f"'{token}' is no constant of this variant")
            return self.names.get(token, 0)
        raise ValueError(f"'{self.text}' is not an expression")


@functools.cache
def value(text):
    """The value of an expression without names."""
    return evaluate(text, {})


def evaluate(text, names):
    """The value of an expression over names. Raises ValueError with a sentence."""
    reader = _Reader(text, names)
    value = reader.choice()
    reader.need("")
    return value
