#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The library beside PyTorch in one process: each row by our operator and by each peer that can do the same work.
# usage: torch_peers.py --ceilings FILE --json FILE [--rows FILE] [--rounds 9] [--only TEXT]
#
# FILE of --ceilings is what `spark-bench --only nothing --json FILE` wrote just before on the same card. Rows are in
# the words of spark-bench, one a line (torch_peers.txt). Operands are random and rotate over 256 MB or more, so that no
# cache holds them from one launch to the next; a sample is a CUDA graph of up to 20 launches; the ways of a row are
# sampled in turns; figures are medians. Before it is timed a peer's result is held against ours, and the record says
# how: by a part of the largest element, or as compared.py has it.
# Peers: cuBLAS (torch.mm, _scaled_mm, _int_mm), PyTorch's flash attention and cuDNN's, row operators, eager and as
# torch.compile makes them; and those of coded.py and flash_infer.py.
import argparse
import importlib.metadata
import importlib.util
import json
import math
import re
import statistics
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import coded
import compared
import libspark.torch as ours
from flash_infer import FlashInfer

ROTATED, LAUNCHES, LONG_US = 256 << 20, 20, 20000
ROUNDING = 0.02  # of the largest result
ELEMENT = {"BF16": torch.bfloat16, "F16": torch.float16, "F32": torch.float32, "E4M3": torch.float8_e4m3fn,
           "I8": torch.int8}


class Row:
    """One line: its ways, each a function of a set of operands, and what bounds it."""

    def __init__(self, line):
        self.line = line
        self.op, *words = line.split()
        self.numbers = {k: v for k, _, v in (w.partition("=") for w in words if "=" in w)}
        self.words = [w for w in words if "=" not in w]
        self.dtype = ELEMENT[next(w for w in self.words if w in ELEMENT)]
        self.flops = self.bytes = 0
        self.loose = {}  # ways whose results may differ by more than rounding, and how much of the largest
        self.compare = {}  # ways with a comparison of their own: of the operands and their result, in words

    def number(self, name):
        return int(self.numbers[name])

    def random(self, *shape):
        if self.dtype == torch.int8:
            return torch.randint(-127, 128, shape, dtype=torch.int8, device="cuda")
        return torch.randn(shape, device="cuda").to(self.dtype)

    def bound_us(self, ceilings):
        loop = ceilings["mma_s8" if self.dtype == torch.int8 else "mma_bf16"]
        return max(self.bytes / ceilings["read"], self.flops / loop) * 1e6


def gemm(row):
    m, n, k = (row.number(x) for x in "mnk")
    out = torch.bfloat16 if row.dtype.itemsize == 1 else row.dtype
    row.flops, row.bytes = 2 * m * n * k, (m * k + n * k) * row.dtype.itemsize + m * n * out.itemsize
    if row.dtype == torch.float8_e4m3fn:
        return coded.scaled(row, m, n, k)
    def operands():
        return row.random(m, k), row.random(n, k), torch.empty(m, n, dtype=out, device="cuda")
    ways = {"libspark": lambda a, b, d: ours.gemm_out(a, b, d=d)}
    if row.dtype == torch.int8:
        def compare(a, b, d, theirs):
            sums = torch.empty_like(theirs)
            ours.gemm_out(a, b, d=sums)
            return compared.integers(sums, d, theirs)
        ways["cuBLAS, I32"] = lambda a, b, d: torch._int_mm(a, b.t())
        row.compare["cuBLAS, I32"] = compare
    else:
        ways["cuBLAS"] = lambda a, b, d: torch.mm(a, b.t(), out=d)
    return operands, ways, lambda a, b, d: d


def attention(row):
    b, q, k, d = (row.number(x) for x in "bqkd")
    heads, groups = map(int, row.numbers["h"].split("/"))
    causal = "causal" in row.words
    pairs = q * k - q * (q - 1) // 2 if causal else q * k
    row.flops = 4 * b * heads * pairs * d
    row.bytes = (2 * b * q * heads * d + 2 * b * k * groups * d) * row.dtype.itemsize
    if causal and q != k:
        raise ValueError("PyTorch's causal mask begins at the first key, ours ends at the last: equal lengths only")
    def operands():
        return (row.random(b, q, heads, d), row.random(b, k, groups, d), row.random(b, k, groups, d),
                torch.empty(b, q, heads, d, dtype=row.dtype, device="cuda"))
    def peer(backend):
        def run(query, key, value, _):
            with sdpa_kernel(backend):
                return F.scaled_dot_product_attention(*(x.transpose(1, 2) for x in (query, key, value)),
                                                      is_causal=causal, enable_gqa=heads != groups).transpose(1, 2)
        return run
    ways = {"libspark": lambda query, key, value, o: ours.attention_out(query, key, value, o=o, causal=causal),
            "flash": peer(SDPBackend.FLASH_ATTENTION), "cuDNN": peer(SDPBackend.CUDNN_ATTENTION)}
    if importlib.util.find_spec("flashinfer"):
        ways["FlashInfer"] = FlashInfer(b, q, k, heads, groups, d, causal, row.dtype)
    return operands, ways, lambda *given: given[3]


def row_wise(own, peer, inputs):
    """An operator on rows: `inputs` tensors of the row's shape in, one out."""
    def build(row):
        shape = row.number("rows"), row.number("n")
        row.bytes = (inputs + 1) * math.prod(shape) * row.dtype.itemsize
        def operands():
            return (*(row.random(*shape) for _ in range(inputs)), torch.empty(shape, dtype=row.dtype, device="cuda"))
        compiled = torch.compile(peer)
        return operands, {"libspark": own, "PyTorch": peer, "compiled": compiled}, lambda *given: given[-1]
    return build


def either(row):
    """gemm or attention: what PyTorch has tensors for, or one of coded.py's rows."""
    plain = {"gemm": gemm, "attention": attention}[row.op]
    if "U4_128_F16_U4" in row.words:
        return coded.weights(row)
    if "I8-queries" in row.words:
        return coded.sage(row, plain)
    return coded.flex(row, plain) if {"softcap", "window"} & set(row.numbers) else plain(row)


OPERATORS = {
    "gemm": either, "attention": either,
    "rmsnorm": row_wise(lambda x, y: ours.rmsnorm_out(x, y=y, eps=1e-5),
                        lambda x, y: F.rms_norm(x, x.shape[-1:], eps=1e-5), 1),
    "layernorm": row_wise(lambda x, y: ours.layernorm_out(x, y=y, eps=1e-5),
                          lambda x, y: F.layer_norm(x, x.shape[-1:], eps=1e-5), 1),
    "softmax": row_wise(lambda x, y: ours.softmax_out(x, y=y), lambda x, y: torch.softmax(x, -1, out=y), 1),
}


def close(one, other, part):
    """Whether two results agree but for the rounding of either: `part` of the largest element."""
    one, other = one.float(), other.float()
    return bool((one - other).abs().max() <= part * other.abs().max() + 1e-6)


def held(row, name, operands, expected, got):
    """How near a way's result is to ours, in words; ValueError where it is not near enough."""
    if name in row.compare:
        return row.compare[name](*operands, got)
    part = row.loose.get(name, ROUNDING)
    if not close(expected, got, part):
        raise ValueError("another result")
    return f"within {100 * part:.0f} % of the largest"


def capture(way, sets, launches):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kept = [way(*sets[i % len(sets)]) for i in range(launches)]
    return graph, kept


def sample_us(graph, launches):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e3 / launches


def measure(row, rounds):
    """{way: median us or why not}, {way: how near its result is to ours}"""
    operands, ways, result = OPERATORS[row.op](row)
    own = row.bytes
    sets = [operands() for _ in range(max(1, min(64, math.ceil(ROTATED / own))))]
    graphs, said, found, expected = {}, {}, {}, None
    for name, way in ways.items():
        try:
            got = way(*sets[0])
            got = result(*sets[0]) if got is None or name == "libspark" else got
            if name == "libspark":
                expected = got.clone()
            elif expected is None:
                raise ValueError("the library gave nothing to compare with")
            else:
                found[name] = held(row, name, sets[0], expected, got)
            for other in sets[1:]:
                way(*other)  # what a way makes of its operands once is made before the capture
            torch.cuda.synchronize()
            graph, kept = capture(way, sets, 1)
            graph.replay()
            launches = max(1, min(LAUNCHES, int(LONG_US / sample_us(graph, 1))))
            graphs[name] = (*capture(way, sets, launches), launches)
        except Exception as error:  # a peer may fail in any way, and the other ways of the row go on
            said[name] = re.sub(r"/(?:[^/\s']+/)+", "", f"{type(error).__name__}: {error}".splitlines()[0])[:100]
    samples = {name: [] for name in graphs}
    for _ in range(rounds):
        for name, (graph, _, launches) in graphs.items():
            samples[name].append(sample_us(graph, launches))
    return {**{name: statistics.median(taken) for name, taken in samples.items()}, **said}, found


def packages():
    """{package: version} of those that a row may ask for, where they are."""
    found = {}
    for name in ("triton", "humming-kernels", "sageattention", "flashinfer-python"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def main():
    words = argparse.ArgumentParser(description="The library beside PyTorch, row by row, in one process.")
    words.add_argument("--ceilings", type=Path, required=True, help="what spark-bench wrote just before")
    words.add_argument("--json", type=Path, required=True, help="the file to write")
    words.add_argument("--rows", type=Path, default=Path(__file__).with_suffix(".txt"), help="rows, one a line")
    words.add_argument("--rounds", type=int, default=9)
    words.add_argument("--only", default="", help="rows that contain this text")
    args = words.parse_args()
    run = json.loads(args.ceilings.read_text(encoding="utf-8"))
    ceilings = {row["name"]: row["rate"] for row in run["rows"] if not row["ceiling"]}
    rows = []
    lines = [re.sub(r"\s+", " ", line.strip()) for line in args.rows.read_text(encoding="utf-8").splitlines()]
    for line in (line for line in lines if line and not line.startswith("#") and args.only in line):
        row = Row(line)
        times, found = measure(row, args.rounds)
        rows.append({"row": line, "bound_us": row.bound_us(ceilings), "us": times, "compared": found})
        shown = "  ".join(f"{name} {us:.1f}" if isinstance(us, float) else f"{name}: {us}"
                          for name, us in times.items())
        print(f"{line:52} bound {rows[-1]['bound_us']:.1f}  {shown}", file=sys.stderr, flush=True)
        torch.cuda.empty_cache()
    args.json.write_text(json.dumps({
        "device": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(), "packages": packages(), "rounds": args.rounds, "ceilings": ceilings,
        "rows": rows}, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
