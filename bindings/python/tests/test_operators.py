# SPDX-License-Identifier: Apache-2.0
"""Operators: arguments, outputs that are made, errors; every one of the library, from reflection."""
import importlib
import sys
import unittest
from unittest import mock

import numpy as np
from support import OnDevice, random

from libspark import (Context, DeviceArray, Dtype, InvalidArgument, Records, SparkError, Status, TensorSpec,
                      Unsupported, errors, operators, ops, sparkc)


class Arguments(OnDevice):
    def test_a_product_with_all_that_goes_with_it(self):
        a, b, bias = random(16, 32, seed=1), random(8, 32, seed=2), random(8, seed=3)
        made = ops.gemm(self.array(a, "f16"), self.array(b, "f16"), bias=self.array(bias), dtype="f32", alpha=0.5,
                        activation="relu")
        wanted = np.maximum(0.5 * a.astype("f2").astype("f4") @ b.astype("f2").astype("f4").T + bias, 0)
        self.assertEqual((made.shape, made.dtype), ((16, 8), Dtype.F32))
        np.testing.assert_allclose(made.numpy(), wanted, atol=1e-4)

    def test_outputs_follow_their_inputs(self):
        x = self.array(random(2, 3, 64), "bf16")
        self.assertEqual(ops.rmsnorm(x, eps=0).dtype, Dtype.BF16)
        y, total = ops.rmsnorm(x, residual=x, residual_out=True, eps=1e-5)
        self.assertEqual((y.shape, total.shape), (x.shape, x.shape))
        np.testing.assert_array_equal(total.numpy(), 2 * x.numpy())
        table, ids = self.array(random(9, 4)), self.array(np.array([[0, 8, 3]], "i4"))
        found = ops.embedding(table, ids, zero_invalid=True)
        np.testing.assert_array_equal(found.numpy(), table.numpy()[ids.numpy()])
        batched = ops.gemm(self.array(random(3, 4, 8), "f16"), self.array(random(5, 8), "f16"))
        self.assertEqual((batched.shape, batched.dtype), ((3, 4, 5), Dtype.F16))
        q = self.array(random(1, 2, 4, 16), "bf16")
        o, lse = ops.attention(q, q, q, lse=True, causal=True)
        self.assertEqual((o.shape, lse.shape, lse.dtype), (q.shape, (1, 2, 4), Dtype.F32))
        self.assertEqual(ops.sample(self.array(np.eye(3, dtype="f4"))).numpy().tolist(), [0, 1, 2])

    def test_a_gated_product_has_half_as_many_columns(self):
        a, b = random(5, 32, seed=1).astype("f2"), random(12, 32, seed=2).astype("f2")
        x = a.astype("f4") @ b.astype("f4").T
        for rows, gate, up in (({}, x[:, :6], x[:, 6:]), ({"interleaved": True}, x[:, ::2], x[:, 1::2]),
                               ({"up_first": True}, x[:, 6:], x[:, :6])):
            with self.subTest(rows):
                made = ops.gemm(self.array(a), self.array(b), dtype="f32", activation="silu", gated=True, **rows)
                self.assertEqual(made.shape, (5, 6))
                np.testing.assert_allclose(made.numpy(), gate / (1 + np.exp(-gate)) * up, atol=1e-3)

    def test_given_outputs_are_given_back(self):
        x = self.array(random(2, 64))
        self.assertIs(ops.rmsnorm(x, y=x, eps=0), x)
        call = ops.rmsnorm.prepare(x, y=x, eps=1.0)
        self.assertIs(call.result, x)

    def test_an_absent_number_has_its_usual_value_and_a_0_is_0(self):
        a, b = self.array(np.ones((1, 8), "f4"), "f16"), self.array(np.ones((2, 8), "f4"), "f16")
        bias = self.array(np.array([-1, 5], "f4"))
        for given, wanted in (({}, [7, 13]), ({"alpha": None}, [7, 13]), ({"alpha": 0}, [0, 5]),
                              ({"alpha": 0.5}, [3, 9])):
            with self.subTest(given):
                found = ops.gemm(a, b, bias=bias, activation="relu", dtype="f32", **given)
                self.assertEqual(found.numpy().tolist(), [wanted])
        x = self.array(np.array([[0, 1, 2, 3]], "f4"))
        self.assertEqual(ops.softmax(x, scale=0).numpy().tolist(), [[0.25] * 4])
        self.assertGreater(ops.softmax(x).numpy()[0, 3], 0.6)
        q = self.array(random(1, 2, 4, 16), "f16")
        np.testing.assert_array_equal(ops.attention(q, q, q).numpy(), ops.attention(q, q, q, scale=0.25).numpy())
        even = ops.attention(q, q, q, scale=0).numpy()
        np.testing.assert_allclose(even, np.broadcast_to(q.numpy().mean(1, keepdims=True), even.shape), atol=1e-3)

    def test_what_has_no_usual_value_is_asked_for(self):
        x = self.array(random(2, 64))
        for operator in (ops.rmsnorm, ops.layernorm, ops.l2norm):
            for given in ({}, {"eps": None}):
                with self.assertRaisesRegex(TypeError, rf"{operator.name}\(\) needs 'eps'"):
                    operator(x, **given)
            self.assertEqual(operator(x, eps=0).shape, x.shape)

    def test_a_shape_that_follows_from_no_input(self):
        with self.assertRaisesRegex(TypeError, "N follows from no input"):
            ops.dequantize(Records(self.zeros((2, 34), "u8"), "q8_0"))

    def test_a_prepared_call_can_be_explained(self):
        call = ops.rmsnorm.prepare(self.array(random(2, 64)), eps=0)
        self.assertTrue(call.info.kernel.startswith("norm_f32"))
        self.assertIn("*", call.explain())
        kernels = call.kernels()
        self.assertEqual(kernels[0].kernel_id, call.info.kernel_id)
        other = ops.rmsnorm(self.array(random(2, 64)), kernel_id=kernels[-1].kernel_id, eps=0)
        np.testing.assert_allclose(other.numpy(), call().numpy(), rtol=1e-5)

    def test_a_plan_leaves_its_arrays_as_they_are(self):
        x = self.array(random(2, 64))
        ops.rmsnorm.plan(x, stream=self.stream.handle, eps=0)
        np.testing.assert_array_equal(x.numpy(), x[:].numpy())

    def test_a_workspace_grows_as_needed(self):
        a, b = self.zeros((128, 2048), "bf16"), self.zeros((128, 2048), "bf16")
        size = ops.gemm.plan(a, b).info.workspace_size
        self.assertGreater(size, 0, "give this test a product whose kernel needs a workspace")
        plan = ops.gemm.plan(a, b)
        within = plan.kernels(workspace_limit=size - 1)
        self.assertTrue(all(info.workspace_size < size for info in within) and 0 < len(within) < len(plan.kernels()))
        self.assertFalse(ops.gemm(a, b).numpy().any())
        self.assertEqual(self.ctx.workspaces[self.stream.handle].bytes, size)
        self.assertFalse(ops.gemm.prepare(a, b)().numpy().any())
        own = DeviceArray.empty((size,), "u8", stream=self.stream)
        ops.gemm(a, b, workspace=own)
        with self.assertRaises(SparkError) as caught:
            ops.gemm(a, b, workspace=own[:16])
        self.assertEqual(caught.exception.status, Status.WORKSPACE_TOO_SMALL)

    def test_a_kernel_that_is_asked_for_has_its_workspace(self):
        a, b = self.zeros((128, 4096), "bf16"), self.zeros((128, 4096), "bf16")
        kernels = ops.gemm.plan(a, b).kernels()
        most = max(kernels, key=lambda kernel: kernel.workspace_size)
        self.assertGreater(most.workspace_size, kernels[0].workspace_size, "give this test a product with such a one")
        self.assertEqual(ops.gemm.plan(a, b, kernel_id=most.kernel_id).info, most)
        self.assertFalse(ops.gemm(a, b, kernel_id=most.kernel_id).numpy().any())
        self.assertEqual(self.ctx.workspaces[self.stream.handle].bytes, most.workspace_size)
        self.assertFalse(ops.gemm.prepare(a, b, kernel_id=most.kernel_id)().numpy().any())


class Misuse(OnDevice):
    def test_the_library_says_what_is_wrong(self):
        x = self.array(random(2, 64))
        with self.assertRaises(InvalidArgument) as caught:
            ops.rmsnorm(x, y=self.zeros((2, 63), "f32"), eps=0)
        error = caught.exception
        self.assertEqual((error.status, error.operator, error.field), (Status.INVALID_SHAPE, "rmsnorm", "y"))
        self.assertIn("y.shape[1] is 63", error.message)
        self.assertTrue(str(error).startswith("SPARK_ERR_INVALID_SHAPE: "))
        self.assertIsInstance(error, ValueError)

    def test_arguments_that_are_not_there(self):
        x = self.array(random(2, 64))
        for wanted, call in (("no argument 'epsilon'", lambda: ops.rmsnorm(x, epsilon=1)),
                             ("two values for 'x'", lambda: ops.rmsnorm(x, x=x, eps=0)),
                             ("takes 3 inputs", lambda: ops.rmsnorm(x, x, x, x, eps=0)),
                             ("needs 'x'", lambda: ops.rmsnorm()), ("needs 'b'", lambda: ops.gemm(x)),
                             ("no argument 'reserved'", lambda: ops.rmsnorm(x, reserved=1, eps=0)),
                             ("float is no tensor", lambda: ops.rmsnorm(1.0, eps=0)),
                             ("eps is 'small'", lambda: ops.rmsnorm(x, eps="small")),
                             ("bool is no tensor", lambda: ops.rmsnorm(x, weight=True, eps=0)),
                             ("needs 'dtype'", lambda: ops.cast(x, dtype="u8"))):
            with self.subTest(wanted), self.assertRaisesRegex(TypeError, wanted):
                call()

    def test_numbers_out_of_range(self):
        x = self.array(random(2, 64))
        for wanted, call in (("activation is 'swish'; one of NONE, SILU",
                              lambda: ops.activation(x, activation="swish")),
                             ("32 bits cannot hold", lambda: ops.rmsnorm(x, eps=1e39)),
                             ("top_k is 4294967296", lambda: ops.sample(x, top_k=2 ** 32)),
                             ("the kernel_id -1", lambda: ops.rmsnorm(x, kernel_id=-1, eps=0)),
                             ("the stream -5", lambda: ops.rmsnorm(x, stream=-5, eps=0)),
                             ("rotary_dim is -1", lambda: ops.rope(x, x, rotary_dim=-1))):
            with self.subTest(wanted), self.assertRaisesRegex(ValueError, wanted):
                call()
        with self.assertRaises(InvalidArgument):
            ops.rmsnorm(x, eps=-1)
        with self.assertRaisesRegex(InvalidArgument, r"b.shape\[0\] is 3; an even number wanted, of which d.shape"):
            ops.gemm(x, self.array(random(3, 64)), d=self.array(random(2, 1)), gated=True)

    def test_contexts_do_not_mix(self):
        with Context() as other:
            foreign = DeviceArray.zeros((2, 64), "f32", ctx=other)
            x = self.array(random(2, 64))
            for call in (lambda: ops.rmsnorm(x, y=foreign, eps=0), lambda: ops.rmsnorm(x, stream=foreign.stream, eps=0),
                         lambda: ops.rmsnorm(x, ctx=other, eps=0), lambda: x.copy_from(foreign),
                         lambda: self.stream.wait(foreign.stream.record())):
                with self.assertRaisesRegex(ValueError, "context"):
                    call()

    def test_unsupported_is_not_implemented(self):
        with self.assertRaises(NotImplementedError) as caught:
            Context.offline(50)
        self.assertIsInstance(caught.exception, Unsupported)
        with self.assertRaises(InvalidArgument):
            Context(999)

    def test_memory_that_is_not_there(self):
        with self.assertRaises(MemoryError) as caught:
            DeviceArray.empty((1 << 60,), "u8", stream=self.stream)
        self.assertIsInstance(caught.exception, errors.OutOfMemory)


class WithoutTorch(unittest.TestCase):
    def test_it_says_what_is_missing(self):
        with mock.patch.dict(sys.modules, {"torch": None}):
            with self.assertRaisesRegex(ImportError, "libspark.torch needs PyTorch"):
                importlib.import_module("libspark.torch")


class Offline(unittest.TestCase):
    def test_plans_without_a_device(self):
        with Context.offline(121) as ctx:
            self.assertEqual(ctx.info.compute_capability, (12, 1))
            x = TensorSpec((5, 64), "bf16")
            plan = ops.rmsnorm.plan(x, ctx=ctx, eps=0)
            self.assertTrue(plan.info.kernel)
            self.assertEqual(plan.result.shape, (5, 64))
            self.assertIn("*", plan.explain())
            with self.assertRaises(SparkError):
                DeviceArray.zeros((1,), "u8", ctx=ctx)


class Reflection(unittest.TestCase):
    def test_every_operator_is_there(self):
        names = [sparkc.spark_op_at(i).name for i in range(sparkc.spark_op_count())]
        self.assertEqual(sorted(names), sorted(ops.__all__))
        for name, operator in operators.operators().items():
            with self.subTest(name):
                self.assertTrue(operator.doc and operator.inputs)
                self.assertEqual(getattr(ops, name).number, operator.number)
                letters = {dim for input in operator.inputs for dim in operator.fields[input].dims}
                for output in operator.outputs:
                    unknown = {dim for dim in operator.fields[output].dims if not dim.isdigit()} - letters
                    self.assertLessEqual(unknown, {"dequantize": {"N"}, "compress": {"H", "J"}}.get(name, set()))

    def test_the_structures_that_are_written_here(self):
        for operator in operators.operators().values():
            for field in operator.fields.values():
                described = sparkc.spark_op_field(operator.number, operator.all_fields.index(field))
                if field.is_tensor:
                    self.assertEqual(described.size, operators.TENSOR_BYTES)


if __name__ == "__main__":
    unittest.main()
