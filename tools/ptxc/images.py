# SPDX-License-Identifier: Apache-2.0
# How images are stored: compressed, together with those most like them, those for devices that users have in the
# library itself, those for testing in a file of their own that stands beside it. src/runtime/image.cpp reads both.
# Knows nothing of how images are made.
"""Pack images, embed them, and write the file of those for testing."""

import hashlib
import functools
import itertools
import json
import operator
import re
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from compressor import QUICK, SMALL, compress, maker
from kept import keep

TESTING = (90,)  # chips whose images are not in the library
FILE = "libspark-sm90.bin"
LARGEST = {"cubin": 2 << 20, "ptx": 4 << 20}  # bytes of a bundle, unpacked: half of it is what a first load pays
BEGINNINGS = 16  # of ways to fill bundles that are tried
BEST = 4  # of these, between whose bundles images are exchanged
PASSES = 6  # over all images, at most, to exchange them


def fnv1a(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


@dataclass(frozen=True)
class Bundle:
    """Images that are stored together."""
    members: tuple  # (kernel, kind) of each
    arch: int
    family: str
    path: Path
    places: tuple  # where each member begins, unpacked; and where the last one ends
    stored: bytes


def room_of(size):
    """Bytes of an image in a bundle: the next one is aligned as malloc's memory is, and a text of PTX ends with NUL."""
    return size + 16 - size % 16


def padded(image):
    """An image as it lies in a bundle."""
    return image.ljust(room_of(len(image)), b"\0")


def marks(content, kind):
    """What two images that are alike have in common: halves of instructions, or statements of PTX, whose lines are as
    long as macros make them; a sample of them, drawn by their checksums."""
    parts = re.split(rb"[;\n]", content) if kind == "ptx" else (content[i:i + 8] for i in range(0, len(content), 8))
    return {part for part in set(parts) if zlib.crc32(part) % 8 == 0}


def filled(images, first):
    """(marks of all bundles, [[image]]) of {image: (bytes, marks as bits)}: the first bundle begins with `first`,
    others with the first that is left, and each goes on with the one whose marks it has the greatest share of, as long
    as it has room for one."""
    left, groups, marked = dict(images), [], 0
    while left:
        group, held, taken, best = [], 0, 0, first if not groups else next(iter(left))
        while best is not None:
            size, found = left.pop(best)
            group.append(best)
            held |= found
            taken += size
            fit = {image: found for image, (size, found) in left.items() if taken + size <= LARGEST[best[1]]}
            best = max(fit, key=lambda image: (fit[image] & held).bit_count() / (fit[image].bit_count() + 1),
                       default=None)
        groups.append(group)
        marked += held.bit_count()
    return marked, groups


def union(images, group, but=None):
    """The marks of a bundle, one image left out."""
    return functools.reduce(operator.or_, (images[image][1] for image in group if image != but), 0)


def exchanges(images, groups, mine, image, marked):
    """(marks spared, bundle, what comes back for it or None) of each way to bring an image of the bundle `mine` to
    another one. Where the image has room, nothing comes back. marked(bundle, image) is union() without the image."""
    rest, room = marked(mine, image), LARGEST[image[1]]
    size = {id(group): sum(images[each][0] for each in group) for group in groups}
    for group in groups:
        for back in () if group is mine else (None, *group):
            more = images[image][0] - images[back][0]
            if size[id(group)] + more <= room and size[id(mine)] - more <= room:
                there, (_, coming), (_, going) = marked(group, back), images[image], images[back]
                yield (((coming & ~rest).bit_count() + (going & ~there).bit_count() - (coming & ~there).bit_count()
                        - (going & ~rest).bit_count()), group, back)
                if back is None:
                    break


def settled(images, groups):
    """The bundles after exchanges, of each image the best one, until none spares a mark that would be there twice."""
    images, order, known = {**images, None: (0, 0)}, list(images), {}

    def marked(group, but):
        found = known.setdefault(id(group), {})
        if but not in found:
            found[but] = union(images, group, but)
        return found[but]

    for _ in range(PASSES):
        changed = False
        for mine, image in [(group, image) for group in groups for image in group]:
            if image not in mine:  # it has come back for another one
                continue
            spared, group, back = max(exchanges(images, groups, mine, image, marked), key=lambda way: way[0],
                                      default=(0, None, None))
            if spared > 0:
                changed = True
                mine.remove(image), group.append(image)
                if back is not None:
                    group.remove(back), mine.append(back)
                known.pop(id(mine), None), known.pop(id(group), None)
        if not changed:
            break
    return [sorted(group, key=order.index) for group in groups if group]


def alike(images):
    """[[image]] of {image: (bytes, marks)}, as they are stored together: of ways to fill bundles those that have few
    marks twice, and of these after exchanges the one that has the fewest."""
    bits = {}
    for _, found in images.values():
        bits |= {mark: 1 << place for place, mark in enumerate(found - bits.keys(), len(bits))}
    known = {image: (size, sum(bits[mark] for mark in found)) for image, (size, found) in images.items()}
    firsts = list(known)[::-(-len(known) // BEGINNINGS)]
    ways = sorted((filled(known, first) for first in firsts), key=lambda way: way[0])[:BEST]
    return min((settled(known, way) for _, way in ways),
               key=lambda way: sum(union(known, group).bit_count() for group in way))


def together(found, results, cache):
    """alike() of images of one kind; with a cache folder, once for all build folders."""
    contents = {image: (Path(results) / image[2]).read_bytes() for image in found}
    what = [(image, hashlib.sha256(content).digest()) for image, content in contents.items()]
    name = hashlib.sha256(Path(__file__).read_bytes() + repr(what).encode()).hexdigest()
    kept = Path(cache) / "together" / name if cache else None
    if kept and kept.is_file():
        return [[found[place] for place in group] for group in json.loads(kept.read_bytes())]
    way = alike({image: (room_of(len(content)), marks(content, image[1])) for image, content in contents.items()})
    if kept:
        keep(kept, json.dumps([[found.index(image) for image in group] for group in way]).encode())
    return way


def as_before(ways, found, results):
    """The images of a chip, stored together as those of the same kernels for a chip before; None where that is not
    possible."""
    images = {image[0]: image for image in found}
    way = [[images.pop(kernel) for kernel, *_ in group if kernel in images] for group in ways]
    fit = all(sum(room_of((Path(results) / file).stat().st_size) for _, _, file in group) <= LARGEST[group[0][1]]
              for group in way if group)
    return [group for group in way if group] if fit and not images else None


def groups(records, results, cache):
    """[(family, arch, [(kernel, kind, file)])]: the bundles of each family's images of one kind for one chip."""
    kinds, result = {}, []
    for record in records:
        for image in record["images"]:
            kinds.setdefault((Path(record["file"]).parent.name, image["kind"]), {}).setdefault(
                image["arch"], []).append((record["name"], image["kind"], image["file"]))
    for (family, _), chips in kinds.items():
        way = []
        for arch, found in chips.items():
            way = as_before(way, found, results) or together(sorted(found), results, cache)
            result += [(family, arch, group) for group in way]
    return result


def packed(content, name, level, cache):
    """The content compressed; with a cache folder, once for all build folders."""
    kept = Path(cache) / "packed" / f"{name}.{maker(level)}" if cache else None
    if kept and kept.is_file():
        return kept.read_bytes()
    stored = compress(content, level)
    if kept:
        keep(kept, stored)
    return stored


def bundles(records, results, cache=None):
    """What is stored of assembled kernels. It is packed once: files are named by their content."""
    folder = Path(results) / "bundles"
    folder.mkdir(exist_ok=True)

    def bundle(family, arch, group):
        images = [padded((Path(results) / file).read_bytes()) for _, _, file in group]
        content = b"".join(images)
        name = f"{hashlib.sha256(content).hexdigest()[:32]}.zst"
        path = folder / name
        if not path.exists():
            keep(path, packed(content, name, QUICK if arch in TESTING else SMALL, cache))
        members = tuple((kernel, kind) for kernel, kind, _ in group)
        places = tuple(itertools.accumulate(map(len, images), initial=0))
        return Bundle(members, arch, family, path, places, path.read_bytes())

    with ThreadPoolExecutor() as pool:  # the compressor lets other threads run
        found = list(pool.map(lambda each: bundle(*each), groups(records, results, cache)))
    for path in set(folder.iterdir()) - {bundle.path for bundle in found}:
        path.unlink()
    return found


def _places(found):
    """{bundle: its first byte}, one behind the other."""
    ends = itertools.accumulate((len(bundle.stored) for bundle in found), initial=0)
    return dict(zip(found, ends))


def library_places(found):
    """{bundle: place} of those in the library."""
    return _places([bundle for bundle in found if bundle.arch not in TESTING])


def testing_file(found):
    """(what the library knows of the file: its first line, {bundle: place}, its content)."""
    outside = [bundle for bundle in found if bundle.arch in TESTING]
    content = b"".join(bundle.stored for bundle in outside)
    head = f"libspark's kernels for sm_90, SHA-256 {hashlib.sha256(content).hexdigest()}\n"
    places = {bundle: len(head) + place for bundle, place in _places(outside).items()}
    return head, places, head.encode() + content


# A linker marks a library as fit for the processor's checks of jumps and returns if every object in it says that it is.
# An object without code is, for both checks of either processor (bits 1 and 2).
FIT_FOR_CHECKS = """\
#if defined(__x86_64__)
#define FEATURES 0xc0000002 // GNU_PROPERTY_X86_FEATURE_1_AND: IBT, SHSTK
#elif defined(__aarch64__)
#define FEATURES 0xc0000000 // GNU_PROPERTY_AARCH64_FEATURE_1_AND: BTI, PAC
#endif
#ifdef FEATURES
.section .note.gnu.property,"a",%note
.balign 8
.long 4, 16, 5 // sizes of name and content, NT_GNU_PROPERTY_TYPE_0
.asciz "GNU"
.long FEATURES, 4, 3, 0
#endif"""


def assembly(found):
    """The text of spark_images.S: what is in the library, hidden. GNU as and clang, x86-64 and aarch64."""
    lines = ["// Generated by tools/ptxc: code of the kernels. Do not edit.",
             '.section .rodata.spark_images,"a",%progbits', ".globl spark_images", ".hidden spark_images",
             ".type spark_images, %object", "spark_images:"]
    for bundle in library_places(found):
        path = str(bundle.path.resolve()).replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'.incbin "{path}"')
    lines += [".size spark_images, . - spark_images", FIT_FOR_CHECKS, '.section .note.GNU-stack,"",%progbits']
    return "\n".join(lines) + "\n"
