# SPDX-License-Identifier: Apache-2.0
# What readelf and nm say of a file, in the words that hardening_test.py asks with. It knows nothing of this project.
import re
import subprocess

PROPERTIES = {"IBT", "SHSTK", "BTI", "PAC"}


def said(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def is_linked(path):
    """Whether the file is a program or a shared library."""
    with path.open("rb") as file:
        head = file.read(18)
    return head[:4] == b"\x7fELF" and head[16] in (2, 3)  # ET_EXEC, ET_DYN


def weaknesses(path):
    """What the loader would let be abused; a list of words, empty where all is right."""
    head, dynamic = said("readelf", "-hlW", path), said("readelf", "-dW", path)
    segments = re.findall(r"^  (LOAD|GNU_STACK|GNU_RELRO) .* ([R ][W ][E ]) +\w+$", head, re.M)
    found = [] if re.search(r"Type:\s+DYN ", head) else ["not at a random place"]
    found += [f"{name} is {flags}" for name, flags in segments if "W" in flags and "E" in flags]
    found += [f"no {name}" for name in ("GNU_STACK", "GNU_RELRO") if name not in dict(segments)]
    found += [] if re.search(r"\(FLAGS.*\bNOW\b|\bBIND_NOW\b", dynamic) else ["binds late"]
    return found + (["text relocations"] if "TEXTREL" in dynamic else [])


def imported(path):
    """The functions that the file asks of other libraries."""
    return set(re.findall(r" U (\w+)", said("nm", "-D", "--undefined-only", path)))


def properties(path):
    """{object: processor's checks that it is fit for}, of each object of an archive, or of the file itself. Objects of
    an archive may have one name: their place is said too."""
    found, member = {}, path.name
    for line in said("readelf", "-hnW", path).splitlines():
        if named := re.match(r"File: (.*)", line):
            member = f"{named[1]}, object {len(found)}"
        found.setdefault(member, set())
        if marked := re.search(r"feature: (.*)$", line):
            found[member] |= PROPERTIES & set(re.split(r"[,\s]+", marked[1]))
    return {member: marks for member, marks in found.items() if path.suffix != ".a" or member != path.name}
