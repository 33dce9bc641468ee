# SPDX-License-Identifier: Apache-2.0
# Reads src/ops/<family>/op.toml and src/core/formats.toml into plain objects and refuses whatever is not fully defined.
# Called by tools/specgen; knows nothing of what is generated from the objects.
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

NONE = 0xFFFFFFFF
ROOT = Path(__file__).resolve().parents[2]
FORMATS = tomllib.loads((ROOT / "src/core/formats.toml").read_text(encoding="utf-8"))
DTYPES = {d["name"]: d["value"] for d in FORMATS["dtype"]}
# kind in the toml: (value of spark_kind, C type, size)
KINDS = {
    "tensor": (1, "spark_tensor", 256), "f32": (2, "float", 4), "i32": (3, "int32_t", 4), "u32": (4, "uint32_t", 4),
    "i64": (5, "int64_t", 8), "u64": (6, "uint64_t", 8), "enum": (7, "uint32_t", 4), "reserved": (8, "uint32_t", 4),
}
ROLES = {"in": 1, "out": 2, "inout": 3}
LAYOUTS = {"any": 0, "unit": 8, "packed": 16}
SCHEMES = {"PER_TENSOR": 1, "PER_ROW": 2, "BLOCK": 3, "RECORD": 16}
RECORD_FORMS = [form for form in FORMATS["quant"] if form["scheme"] == "RECORD"]
SCALED_FORMS = [form for form in FORMATS["quant"] if "kernel" in form and form not in RECORD_FORMS]
LAYOUT_BITS = {"LINEAR": 1, "TILED_128X4": 2}
GLOBAL_SCALE = 1  # of spark_quant_form_flag
HEAD_BYTES = 24  # sizeof(spark_args)
MAX_NDIM = 6


class SpecError(Exception):
    """A definition that is wrong; the text names file, operator and field."""


@dataclass
class Dim:
    kind: str  # symbol, optional, rest, literal
    name: str = ""
    value: int = 0
    halved: str = ""  # half of the symbol's size where the operator's flag of this name is set


@dataclass
class Field:
    name: str
    kind: str
    doc: str
    role: str = "in"
    optional: bool = False
    shape: str = ""
    dims: list = field(default_factory=list)
    dtypes: list = field(default_factory=list)
    same: str = ""
    layout: str = "any"
    quant: list = field(default_factory=list)  # forms of src/core/formats.toml; in the toml their names
    in_place: list = field(default_factory=list)  # in the toml a name, or a list of names
    needs: list = field(default_factory=list)  # the same
    align: int = 0
    enum: str = ""
    default: object = None  # of a scalar that is 0 and not marked as given: a number, or an expression in words
    required: bool = False  # bindings demand it: no value is right for every model
    offset: int = 0
    given: int = 0  # its bit in spark_args.given

    @property
    def size(self):
        return KINDS[self.kind][2]

    @property
    def flags(self):
        if self.kind == "reserved":
            return 0
        bits = ROLES[self.role] | LAYOUTS[self.layout]
        return (bits | (4 if self.optional else 0) | (32 if self.repeats else 0) | (64 if self.quant else 0) |
                (128 if self.required else 0))

    @property
    def repeats(self):
        """An input with a stride that is free: with 0, all indices of that dimension mean the same elements."""
        tied = self.layout == "packed" or self.layout == "unit" and self.ndim_range()[1] == 1
        return self.kind == "tensor" and self.role == "in" and not tied

    @property
    def default_text(self):
        return "" if self.default is None else f"{self.default:g}" if self.is_numeric_default else self.default

    @property
    def is_numeric_default(self):
        return isinstance(self.default, (int, float))

    @property
    def dtype_mask(self):
        return sum(1 << DTYPES[d] for d in self.dtypes)

    def ndim_range(self):
        fixed = sum(d.kind in ("symbol", "literal") for d in self.dims)
        if any(d.kind == "rest" for d in self.dims):
            return max(1, fixed), MAX_NDIM
        return fixed, fixed + sum(d.kind == "optional" for d in self.dims)


@dataclass
class Op:
    name: str
    family: str
    number: int
    since: str
    brief: str
    formula: str
    doc: str
    source: str
    flags: list
    fields: list
    size: int = 0

    @property
    def flags_mask(self):
        return 3 | sum(1 << f["bit"] for f in self.flags)

    def index(self, name):
        return next((i for i, f in enumerate(self.fields) if f.name == name), NONE) if name else NONE

    def mask(self, names):
        return sum(1 << self.index(name) for name in names)

    @property
    def given_mask(self):
        return sum(f.given for f in self.fields)

    def symbols(self):
        seen = []
        for f in self.fields:
            seen += [d.name for d in f.dims if d.name and d.name not in seen]
        return seen


@dataclass
class Family:
    name: str
    title: str
    enums: list
    ops: list
    facts: list  # what kernels' limits may name


def parse_shape(text, where):
    if not re.fullmatch(r"\[.*\]", text):
        raise SpecError(f"{where}: shape '{text}' must stand in brackets")
    dims = []
    for part in (p.strip() for p in text[1:-1].split(",")):
        if part == "...":
            dims.append(Dim("rest"))
        elif re.fullmatch(r"[A-Z]\?", part):
            dims.append(Dim("optional", part[0]))
        elif re.fullmatch(r"[A-Z]", part):
            dims.append(Dim("symbol", part))
        elif re.fullmatch(r"[0-9]+", part):
            dims.append(Dim("literal", value=int(part)))
        elif halved := re.fullmatch(r"([A-Z])/2 if ([A-Z_]+)", part):
            dims.append(Dim("symbol", halved[1], halved=halved[2]))
        else:
            raise SpecError(f"{where}: '{part}' is neither a capital letter, a number, '...', a letter with '?' nor "
                            "half of one, 'N/2 if FLAG'")
    if sum(d.kind in ("rest", "optional") for d in dims) > 1 or any(d.kind in ("rest", "optional") for d in dims[1:]):
        raise SpecError(f"{where}: only the first entry may be '...' or optional")
    return dims


def brought(f, forms):
    """The dtypes of a field, with those of the forms of a group."""
    found = [dtype for form in forms for dtype in form["dtypes"] if f.role == "in" or dtype not in form.get("read", [])]
    return list(dict.fromkeys(f.dtypes + found))


def load_field(raw, where, enums):
    allowed = {"name", "kind", "role", "optional", "shape", "dtypes", "same", "layout", "quant",
               "in_place", "needs", "align", "enum", "default", "required", "doc"}
    unknown = set(raw) - allowed
    if unknown or not {"name", "kind", "doc"} <= set(raw):
        raise SpecError(f"{where}: unknown or missing keys {sorted(unknown or {'name', 'kind', 'doc'} - set(raw))}")
    f = Field(**raw)
    f.in_place, f.needs = ([names] if isinstance(names, str) else names for names in (f.in_place, f.needs))
    if f.kind not in KINDS or f.role not in ROLES or f.layout not in LAYOUTS or not f.doc:
        raise SpecError(f"{where}: bad kind, role, layout or empty doc")
    if f.kind == "tensor":
        f.dims = parse_shape(f.shape, where)
        if not f.dtypes and not f.same or set(f.dtypes) - set(DTYPES):
            raise SpecError(f"{where}: dtypes or same is needed, of known names")
    if f.kind == "enum" and f.enum not in enums:
        raise SpecError(f"{where}: unknown enum '{f.enum}'")
    if f.kind in ("tensor", "reserved") and (f.default is not None or f.required):
        raise SpecError(f"{where}: only a scalar has a default or is required")
    groups = {"RECORD": RECORD_FORMS, "SCALED": SCALED_FORMS}
    forms = {form["name"]: [form] for form in FORMATS["quant"]} | groups
    if set(f.quant) - set(forms):
        raise SpecError(f"{where}: quant names {sorted(set(f.quant) - set(forms))}, which src/core/formats.toml lacks")
    f.dtypes = brought(f, [form for name in f.quant if name in groups for form in groups[name]])
    f.quant = [form for name in f.quant for form in forms[name]]
    return f


def mark_given(fields):
    """Bits of spark_args.given, in the order of the fields that have a default; later fields get later bits."""
    for bit, f in enumerate(f for f in fields if f.default is not None):
        f.given = 1 << bit


def load_op(raw, family, path, enums):
    where = f"{path}: {raw.get('name', '?')}"
    fields = [load_field(r, f"{where}.{r.get('name', '?')}", enums) for r in raw["field"]]
    mark_given(fields)
    op = Op(raw["name"], family, raw["id"], raw["since"], raw["brief"], raw["formula"].strip(), raw["doc"].strip(),
            raw["source"].strip(), raw.get("flag", []), fields)
    offset = HEAD_BYTES
    for f in fields:
        if offset % min(f.size, 8):
            raise SpecError(f"{where}.{f.name}: would need hidden padding; reorder, or add a reserved field")
        f.offset, offset = offset, offset + f.size
        for other in (f.same, *f.in_place, *f.needs):
            if other and op.index(other) == NONE:
                raise SpecError(f"{where}.{f.name}: names the unknown field '{other}'")
    if offset % 8 or offset > 8192:
        raise SpecError(f"{where}: size {offset} must be a multiple of 8 and at most 8192; add a reserved field")
    if any(not 8 <= f["bit"] <= 31 for f in op.flags):
        raise SpecError(f"{where}: an operator's own flags are bits 8 to 31")
    if unknown := {d.halved for f in fields for d in f.dims if d.halved} - {f["name"] for f in op.flags}:
        raise SpecError(f"{where}: shapes name the flags {sorted(unknown)}, which it lacks")
    op.size = offset
    return op


def load_families(root):
    files = sorted(Path(root).glob("src/ops/*/op.toml"))
    raws = [(p, tomllib.loads(p.read_text(encoding="utf-8"))) for p in files]
    enums = {e["name"]: e for _, raw in raws for e in raw.get("enum", [])}
    families = []
    for path, raw in raws:
        if raw["family"] != path.parent.name:
            raise SpecError(f"{path}: family '{raw['family']}' must be the folder's name")
        ops = [load_op(o, raw["family"], path.relative_to(root), enums) for o in raw["op"]]
        families.append(Family(raw["family"], raw["title"], raw.get("enum", []), ops, raw.get("facts", [])))
    numbers = [o.number for fam in families for o in fam.ops]
    if len(set(numbers)) != len(numbers):
        raise SpecError(f"operator numbers are not unique: {sorted(numbers)}")
    return families, enums


def enum_type(enum):
    """The C type of an enum, without spark_: its name, or `type` where an operator has that name."""
    return enum.get("type", enum["name"])


def ops_by_number(families):
    return sorted((o for fam in families for o in fam.ops), key=lambda o: o.number)
