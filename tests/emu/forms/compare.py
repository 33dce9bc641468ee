#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Do the emulator and ptxas take the same forms?

    compare.py --forms EMU-FORMS                      the emulator against AGREED.txt: seconds, no ptxas
    compare.py --forms EMU-FORMS --ptxas PTXAS        ptxas against the emulator, form by form: minutes
    compare.py --forms EMU-FORMS --ptxas PTXAS --update   and writes AGREED.txt

DIFFERENCES.txt lists where the two differ, with a reason; every other form must be taken by both or by neither.
"""
import argparse
import concurrent.futures
import fnmatch
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
AGREED, DIFFERENCES, OTHERS = HERE / "AGREED.txt", HERE / "DIFFERENCES.txt", HERE / "others.txt"
TARGETS = ["sm_90a", "sm_120f"]
BATCH = 1500  # forms of one text
REGISTERS = """.reg .pred p<8>; .reg .b8 c<8>; .reg .b16 h<20>; .reg .b32 r<40>; .reg .f32 f<40>;
.reg .b64 d<40>; .reg .f64 e<16>; .reg .b128 q<4>;"""


def run(command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def emulator_forms(tool, target):
    """Form by form: does the emulator take it?"""
    lines = run([tool, target, "--others", str(OTHERS)]).stdout.splitlines()
    return {form: word == "yes" for word, form in (line.split(" ", 1) for line in lines)}


def text_of(forms, target):
    """One kernel for each form, which has a line for itself; and the form of each line."""
    lines, at = [".version 9.0", f".target {target}", ".address_size 64"], {}
    for number, form in enumerate(forms):
        lines += [f".visible .entry k{number}(.param .b64 param) {{", *REGISTERS.splitlines()]
        if form.endswith("list;"):
            lines.append("list: .branchtargets L, L;")
        lines.append(form)
        at[len(lines)] = form
        lines.append("L: ret; }")
    return "\n".join(lines) + "\n", at


def refused(ptxas, target, forms):
    """Those of the forms that ptxas does not take: it names their lines, some of them only when the others are gone."""
    out, left = {}, list(forms)
    with tempfile.TemporaryDirectory() as folder:
        source, image = pathlib.Path(folder, "forms.ptx"), pathlib.Path(folder, "forms.cubin")
        while left:
            text, at = text_of(left, target)
            source.write_text(text)
            answer = run([ptxas, f"-arch={target}", "-O0", str(source), "-o", str(image)])
            if answer.returncode == 0:
                break
            bad = {}
            for line in answer.stderr.splitlines():
                found = re.search(r"line '?(\d+)'?[;,]?\s*(.*)", line)
                if found and int(found[1]) in at and not found[2].startswith(("warning", "info")):
                    bad.setdefault(at[int(found[1])], found[2])
            if not bad and len(left) == 1:
                bad[left[0]] = answer.stderr.strip()
            if not bad:  # it names no line: by halves
                half = len(left) // 2
                out |= refused(ptxas, target, left[:half])
                out |= refused(ptxas, target, left[half:])
                break
            out |= bad
            left = [form for form in left if form not in bad]
    return out


def differences_known():
    """(version of ptxas, [[target, who takes it, pattern, reason, matched]])"""
    version, rows = None, []
    for line in DIFFERENCES.read_text().splitlines():
        if line.startswith("ptxas "):
            version = line.split()[1]
        elif line and not line.startswith("#"):
            target, who, rest = line.split(" ", 2)
            pattern, reason = rest.split(" -- ")
            rows.append([target, who, pattern.strip(), reason, False])
    return version, rows


def compare(tool, ptxas, target, rows):
    """What the list does not know of."""
    emulator = emulator_forms(tool, target)
    forms = list(emulator)
    batches = [forms[i:i + BATCH] for i in range(0, len(forms), BATCH)]
    no = {}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for answer in pool.map(lambda batch: refused(ptxas, target, batch), batches):
            no |= answer
    unknown = []
    for form, taken in emulator.items():
        if taken == (form not in no):
            continue
        who = "emulator" if taken else "ptxas"
        rows_that_fit = [r for r in rows if r[0] in (target, "*") and r[1] == who and fnmatch.fnmatchcase(form, r[2])]
        for row in rows_that_fit[:1]:
            row[4] = True
        if not rows_that_fit:
            unknown.append(f"{target} {who} {form} -- {no.get(form, '')}")
    print(f"{target}: {len(forms)} forms, {len(forms) - len(no)} taken by ptxas, {len(unknown)} differ unexplained")
    return unknown


def digests(tool):
    return "".join(run([tool, target, "--digest", "--others", str(OTHERS)]).stdout for target in TARGETS)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forms", required=True)
    parser.add_argument("--ptxas")
    parser.add_argument("--update", action="store_true")
    given = parser.parse_args()
    version, rows = differences_known()
    now = f"ptxas {version}\n" + digests(given.forms)
    if given.ptxas:
        if f"V{version}" not in run([given.ptxas, "--version"]).stdout:
            sys.exit(f"DIFFERENCES.txt is of ptxas {version}, not of {given.ptxas}")
        unknown = [line for target in TARGETS for line in compare(given.forms, given.ptxas, target, rows)]
        idle = [f"no form differs as {' '.join(row[:3])} says" for row in rows if not row[4]]
        print("\n".join(unknown + idle))
        if unknown or idle:
            sys.exit(1)
        if given.update:
            AGREED.write_text(now)
    old = AGREED.read_text() if AGREED.exists() else ""
    changed = sorted(set(now.splitlines()) ^ set(old.splitlines()))
    if changed:
        print("\n".join(changed))
        sys.exit("what the emulator takes is not what was last compared with ptxas: compare.py --ptxas ... --update")


if __name__ == "__main__":
    main()
