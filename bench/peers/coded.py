# SPDX-License-Identifier: Apache-2.0
#
# Rows of torch_peers.py whose operands are codes: FP8 with scales, beside _scaled_mm; weights of 4 bits, beside
# tinygemm (PyTorch's own) and humming-kernels; queries and keys of I8, beside SageAttention 1; and scores that are
# changed, beside FlexAttention. A package is imported when a row asks for it; the row says where that fails.
import torch

import compared
from libspark import Dtype, Quantized, TensorSpec
from libspark.context import default_context
from libspark.operators import operators
from libspark.torch import spec

GROUP = 128  # of k, that shares a scale and a zero
LOOSE = 0.15  # of the largest result: what a peer's own rounding to codes may change


def launch(name, tensors, **numbers):
    """A call of ours on PyTorch's current stream, with a workspace of its allocator."""
    call = operators()[name].bind(**tensors, **numbers, stream=torch.cuda.current_stream().cuda_stream,
                                  ctx=default_context(torch.cuda.current_device()))
    if call.workspace_size:
        workspace = torch.empty(call.workspace_size, dtype=torch.uint8, device="cuda")
        call.use_workspace(workspace.data_ptr(), call.workspace_size)
    call()


def nibbles(tensor):
    """Two elements of a row in a byte, the first in the low half."""
    return (tensor[:, 1::2] << 4 | tensor[:, ::2]).contiguous()


class Weights:
    """One matrix of 4 bits with scales and zeros of groups, in our form and in each peer's."""

    def __init__(self, n, k):
        self.n, self.k = n, k
        codes = torch.randint(0, 16, (n, k), dtype=torch.uint8, device="cuda")
        zeros = torch.randint(4, 12, (n, k // GROUP), dtype=torch.uint8, device="cuda")
        self.scale = (torch.rand(n, k // GROUP, device="cuda") * 0.01 + 0.005).half()
        self.codes, self.zeros = nibbles(codes), nibbles(zeros)
        flipped = (codes[:, ::2] << 4 | codes[:, 1::2]).contiguous()
        self.tiny = torch.ops.aten._convert_weight_to_int4pack(flipped, 8)
        shift = (8 - zeros.float()) * self.scale.float()  # tinygemm's numbers are (q - 8) * scale + zero
        self.tiny_scales = torch.stack([self.scale.float(), shift], -1).transpose(0, 1).contiguous().bfloat16()
        self.layer = None

    def ours(self):
        groups = self.k // GROUP
        zeros = TensorSpec((self.n, groups), Dtype.U4, (groups, 1), self.zeros.data_ptr())
        return Quantized(TensorSpec((self.n, self.k), Dtype.U4, (self.k, 1), self.codes.data_ptr()), spec(self.scale),
                         form="INT4_128", zero_point=zeros)

    def humming(self, x):
        """By humming-kernels, which round the numbers to a scale of each group by themselves."""
        if self.layer is None:
            from humming.layer import HummingLayer
            self.layer = HummingLayer(shape_n=self.n, shape_k=self.k, torch_dtype=torch.bfloat16,
                                      weight_config={"dtype": "int4", "group_size": GROUP}).cuda()
            identity = torch.eye(self.k, dtype=torch.bfloat16, device="cuda")
            self.layer.load_from_unquantized(self.tinygemm(identity).t().contiguous())
            self.layer.transform()
        return self.layer(x)

    def tinygemm(self, x):
        return torch.ops.aten._weight_int4pack_mm(x, self.tiny, GROUP, self.tiny_scales)


def weights(row):
    m, n, k = (row.number(x) for x in "mnk")
    row.flops, row.bytes = 2 * m * n * k, n * k // 2 + n * (k // GROUP) * 5 // 2 + m * (k + n) * 2
    row.loose["humming"] = LOOSE
    def operands():
        return row.random(m, k), Weights(n, k), torch.empty(m, n, dtype=torch.bfloat16, device="cuda")
    ways = {"libspark": lambda a, b, d: launch("gemm", {"a": spec(a), "b": b.ours(), "d": spec(d)}),
            "tinygemm": lambda a, b, d: b.tinygemm(a), "humming": lambda a, b, d: b.humming(a)}
    return operands, ways, lambda a, b, d: d


def scaled(row, m, n, k):
    """FP8 with a scale for each row of a and of b, beside _scaled_mm."""
    def operands():
        a, b = (torch.randn(rows, k, device="cuda").to(row.dtype) for rows in (m, n))
        scales = (torch.rand(rows, device="cuda") + 0.5 for rows in (m, n))
        return a, b, torch.empty(m, n, dtype=torch.bfloat16, device="cuda"), *scales
    def own(a, b, d, a_scale, b_scale, form="ROW"):
        launch("gemm", {"a": Quantized(spec(a), spec(a_scale), form=form),
                        "b": Quantized(spec(b), spec(b_scale), form=form), "d": spec(d)})
    def theirs(a, b, d, a_scale, b_scale):
        return torch._scaled_mm(a, b.t(), a_scale.reshape(-1, 1), b_scale.reshape(1, -1), out_dtype=torch.bfloat16)
    def compare(a, b, d, a_scale, b_scale, result):
        rows = compared.codes(a, b, a_scale, b_scale, d, result)
        one, other, whole = a_scale[:1], b_scale[:1], torch.empty_like(d)
        own(a, b, whole, one, other, form="TENSOR")
        by_one = torch._scaled_mm(a, b.t(), one[0], other[0], out_dtype=torch.bfloat16)
        return f"{rows}; of one scale {compared.codes(a, b, one, other, whole, by_one)}"
    row.compare["cuBLAS"] = compare
    return operands, {"libspark": own, "cuBLAS": theirs}, lambda *given: given[2]


class Codes:
    """Rows of I8 with a scale for each token and head, and as SageAttention has them."""

    def __init__(self, tensor):
        self.scale = tensor.float().abs().amax(-1, keepdim=True) / 127
        self.codes = (tensor.float() / self.scale).round().to(torch.int8)

    def ours(self):
        return Quantized(spec(self.codes), spec(self.scale), form="ROW")


def sage(row, attention):
    """attention's rows with q and k of I8; both ways are timed on codes that stand."""
    operands = attention(row)[0]
    row.loose["SageAttention 1"] = LOOSE
    causal = "causal" in row.words
    def coded():
        query, key, value, o = operands()
        from sageattention.quant_per_block import per_block_int8
        blocks = per_block_int8(query, key, tensor_layout="NHD")
        return Codes(query), Codes(key), value, o, blocks, value.half()
    def theirs(query, key, value, o, blocks, halves):
        from sageattention import core
        run = core.attn_true if causal else core.attn_false
        q8, q_scale, k8, k_scale = blocks
        return run(q8, k8, halves, q_scale, k_scale, tensor_layout="NHD", output_dtype=torch.bfloat16)
    def own(query, key, value, o, blocks, halves):
        launch("attention", {"q": query.ours(), "k": key.ours(), "v": spec(value), "o": spec(o)}, causal=causal)
    return coded, {"libspark": own, "SageAttention 1": theirs}, lambda *given: given[3]


def flex(row, attention):
    """attention's rows whose scores are changed, beside FlexAttention as torch.compile makes it."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    operands, _, result = attention(row)
    q, k = row.number("q"), row.number("k")
    given, change, seen = {}, None, None
    if "softcap" in row.numbers:
        cap = given["softcap"] = float(row.numbers["softcap"])
        change = lambda score, b, h, i, j: cap * torch.tanh(score / cap)
    if "window" in row.numbers:
        window = given["window_left"] = int(row.numbers["window"])
        seen = create_block_mask(lambda b, h, i, j: (i >= j) & (i - j <= window), None, None, q, k)
        row.flops = row.flops * window // (q // 2)
    compiled = torch.compile(flex_attention)
    causal = "causal" in row.words
    def theirs(query, key, value, o):
        return compiled(*(x.transpose(1, 2) for x in (query, key, value)), score_mod=change, block_mask=seen,
                        enable_gqa=True).transpose(1, 2)
    import libspark.torch as ours
    return operands, {"libspark": lambda query, key, value, o: ours.attention_out(query, key, value, o=o, causal=causal,
                                                                                  **given),
                      "FlexAttention": theirs}, result
