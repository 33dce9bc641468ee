#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Fits the FIT lines of src/dispatch/chips.inc to what spark-bench --choices has measured, and says how good the choice
# is that follows. The counts of each kernel come from --choices --explain of the same seed, so that they are the
# library's own; the formula is cost.cpp's, which fit_test.py compares with this one.
"""Fit the constants of dispatch to measured choices.

  fit.py MEASURED EXPLAINED [--steps N]   both JSON lines of spark-bench --choices; prints FIT lines and the regrets
  fit.py MEASURED EXPLAINED --steps 0     only the regrets of the costs that EXPLAINED has
"""
import argparse
import json
import math
import random
import re
from dataclasses import dataclass, fields, replace

CHIP = {"mhz": 1830, "flops": 2670, "memory": 4600, "l2": 5800, "sms": 132, "launch": 1000}  # H200 of chips.inc
FAMILIES = ("gemm", "attention", "norm", "softmax", "rope")  # kernels of these begin so
NOISE_US, NEAR, FAR = 0.3, 1.05, 1.25
# What a constant may be: a unit is not faster than its rate by more than the rate's own error, whatever would fit here,
# so that the constants mean something on other chips too.
BOUNDS = {"products": (95, 180), "shared": (95, 180), "fetched": (25, 200), "issued": (60, 300), "written": (10, 400),
          "memory": (80, 140), "block": (100, 9000), "step": (10, 800), "latency": (300, 2500), "exposed": (0, 100)}
LINE = re.compile(r"(.) (\w+) +yes  ([\d.]+) us: (\d+) blocks, (\d+) an SM, steps (\d+) \(at most (\d+), "
                  r"(\d+) under way\) of (\d+) products, (\d+) shared, (\d+) fetched, (\d+) issued, (\d+) syncs, "
                  r"(\d+) written; (\d+) bytes, (\d+) launches, (\d+) merged")


@dataclass(frozen=True)
class Fit:
    """One FIT line: factors in percent, clocks, and a percentage."""
    products: float = 100
    shared: float = 100
    fetched: float = 100
    issued: float = 100
    written: float = 100
    memory: float = 100
    block: float = 1000
    step: float = 100
    latency: float = 900
    exposed: float = 20


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
    syncs: int
    written: int
    bytes: int
    launches: int
    merged: int


def counts(text):
    """The legal kernels of an explanation."""
    found = []
    for line in text.splitlines():
        match = LINE.match(line)
        if match:
            found.append(Count(match[1] == "*", match[2], float(match[3]), *map(int, match.groups()[3:])))
    return found


def cost(fit, c, chip=CHIP):
    """Microseconds, by the formula of cost.cpp in floating point."""
    clock = 1 / chip["mhz"]
    through_l2 = chip["mhz"] * chip["sms"] / (chip["l2"] * 1e3)
    work = max(c.products * 4096 / chip["flops"] * fit.products, c.shared / 128 * fit.shared,
               c.fetched * through_l2 * fit.fetched, c.issued / 4 * fit.issued) / 100
    alone = max(work + fit.step, fit.latency / c.stages) if c.stages else work + fit.step + fit.latency
    end = c.written * through_l2 * fit.written / 100

    def block(beside, steps):
        return fit.block + c.syncs * fit.step + beside * end + steps * max(beside * work, alone)

    full, rest = divmod(c.blocks, chip["sms"] * c.resident)
    clocks = full * block(c.resident, c.steps)
    if rest:
        clocks += block(-(-rest // chip["sms"]), c.steps)
    clocks = max(clocks, block(1, c.longest))
    per_byte = chip["mhz"] / (chip["memory"] * 1e3) * fit.memory / 100
    memory = c.bytes * per_byte
    clocks = max(clocks, memory) + min(clocks, memory) * fit.exposed / 100 + c.merged * per_byte
    return clocks * clock + chip["launch"] * c.launches / 1000


def family(name):
    return next((f for f in FAMILIES if name.startswith(f)), "")


def load(measured, explained):
    """[(family, shape, [(Count, us)])] of shapes that both files have."""
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
                shapes.append((family(rows[0][0].kernel), f"{line['name']} {line['shape']}", rows))
    return shapes


def regret(rows, price):
    """How many times slower the cheapest is than the best; 1 where the clock could not tell."""
    best = min(us for _, us in rows)
    taken = min(rows, key=lambda row: price(row[0]))[1]
    return 1 if taken - best < NOISE_US else taken / best


def loss(fit, shapes):
    """Errors of kernels weigh the more, the nearer they are to the best; regrets weigh most."""
    total = 0
    for _, _, rows in shapes:
        best = min(us for _, us in rows)
        for count, us in rows:
            total += abs(math.log(cost(fit, count) / us)) * (best / us) ** 2
        over = regret(rows, lambda c: cost(fit, c)) - 1
        total += 3 * min(over, 1) + (1 if over > 0.05 else 0)
    return total / len(shapes)


def clamped(name, value):
    low, high = BOUNDS[name]
    return min(max(value, low), high)


def search(shapes, steps, seed=1):
    dice = random.Random(seed)
    best = Fit()
    least = loss(best, shapes)
    names = [field.name for field in fields(Fit)]
    for step in range(steps):
        scale = 0.8 * (1 - step / steps) + 0.03
        change = {name: clamped(name, max(getattr(best, name), 1) * math.exp(dice.gauss(0, scale)))
                  for name in dice.sample(names, dice.choice((1, 1, 2, 3)))}
        trial = replace(best, **change)
        found = loss(trial, shapes)
        if found < least:
            best, least = trial, found
    return best, least


def report(name, shapes, price):
    found = sorted(regret(rows, price) for _, _, rows in shapes)
    near = sum(r <= NEAR for r in found) / len(found)
    far = sum(r > FAR for r in found)
    print(f"{name}: {len(found)} shapes, within 5 % of the best {100 * near:.1f} %, beyond 25 % {far}, worst "
          f"{found[-1]:.2f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("measured")
    parser.add_argument("explained")
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--show", action="store_true", help="each shape whose choice is not the best")
    args = parser.parse_args()
    shapes = load(args.measured, args.explained)
    for name in dict.fromkeys(f for f, _, _ in shapes):
        own = [s for s in shapes if s[0] == name]
        fit = None
        if args.steps:
            fit, _ = search(own, args.steps)
            print(f'FIT("{name}", ' + ", ".join(str(round(getattr(fit, f.name))) for f in fields(Fit)) + ")")
        price = (lambda c: cost(fit, c)) if fit else (lambda c: c.us)
        report(name, own, price)
        for _, shape, rows in own if args.show else ():
            if regret(rows, price) > NEAR:
                print(f"  {shape}")
                for c, us in sorted(rows, key=lambda row: row[1]):
                    print(f"    {c.kernel:36} {us:9.2f} us, cost {price(c):9.2f}  {c}")


if __name__ == "__main__":
    main()
