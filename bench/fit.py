#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Fits the FIT lines of src/dispatch/chips.inc to what spark-bench --choices has measured, and says how good the choice
# is that follows. The counts of each kernel come from --choices --explain of the same seed, so that they are the
# library's own; the formula is cost.cpp's, which fit_test.py compares with this one.
"""Fit the constants of dispatch to measured choices.

  fit.py MEASURED EXPLAINED [--steps N]   both JSON lines of spark-bench --choices; prints FIT lines and the regrets
  fit.py MEASURED EXPLAINED --steps 0     only the regrets of the costs that EXPLAINED has
  fit.py MEASURED EXPLAINED --onward      from the constants that stand; 1,500 shapes take 15 ms a step
  fit.py M1 E1 M2 E2 ..                   the shapes of several seeds together
  fit.py .. --chip H100                   measured there, and explained there: prints lines of that card's own
"""
import argparse
import functools
import json
import math
import random
import re
from dataclasses import dataclass, fields, replace
from pathlib import Path

CHIPS = (Path(__file__).resolve().parents[1] / "src" / "dispatch" / "chips.inc").read_text()
# Kernels whose names fit a pattern have its line; of several, the first. {pattern: that of the line that counts}, which
# is another's unless some chip has a line of the pattern's own
OWN = set(re.findall(r'^FIT_ON\("[^"]*", "([\w*]*)"', CHIPS, re.M))
OTHERS = {pattern: other for pattern, other in re.findall(r'^FIT_AS\("([\w*]*)", "([\w*]*)"', CHIPS, re.M)}
FAMILIES = {pattern: pattern if pattern in OWN else OTHERS.get(pattern, pattern)
            for pattern in re.findall(r'^FIT(?:_AS)?\("([\w*]*)"', CHIPS, re.M)}
NOISE_US, NEAR, FAR, HAIR = 0.3, 1.05, 1.25, 0.03
# What a constant may be: a unit is not faster than its rate by more than the rate's own error, whatever would fit here,
# so that the constants mean something on other chips too; products of FP8 are two of halves and their conversion.
BOUNDS = {"products": (95, 400), "shared": (90, 180), "fetched": (25, 200), "issued": (30, 400), "written": (10, 400),
          "memory": (70, 140), "block": (100, 9000), "step": (10, 800), "latency": (300, 2500), "round": (0, 1500),
          "exposed": (0, 100), "flight": (0, 256), "serial": (0, 100), "beside": (0, 60), "apart": (0, 100),
          "merged": (10, 300)}
LINE = re.compile(r"(.) (\w+) +yes  ([\d.]+) us: (\d+) blocks, (\d+) an SM, steps (\d+) \(at most (\d+), "
                  r"(\d+) under way\) of (\d+) products, (\d+) shared, (\d+) fetched, (\d+) issued in (\d+) turns "
                  r"\((\d+) before loads\), (\d+) filled, (\d+) syncs, (\d+) rounds, (\d+) written "
                  r"\(at most (\d+) more\); (\d+) bytes, (\d+) launches, (\d+) merged in (\d+) clocks")


def chip_of(name):
    """The rates of a CHIP line."""
    numbers = re.search(rf'^CHIP\("{name}", \d+, ([\d, ]+)\)', CHIPS, re.M)[1].split(",")
    sms, mhz, flops, _, memory, l2, _, launch = map(int, numbers)
    return {"mhz": mhz, "flops": flops, "memory": memory, "l2": l2, "sms": sms, "launch": launch}


H200 = chip_of("H200")


@dataclass(frozen=True)
class Fit:
    """One FIT line: factors in percent, clocks, percentages, and KiB of `flight`."""
    products: float = 100
    shared: float = 100
    fetched: float = 100
    issued: float = 100
    written: float = 100
    memory: float = 100
    block: float = 1000
    step: float = 100
    latency: float = 900
    round: float = 0
    exposed: float = 20
    flight: float = 0
    serial: float = 0
    beside: float = 0
    apart: float = 0
    merged: float = 100


@dataclass(frozen=True)
class Count:
    """What explain says of one kernel and shape."""
    chosen: bool
    kernel: str
    us: float
    blocks: int
    resident: int
    steps: int
    longest: int
    stages: int
    products: int
    shared: int
    fetched: int
    issued: int
    turns: int
    behind: int
    filled: int
    syncs: int
    rounds: int
    written: int
    late: int
    bytes: int
    launches: int
    merged: int
    later: int


def counts(text):
    """The legal kernels of an explanation."""
    found = []
    for line in text.splitlines():
        match = LINE.match(line)
        if match:
            found.append(Count(match[1] == "*", match[2], float(match[3]), *map(int, match.groups()[3:])))
    return found


def cost(fit, c, chip=H200):
    """Microseconds, by the formula of cost.cpp in floating point."""
    clock = 1 / chip["mhz"]
    through_l2 = chip["mhz"] * chip["sms"] / (chip["l2"] * 1e3)
    products, others = c.products * 4096 / chip["flops"] * fit.products / 100, c.issued / 4 * fit.issued / 100
    own = max(products, others, c.shared / 128 * fit.shared / 100)
    work = max(own, c.fetched * through_l2 * fit.fetched / 100)
    waits = c.turns * fit.step
    fresh = max(products, others) + min(products, others) * fit.serial / 100 + waits
    alone = max(fresh, fit.latency / c.stages + c.behind * fit.step) if c.stages else work + waits + fit.latency
    end, late = (bytes * through_l2 * fit.written / 100 for bytes in (c.written, c.late))

    def step(beside, work, alone):
        hidden = min(work, alone) if beside > 1 else 0
        return max(work, alone) + hidden * fit.beside / 100

    start = fit.block + c.syncs * fit.step + c.rounds * fit.round

    filled = min(c.filled, c.steps)

    def block(beside, work):
        return (start + beside * end + filled * step(beside, work, fresh)
                + (c.steps - filled) * step(beside, work, alone))

    full, rest = divmod(c.blocks, chip["sms"] * c.resident)
    apart = start * fit.apart / 100 * (c.resident - 1) / c.resident if full else 0
    waves = full * (block(c.resident, c.resident * work) - apart) + apart
    fullest = -(-rest // chip["sms"])
    evens = c.turns == 0 and not full and fullest > 1
    last_work = max(fullest * own, rest / chip["sms"] * work) if evens else fullest * work
    last = block(fullest, last_work) - apart if rest else 0
    clocks = waves + last + late
    beside = c.resident if full else fullest
    clocks += max(c.longest - c.steps, 0) * step(beside, beside * work, alone)
    per_byte = chip["mhz"] / (chip["memory"] * 1e3)
    memory = c.bytes * per_byte * fit.memory / 100
    flight, loaded = fit.flight * 1024, beside * c.fetched * max(c.stages, 1)
    exposed = fit.exposed / 100 * (flight / loaded if 0 < flight < loaded else 1)
    clocks = max(clocks, memory) + min(clocks, memory) * exposed
    if full:
        share = memory * rest / c.blocks
        clocks += max(min(memory - share - waves, last - share), 0)
    clocks += c.merged * per_byte * fit.merged / 100 + c.later / chip["sms"]
    clocks += fit.block * (c.launches - 1)
    return clocks * clock + chip["launch"] * c.launches / 1000


@functools.cache
def family(name):
    """The pattern of the line of a kernel: the first that the name fits, as fits_pattern of chips.h has it."""
    halves = ((f, *f.partition("*")[::2]) for f in FAMILIES)
    return FAMILIES[next(f for f, first, other in halves if name.startswith(first) and other in name[len(first):])]


def load(measured, explained):
    """[(operator, shape, [(Count, us)])] of shapes that both files have. An operator is the first word of a family."""
    shapes = []
    with open(measured) as one, open(explained) as other:
        for line, said in list(zip(one, other))[1:]:
            line, said = json.loads(line), json.loads(said)
            if line["shape"] != said["shape"]:
                raise SystemExit(f"{measured} and {explained} are not of one seed: {line['shape']}, {said['shape']}")
            times = {k["kernel"]: k for k in line["kernels"]}
            rows = [(c, times[c.kernel]["median_us"]) for c in counts(said["explain"]) if c.kernel in times
                    and times[c.kernel]["launches"] == c.launches]
            if rows:
                shapes.append((family(rows[0][0].kernel).split("_")[0], f"{line['name']} {line['shape']}", rows))
    return shapes


def regret(rows, price):
    """How many times slower the cheapest is than the best; 1 where the clock could not tell."""
    best = min(us for _, us in rows)
    taken = min(rows, key=lambda row: price(row[0]))[1]
    return 1 if taken - best < NOISE_US else taken / best


def losses(prices, rows):
    """(what is lost on average, the errors of the costs, their weights) of one shape. A kernel is the more likely
    taken, the nearer it is to the cheapest: a choice by a hair counts as half lost, so that the constants hold for
    shapes that were not measured. Errors of kernels that are far behind count less."""
    best, least = min(us for _, us in rows), min(prices)
    lost = chances = errors = weights = 0
    for price, (_, us) in zip(prices, rows):
        chance, over = (least / price) ** (1 / HAIR), 0 if us - best < NOISE_US else us / best - 1
        chances += chance
        lost += chance * (min(over, 0.3) + (0.2 if over > NEAR - 1 else 0) + (0.5 if over > FAR - 1.05 else 0))
        weight = 1 if us < 1.5 * best else 0.25
        errors += min(abs(math.log(price / us)), 0.4) * weight
        weights += weight
    return lost / chances, errors, weights


def total(found):
    """One number of the losses of all shapes."""
    lost, errors, weights = map(sum, zip(*found))
    return lost / len(found) + 0.3 * errors / weights


def costs(fits, rows, chip):
    return [cost(fits[family(count.kernel)], count, chip) for count, _ in rows]


def clamped(name, value):
    low, high = BOUNDS[name]
    return min(max(value, low), high)


def loss(fits, shapes, chip=H200):
    return total([losses(costs(fits, rows, chip), rows) for _, _, rows in shapes])


def priced_anew(prices, rows, name, fit, chip):
    """What the kernels of one shape cost when one family has other constants."""
    return [cost(fit, count, chip) if family(count.kernel) == name else price
            for price, (count, _) in zip(prices, rows)]


def changed(dice, fit, scale):
    """A constant or a few, by about so much. They are whole: one rounded afterwards turns choices by a hair."""
    names = dice.sample([field.name for field in fields(Fit)], dice.choice((1, 1, 2, 3)))
    return replace(fit, **{name: clamped(name, round(max(getattr(fit, name), 1) * math.exp(dice.gauss(0, scale))))
                           for name in names})


def search(shapes, steps, seed=1, start=None, chip=H200):
    """({family: Fit}, the loss). With a start it is looked around that, not everywhere."""
    dice = random.Random(seed)
    concerned = {}  # {family: [the shapes that a kernel of it can compute]}: nothing else need be computed again
    for at, (_, _, rows) in enumerate(shapes):
        for name in {family(count.kernel) for count, _ in rows}:
            concerned.setdefault(name, []).append(at)
    best = {name: (start or {}).get(name, Fit()) for name in sorted(concerned)}
    prices = [costs(best, rows, chip) for _, _, rows in shapes]
    found = [losses(price, rows) for price, (_, _, rows) in zip(prices, shapes)]
    for step in range(steps):
        name = dice.choice(list(best))
        fit = changed(dice, best[name], (0.3 if start else 0.8) * (1 - step / steps) + 0.03)
        anew = {at: priced_anew(prices[at], shapes[at][2], name, fit, chip) for at in concerned[name]}
        trial = list(found)
        for at, price in anew.items():
            trial[at] = losses(price, shapes[at][2])
        if total(trial) < total(found):
            best, found = best | {name: fit}, trial
            for at, price in anew.items():
                prices[at] = price
    return best, total(found)


def standing(chip="H200"):
    """{family: Fit} as chips.inc has them for a card."""
    lines = re.findall(rf'^(?:FIT\(|FIT_ON\("{chip}", )"([\w*]*)", ([\d, ]+)\)', CHIPS, re.M)
    fits = {name: Fit(*map(int, numbers.split(","))) for name, numbers in lines}
    return {name: fits[other] for name, other in OTHERS.items()} | fits


def report(name, shapes, price):
    found = sorted(regret(rows, price) for _, _, rows in shapes)
    near = sum(r <= NEAR for r in found) / len(found)
    far = sum(r > FAR for r in found)
    print(f"{name}: {len(found)} shapes, within 5 % of the best {100 * near:.1f} %, beyond 25 % {far}, worst "
          f"{found[-1]:.2f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+", metavar="MEASURED EXPLAINED")
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--onward", action="store_true", help="search around the constants that stand in chips.inc")
    parser.add_argument("--chip", default="H200", help="the CHIP line of chips.inc on which both were made")
    parser.add_argument("--show", action="store_true", help="each shape whose choice is not the best")
    args = parser.parse_args()
    start = standing(args.chip) if args.onward else None
    chip, line = chip_of(args.chip), "FIT(" if args.chip == "H200" else f'FIT_ON("{args.chip}", '
    shapes = [shape for pair in zip(args.files[::2], args.files[1::2]) for shape in load(*pair)]
    for name in dict.fromkeys(f for f, _, _ in shapes):
        own = [s for s in shapes if s[0] == name]
        fits = search(own, args.steps, start=start, chip=chip)[0] if args.steps else {}
        for pattern, fit in fits.items():
            print(f'{line}"{pattern}", ' + ", ".join(str(round(getattr(fit, f.name))) for f in fields(Fit)) + ")")
        price = (lambda c: cost(fits[family(c.kernel)], c, chip)) if fits else (lambda c: c.us)
        report(name, own, price)
        for _, shape, rows in own if args.show else ():
            if regret(rows, price) > NEAR:
                print(f"  {shape}")
                for c, us in sorted(rows, key=lambda row: row[1]):
                    print(f"    {c.kernel:36} {us:9.2f} us, cost {price(c):9.2f}  {c}")


if __name__ == "__main__":
    main()
