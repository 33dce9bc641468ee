# SPDX-License-Identifier: Apache-2.0
# What headers are held to: how many blocks fit one SM, what a contract and a way may be called. Called by header.py,
# page.py and scaffold.py.
# Knows nothing of files.
"""Rules that need no kernel file."""

import re

# One SM of compute capability 12.x.
SM_SMEM, SM_SMEM_RESERVED, SM_REGS, SM_WARPS, SM_CTAS = 102400, 1024, 65536, 48, 24
BLOCK_SMEM = 101376

CONTRACT = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*\Z")
WAY = re.compile(r"[a-z0-9]+(_[a-z0-9]+)*\Z")
BANNED_WORDS = {"fast", "new", "old", "opt", "optimized", "best", "final", "improved", "tmp", "temp", "test",
                "hopper", "blackwell", "ampere"}


def ctas_per_sm(block, smem, regs):
    """Blocks of this size that fit one SM of a 12.x chip, and what stops one more."""
    warps = -(-block // 32)
    fits = {"smem": SM_SMEM // (-(-smem // 128) * 128 + SM_SMEM_RESERVED),
            "regs": SM_REGS // (warps * -(-max(regs, 1) * 32 // 256) * 256),
            "warps": SM_WARPS // warps, "ctas": SM_CTAS}
    reason = min(fits, key=lambda k: fits[k])
    return fits[reason], reason


def check_contract(name):
    """A sentence that says what is wrong with the left half of a symbol, or ''."""
    if not CONTRACT.match(name):
        return f"'{name}' is no contract name: lower-case words and digits joined by single '_', a letter first"
    return _check_words(name)


def check_way(name):
    """The same for the right half."""
    if not WAY.match(name):
        return f"'{name}' is no variant name: lower-case words and digits joined by single '_'"
    return _check_words(name)


def _check_words(name):
    for word in name.split("_"):
        if re.fullmatch(r"v\d+", word):
            return f"'{name}' carries a version number ('{word}'): say how it computes, history is git's"
        if word in BANNED_WORDS:
            return f"'{name}' carries '{word}', which says nothing about what is computed or how"
        if re.fullmatch(r"sm\d+[af]?", word):
            return f"'{name}' carries a chip name ('{word}'): the target is the build's business"
    return ""
