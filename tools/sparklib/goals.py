# SPDX-License-Identifier: Apache-2.0
#
# docs/goals.md: what is wanted of kernels on a card (bench/goals.toml) beside what docs/performance.json says of them.
# Called by record.py, whenever that writes the record, and by the lint. Measures nothing itself.
import fnmatch
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GOALS = ROOT / "bench" / "goals.toml"
PAGE = ROOT / "docs" / "goals.md"

HEAD = """# Goals

What kernels should reach on one card: the first mark is wanted, the second is hoped for; a goal is met where its worst
row meets it. *Tried* leads to what was done about it and what that brought; below a table stands what holds those of
its goals that are missed, once three different ways at least were tried. The bound is what memory or the `mma` loop
alone would take, in the process that also ran the peers ([performance.md](performance.md)); everything else comes from
spark-bench. Written by `tools/spark bench --record` from bench/goals.toml and performance.json; do not edit.
"""


class Wrong(Exception):
    """A goal that cannot be looked up: which, and why."""


@dataclass
class Measure:
    """What figures of a kind look like. They are compared as they are shown: more digits would be noise."""
    unit: str
    digits: int
    less: bool = False  # whether less is better

    def meets(self, figure, mark):
        shown = round(figure, self.digits)
        return shown <= mark if self.less else shown >= mark

    def text(self, figure):
        return f"{figure:.{self.digits}f}{self.unit}"


MEASURES = {"of_ceiling": Measure(" %", 1), "of_bound": Measure(" %", 1), "peer": Measure("x", 2),
            "speed_of": Measure("x", 2), "rate_of": Measure("x", 2), "us": Measure(" us", 1, less=True)}


def by_name(run):
    """{row: what spark-bench recorded}, {row: what the peers' process recorded}"""
    return ({f"{row['name']} {row['shape']}": row for row in run["rows"]},
            {row["row"]: row for row in run.get("peers", {"rows": []})["rows"]})


def figure(goal, name, bench, peers):
    """The goal's figure of one row, or None where it was not measured."""
    kind = goal["measure"]
    if kind in ("of_bound", "peer"):
        us = peers[name]["us"]
        other = 100 * peers[name]["bound_us"] if kind == "of_bound" else us.get(goal["peer"])
        return other / us["libspark"] if isinstance(other, float) else None
    row = bench[name]
    if kind == "of_ceiling":
        return 100 * row["fraction"]
    if kind == "us":
        return row["median_us"]
    other = bench[goal["row"]] if goal["row"] in bench else None
    if other is None:
        return None
    return other["median_us"] / row["median_us"] if kind == "speed_of" else row["rate"] / other["rate"]


def figures(goal, run):
    """[(row, figure)], the worst first."""
    bench, peers = by_name(run)
    names = peers if goal["measure"] in ("of_bound", "peer") else bench
    left = goal.get("but", [])
    found = [name for pattern in goal["rows"] for name in names if fnmatch.fnmatchcase(name, pattern)]
    pairs = [(name, figure(goal, name, bench, peers)) for name in dict.fromkeys(found) if name not in left]
    less = MEASURES[goal["measure"]].less
    return sorted((pair for pair in pairs if pair[1] is not None), key=lambda pair: pair[1], reverse=less)


def state(goal, pairs):
    """'' (not measured), 'missed', 'met' or 'aim', which is both marks."""
    if not pairs:
        return ""
    met = sum(MEASURES[goal["measure"]].meets(pairs[0][1], mark) for mark in goal["marks"])
    return ("missed", "met", "aim")[met]


def wanted(goal):
    """What is asked, as '78 / 87 % of the ceiling'."""
    measure = MEASURES[goal["measure"]]
    first, second = goal["marks"]
    of = {"of_ceiling": " of the ceiling", "of_bound": " of the bound", "us": "",
          "peer": f" the speed of {goal.get('peer')}", "speed_of": f" the speed of `{goal.get('row')}`",
          "rate_of": f" the rate of `{goal.get('row')}`"}[goal["measure"]]
    return f"{first:g} / {second:g}{measure.unit}{of}"


def line(goal, run):
    measure, pairs = MEASURES[goal["measure"]], figures(goal, run)
    reached = " to ".join(dict.fromkeys(measure.text(number) for _, number in (pairs[:1] + pairs[-1:])))
    told = {"": "not measured", "missed": "**missed**", "met": "met", "aim": "both"}[state(goal, pairs)]
    if told == "**missed**" and len(pairs) > 1:
        met = sum(measure.meets(number, goal["marks"][0]) for _, number in pairs)
        told += f"; {met} of {len(pairs)} met, worst: `{pairs[0][0]}`"
    tried = f"[{goal['tried'].partition('.')[0]}](notes/{goal['tried']})" if "tried" in goal else ""
    return f"| {goal['what']} | {wanted(goal)} | {reached} | {told} | {tried} |"


ENOUGH = 3  # different attempts, before a goal counts as out of reach


def held(goal):
    """What holds a goal that is missed, as a line of the page."""
    return f"- *{goal['what']}*: {goal['limit']}. Tried: {'; '.join(goal['attempts'])}."


def load():
    """The card's name and the goals; Wrong where one cannot be read."""
    text = tomllib.loads(GOALS.read_text(encoding="utf-8"))
    for goal in text["goal"]:
        if "limit" in goal and len(set(goal.get("attempts", ()))) < ENOUGH:
            raise Wrong(f"{GOALS.name}: '{goal.get('what')}' says its limit and needs {ENOUGH} attempts")
        if goal.get("measure") not in MEASURES or len(goal.get("marks", ())) != 2:
            raise Wrong(f"{GOALS.name}: '{goal.get('what')}' needs a measure of {', '.join(MEASURES)} and two marks")
    return text["card"], text["goal"]


def recorded(run):
    """Which commits the figures are of, and when they were taken."""
    of = [f"commit {part['commit']}, {part['date']}" for part in (run, run.get("peers", {})) if "commit" in part]
    return of[0] if len(set(of)) < 2 else f"{of[0]} (bounds and peers: {of[1]})"


def page(entries):
    card, goals = load()
    run = next((entry for entry in entries if entry["device"] == card), None)
    if run is None:
        return HEAD
    states = [state(goal, figures(goal, run)) for goal in goals]
    missed = [goal for goal, found in zip(goals, states) if found == "missed"]
    said = [goal for goal in missed if "limit" in goal]
    out = [HEAD, f"{card}, {recorded(run)}: of {len(goals)} goals {states.count('met')} are met, "
                 f"{states.count('aim')} with the second mark too; {len(missed)} are missed, of {len(said)} is said "
                 f"what holds them; {states.count('')} not measured.", ""]
    for group in dict.fromkeys(goal["of"] for goal in goals):
        out += [f"## {group}", "", "| what | wanted | reached | met | tried |", "|---|---|---|---|---|",
                *(line(goal, run) for goal in goals if goal["of"] == group), ""]
        limits = [held(goal) for goal in said if goal["of"] == group]
        out += ["What holds those that are missed:", "", *limits, ""] if limits else []
    return "\n".join(out)
