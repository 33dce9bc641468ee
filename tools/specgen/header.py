# SPDX-License-Identifier: Apache-2.0
# Writes the parts of include/spark.h that follow from definitions: dtypes, records, operators. Called by tools/specgen.
import itertools
import textwrap

from model import FORMATS, KINDS, RECORD_FORMS, enum_type, ops_by_number

OPERATORS = ("/* specgen begin */\n", "/* specgen end */\n")
DTYPES, RECORDS = ((f"/* specgen {what} begin: from src/core/formats.toml */\n", f"/* specgen {what} end */\n")
                   for what in ("dtypes", "records"))
WIDTH = 118


def comment(lines):
    """A block comment of already wrapped lines."""
    body = "\n".join((" * " + line).rstrip() for line in lines)
    return "/*" + body[2:] + "\n */\n" if len(lines) > 1 else f"/* {lines[0]} */\n"


def enum_text(name, prefix, entries, force):
    lines = [f"typedef enum spark_{name} {{"]
    texts = [(f"    {prefix}{entry} = {value},", doc) for entry, value, doc in entries]
    for remarked, run in itertools.groupby(texts, key=lambda text: bool(text[1])):  # a run's remarks stand in a column
        run = list(run)
        wide = max(len(text) for text, _ in run)
        lines += [f"{text:{wide}} /* {doc} */" if remarked else text for text, doc in run]
    lines += [f"    {force} = 0x7fffffff", f"}} spark_{name};", ""]
    return "\n".join(lines)


def field_notes(op, f, enums):
    notes = []
    if f.kind == "tensor":
        role = {"in": "", "out": "output", "inout": "updated"}[f.role]
        dtypes = " ".join(([f"as {f.same}"] if f.same else []) + f.dtypes)
        notes = [n for n in (role, "optional" if f.optional else "", f.shape, dtypes) if n]
        if f.quant:
            notes.append("quant " + " ".join(form["name"] for form in f.quant))
        if f.in_place:
            notes.append(f"may be {' or '.join(f.in_place)}, in place")
        if f.needs:
            notes.append(f"needs {' and '.join(f.needs)}")
    if f.kind == "enum":
        notes = [f"spark_{enum_type(enums[f.enum])}"]
    if f.default is not None:
        notes.append(f"0 that is not marked as given is {f.default_text}")
    return f"{', '.join(notes)}. {f.doc}" if notes else f.doc


def op_struct(op, enums):
    text = comment([op.brief, ""] + op.formula.splitlines() + [""] + op.doc.splitlines())
    text += f"typedef struct spark_{op.name}_args {{\n    spark_args hdr;\n"
    for f in op.fields:
        note = textwrap.wrap(field_notes(op, f, enums), WIDTH - 7)
        text += f"    /* {chr(10).join(note).replace(chr(10), chr(10) + '       ')} */\n"
        text += f"    {KINDS[f.kind][1]} {f.name};\n"
    return text + f"}} spark_{op.name}_args;\n"


def section(families, enums):
    ops = ops_by_number(families)
    out = ["\n"]
    out.append(enum_text("op", "SPARK_OP_", [("NONE", 0, "")] + [(o.name.upper(), o.number, "") for o in ops],
                         "SPARK_OP_FORCE32") + "\n")
    for fam in families:
        for e in fam.enums:
            up = f"SPARK_{e['name'].upper()}_"
            entries = [(v["name"], v["value"], v["doc"]) for v in e["values"]]
            out.append(comment([e["doc"]]) + enum_text(enum_type(e), up, entries, up + "FORCE32") + "\n")
    for op in ops:
        if op.flags:
            up = f"SPARK_{op.name.upper()}_"
            out.append(comment([f"Flags of {op.name}, beside spark_flag."]) + enum_text(
                op.name + "_flag", up, [(f["name"], 1 << f["bit"], f["doc"]) for f in op.flags],
                up + "FLAG_FORCE32") + "\n")
        if op.given_mask:
            up = f"SPARK_{op.name.upper()}_GIVEN_"
            bits = [(f.name.upper(), f.given, f"else 0 is {f.default_text}") for f in op.fields if f.given]
            out.append(comment([f"Bits of hdr.given in {op.name}: the field counts even where it is 0."])
                       + enum_text(op.name + "_given", up, bits, up + "FORCE32") + "\n")
        out.append(op_struct(op, enums))
        out.append(comment([f"Launches {op.name}: spark_op_launch with typed arguments. hdr.op may be 0 here."]))
        head = f"SPARK_API spark_status spark_{op.name}("
        args = ["spark_context *ctx", f"const spark_{op.name}_args *args", "const spark_exec *exec",
                "spark_error *err"]
        lines = [head + args[0]]
        for i, arg in enumerate(args[1:], 2):
            more = f"{lines[-1]}, {arg}"
            fits = len(more) + len(");" if i == len(args) else ",") <= 120
            lines[-1:] = [more] if fits else [lines[-1] + ",", " " * len(head) + arg]
        out.append("\n".join(lines) + ");\n\n")
    return "".join(out)


def dtypes():
    entries = [("NONE", 0, "")] + [(d["name"], d["value"], d.get("doc", "")) for d in FORMATS["dtype"]]
    return enum_text("dtype", "SPARK_DTYPE_", entries, "SPARK_DTYPE_FORCE32")


def records():
    found = sorted(RECORD_FORMS, key=lambda q: q["record"])
    entries = [(q["name"], q["record"], f"{q['bytes']} bytes, {q['elements']} elements") for q in found]
    return enum_text("record", "SPARK_RECORD_", entries, "SPARK_RECORD_FORCE32")


def replaced(text, marks, new):
    start, stop = text.index(marks[0]) + len(marks[0]), text.index(marks[1])
    return text[:start] + new + text[stop:]


def rewrite(text, families, enums):
    """The header with its generated parts replaced."""
    text = replaced(text, DTYPES, dtypes())
    text = replaced(text, RECORDS, records())
    return replaced(text, OPERATORS, section(families, enums))
