# SPDX-License-Identifier: Apache-2.0
#
# The decode table: what spark-bench measured of the shapes in bench/decode.txt becomes a part of that card's entry in
# docs/performance.json, tables in its page, and a picture. Called by record.py and `tools/spark bench --record-decode`.
import json
import math
import re
from pathlib import Path

import record

LAYERS = 32
SHAPE = re.compile(r"b=(\d+) q=1 k=(\d+) h=32/8 d=128 BF16 page=16( FP8-cache| NVFP4-cache)?\Z")
CACHES = {"": "BF16", " FP8-cache": "E4M3", " NVFP4-cache": "NVFP4"}
COLOURS = {"BF16": "#1f6feb", "E4M3": "#d4582a", "NVFP4": "#2a9d5c"}
LEFT, RIGHT, TOP, BOTTOM, WIDTH, HEIGHT = 70, 130, 20, 50, 760, 460


def adopt(files):
    """Puts runs of one card into its entry, in the place of older ones, and writes page and picture."""
    runs = [json.loads(Path(file).read_text(encoding="utf-8")) for file in files]
    entries = record.load()
    entry = next((entry for entry in entries if {entry["device"]} == {run["device"] for run in runs}), None)
    if entry is None:
        raise record.Refused(f"{runs[0]['device']} has no entry yet: record spark-bench first")
    rows = [{"cache": CACHES[match[3] or ""], "users": int(match[1]), "context": int(match[2]),
             "us": row["median_us"], "fraction": row["fraction"]}
            for run in runs for row in run["rows"] if (match := SHAPE.match(row["shape"]))]
    if not rows:
        raise record.Refused(f"{files[0]} has none of the shapes of bench/decode.txt")
    entry["decode"] = {**record.named(record.SOURCES), "rows": rows}
    record.write(entries)
    picture_of(entry["device"]).write_text(picture(rows), encoding="utf-8")


def picture_of(device):
    return record.PAGE.with_name(f"decode-{re.sub(r'[^a-z0-9]+', '-', device.lower())}.svg")


def tokens(row):
    """How many tokens all users together get in a second, if attention were all that a step of 32 layers does."""
    return row["users"] / (LAYERS * row["us"] * 1e-6)


def words(number):
    """2048 as 2K."""
    return f"{number // 1024}K" if number >= 1024 else str(number)


def lines(part, device):
    """The lines of the page."""
    out = ["### Decoding", "",
           f"Attention of {LAYERS} layers with Hq 32, Hkv 8, D 128, one query a user, pages of 16; commit "
           f"{part['commit']}, {part['date']}. Tokens a second of all users, and how much of the read stream of the "
           "same run that is; `-`: more than the card's memory holds beside the rest.", "",
           f"![tokens a second by context and users]({picture_of(device).name})", ""]
    for cache in dict.fromkeys(row["cache"] for row in part["rows"]):
        cells = {(row["context"], row["users"]): row for row in part["rows"] if row["cache"] == cache}
        contexts, users = (sorted({key[at] for key in cells}) for at in (0, 1))
        out += [f"Cache of {cache}:", "", "| context | " + " | ".join(f"{n} user{'s' * (n > 1)}" for n in users) + " |",
                "|---" * (len(users) + 1) + "|"]
        for context in contexts:
            row = [cells.get((context, n)) for n in users]
            out.append(f"| {words(context)} | " + " | ".join(
                f"{tokens(cell):,.0f} ({100 * cell['fraction']:.0f} %)" if cell else "-" for cell in row) + " |")
        out.append("")
    return out


def picture(rows):
    """An SVG: tokens a second over the context, both by powers of two and ten, a line for each number of users."""
    xs, ys = [math.log2(row["context"]) for row in rows], [math.log10(tokens(row)) for row in rows]
    low, high = math.floor(min(ys)), math.ceil(max(ys))

    def at(context, rate):
        across = (math.log2(context) - min(xs)) / max(max(xs) - min(xs), 1)
        up = (math.log10(rate) - low) / max(high - low, 1)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
           'font-size="12">', f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
    for power in range(low, high + 1):
        x, y = at(2 ** min(xs), 10 ** power)
        out += [f'<path d="M{x:.1f} {y:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>',
                f'<text x="{x - 8:.1f}" y="{y + 4:.1f}" text-anchor="end">{10 ** power:,}</text>']
    for context in sorted({row["context"] for row in rows}):
        x, y = at(context, 10 ** low)
        out.append(f'<text x="{x:.1f}" y="{y + 18:.1f}" text-anchor="middle">{words(context)}</text>')
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 10}" text-anchor="middle">tokens of context; up: '
               'tokens a second of all users</text>')
    for cache, users in dict.fromkeys((row["cache"], row["users"]) for row in rows):
        line = sorted((row["context"], tokens(row)) for row in rows if (row["cache"], row["users"]) == (cache, users))
        points = [at(*point) for point in line]
        out.append(f'<path d="M{" L".join(f"{x:.1f} {y:.1f}" for x, y in points)}" fill="none" '
                   f'stroke="{COLOURS[cache]}"/>')
        (x, y), place = points[0], list(COLOURS).index(cache)  # where the lines are far from each other
        out.append(f'<text x="{x + 4 + 24 * place:.1f}" y="{y - 4:.1f}" fill="{COLOURS[cache]}">{users}</text>')
    for place, (cache, colour) in enumerate(COLOURS.items()):
        out.append(f'<text x="{WIDTH - 60}" y="{TOP + 14 + 16 * place}" fill="{colour}">{cache}</text>')
    out.append(f'<text x="{WIDTH - 120}" y="{TOP + 46}">numbers: users</text>')
    return "\n".join([*out, "</svg>", ""])
