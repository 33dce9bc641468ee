#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""libspark.torch, where PyTorch is: what needs no GPU runs anywhere, the rest is skipped where there is none.

Not found by `unittest discover`, since the short tier has no PyTorch: `python tests/torch_gpu.py [-v]`, with the wheel
installed or unpacked into a folder of PYTHONPATH.
"""
import math
import time
import unittest

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import libspark
import libspark.torch
from libspark import DeviceArray, Stream, operators, ops, sparkc

CUDA = torch.cuda.is_available()
SIZES = {"B": 2, "M": 16, "N": 64, "K": 64, "S": 5, "T": 7, "H": 4, "G": 2, "D": 32, "P": 2, "V": 48, "L": 2, "R": 32}


def sample_of(operator, device):
    """Required inputs of any operator, by the sizes above; where values or ranks count, they are put right here."""
    def like(field):
        shape = [size for dim in field.dims for size in ([3] if dim == "..." else
                 [] if dim.endswith("?") else [int(dim) if dim.isdigit() else SIZES[dim]])]
        kinds = [libspark.torch.DTYPES[dtype] for dtype in field.dtypes if dtype in libspark.torch.DTYPES]
        free = kinds and not libspark.torch.follows(operator, field)
        kind = kinds[0] if free and torch.bfloat16 not in kinds else torch.bfloat16
        values = torch.linspace(-2, 2, math.prod(shape)).reshape(shape)
        return values.to(kind).to(device) if kind.is_floating_point else torch.zeros(shape, dtype=kind, device=device)
    given = {name: like(operator.fields[name]) for name in operator.inputs if not operator.fields[name].optional}
    named = {field.name: 16 if field.kind == sparkc.SPARK_KIND_U32 else 1e-5 for field in operator.fields.values()
             if field.is_required and not field.is_tensor}
    if operator.name == "embedding":
        named["zero_invalid"] = True
    if operator.name in ("kv_append", "kv_gather"):
        given["positions"] = torch.arange(SIZES["T"], dtype=torch.int32, device=device)
    return tuple(given.values()), named


def made_by_all():
    return [operator for operator in operators.operators().values() if operator.name in libspark.torch.__all__]


class Fakes(unittest.TestCase):
    def test_every_operator_is_registered(self):
        self.assertTrue(made_by_all())
        for name in libspark.torch.__all__:
            self.assertTrue(callable(getattr(libspark.torch, name)), name)
        with self.assertRaises(AttributeError):
            libspark.torch.nothing

    def test_schemas_follow_reflection(self):
        schema = str(torch.ops.libspark.rmsnorm.default._schema)
        self.assertIn("rmsnorm(Tensor x, Tensor? weight=None, Tensor? residual=None, *, bool residual_out", schema)
        self.assertIn("-> (Tensor, Tensor)", schema)
        self.assertIn("Tensor(a!) k_cache", str(torch.ops.libspark.kv_append.default._schema))
        self.assertIn("Tensor(a!) y", str(torch.ops.libspark.dequantize_out.default._schema))
        self.assertNotIn("dequantize", libspark.torch.__all__, "its shape does not follow from its input")
        self.assertFalse({"quantize", "quantize_out"} & set(libspark.torch.__all__), "scales have no place in a tensor")
        self.assertFalse({"repack", "repack_out"} & set(libspark.torch.__all__), "nor have codes of four bits")
        self.assertLessEqual({"rmsnorm", "rmsnorm_out", "layernorm", "glu", "attention", "gemm"},
                             set(libspark.torch.__all__), "outputs that may also be codes")

    def test_shapes_and_dtypes_without_numbers(self):
        with FakeTensorMode():
            x = torch.empty(2, 3, 64, dtype=torch.bfloat16, device="meta")
            y, total = torch.ops.libspark.rmsnorm(x, eps=1e-5)
            self.assertEqual((y.shape, y.dtype, total.numel()), (x.shape, x.dtype, 0))
            y, total = torch.ops.libspark.rmsnorm(x, residual=x, residual_out=True, eps=0)
            self.assertEqual(total.shape, x.shape)
            a, b = torch.empty(4, 16, 32, device="meta").half(), torch.empty(8, 32, device="meta").half()
            self.assertEqual(torch.ops.libspark.gemm(a, b).shape, (4, 16, 8))
            self.assertEqual(torch.ops.libspark.gemm(a, b, dtype=torch.float32).dtype, torch.float32)
            q = torch.empty(1, 5, 4, 16, device="meta").half()
            o, lse = torch.ops.libspark.attention(q, q, q, lse=True)
            self.assertEqual((o.shape, lse.shape, lse.dtype), (q.shape, (1, 5, 4), torch.float32))

    def test_every_fake_of_every_operator(self):
        for operator in made_by_all():
            with self.subTest(operator.name), FakeTensorMode():
                inputs, named = sample_of(operator, "meta")
                getattr(torch.ops.libspark, operator.name)(*inputs, **named)


@unittest.skipUnless(CUDA, "no GPU")
class OnGpu(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def random(self, *shape, dtype=torch.bfloat16):
        return torch.randn(*shape, device="cuda", dtype=torch.float32).to(dtype)

    def close(self, found, wanted, tolerance=2e-2):
        torch.testing.assert_close(found.float(), wanted.float(), atol=tolerance, rtol=tolerance)

    def test_products(self):
        a, b = self.random(64, 128), self.random(96, 128)
        self.close(libspark.torch.gemm(a, b), a.float() @ b.float().T, 5e-2)
        self.close(libspark.torch.gemm(a, b, dtype=torch.float32), a.float() @ b.float().T, 1e-3)
        narrow, deep = self.random(8, 4096), self.random(128, 4096)  # few tiles, long sums: a workspace
        self.close(libspark.torch.gemm(narrow, deep, dtype=torch.float32), narrow.float() @ deep.float().T, 1e-2)
        self.close(libspark.torch.gemm(a.T.contiguous().T, b), a.float() @ b.float().T, 5e-2)

    def test_norms_and_softmax(self):
        x, w = self.random(33, 257), self.random(257)
        wanted = torch.nn.functional.rms_norm(x.float(), (257,), w.float(), 1e-5)
        y, none = libspark.torch.rmsnorm(x, w, eps=1e-5)
        self.close(y, wanted)
        self.assertEqual(none.numel(), 0)
        y, total = libspark.torch.rmsnorm(x, w, residual=x, residual_out=True, eps=1e-5)
        self.close(total, x + x)
        self.close(libspark.torch.softmax(x), torch.softmax(x.float(), -1))
        out = torch.empty_like(x)
        libspark.torch.rmsnorm_out(x, w, y=out, eps=1e-5)
        self.close(out, wanted)

    def test_attention(self):
        q, k, v = self.random(2, 40, 8, 64), self.random(2, 40, 2, 64), self.random(2, 40, 2, 64)
        o, lse = libspark.torch.attention(q, k, v, causal=True, lse=True)
        wanted = torch.nn.functional.scaled_dot_product_attention(
            q.transpose(1, 2).float(), k.transpose(1, 2).float(), v.transpose(1, 2).float(), is_causal=True,
            enable_gqa=True)
        self.close(o, wanted.transpose(1, 2))
        self.assertEqual(lse.shape, (2, 40, 8))

    def test_caches_are_written(self):
        k, keys = self.random(3, 2, 32), torch.zeros(1, 8, 2, 32, device="cuda", dtype=torch.bfloat16)
        values = torch.zeros_like(keys)
        positions = torch.tensor([0, 3, 7], device="cuda", dtype=torch.int32)
        refused = torch.zeros(1, device="cuda", dtype=torch.int32)
        self.assertIsNone(libspark.torch.kv_append(k, k, positions, keys, values, refused))
        torch.testing.assert_close(keys[0, positions.long()], k)
        self.assertEqual(refused.item(), 0)

    def test_errors_have_the_librarys_sentence(self):
        x = self.random(2, 64)
        with self.assertRaisesRegex(ValueError, "y.shape"):
            libspark.torch.rmsnorm_out(x, y=self.random(2, 63), eps=0)
        with self.assertRaisesRegex(ValueError, "weight is on cpu"):
            libspark.torch.rmsnorm(x, torch.ones(64), eps=0)

    def test_opcheck(self):
        for operator in made_by_all():
            with self.subTest(operator.name):
                inputs, named = sample_of(operator, "cuda")
                torch.library.opcheck(getattr(torch.ops.libspark, operator.name).default, inputs, named)
        x = self.random(2, 64)
        torch.library.opcheck(torch.ops.libspark.rmsnorm_out.default, (x,), {"y": torch.empty_like(x), "eps": 0.0})

    def test_compile(self):
        w = self.random(128)

        def block(x, weight):
            y, _ = torch.ops.libspark.rmsnorm(x * 2, w, eps=1e-5)
            out = torch.empty_like(y)
            torch.ops.libspark.activation_out(y, y=out, activation="SILU")
            return torch.ops.libspark.gemm(out + 1, weight)
        weight = self.random(64, 128)
        for backend in ("aot_eager", "inductor"):
            torch.compiler.reset()
            compiled = torch.compile(block, fullgraph=True, backend=backend)
            for rows in (16, 16, 48):  # the second number of rows compiles once more, with a size that is not fixed
                with self.subTest(backend, rows=rows):
                    x = self.random(rows, 128)
                    self.close(compiled(x, weight), block(x, weight), 1e-1)

    def test_a_cuda_graph(self):
        x, w, weight = self.random(8, 4096), self.random(4096), self.random(128, 4096)

        def step():
            return libspark.torch.gemm(libspark.torch.rmsnorm(x, w, eps=1e-5)[0], weight)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            step()  # loads the code, which a capture does not
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = step()
        for _ in range(3):
            x.copy_(self.random(8, 4096))
            graph.replay()
            self.close(y, step(), 1e-2)

    def test_reduce_overhead(self):
        x, w = self.random(8, 256), self.random(256)
        compiled = torch.compile(lambda t: torch.ops.libspark.rmsnorm(t, w, eps=1e-5)[0] + 1, mode="reduce-overhead")
        for _ in range(4):
            found = compiled(x).clone()
        self.close(found, libspark.torch.rmsnorm(x, w, eps=1e-5)[0] + 1)

    def test_tensors_as_arguments_of_the_generic_layer(self):
        x = self.random(4, 64)
        y = torch.empty_like(x)
        wanted = torch.nn.functional.rms_norm(x.float(), (64,), None, 1e-5)
        ops.rmsnorm(x, y=y, eps=1e-5)
        self.close(y, wanted)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            torch.cuda._sleep(20_000_000)  # cycles: what is enqueued behind sees this only on the same stream
            late = x * 2
            ops.rmsnorm(late, y=y, eps=1e-5, stream=side)
        side.synchronize()
        self.close(y, torch.nn.functional.rms_norm(late.float(), (64,), None, 1e-5))
        made = ops.rmsnorm(x, eps=1e-5)
        self.close(torch.from_dlpack(made), wanted)

    def test_the_stream_is_taken_from_torch(self):
        x, y, side = self.random(4, 64), self.random(4, 64), torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        if hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
            with torch.cuda.stream(side):
                call = ops.rmsnorm.bind(x, y=y, eps=0)
            self.assertEqual(call.stream.handle, side.cuda_stream)
        with torch.cuda.stream(side):
            torch.cuda._sleep(20_000_000)
            late = x * 2
            found = libspark.torch.rmsnorm(late, eps=1e-5)[0]
        side.synchronize()
        self.close(found, torch.nn.functional.rms_norm(late.float(), (64,), None, 1e-5))

    def test_arrays_go_to_torch(self):
        a = DeviceArray.from_numpy([[1, 2, 3]], "bf16", stream=Stream())
        tensor = torch.from_dlpack(a)
        self.assertEqual((tensor.dtype, tensor.tolist()), (torch.bfloat16, [[1, 2, 3]]))
        del a
        self.assertEqual((tensor * 2).tolist(), [[2, 4, 6]])
        self.assertEqual(torch.as_tensor(DeviceArray.from_numpy([1.0], "f32"), device="cuda").tolist(), [1])

    def test_what_a_call_costs(self):
        x, w, y = self.random(1, 64), self.random(64), self.random(1, 64)
        r = torch.empty_like(x)
        prepared = ops.rmsnorm.prepare(x, w, x, y=y, eps=1e-5)
        for name, call in (("prepared", prepared), ("generic", lambda: ops.rmsnorm(x, w, x, y=y, eps=1e-5)),
                           ("torch op", lambda: torch.ops.libspark.rmsnorm_out(x, w, x, y=y, residual_out=r, eps=1e-5)),
                           ("torch's own", lambda: torch.nn.functional.rms_norm(x, (64,), w, 1e-5))):
            best = math.inf
            for _ in range(20):
                torch.cuda.synchronize()
                began = time.perf_counter()
                for _ in range(100):
                    call()
                best = min(best, time.perf_counter() - began)
            torch.cuda.synchronize()
            print(f"{name}: {best * 1e4:.1f} us a call on the host")


if __name__ == "__main__":
    print(f"torch {torch.__version__}, libspark {libspark.version()}, "
          f"{libspark.device_info(0).name if CUDA else 'no GPU'}", flush=True)
    unittest.main(verbosity=2)
