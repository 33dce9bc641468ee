# SPDX-License-Identifier: Apache-2.0
# Writes the operator section of include/spark.h. Called by tools/specgen.
import textwrap

from model import KINDS, enum_type, ops_by_number

BEGIN, END = "/* specgen begin */\n", "/* specgen end */\n"
WIDTH = 118


def comment(lines):
    """A block comment of already wrapped lines."""
    body = "\n".join((" * " + line).rstrip() for line in lines)
    return "/*" + body[2:] + "\n */\n" if len(lines) > 1 else f"/* {lines[0]} */\n"


def enum_text(name, prefix, entries, force):
    texts = [f"    {prefix}{entry} = {value}," for entry, value, _ in entries]
    wide = max(map(len, texts))
    lines = [f"typedef enum spark_{name} {{"]
    for text, (_, _, doc) in zip(texts, entries):
        lines.append(f"{text:{wide}} /* {doc} */" if doc else text)
    lines += [f"    {force} = 0x7fffffff", f"}} spark_{name};", ""]
    return "\n".join(lines)


def field_notes(op, f, enums):
    notes = []
    if f.kind == "tensor":
        role = {"in": "", "out": "output", "inout": "updated"}[f.role]
        dtypes = " ".join(([f"as {f.same}"] if f.same else []) + f.dtypes)
        notes = [n for n in (role, "optional" if f.optional else "", f.shape, dtypes) if n]
        if f.quant:
            notes.append("read as its quant says")
        if f.in_place:
            notes.append(f"may be {' or '.join(f.in_place)}, in place")
        if f.needs:
            notes.append(f"needs {f.needs}")
    if f.kind == "enum":
        notes = [f"spark_{enum_type(enums[f.enum])}"]
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
        out.append(op_struct(op, enums))
        out.append(comment([f"Launches {op.name}: spark_op_launch with typed arguments."]))
        head = f"SPARK_API spark_status spark_{op.name}("
        args = ["spark_context *ctx", f"const spark_{op.name}_args *args", "const spark_exec *exec",
                "spark_error *err"]
        one = head + ", ".join(args) + ");"
        if len(one) > 120:
            one = head + ", ".join(args[:3]) + ",\n" + " " * len(head) + args[3] + ");"
        out.append(one + "\n\n")
    return "".join(out)


def rewrite(text, families, enums):
    """The header with its operator section replaced."""
    start, stop = text.index(BEGIN) + len(BEGIN), text.index(END)
    return text[:start] + section(families, enums) + text[stop:]
