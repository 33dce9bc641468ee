# SPDX-License-Identifier: Apache-2.0
# What the `//!` block of a kernel file says, as objects: header.py makes them, all other modules of ptxc work on them.
# Knows nothing of the text that they come from.
"""Kernel files, their variants and parameters."""

from dataclasses import dataclass, field
from pathlib import Path

# Bytes, the type in PTX, the type in C++, alignment.
PARAM_TYPES = {"ptr": (8, ".u64", "uint64_t", 8), "u64": (8, ".u64", "uint64_t", 8), "i64": (8, ".s64", "int64_t", 8),
               "u32": (4, ".u32", "uint32_t", 4), "i32": (4, ".s32", "int32_t", 4), "f32": (4, ".f32", "float", 4),
               "tensormap": (128, ".align 64 .b8", "TensorMap", 64)}
ARCHS = (120, 90)
KINDS = ("cubin", "ptx")  # of an image: code that ptxas made, and the text that a driver can make it of


class HeaderError(Exception):
    """One or more findings in kernel headers, one a line, each `file:line: sentence`."""

    def __init__(self, findings):
        self.findings = list(findings)
        super().__init__("\n".join(self.findings))


@dataclass(frozen=True)
class Param:
    name: str
    type: str
    offset: int

    @property
    def size(self):
        return PARAM_TYPES[self.type][0]

    @property
    def align(self):
        return PARAM_TYPES[self.type][3]

    @property
    def ptx(self):
        """Its declaration in a list of parameters."""
        return f".param {PARAM_TYPES[self.type][1]} {self.name}{f'[{self.size}]' if self.size > 8 else ''}"


@dataclass(frozen=True)
class ParamList:
    owner: str  # the file that declares the list, relative to the kernel root's parent
    stem: str  # of the C++ names: gemm of gemm_params and gemm_flags
    params: tuple
    flags: tuple  # what the bits of the parameter `flags` mean

    @property
    def struct(self):
        return f"{self.stem}_params"

    @property
    def tensor_maps(self):
        return any(p.type == "tensormap" for p in self.params)

    @property
    def bytes(self):
        return self.params[-1].offset + self.params[-1].size if self.params else 0

    @property
    def struct_bytes(self):
        """What C++'s sizeof gives: the bytes rounded up to the widest member's alignment."""
        widest = max((p.align for p in self.params), default=1)
        return max(1, -(-self.bytes // widest) * widest)


@dataclass(frozen=True)
class Limit:
    fact: str
    relation: str
    value: int

    def __str__(self):
        return f"{self.fact}{self.relation}{self.value}"


@dataclass
class Variant:
    """One entry symbol: a contract, a way to compute it, and everything declared about it."""
    file: "KernelFile"
    line: int
    contract: str
    way: str
    maths: str
    axes: dict  # {"T": "bf16"}
    constants: dict  # {"TM": 128}
    block: int
    smem: int
    regs: int
    ctas_per_sm: int  # declared, or computed from the ceilings when not declared
    ctas_declared: bool
    maxnreg: int  # what the assembler is held to; 0: to nothing but what ctas_per_sm asks
    limits: tuple
    deterministic: bool
    order: str  # kernels of a contract with the same one give the same bits; "none": the sums follow the launch
    cluster: tuple  # blocks that see each other's shared memory, along x, y, z; (): a launch without clusters

    @property
    def name(self):
        return f"{self.contract}__{self.way}"

    @property
    def params(self):
        return self.file.params

    @property
    def archs(self):
        return self.file.archs


@dataclass
class KernelFile:
    path: Path  # absolute
    relative: str  # "ptx/gemm/gemm.ptx"
    archs: tuple = ARCHS
    params: ParamList = None
    grid: tuple = ()  # of a launch, in C++ (launch.py)
    dependent: bool = False  # its launch may begin before the one before it on the stream has ended
    behind_own: bool = False  # and that one is of its own plan: what it does not write may be read before it has
    depends: list = field(default_factory=list)  # header files that this header refers to
    variants: list = field(default_factory=list)

    @property
    def family(self):
        return self.path.parent.name

    @property
    def stem(self):
        """Of the C++ names: gemm_rows of ptx/gemm/gemm.rows.ptx."""
        return self.path.name[:-len(".ptx")].replace(".", "_")

    @property
    def constants(self):
        """Names of the constants, which all variants have."""
        return tuple(self.variants[0].constants)
