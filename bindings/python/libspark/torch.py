# SPDX-License-Identifier: Apache-2.0
"""The operators for PyTorch: `import libspark.torch` registers each as `torch.ops.libspark.NAME`, from reflection.

    import libspark.torch
    y = libspark.torch.rmsnorm(x, weight, eps=1e-5)

NAME makes its outputs; NAME_out writes to given ones, and to an input in place where the operator allows it. Optional
outputs are asked for with True; one that is not asked for comes back empty. Work goes to PyTorch's current stream,
memory and workspaces come from its allocator, so that torch.compile and torch.cuda.CUDAGraph take them like its own.
As with any kernel, run once before a capture: a capture loads no code. There is no backward pass: inputs may require
gradients, as parameters do, and backward() through an operator is refused with its name.
"""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Tuple

try:
    import torch
except ImportError as missing:
    raise ImportError("libspark.torch needs PyTorch, which is not installed; the rest of libspark does without") \
        from missing

from . import gradients, infer, sparkc
from .array import TensorSpec
from .codes import Dtype, Record
from .context import default_context
from .fields import Field
from .operators import COMMON_FLAGS, Operator, operators
from .quantized import Records

NAMESPACE = "libspark"
DTYPES = {name: getattr(torch, other) for name, other in {
    Dtype.F32: "float32", Dtype.F16: "float16", Dtype.BF16: "bfloat16", Dtype.F64: "float64", Dtype.I8: "int8",
    Dtype.U8: "uint8", Dtype.I32: "int32", Dtype.I64: "int64", Dtype.BOOL8: "bool", Dtype.U32: "uint32",
    Dtype.U64: "uint64", Dtype.E4M3: "float8_e4m3fn", Dtype.E5M2: "float8_e5m2",
    Dtype.UE8M0: "float8_e8m0fnu"}.items() if hasattr(torch, other)}
OWN_DTYPES = {theirs: ours for ours, theirs in DTYPES.items()}


def spec(tensor: Any) -> TensorSpec:
    """A tensor as the library sees it."""
    if tensor.dtype not in OWN_DTYPES:
        raise TypeError(f"the library has no dtype for {tensor.dtype}")
    strides = tuple(tensor.stride())
    if not any(strides) and tensor.numel() <= 1:
        strides = (1,) * tensor.dim()  # of one element any stride is right, and zeros would mean packed
    return TensorSpec(tuple(tensor.shape), OWN_DTYPES[tensor.dtype], strides, tensor.data_ptr())


class Registration:
    """One operator, in one of its two forms."""

    def __init__(self, operator: Operator, into: bool) -> None:
        self.operator, self.into = operator, into
        self.name = operator.name + "_out" if into else operator.name
        self.outputs = [operator.fields[name] for name in operator.outputs]
        self.records = [name for name in operator.inputs if operator.fields[name].is_quantised]

    def schema(self) -> str:
        """In PyTorch's language; (a!) marks what is written."""
        fields, marks = self.operator.fields, iter("abcdefghijklmnopqrstuvwxyz")

        def tensor(field: Field) -> str:
            kind = f"Tensor({next(marks)}!)" if field.is_out else "Tensor"
            return f"{kind}? {field.name}=None" if field.optional else f"{kind} {field.name}"
        inputs = [tensor(fields[name]) for name in self.operator.inputs]
        named = [f"str? {name}_record=None" for name in self.records]
        if self.into:
            named = [tensor(field) for field in self.outputs] + named
        else:
            named += [f"bool {field.name}=False" for field in self.outputs if field.optional]
            free = [field for field in self.outputs if not follows(self.operator, field)]
            named += ["ScalarType? dtype=None"] if any(len(field.dtypes) > 1 for field in free) else []
        named += [self._number(field) for field in fields.values() if not field.is_tensor]
        named += [f"bool {flag}=False" for flag in [*self.operator.flags, *COMMON_FLAGS]]
        results = [] if self.into else ["Tensor"] * len(self.outputs)
        back = results[0] if len(results) == 1 else f"({', '.join(results)})"
        return f"{self.name}({', '.join([*inputs, '*', *named])}) -> {back}"

    @staticmethod
    def _number(field: Field) -> str:
        if field.choices:
            return f'str {field.name}="{next(iter(field.choices))}"'
        kind, zero = ("float", "0.") if field.kind == sparkc.SPARK_KIND_F32 else ("int", "0")
        if field.is_required:
            return f"{kind} {field.name}"
        return f"{kind}? {field.name}=None" if field.given else f"{kind} {field.name}={zero}"

    def mutated(self) -> List[str]:
        """The arguments that a call writes."""
        inputs = [name for name in self.operator.inputs if self.operator.fields[name].is_out]
        return inputs + [field.name for field in self.outputs] if self.into else inputs

    def arguments(self, args: Tuple[Any, ...], named: Dict[str, Any]) -> Dict[str, Any]:
        """By name, without those that are absent."""
        named.update(zip(self.operator.inputs, args))
        return {name: value for name, value in named.items() if value is not None}

    def made(self, named: Dict[str, Any]) -> Tuple[Dict[str, Any], Tuple[Any, ...]]:
        """The outputs of the form that makes them, as tensors without values; and all results, an empty tensor where
        an output is not asked for."""
        fields = self.operator.fields
        given = [(fields[name], named[name]) for name in self.operator.inputs if name in named]
        known = [(field.dims, tuple(tensor.shape)) for field, tensor in given]
        flags = {name for name in self.operator.flags if named.get(name)}
        wanted, made, results = named.pop("dtype", None), {}, []
        for field in self.outputs:
            first = given[0][1]
            if field.optional and not named.pop(field.name, False):
                results.append(first.new_empty((0,)))
                continue
            dtype = self._dtype(field, {other.name: tensor.dtype for other, tensor in given}, wanted)
            made[field.name] = first.new_empty(infer.shape(field.dims, known, flags), dtype=dtype)
            results.append(made[field.name])
        return made, tuple(results)

    def _dtype(self, field: Field, kinds: Dict[str, Any], wanted: Any) -> Any:
        if follows(self.operator, field):
            followed = kinds.get(self.operator.all_fields[field.dtype_as].name)
            if followed is not None:
                return followed
        if len(field.dtypes) == 1:
            return DTYPES[field.dtypes[0]]
        return next(iter(kinds.values())) if wanted is None else wanted

    def fake(self, *args: Any, **named: Any) -> Any:
        """What a call gives, without its numbers."""
        return None if self.into else self._given_back(self.made(self.arguments(args, named))[1])

    def run(self, *args: Any, **named: Any) -> Any:
        """A call on PyTorch's current stream."""
        named = self.arguments(args, named)
        made, results = ({}, ()) if self.into else self.made(named)
        device = named[self.operator.inputs[0]].device
        tensors: Dict[str, Any] = {}
        for name in [*self.operator.inputs, *self.operator.outputs]:
            tensor = made.get(name, named.pop(name, None))
            if tensor is not None:
                if tensor.device != device:
                    raise ValueError(f"{self.name}: {name} is on {tensor.device}, another tensor on {device}")
                tensors[name] = spec(tensor)
        for name in self.records:
            record = named.pop(f"{name}_record", None)
            if record is not None:
                tensors[name] = Records(tensors[name], Record[record.upper()])
        stream = torch.cuda.current_stream(device).cuda_stream
        call = self.operator.bind(**tensors, **named, stream=stream, ctx=default_context(device.index))
        size = call.workspace_size
        if size:
            workspace = torch.empty(size, dtype=torch.uint8, device=device)
            call.use_workspace(workspace.data_ptr(), size)
        call()
        return self._given_back(results)

    @staticmethod
    def _given_back(results: Tuple[Any, ...]) -> Any:
        return results[0] if len(results) == 1 else results or None


def can_make(operator: Operator) -> bool:
    """Whether the shapes of its outputs follow from its inputs."""
    letters = {dim for name in operator.inputs for dim in operator.fields[name].dims}
    return all(dim.isdigit() or dim.partition(infer.HALF)[0] in letters
               for name in operator.outputs for dim in operator.fields[name].dims)


def follows(operator: Operator, field: Field) -> bool:
    """Whether it may have the dtype of another field."""
    return field.dtype_as < len(operator.all_fields)


def can_say(operator: Operator) -> bool:
    """Whether its outputs can be tensors of PyTorch, which carry no scales and have no codes of four bits."""
    fields = [operator.fields[name] for name in operator.outputs]
    return all(follows(operator, field) or
               set(DTYPES) & set(field.dtypes) - {dtype for form in field.forms for dtype in form.dtypes}
               for field in fields)


def register() -> List[str]:
    """All operators in both forms, as far as they have them."""
    gradients.define_refusal(_library)
    names = []
    for operator in filter(can_say, operators().values()):
        forms = [False] if can_make(operator) else []
        for form in [*forms, True] if operator.outputs else [False]:
            one = Registration(operator, form)
            _library.define(one.schema(), tags=(torch.Tag.pt2_compliant_tag,))
            _library.impl(one.name, one.run, "CUDA")
            torch.library.register_fake(f"{NAMESPACE}::{one.name}", one.fake, lib=_library)
            gradients.register(_library, one.name, one.mutated(), operator.inputs)
            names.append(one.name)
    return names


_library = torch.library.Library(NAMESPACE, "DEF")
__all__ = register()


def __getattr__(name: str) -> Callable[..., Any]:
    if name in __all__:
        found: Callable[..., Any] = getattr(torch.ops.libspark, name)
        return found
    raise AttributeError(f"module 'libspark.torch' has no attribute '{name}'")
