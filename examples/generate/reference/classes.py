#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Prints ../classes.inc: which code points are letters and which are numbers, as ranges, from Python's Unicode tables.
import sys
import unicodedata


def ranges(initial):
    """(first, last) of every run of code points whose category begins with this letter."""
    begun = None
    for code in range(sys.maxunicode + 2):
        inside = code <= sys.maxunicode and unicodedata.category(chr(code))[0] == initial
        if inside and begun is None:
            begun = code
        if not inside and begun is not None:
            yield begun, code - 1
            begun = None


def main():
    print("// SPDX-License-Identifier: Apache-2.0")
    print(f"// Written by reference/classes.py from Unicode {unicodedata.unidata_version}: L(first, last) are letters, "
          "N(first, last) are numbers. Do not edit.")
    for initial in "LN":
        line = ""
        for first, last in ranges(initial):
            word = f"{initial}(0x{first:x}, 0x{last:x})"
            if len(line) + len(word) > 118:
                print(line)
                line = ""
            line += (" " if line else "") + word
        print(line)


if __name__ == "__main__":
    main()
