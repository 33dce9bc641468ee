# SPDX-License-Identifier: Apache-2.0
#
# tools/lint: the rules of the repository, each checked by one function in rules_*.py. Called by `tools/spark lint`.
# Standard library only. Exceptions are in exceptions.toml, by name, with a reason; one that nothing needs is a finding.
import argparse
import fnmatch
import json
import sys
import tomllib
from pathlib import Path

import tree
import rules_text
import rules_repository    # noqa: F401  imported for the rules it registers
import rules_generated    # noqa: F401
import wheels

HERE = Path(__file__).parent


class Exceptions:
    def __init__(self):
        self.entries = tomllib.loads((HERE / "exceptions.toml").read_text()).get("exception", [])
        self.used = set()

    def cover(self, name, finding):
        for index, entry in enumerate(self.entries):
            if entry["rule"] == name and fnmatch.fnmatchcase(finding.path, entry["path"]):
                self.used.add(index)
                return True
        return False

    def unused(self, names):
        for index, entry in enumerate(self.entries):
            if entry["rule"] in names and index not in self.used:
                yield tree.Finding("tools/lint/exceptions.toml", 0,
                                   f"{entry['rule']} {entry['path']}: nothing needs it any more")


def check(selected, exceptions):
    """One record per rule: name, about, findings."""
    records = []
    for rule in selected:
        findings = [finding for finding in rule.check() if not exceptions.cover(rule.name, finding)]
        records.append((rule.name, rule.about, findings))
    names = {rule.name for rule in selected}
    records.append(("exceptions", "each exception is needed", list(exceptions.unused(names))))
    return records


def show(records):
    broken = 0
    for name, about, findings in records:
        if findings:
            broken += 1
            print(f"{name}: {about}")
            for finding in findings[:60]:
                print(f"  {finding}")
            if len(findings) > 60:
                print(f"  and {len(findings) - 60} more")
    print(f"lint: {len(records) - broken} rules hold, {broken} do not")


def main():
    parser = argparse.ArgumentParser(prog="tools/spark lint", description="Checks the rules of the repository.")
    parser.add_argument("--json", metavar="FILE", help="also write the result to FILE as JSON")
    parser.add_argument("--only", metavar="RULE", action="append", help="this rule only; may be given again")
    parser.add_argument("--list", action="store_true", help="print the rules")
    parser.add_argument("--fix", action="store_true", help="format the C and C++ files first")
    args = parser.parse_args()
    if args.list:
        for rule in tree.RULES:
            print(f"{rule.name:12} {rule.about}")
        return 0
    unknown = set(args.only or ()) - {rule.name for rule in tree.RULES}
    if unknown:
        parser.error(f"no rule {', '.join(sorted(unknown))}; --list prints them")
    try:
        if args.fix:
            rules_text.fix_format()
        records = check([rule for rule in tree.RULES if not args.only or rule.name in args.only], Exceptions())
    except wheels.FetchError as error:
        print(error, file=sys.stderr)
        return 1
    if args.json:
        data = [{"name": name, "about": about, "findings": [vars(finding) for finding in findings]}
                for name, about, findings in records]
        result = {"rules": data, "notes": list(rules_text.large_files())}
        Path(args.json).write_text(json.dumps(result, indent=1) + "\n")
    show(records)
    for note in rules_text.large_files():
        print(f"note: {note}")
    return 1 if any(findings for _, _, findings in records) else 0


if __name__ == "__main__":
    sys.exit(main())
