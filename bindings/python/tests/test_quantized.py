# SPDX-License-Identifier: Apache-2.0
"""Quantised tensors: the form that fits, what is refused, and what reaches the structure of a call."""
import struct
import types
import unittest

import numpy as np
from support import CudaArray, OnDevice, Producer, random

from libspark import DeviceArray, Dtype, InvalidArgument, Quantized, Record, Records, TensorSpec, operators, ops, sparkc
from libspark.fields import Form
from libspark.quantized import Pending

WHOLE = Form("WHOLE", "one scale", sparkc.SPARK_QUANT_PER_TENSOR, (Dtype.E4M3,), (Dtype.F32,), layouts=(0,))
ROWS = Form("ROWS", "a scale for each row", sparkc.SPARK_QUANT_PER_ROW, (Dtype.I8,), (Dtype.F32, Dtype.F16),
            (Dtype.I8,), layouts=(0,))
SQUARES = Form("SQUARES", "squares", sparkc.SPARK_QUANT_BLOCK, (Dtype.E4M3,), (Dtype.F32,), layouts=(0,),
               last_blocks=(128, 128))
TILES = Form("TILES", "in tiles too", sparkc.SPARK_QUANT_BLOCK, (Dtype.E2M1,), (Dtype.UE4M3,), layouts=(0, 1),
             takes_global_scale=True, last_blocks=(16,))
FORMS = (WHOLE, ROWS, SQUARES, TILES)


def written(value, forms=FORMS):
    """The spark_quant of an argument that has these forms, field by field."""
    field = types.SimpleNamespace(name="x", offset=24, forms=forms)
    pending, raw = Pending("op: x", field, value), bytearray(24 + 256)
    for tensor, into, offset in pending.tensors(raw):
        into[offset:offset + 256] = tensor._raw
    pending.write(raw)
    numbers = struct.unpack_from("=IIII6HH2B5Q6qq", raw, 24 + 128)
    names = ("scheme", "layout", "scale_dtype", "zero_dtype", *["block"] * 6, "record", *["tile"] * 2, "scale",
             "scale_bytes", "zero_point", "zero_bytes", "global_scale", *["stride"] * 6, "global_stride")
    told = {}
    for name, number in zip(names, numbers):
        told.setdefault(name, []).append(number)
    return types.SimpleNamespace(**{name: found if len(found) > 1 else found[0] for name, found in told.items()})


class Operators(OnDevice):
    def test_there_and_back(self):
        x = self.array(np.array([[448, -1, 0.3, 7], [0, -14, 1, 2]], "f4"), "bf16")
        y, scales = DeviceArray.empty((2, 4), "e4m3", stream=self.stream), self.zeros((2,), "f32")
        ops.quantize(x, y=Quantized(y, scales, form="row"))
        self.assertEqual(scales.numpy().tolist(), [1, 0.03125])
        back = DeviceArray.empty((2, 4), "f32", stream=self.stream)
        ops.dequantize(Quantized(y, scales, form="row"), y=back)
        self.assertEqual(back.numpy().tolist(), [[448, -1, 0.3125, 7], [0, -14, 1, 2]])
        with self.assertRaisesRegex(NotImplementedError, "rule is EVEN"):
            ops.quantize(x, y=Quantized(y, scales, form="row"), rule="even")

    def test_two_levels_of_scales(self):
        numbers = np.array([[0, 0.5, 1, 1.5, 2, 3, 4, 6] * 4, [-6, 0.26, 0, 5.1] * 8], "f4")
        x, y = self.array(numbers), DeviceArray.empty((2, 32), "e2m1", stream=self.stream)
        whole, back = self.array(np.zeros(1, "f4")), DeviceArray.empty((2, 32), "f32", stream=self.stream)
        for layout, count in (("linear", (2, 2)), ("tiled_128x4", 512)):
            scales = DeviceArray.empty(count, "ue4m3", stream=self.stream)
            value = Quantized(y, scales, layout=layout, global_scale=whole)
            ops.quantize(x, y=value, own_amax=True)
            self.assertEqual(whole.numpy().tolist(), [np.float32(6) / np.float32(2688)])
            ops.dequantize(value, y=back)
            wanted = [numbers[0].tolist(), [-6, 0.5, 0, 6] * 8]
            np.testing.assert_allclose(back.numpy(), wanted, rtol=2**-20)

    def test_weights_as_awq_keeps_them(self):
        k, n, group, places = 128, 16, 64, (0, 2, 4, 6, 1, 3, 5, 7)
        draw = np.random.default_rng(6)
        codes, zeros = draw.integers(0, 16, (k, n)), draw.integers(0, 16, (k // group, n))
        scales, x = draw.normal(size=(k // group, n)).astype("f2"), draw.normal(size=(3, k)).astype("f2")

        def of_words(values, strides):
            eights = values.reshape(len(values), -1, 8).astype("u4")
            words = sum(eights[:, :, column] << np.uint32(4 * i) for i, column in enumerate(places))
            out = DeviceArray.empty(values.size, "u4", stream=self.stream)
            ops.repack(self.array(words.view("i4")), y=out.strided((*words.shape, 8), strides), order="interleaved")
            return out

        w = of_words(codes, (1, 8 * k, k)).strided((n, k), (k, 1))
        of_groups = of_words(zeros, (n, 8, 1)).strided((n, k // group), (1, n))
        d = self.zeros((3, n), "f32")
        ops.gemm(self.array(x), Quantized(w, self.array(scales).strided((n, k // group), (1, n)), zero_point=of_groups,
                                          block=(1, group)), d=d)
        numbers = scales.repeat(group, 0).astype("f8") * (codes - zeros.repeat(group, 0))
        np.testing.assert_allclose(d.numpy(), x.astype("f8") @ numbers, rtol=1e-4, atol=1e-2)

    def test_the_scale_of_all_in_a_graph(self):
        x, y = self.zeros((2, 32), "f32"), DeviceArray.empty((2, 32), "e4m3", stream=self.stream)
        scale = self.zeros((1,), "f32")
        call = ops.quantize.prepare(x, y=Quantized(y, scale, form="tensor"), own_amax=True)
        with self.stream.capture() as graph:
            call()
        for most in (448, 56):
            x.copy_from(self.array(np.linspace(-most, 1, 64, dtype="f4").reshape(2, 32)))
            graph.launch()
            self.assertEqual(scale.numpy(self.stream).tolist(), [most / 448])


class Structure(unittest.TestCase):
    def test_one_scale(self):
        for scale in (TensorSpec(1, "f32", address=64), TensorSpec((1, 1), "f32", address=64)):
            found = written(Quantized(TensorSpec((4, 6), "e4m3"), scale, block=(0, 0)))
            self.assertEqual((found.scheme, found.scale, found.scale_bytes, found.block, found.stride),
                             (sparkc.SPARK_QUANT_PER_TENSOR, 64, 4, [0] * 6, [0] * 6))

    def test_a_scale_for_each_row(self):
        zero = TensorSpec((2, 4), "i8", address=128)
        for scale in (TensorSpec((2, 4), "f16", address=64), TensorSpec((2, 4, 1), "f16", address=64)):
            found = written(Quantized(TensorSpec((2, 4, 6), "i8"), scale))
            self.assertEqual((found.scheme, found.scale_dtype, found.scale_bytes, found.zero_dtype, found.stride[:3]),
                             (sparkc.SPARK_QUANT_PER_ROW, Dtype.F16, 16, 0, [4, 1, 0]))
        found = written(Quantized(TensorSpec((2, 4, 6), "i8"), TensorSpec((2, 4), "f16"), zero_point=zero))
        self.assertEqual((found.zero_dtype, found.zero_point, found.zero_bytes), (Dtype.I8, 128, 8))

    def test_a_scale_for_each_block(self):
        data = TensorSpec((3, 256, 130), "e4m3")
        found = written(Quantized(data, TensorSpec((3, 2, 2), "f32", (1, 6, 3), 64), form="squares"))
        self.assertEqual((found.scheme, found.block, found.stride, found.scale_bytes),
                         (sparkc.SPARK_QUANT_BLOCK, [1, 128, 128, 0, 0, 0], [1, 6, 3, 0, 0, 0], 48))
        same = written(Quantized(data, TensorSpec((3, 2, 2), "f32", (1, 6, 3), 64), block=(128, 128)))
        self.assertEqual(vars(same), vars(found))

    def test_tiles_and_a_global_scale(self):
        data, scale = TensorSpec((2, 130, 64), "e2m1"), TensorSpec(2 * 2 * 512, "ue4m3", address=64)
        whole = TensorSpec((2,), "f32", (3,), 512)
        found = written(Quantized(data, scale, layout="TILED_128x4", tile=(1, 2), global_scale=whole))
        self.assertEqual((found.layout, found.tile, found.stride, found.scale_bytes, found.global_scale,
                          found.global_stride), (sparkc.SPARK_SCALE_TILED_128X4, [1, 2], [0] * 6, 2048, 512, 3))
        plain = written(Quantized(data, TensorSpec((2, 130, 4), "ue4m3"), global_scale=TensorSpec(1, "f32", None, 512)))
        self.assertEqual((plain.layout, plain.stride[:3], plain.global_stride), (0, [520, 4, 1], 0))

    def test_what_is_refused(self):
        data, one = TensorSpec((4, 256), "e4m3"), TensorSpec(1, "f32")
        rows, of_rows = TensorSpec((4, 6), "i8"), TensorSpec(4, "f32")
        for wanted, value in (
                ("could be any of WHOLE .* SQUARES .*: form= says which", Quantized(data, one)),
                (r"is E4M3, form ROUND, scale F32; one of WHOLE \(E4M3, scales F32 of all\), ROWS",
                 Quantized(data, one, form="round")),
                (r"scale F32, block \(1, 64\); one of .*SQUARES \(E4M3, scales F32 of blocks \(128, 128\)\)",
                 Quantized(data, one, block=(1, 64))),
                ("is F16, scale F32; one of", Quantized(TensorSpec((4, 6), "f16"), one)),
                ("scale F64; one of", Quantized(rows, TensorSpec(4, "f64"))),
                ("is E4M3; one of", Quantized(data)),
                ("zero_point I8; one of", Quantized(data, one, zero_point=TensorSpec(1, "i8"), form="whole")),
                ("global_scale F32; one of", Quantized(rows, of_rows, global_scale=one)),
                ("layout tiled_128x4; one of", Quantized(rows, of_rows, layout="tiled_128x4")),
                (r"scale has the shape \(3,\); \(4, 1\) wanted", Quantized(rows, TensorSpec(3, "f32"))),
                (r"scale has the shape \(1,\); \(1, 2\) wanted", Quantized(data, one, form="squares")),
                ("scale has no stride but 0", Quantized(rows, TensorSpec((4, 1), "f32", (0, 1)))),
                ("zero_point has the shape", Quantized(rows, of_rows, zero_point=TensorSpec(3, "i8"))),
                ("its scales do not fit", Quantized(TensorSpec((4, 64), "e2m1"), TensorSpec(4096, "ue4m3"),
                                                    layout="tiled_128x4", tile=(0, 300)))):
            with self.subTest(wanted), self.assertRaisesRegex(ValueError, wanted):
                written(value)
        with self.assertRaisesRegex(ValueError, "the layout is 'swizzled'; one of linear, tiled_128x4 wanted"):
            Quantized(data, one, layout="swizzled")
        with self.assertRaises(KeyError):
            Records(rows, "q9_0")


class OfTheLibrary(OnDevice):
    def setUp(self):
        super().setUp()
        one = np.zeros(34, "u1")
        one[:2] = np.array([0.5], "f2").view("u1")
        one[2:] = np.arange(32)
        self.data = self.array(np.stack([one, one]))
        self.y = self.zeros((2, 32), "f32")

    def test_records_said_in_every_way(self):
        wanted = np.stack([np.arange(32) * 0.5] * 2)
        for value in (Records(self.data, "q8_0"), Quantized(self.data, form="Q8_0"), Records(self.data, 8),
                      Quantized(self.data, record="q8_0", form="q8_0"), Records(Producer(self.data), "q8_0"),
                      Records(CudaArray(self.data), "q8_0")):
            self.y.fill_bytes(0xFF)
            ops.dequantize(value, y=self.y, stream=self.stream)
            np.testing.assert_array_equal(self.y.numpy(), wanted)

    def test_what_is_refused(self):
        scale = self.zeros((2,), "f32")
        for wanted, value in (
                (r"dequantize: x could be any of Q8_0 \(records in U8\), Q4_1 .*: form= says which",
                 Quantized(self.data)),
                ("x is U8, scale F32; one of", Quantized(self.data, scale)),
                ("form Q8_0, records Q4_1; one of", Quantized(self.data, form="q8_0", record="q4_1")),
                ("block", Quantized(self.data, form="q8_0", block=(1, 32))),
                ("is F32, records Q8_0; one of", Records(scale, "q8_0")),
                ("x: the array was freed", Quantized(self.data, self.freed(), form="q8_0"))):
            with self.subTest(wanted), self.assertRaisesRegex(ValueError, wanted):
                ops.dequantize(value, y=self.y)
        with self.assertRaisesRegex(TypeError, "gemm: c takes no quantised tensor"):
            ops.gemm(self.y, self.y, c=Quantized(self.y, scale))
        for dtype, wanted in (("i8", "TENSOR or ROW"), ("e4m3", "TENSOR, ROW, 32X32 or MXFP8"),
                              ("e2m1", "MXFP4 or NVFP4")):
            with self.assertRaisesRegex(NotImplementedError, f"b.dtype is {dtype.upper()} .*, or b.quant of {wanted}"):
                ops.gemm(self.zeros((2, 32), "bf16"), self.zeros((2, 32), dtype))
        with self.assertRaisesRegex(InvalidArgument, "records of Q4_1"):
            ops.dequantize(Records(self.data, "q4_1"), y=self.y)

    def freed(self):
        array = DeviceArray.zeros(2, "f32", stream=self.stream)
        array.free()
        return array

    def test_codes_are_multiplied(self):
        a, b, d = self.zeros((2, 32), "e4m3"), self.zeros((3, 32), "e4m3"), self.zeros((2, 3), "f32")
        for codes in (a, b):
            codes.fill_bytes(0x38)  # 1
        rows, whole = self.array(np.array([0.5, 2], "f4")), self.array(np.array([3], "f4"))
        ops.gemm(Quantized(a, rows, form="row"), Quantized(b, whole, form="tensor"), d=d, stream=self.stream)
        np.testing.assert_array_equal(d.numpy(), [[48] * 3, [192] * 3])

    def test_scales_of_what_has_no_elements(self):
        one = self.array(np.array([2], "f4"))
        for rows, k in ((0, 32), (2, 0)):
            d = self.array(np.full((rows, 3), 7, "f4"))
            for form, scale in (("tensor", one), ("row", self.zeros((rows,), "f32"))):
                a, b = self.zeros((rows, k), "e4m3"), self.zeros((3, k), "e4m3")
                ops.gemm(Quantized(a, scale, form=form), Quantized(b, one, form="tensor"), d=d, stream=self.stream)
                np.testing.assert_array_equal(d.numpy(), np.zeros((rows, 3)))

    def test_blocks_are_quantised_and_multiplied(self):
        values = np.random.default_rng(7).normal(size=(5, 64)).astype("f4")
        for form, codes, scales in (("nvfp4", "e2m1", "ue4m3"), ("mxfp4", "e2m1", "ue8m0"), ("mxfp8", "e4m3", "ue8m0")):
            with self.subTest(form):
                x, back, d = self.array(values), self.zeros((5, 64), "f32"), self.zeros((5, 5), "f32")
                quantized = Quantized(self.zeros((5, 64), codes), self.zeros(512, scales), layout="tiled_128x4")
                ops.quantize(x, y=quantized, stream=self.stream)
                ops.dequantize(quantized, y=back, stream=self.stream)
                np.testing.assert_allclose(back.numpy(), values, atol=1)
                ops.gemm(quantized, quantized, d=d, stream=self.stream)
                numbers = back.numpy().astype("f8")
                np.testing.assert_allclose(d.numpy(), numbers @ numbers.T, rtol=0, atol=1e-4)

    def test_integers_are_quantised_and_multiplied(self):
        x = self.array(np.array([[1, -2, 127, 0.5] * 8, [64, 31, -63.5, 2] * 8], "f4"))
        codes, scales, sums, d = (self.zeros(*what) for what in (((2, 32), "i8"), (2, "f32"), ((2, 2), "i32"),
                                                                 ((2, 2), "f32")))
        ops.quantize(x, y=Quantized(codes, scales, form="row"), stream=self.stream)
        want = np.rint(x.numpy() / scales.numpy()[:, None]).astype("i4")
        np.testing.assert_array_equal(codes.numpy(), want)
        ops.gemm(codes, codes, d=sums, stream=self.stream)
        np.testing.assert_array_equal(sums.numpy(), want @ want.T)
        quantized = Quantized(codes, scales, form="row")
        ops.gemm(quantized, quantized, d=d, stream=self.stream)
        sums = (want @ want.T).astype("f4")
        np.testing.assert_array_equal(d.numpy(), sums * scales.numpy()[:, None] * scales.numpy())

    def test_a_cache_whose_tokens_have_scales(self):
        tokens, heads, d = 40, 2, 64
        at = self.array(np.arange(tokens, dtype="i4"))
        caches = [Quantized(self.zeros((3, 16, heads, d), "e4m3"), self.zeros((3, 16, heads), "f32"), form="row")
                  for _ in "kv"]
        rows = [self.array(random(tokens, heads, d, seed=seed), "bf16") for seed in (1, 2)]
        back = [self.zeros((tokens, heads, d), "f32") for _ in "kv"]
        lists = {"positions": at, "invalid_count": self.zeros(1, "i32"), "stream": self.stream}
        ops.kv_append(*rows, k_cache=caches[0], v_cache=caches[1], **lists)
        ops.kv_gather(k=back[0], v=back[1], k_cache=caches[0], v_cache=caches[1], **lists)
        k, v = (x.numpy().astype("f8") for x in back)
        for queries in (1, tokens):
            q = self.array(random(1, queries, heads, d, seed=3), "bf16")
            o = ops.attention(q, *caches, block_table=self.array(np.arange(3, dtype="i4")[None]), causal=True,
                              seq_lens=self.array(np.array([tokens], "i4")), stream=self.stream)
            scores = np.einsum("ihd,jhd->hij", q.numpy()[0].astype("f8"), k) / np.sqrt(d)
            weights = np.exp(scores) * np.tri(queries, tokens, tokens - queries)
            wanted = np.einsum("hij,jhd->ihd", weights / weights.sum(-1, keepdims=True), v)
            np.testing.assert_allclose(o.numpy()[0], wanted, rtol=0, atol=0.03)

    def test_forms_are_those_of_the_library(self):
        forms = operators.operators()["dequantize"].fields["x"].forms
        self.assertEqual({(form.name, form.record) for form in forms if form.dtypes == (Dtype.U8,)},
                         {(record.name, record.value) for record in Record})
        scaled = {form.name: (form.record, form.dtypes) for form in forms if form.dtypes != (Dtype.U8,)}
        told = {"ROW": (0, (Dtype.I8, Dtype.E4M3, Dtype.E5M2)), "128X128": (0, (Dtype.E4M3,)),
                "NVFP4": (0, (Dtype.E2M1,))}
        self.assertLessEqual(told.items(), scaled.items())
        form = sparkc.spark_op_form(ops.dequantize.number, 0, 0)
        self.assertEqual((form.block, form.record_bytes, form.record_elements), ((0,) * 6, 34, 32))
        self.assertIsNone(sparkc.spark_op_form(ops.dequantize.number, 0, len(forms)))


if __name__ == "__main__":
    unittest.main()
