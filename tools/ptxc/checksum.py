# SPDX-License-Identifier: Apache-2.0
# The checksum of what is stored, which the library computes by the decompressor's own code (src/runtime/decompress.c).
# Definition: doc/xxhash_spec.md of the xxHash repository. tests/ptx/image_test.cpp compares both.
"""XXH64."""

import struct

MASK = (1 << 64) - 1
P1, P2, P3, P4, P5 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63,
                      0x27D4EB2F165667C5)


def _left(value, bits):
    return (value << bits | value >> 64 - bits) & MASK


def _round(lane, word):
    return _left(lane + word * P2 & MASK, 31) * P1 & MASK


def _stripes(data):
    """The number that stands for all whole 32 bytes."""
    lanes = [P1 + P2 & MASK, P2, 0, -P1 & MASK]
    for words in struct.iter_unpack("<4Q", data):
        lanes = [_round(lane, word) for lane, word in zip(lanes, words)]
    value = sum(_left(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18))) & MASK
    for lane in lanes:
        value = (value ^ _round(0, lane)) * P1 + P4 & MASK
    return value


def xxh64(data):
    """The checksum of bytes, seed 0."""
    whole, rest = data[:len(data) // 32 * 32], data[len(data) // 32 * 32:]
    value = (_stripes(whole) if whole else P5) + len(data) & MASK
    while len(rest) >= 8:
        value = _left(value ^ _round(0, int.from_bytes(rest[:8], "little")), 27) * P1 + P4 & MASK
        rest = rest[8:]
    if len(rest) >= 4:
        value = _left(value ^ int.from_bytes(rest[:4], "little") * P1 & MASK, 23) * P2 + P3 & MASK
        rest = rest[4:]
    for byte in rest:
        value = _left(value ^ byte * P5 & MASK, 11) * P1 & MASK
    for bits, factor in ((33, P2), (29, P3)):
        value = (value ^ value >> bits) * factor & MASK
    return value ^ value >> 32
