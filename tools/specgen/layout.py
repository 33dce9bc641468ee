# SPDX-License-Identifier: Apache-2.0
# Reads include/spark.h back: functions, enums, structs with offsets. Writes what must never change by accident:
# the export list, the layout snapshot and a C file that lets a compiler confirm it. Called by tools/specgen.
import re

SCALARS = {"uint8_t": 1, "char": 1, "int32_t": 4, "uint32_t": 4, "float": 4, "int64_t": 8, "uint64_t": 8, "double": 8,
           "spark_devptr": 8, "spark_stream": 8, "spark_event": 8, "spark_graph": 8}
NODE = "SPARK_0.1"


def plain(header):
    return re.sub(r"/\*.*?\*/", "", header, flags=re.S)


def functions(header):
    return sorted(set(re.findall(r"SPARK_API[^;(]*?\b(spark_\w+)\(", plain(header))))


def enums(header):
    out = []
    for body, name in re.findall(r"typedef enum \w+ \{(.*?)\}\s*(\w+);", plain(header), re.S):
        out.append((name, [(m, int(v, 0)) for m, v in re.findall(r"(\w+)\s*=\s*(0x[0-9a-f]+|\d+)", body)]))
    return out


def structs(header):
    """[(name, size, [(field, type, offset, bytes)])], laid out naturally; hidden padding is an error."""
    sizes = {name: (4, 4) for name, _ in enums(header)}
    sizes |= {name: (size, size) for name, size in SCALARS.items()}
    out = []
    for body, name in re.findall(r"typedef struct \w+ \{(.*?)\}\s*(\w+);", plain(header), re.S):
        offset, align, fields = 0, 1, []
        for decl in (d.strip() for d in body.split(";") if d.strip()):
            kind, star, field, count = re.fullmatch(
                r"(?:const )?(\w+)\s*(\*?)(?:const )?\s*(\w+)(?:\[(\w+)\])?", decl).groups()
            size, need = (8, 8) if star else sizes[kind]
            number = {None: 1, "SPARK_MAX_NDIM": 6}.get(count) or int(count)
            if offset % need:
                raise ValueError(f"{name}.{field}: hidden padding at {offset}")
            fields.append((field, kind + star + (f"[{number}]" if count else ""), offset, size * number))
            offset, align = offset + size * number, max(align, need)
        if offset % align:
            raise ValueError(f"{name}: hidden padding at the end")
        sizes[name] = (offset, align)
        out.append((name, offset, fields))
    return out


def snapshot(header):
    lines = ["# Layout of the public ABI, written by tools/specgen. A line, once released, never changes;",
             "# new ones are added at the end of an args struct or of an enum. 64-bit targets."]
    for name, size, fields in structs(header):
        lines.append(f"struct {name} {size}")
        lines += [f"  {offset:5} {count:5} {kind:24} {field}" for field, kind, offset, count in fields]
    for name, members in enums(header):
        lines.append(f"enum {name}")
        lines += [f"  {value:10} {member}" for member, value in members]
    return "\n".join(lines) + "\n"


def layout_check(header):
    """A C11 file whose compilation confirms the snapshot."""
    out = ["/* SPDX-License-Identifier: Apache-2.0 */",
           "/* Written by tools/specgen: the compiler confirms tests/api/layout.snapshot. Nothing runs. */",
           "#include <spark.h>", ""]
    for name, size, fields in structs(header):
        out.append(f'_Static_assert(sizeof({name}) == {size}, "{name}");')
        out += [f'_Static_assert(offsetof({name}, {field}) == {offset}, "{name}.{field}");'
                for field, _, offset, _ in fields]
    for _, members in enums(header):
        out += [f'_Static_assert({member} == {value}, "{member}");' for member, value in members]
    return "\n".join(out) + "\n"


def version_script(header):
    names = "".join(f"        {name};\n" for name in functions(header))
    return f"/* Written by tools/specgen from include/spark.h: what libspark.so exports, and nothing else. */\n" \
           f"{NODE} {{\n    global:\n{names}    local:\n        *;\n}};\n"


def symbol_list(header):
    return "".join(f"{name}@@{NODE}\n" for name in functions(header))


def link_check(header):
    """A C file that takes the address of every declared function: each one must link."""
    out = ["/* SPDX-License-Identifier: Apache-2.0 */",
           "/* Written by tools/specgen: links only if every declared function is exported. */",
           "#include <spark.h>", "", "typedef void (*any_function)(void);",
           "const any_function spark_every_function[] = {"]
    out += [f"    (any_function){name}," for name in functions(header)]
    return "\n".join(out + ["};", "", "int main(void) { return spark_every_function[0] == 0; }", ""])


def broken_lines(old, new):
    """Lines of the old snapshot that the new one does not have."""
    def keyed(text):
        owner, out = "", []
        for line in text.splitlines():
            if line.startswith(("struct", "enum")):
                owner = line.split()[1]
                line = line if line.startswith("enum") or not owner.endswith("_args") else "struct " + owner
            out.append((owner, line))
        return out
    have = set(keyed(new))
    return [f"{owner}: {line.strip()}" for owner, line in keyed(old)
            if (owner, line) not in have and not line.startswith("#")]
