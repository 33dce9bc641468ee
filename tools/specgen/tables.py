# SPDX-License-Identifier: Apache-2.0
# Writes the C++ that follows from the definitions: reflection tables and typed entry points. Called by tools/specgen.
from model import KINDS, NONE, ops_by_number

HEAD = "// SPDX-License-Identifier: Apache-2.0\n// Written by tools/specgen from src/ops/<family>/op.toml; do not edit.\n"


def quoted(text):
    return '"' + " ".join(text.split()).replace("\\", "\\\\").replace('"', '\\"') + '"' if text else "nullptr"


def choices(enums, f):
    if f.kind != "enum":
        return ""
    return " ".join(f"{v['name']}={v['value']}" for v in enums[f.enum]["values"])


def number(value):
    return "NO_FIELD" if value == NONE else str(value)


def field_row(op, f, enums):
    low, high = f.ndim_range() if f.kind == "tensor" else (0, 0)
    return (f"    {{{quoted(f.name)}, {quoted(f.doc)}, {quoted(f.shape)}, {quoted(choices(enums, f))},\n"
            f"     {f.dtype_mask:#x}, {KINDS[f.kind][0]}, {f.flags}, {f.offset}, {f.size}, {low}, {high}, {f.align}, "
            f"{number(op.index(f.same))}, {number(op.index(f.in_place))}, {number(op.index(f.needs))}, {{0, 0}}}},\n")


def dims_rows(op):
    symbols = op.symbols()
    out = ""
    for f in op.fields:
        cells = []
        for d in f.dims:
            value = symbols.index(d.name) if d.name else d.value
            cells.append(f"{{Dim::{d.kind}, {value}}}")
        if cells:
            out += f"constexpr Dim {op.name}_{f.name}[] = {{{', '.join(cells)}}};\n"
    spans = ", ".join(f"{op.name}_{f.name}" if f.dims else "{}" for f in op.fields)
    names = ", ".join(quoted(s) for s in symbols)
    return (out + f"constexpr std::span<const Dim> {op.name}_dims[] = {{{spans}}};\n"
            f"constexpr const char* {op.name}_symbols[] = {{{names}}};\n")


def since_number(text):
    major, minor = text.split(".")
    return int(major) * 10000 + int(minor) * 100


def reflection(families, enums, first_sizes):
    text = HEAD + '#include "ops/common/spec.h"\n\nnamespace spark {\nnamespace {\n\n'
    ops = ops_by_number(families)
    for op in ops:
        text += f"constexpr spark_field {op.name}_fields[] = {{\n"
        text += "".join(field_row(op, f, enums) for f in op.fields) + "};\n" + dims_rows(op)
        flags = " ".join(f"{f['name']}={1 << f['bit']}" for f in op.flags)
        text += (f"constexpr spark_op_desc {op.name}_desc = {{\n    {quoted(op.name)}, {quoted(op.brief)}, "
                 f"{quoted(op.family)}, {quoted(flags)},\n    {op.name}_fields, {op.number}, {len(op.fields)}, {op.size}, "
                 f"{first_sizes.get(op.name, op.size)}, {op.flags_mask:#x}, {since_number(op.since)}, {{0, 0}}}};\n"
                 f"static_assert(sizeof(spark_{op.name}_args) == {op.size});\n\n")
    text += "constexpr OpSpec TABLE[] = {\n"
    text += "".join(f"    {{&{o.name}_desc, {o.name}_dims, {o.name}_symbols}},\n" for o in ops)
    return text + "};\n\n}  // namespace\n\nstd::span<const OpSpec> op_specs() { return TABLE; }\n\n}  // namespace spark\n"


def forwards(families):
    text = HEAD + '#include <spark.h>\n\n'
    for op in ops_by_number(families):
        text += (f'extern "C" spark_status spark_{op.name}(spark_context* ctx, const spark_{op.name}_args* args,\n'
                 f"    const spark_exec* exec, spark_error* err) {{\n"
                 f"    return spark_op_launch(ctx, reinterpret_cast<const spark_args*>(args), exec, err);\n}}\n\n")
    return text.rstrip() + "\n"
