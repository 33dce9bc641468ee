# SPDX-License-Identifier: Apache-2.0
"""What PyTorch's autograd is told of the operators: none has a backward pass, so results of inputs that require
gradients require them too, and whoever asks for these is refused. Without this a gradient would be missing in silence.
"""
from __future__ import annotations

from typing import Any, Iterable, List, Mapping, Sequence

import torch
from torch.autograd import forward_ad
from torch.autograd.graph import increment_version

REFUSAL = "_no_backward"


def sentence(name: str) -> str:
    return (f"libspark.{name} has no backward; call it in torch.no_grad(), or detach() the tensors that require "
            "gradients and go into it")


def refuse(grad: Any, name: str, size: Sequence[int]) -> Any:
    raise NotImplementedError(sentence(name))


def define_refusal(library: Any) -> None:
    """The gradient of every operator, an operator itself: torch.compile traces the backward pass together with the
    forward one, and must put the refusal into the one without being refused while it runs the other."""
    library.define(f"{REFUSAL}(Tensor grad, str name, SymInt[] size) -> Tensor", tags=(torch.Tag.pt2_compliant_tag,))
    library.impl(REFUSAL, refuse, "CompositeExplicitAutograd")
    torch.library.register_fake(f"{library.ns}::{REFUSAL}", lambda grad, name, size: grad.new_empty(size), lib=library)


class NoBackward(torch.autograd.Function):  # type: ignore[misc]  # types are checked where no torch is
    """Makes a tensor that an operator has written depend on that operator's inputs. One for each tensor, since PyTorch
    takes views among several only if each is the single output of its function."""

    @staticmethod
    def forward(ctx: Any, name: str, written: Any, *sources: Any) -> Any:
        ctx.name, ctx.sizes = name, [written.shape, *(source.shape for source in sources)]
        ctx.mark_dirty(written)
        return written

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        no_backward, wanted = getattr(torch.ops.libspark, REFUSAL), ctx.needs_input_grad[1:]
        return None, *(no_backward(grad, ctx.name, size) if needed else None for size, needed in zip(ctx.sizes, wanted))


def tensors_of(values: Iterable[Any]) -> List[Any]:
    return [value for value in values if isinstance(value, torch.Tensor)]


def differentiable(tensor: Any) -> bool:
    return bool(tensor.is_floating_point() or tensor.is_complex())


def check_tangents(name: str, sources: Sequence[Any]) -> None:
    """Gradients in forward mode are there without requires_grad, and in no_grad() too."""
    if forward_ad._current_level >= 0 and any(forward_ad.unpack_dual(one).tangent is not None for one in sources):
        raise NotImplementedError(f"libspark.{name} has no derivative in forward mode; give it the primals alone")


def attach(name: str, written: Iterable[Any], sources: Sequence[Any]) -> None:
    """Gives each tensor of `written` a history that leads to `sources` and refuses."""
    for tensor in filter(differentiable, written):
        NoBackward.apply(name, tensor, *(source for source in sources if source is not tensor))


def check_leaves(name: str, written: Iterable[Any]) -> None:
    """PyTorch's own check comes too late: what it refuses has been written."""
    for tensor in written:
        base = tensor._base if tensor._is_view() else tensor
        if base.requires_grad and base.is_leaf:
            raise RuntimeError(f"libspark.{name} would write into a leaf that requires gradients, or a view of one; "
                               "call it in torch.no_grad(), or write into another tensor")


class Kernels:
    """An operator for the dispatch keys above the one that does the work."""

    def __init__(self, name: str, mutated: Sequence[str], inputs: Sequence[str]) -> None:
        self.name, self.mutated, self.inputs = name, mutated, inputs
        self.operator = getattr(torch.ops.libspark, name).default

    def written(self, args: Sequence[Any], named: Mapping[str, Any]) -> List[Any]:
        given = {**dict(zip(self.inputs, args)), **named}
        return tensors_of(given.get(argument) for argument in self.mutated)

    def count(self, keys: Any, *args: Any, **named: Any) -> Any:
        """For ADInplaceOrView: what another operator has kept for its backward pass and this one overwrites is found
        out by its version."""
        with torch._C._AutoDispatchBelowADInplaceOrView():
            result = self.operator.redispatch(keys & torch._C._after_ADInplaceOrView_keyset, *args, **named)
        for tensor in self.written(args, named) if self.mutated else ():
            increment_version(tensor)
        return result

    def autograd(self, keys: Any, *args: Any, **named: Any) -> Any:
        """For Autograd."""
        recorded = torch.is_grad_enabled()
        if not recorded and forward_ad._current_level < 0:
            return self.count(keys, *args, **named)
        tensors = tensors_of((*args, *named.values()))
        check_tangents(self.name, tensors)
        sources = [tensor for tensor in tensors if recorded and tensor.requires_grad]
        if not sources:
            return self.count(keys, *args, **named)
        written = self.written(args, named)
        check_leaves(self.name, written)
        result = self.count(keys, *args, **named)
        made = result if isinstance(result, (tuple, list)) else [result]
        attach(self.name, [*written, *tensors_of(made)], sources)
        return result


def register(library: Any, name: str, mutated: Sequence[str], inputs: Sequence[str]) -> None:
    """`mutated` names the arguments that the operator writes, `inputs` those that may come by position."""
    kernels = Kernels(name, mutated, inputs)
    library.impl(name, kernels.autograd, "Autograd", with_keyset=True)
    if mutated:
        library.impl(name, kernels.count, "ADInplaceOrView", with_keyset=True)
