# SPDX-License-Identifier: Apache-2.0
# How images are stored: compressed one by one, those for devices that users have in the library itself, those for
# testing in a file of their own that stands beside it. src/runtime/image.cpp reads both.
# Knows nothing of how images are made.
"""Pack images, and write the file of those for testing."""

import hashlib
import zlib
from pathlib import Path

TESTING = (90,)  # chips whose images are not in the library
FILE = "libspark-sm90.bin"


def fnv1a(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def pack(image):
    return zlib.compress(image, 9)


def testing_file(records, results):
    """(what the library knows of the file: its first line and its size, {(kernel, kind): place}, its content)."""
    parts, places, at = [], {}, 0
    for record in records:
        for image in (i for i in record["images"] if i["arch"] in TESTING):
            parts.append((Path(results) / image["packed"]).read_bytes())
            places[record["name"], image["kind"]] = at
            at += len(parts[-1])
    content = b"".join(parts)
    head = f"libspark's kernels for sm_90, SHA-256 {hashlib.sha256(content).hexdigest()}\n"
    return head, {key: len(head) + place for key, place in places.items()}, head.encode() + content
