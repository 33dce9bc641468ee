# SPDX-License-Identifier: Apache-2.0
# Writes docs/ops/<family>.md, the reference page of each operator. Called by tools/specgen.

MARK = "<!-- written by tools/specgen from src/ops/{}/op.toml; do not edit -->\n"


def cell(text):
    return " ".join(text.split()).replace("|", "\\|")


def field_line(op, f):
    if f.kind != "tensor":
        kind = f"`spark_{f.enum}`" if f.kind == "enum" else f.kind
        return f"| `{f.name}` | {kind} | | | {cell(f.doc)} |\n"
    use = {"in": "in", "out": "out", "inout": "in, out"}[f.role] + (", optional" if f.optional else "")
    dtypes = " ".join(([f"as `{f.same}`"] if f.same else []) + f.dtypes)
    extra = []
    extra += {"unit": ["Innermost stride 1."], "packed": ["Packed."], "any": []}[f.layout]
    extra += ["Batch stride 0 allowed."] if f.broadcast else []
    extra += [f"May be `{f.in_place}`, in place."] if f.in_place else []
    extra += [f"Needs `{f.needs}`."] if f.needs else []
    extra += [f"{f.align}-byte aligned."] if f.align else []
    return f"| `{f.name}` | {use} | `{f.shape}` | {dtypes} | {cell(' '.join([f.doc] + extra))} |\n"


def op_page(op, enums):
    text = f"## {op.name}\n\n{op.brief}\n\n```\n{op.formula}\n```\n\n{op.doc}\n\n"
    text += (f"`spark_{op.name}(ctx, &args, &exec, &err)` with `spark_{op.name}_args` ({op.size} bytes), "
             f"operator number {op.number}, since {op.since}.\n\n")
    text += "| field | use | shape | dtypes | meaning |\n|---|---|---|---|---|\n"
    text += "".join(field_line(op, f) for f in op.fields) + "\n"
    if op.flags:
        text += "| flag | value | meaning |\n|---|---|---|\n"
        up = f"SPARK_{op.name.upper()}_"
        text += "".join(f"| `{up}{f['name']}` | {1 << f['bit']} | {cell(f['doc'])} |\n" for f in op.flags) + "\n"
    for name in dict.fromkeys(f.enum for f in op.fields if f.enum):
        e = enums[name]
        text += f"| `spark_{name}` | value | meaning |\n|---|---|---|\n"
        text += "".join(f"| `SPARK_{name.upper()}_{v['name']}` | {v['value']} | `{cell(v['doc'])}` |\n"
                        for v in e["values"]) + "\n"
    return text + "Source: " + " ".join(op.source.split()) + "\n"


ERRORS = """
## Errors

Every call above fails the same way, before anything is enqueued; the message names the field.

| status | when |
|---|---|
| `INVALID_NULL` | a tensor that is not optional is absent, or `data` is 0 at launch while the tensor has elements |
| `INVALID_SHAPE` | wrong number of dimensions, a negative one, or one that disagrees with another tensor's |
| `INVALID_STRIDE` | negative; 0 where not allowed; an output whose elements overlap |
| `INVALID_DTYPE`, `UNSUPPORTED_DTYPE` | not a dtype, or not equal to the one it must equal; not in the list above |
| `INVALID_ALIGNMENT` | `data` is not a multiple of the element size |
| `INVALID_BOUNDS` | `size_bytes` is smaller than what shape and strides reach |
| `INVALID_OVERLAP` | an output shares bytes with another tensor, other than exactly in place where allowed |
| `INVALID_RESERVED` | an unknown flag, a reserved field, or `quant` is not zero |
| `INVALID_VALUE` | a scalar or an enum outside its range |
| `UNSUPPORTED_LAYOUT`, `UNSUPPORTED_SHAPE` | meaningful, but no kernel takes it; the message names what is taken |
"""


def page(family, enums):
    text = MARK.format(family.name) + f"# {family.title}\n\n"
    return text + "\n".join(op_page(op, enums) for op in family.ops) + ERRORS


def index(families):
    text = MARK.format("<family>") + "# Operators\n\nConventions shared by all of them: the head of `include/spark.h`.\n\n"
    text += "| operator | number | since | |\n|---|---|---|---|\n"
    for fam in families:
        text += "".join(f"| [{op.name}]({fam.name}.md#{op.name}) | {op.number} | {op.since} | {cell(op.brief)} |\n"
                        for op in fam.ops)
    return text
