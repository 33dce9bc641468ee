#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""libspark.torch and autograd: tensors that require gradients go in, and whoever asks for these is refused.

Where there is no GPU, a kernel of ones stands in for every operator: what is tested here does not depend on numbers.
Run like torch_gpu.py, and not found by `unittest discover` either: `python tests/torch_gradients.py [-v]`.
"""
import unittest
import warnings

import torch
from torch.autograd import forward_ad

import libspark.torch
from torch_gpu import CUDA, made_by_all, sample_of

DEVICE = "cuda" if CUDA else "cpu"
lib = torch.ops.libspark


def stand_in(one):
    """Writes ones; gives what the operator would give."""
    def kernel(*args, **named):
        named = one.arguments(args, named)
        for name in one.mutated():
            if name in named:
                named[name].fill_(1)
        return None if one.into else one._given_back(tuple(made.fill_(1) for made in one.made(named)[1]))
    return kernel


def stand_in_for_all():
    library = torch.library.Library("libspark", "IMPL")
    for operator in libspark.torch.operators().values():
        for into in (False, True):
            one = libspark.torch.Registration(operator, into)
            if one.name in libspark.torch.__all__:
                library.impl(one.name, stand_in(one), "CPU")
    return library


def weights(*shape):
    return torch.ones(*shape, device=DEVICE, requires_grad=True)


class Gradients(unittest.TestCase):
    def setUp(self):
        warnings.filterwarnings("error", ".*autograd kernel was not registered")
        torch.compiler.reset()
        self.x, self.w = weights(2, 64), weights(64)

    def refused(self, name, of):
        with self.assertRaisesRegex(NotImplementedError, rf"^libspark\.{name} has no backward; .*no_grad\(\).*detach"):
            of()

    def test_every_operator_runs_and_refuses_to_be_differentiated(self):
        for operator in made_by_all():
            with self.subTest(operator.name):
                inputs, named = sample_of(operator, DEVICE)
                inputs = [one.requires_grad_() if one.is_floating_point() else one for one in inputs]
                written = [one for name, one in zip(operator.inputs, inputs) if operator.fields[name].is_out]
                for one in written:
                    one.requires_grad_(False)
                recorded = any(one.requires_grad for one in inputs)  # of kv_copy all are written
                made = getattr(lib, operator.name)(*inputs, **named)
                made = [*written, *(made if isinstance(made, (tuple, list)) else [made] if made is not None else [])]
                for one in made:
                    self.assertEqual(one.requires_grad, recorded and one.is_floating_point(), one.dtype)
                    if one.requires_grad:
                        self.refused(operator.name, one.float().sum().backward)

    def test_no_gradient_is_given_in_part(self):
        loss = (self.x * 3).sum() + lib.rmsnorm(self.x * 2, self.w, eps=1e-5)[0].sum()
        self.refused("rmsnorm", loss.backward)
        self.assertIsNone(self.x.grad)
        for create in (False, True):
            y = lib.rmsnorm(self.x, self.w, eps=1e-5)[0].sum()
            self.refused("rmsnorm", lambda: torch.autograd.grad(y, self.w, create_graph=create, allow_unused=True))

    def test_where_nothing_is_recorded_nothing_is_attached(self):
        for quiet in (torch.no_grad, torch.inference_mode):
            with quiet():
                out = torch.zeros_like(self.x)
                lib.rmsnorm_out(self.x, self.w, y=out, eps=1e-5)
                for one in (lib.rmsnorm(self.x, self.w, eps=1e-5)[0], out):
                    self.assertFalse(one.requires_grad)
        for one in (lib.rmsnorm(self.x.detach(), self.w.detach(), eps=1e-5)[0], lib.sample(self.x)):
            self.assertFalse(one.requires_grad)

    def test_what_is_written_into_refuses_too(self):
        whole = torch.zeros(3, 2, 64, device=DEVICE)
        for out in (torch.zeros_like(self.x.detach()), whole[1], self.x * 2):
            lib.rmsnorm_out(self.x, self.w, y=out, eps=1e-5)
            self.assertTrue(out.requires_grad)
            self.refused("rmsnorm_out", out.sum().backward)
        self.refused("rmsnorm_out", whole.sum().backward)
        twice = self.x * 2
        lib.activation_out(twice, y=twice)  # in place
        self.refused("activation_out", twice.sum().backward)
        self.assertIsNone(self.x.grad)

    def test_two_views_of_one_cache_are_written(self):
        k = weights(3, 2, 32).bfloat16()
        caches = torch.zeros(2, 1, 8, 2, 32, device=DEVICE, dtype=torch.bfloat16)
        positions, refused = torch.arange(3, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
        lib.kv_append(k, k, positions.to(DEVICE), caches[0], caches[1], refused.to(DEVICE))
        self.refused("kv_append", caches.sum().backward)

    def test_a_leaf_is_not_written(self):
        for leaf in (weights(2, 64), weights(4, 64)[:2]):
            before = leaf.detach().clone()
            with self.assertRaisesRegex(RuntimeError, "libspark.rmsnorm_out would write into a leaf"):
                lib.rmsnorm_out(self.x.detach() * 5, y=leaf, eps=1e-5)
            self.assertTrue(torch.equal(leaf, before))
            with torch.no_grad():
                lib.rmsnorm_out(self.x * 5, y=leaf, eps=1e-5)
            self.assertTrue(leaf.requires_grad and leaf.grad_fn is None or leaf._is_view())

    def test_what_another_backward_needs_is_not_overwritten_in_silence(self):
        kept = self.x.exp()
        loss = kept.sum()
        with torch.no_grad():
            lib.rmsnorm_out(self.x, y=kept, eps=1e-5)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            loss.backward()

    def test_forward_mode_is_refused(self):
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(self.x.detach(), torch.ones_like(self.x))
            with self.assertRaisesRegex(NotImplementedError, r"^libspark\.rmsnorm has no derivative in forward mode"):
                lib.rmsnorm(dual, eps=1e-5)
            self.assertFalse(lib.rmsnorm(self.x.detach(), eps=1e-5)[0].requires_grad)

    def test_compiled(self):
        def step(x, w):
            out = torch.empty_like(x)
            lib.rmsnorm_out(x, w, y=out, eps=1e-5)
            return (lib.activation(out * 2) * w).sum() + x.sum()
        for backend in ("eager", "aot_eager", *(["inductor"] if CUDA else [])):
            with self.subTest(backend):
                torch.compiler.reset()
                compiled = torch.compile(step, fullgraph=True, backend=backend)
                for rows in (2, 5):
                    loss = compiled(weights(rows, 64), self.w)
                    self.assertTrue(loss.requires_grad)
                    self.refused("activation", loss.backward)
                with torch.no_grad():
                    self.assertFalse(compiled(self.x, self.w).requires_grad)
                torch.testing.assert_close(compiled(self.x, self.w), step(self.x, self.w))

    def test_compiled_into_what_is_given(self):
        def step(x, w, out):
            lib.rmsnorm_out(x, w, y=out, eps=1e-5)
            return out * 2
        for backend in ("eager", "aot_eager"):
            with self.subTest(backend):
                torch.compiler.reset()
                out = torch.zeros(2, 64, device=DEVICE)
                result = torch.compile(step, backend=backend)(self.x, self.w, out)
                self.assertTrue(out.requires_grad)
                for one in (result, out):
                    self.refused("rmsnorm_out", lambda: one.sum().backward(retain_graph=True))

    def test_a_module_with_parameters(self):
        layer = torch.nn.Linear(64, 8, bias=False, device=DEVICE)
        y = layer(lib.rmsnorm(self.x, eps=1e-5)[0])
        self.refused("rmsnorm", y.sum().backward)
        y = layer(lib.rmsnorm(self.x, eps=1e-5)[0].detach())
        y.sum().backward()
        self.assertIsNotNone(layer.weight.grad)


if __name__ == "__main__":
    KEPT = None if CUDA else stand_in_for_all()
    unittest.main(verbosity=2)
