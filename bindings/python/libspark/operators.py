# SPDX-License-Identifier: Apache-2.0
"""Operators as callables, made from what the library that runs says of them: a new one is here without a line."""
from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple, TypeVar, Union

from . import infer, interop, sparkc
from .array import DeviceArray, TensorSpec
from .codes import Dtype, Status
from .context import LEGACY, Context, default_context
from .errors import SparkError
from .fields import TENSOR_BYTES, Field, choices
from .memory import Memory, as_dtype
from .quantized import Pending, Quantized
from .stream import Stream

HEAD = struct.Struct("=IIII")  # struct_size, op, flags, given: the begin of spark_args
EXEC = struct.Struct("=IIQQQQ")
COMMON_FLAGS = {"deterministic": sparkc.SPARK_FLAG_DETERMINISTIC, "batch_invariant": sparkc.SPARK_FLAG_BATCH_INVARIANT}
Output = TypeVar("Output", bound=interop.Tensor)  # of the signatures that type checkers read
Foreign = Tuple[Field, Any, bytearray, int]  # a tensor of other software, and where its structure is to stand
_launch = sparkc.spark_op_launch


@dataclass(frozen=True)
class OpInfo:
    """What an operator call will do."""

    workspace_size: int
    kernel_id: int
    kernel: str
    flops: int
    bytes: int
    launches: int
    deterministic: bool
    loaded: bool
    empty: bool

    @classmethod
    def of(cls, info: sparkc.spark_op_info) -> OpInfo:
        return cls(info.workspace_size, info.kernel_id, info.kernel, info.flops, info.bytes, info.launches,
                   bool(info.flags & sparkc.SPARK_OP_INFO_DETERMINISTIC),
                   bool(info.flags & sparkc.SPARK_OP_INFO_LOADED), bool(info.flags & sparkc.SPARK_OP_INFO_EMPTY))


class Call:
    """An operator with its arguments, checked and kept: to be launched as often as wanted."""

    __slots__ = ("operator", "ctx", "stream", "result", "memories", "_raw", "_exec", "_kept", "_frees",
                 "_own_workspace")

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        self.ctx: Context
        self.stream: Stream
        self.result: Any = None
        self._exec: bytearray
        self._raw = bytearray(operator._template)
        self.memories: List[Memory] = []
        self._kept: List[object] = []
        self._frees = 0
        self._own_workspace = False

    def __call__(self) -> Any:
        """Enqueues the work; gives the outputs. Never allocates or waits."""
        ctx = self.ctx
        if self._frees != ctx.frees:
            self._look_again()
        if ctx.captures:
            self.stream.keep(self)
        _launch(ctx.handle, self._raw, self._exec)
        return self.result

    def _look_again(self) -> None:
        self.stream.live()
        for memory in self.memories:
            memory.live()
        self._frees = self.ctx.frees

    @property
    def workspace_size(self) -> int:
        """Bytes of workspace that a launch needs."""
        return self.info.workspace_size

    @property
    def info(self) -> OpInfo:
        """What a launch will do: of the kernel that was asked for, else of the library's choice."""
        asked = EXEC.unpack(self._exec)[-1]
        named = (one for one in self.kernels() if one.kernel_id == asked) if asked else iter(())
        return next(named, None) or OpInfo.of(sparkc.spark_op_query(self.ctx.handle, self._raw))

    def prepare(self) -> Call:
        """Loads the code of the library's choice, and sees to the workspace; a kernel that is asked for by `kernel_id`
        is loaded when it is first launched."""
        sparkc.spark_op_prepare(self.ctx.handle, self._raw)
        if not self._own_workspace:
            self._room(self.workspace_size)
        return self

    def explain(self) -> str:
        """One line for each kernel: the first limit that it fails, or why it is chosen."""
        size = 4096
        while True:
            text = bytearray(size)
            try:
                used = sparkc.spark_op_explain(self.ctx.handle, self._raw, text)
                return text[:used - 1].decode()
            except SparkError as error:
                if error.status != Status.BUFFER_TOO_SMALL:
                    raise
                size *= 2

    def kernels(self, workspace_limit: int = 2**64 - 1) -> List[OpInfo]:
        """Every kernel that is legal for these arguments and needs at most so many bytes of workspace, the preferred
        one first."""
        _, count = sparkc.spark_op_kernels(self.ctx.handle, self._raw, workspace_limit, 0)
        infos, _ = sparkc.spark_op_kernels(self.ctx.handle, self._raw, workspace_limit, count)
        return [OpInfo.of(info) for info in infos]

    def _room(self, wanted: int) -> None:
        """Uses the stream's workspace, after making it as large as this call wants it."""
        if _EXEC_WORKSPACE.unpack_from(self._exec, 16)[1] >= wanted:
            return
        memory = self.ctx.workspaces.get(self.stream.handle)
        if memory is None or memory.bytes < wanted:
            memory = self.ctx.workspaces[self.stream.handle] = Memory(self.ctx, wanted, self.stream)
        self._workspace(memory, memory.live(), memory.bytes)

    def _workspace(self, memory: Memory, address: int, size: int) -> None:
        memory.use(self.stream)
        self.memories.append(memory)
        self.use_workspace(address, size)

    def use_workspace(self, address: int, size: int) -> None:
        """Memory of other software as workspace; it lives until the work is done."""
        _EXEC_WORKSPACE.pack_into(self._exec, 16, address, size)

    def launch(self) -> Any:
        """As calling it; a workspace that is too small grows first."""
        try:
            return self()
        except SparkError as error:
            if error.status != Status.WORKSPACE_TOO_SMALL or self._own_workspace:
                raise
        self._room(self.workspace_size)
        return self()


_EXEC_WORKSPACE = struct.Struct("=QQ")


class Operator:
    """One operator of the library. Inputs come by position or by name, all else by name; None is absent. A number left
    out has its usual value, or is 0 where it has none, and a 0 that is given is 0.

    An output that is not given is made, as a DeviceArray, if it is required or asked for with True. The stream is the
    one named, else that on which the first array was last used, else the one on which the software of the first tensor
    works. A workspace is found where one is needed. `stream`, `ctx`, `workspace` (a DeviceArray), `kernel_id`, `dtype`
    (of outputs that could have several) and the flags `deterministic` and `batch_invariant` go with every operator.
    """

    def __init__(self, desc: sparkc.spark_op_desc) -> None:
        fields = [sparkc.spark_op_field(desc.op, i) for i in range(desc.num_fields)]
        self.name, self.doc, self.family, self.number = desc.name, desc.doc, desc.family, desc.op
        self.all_fields = tuple(Field(desc.op, i, field) for i, field in enumerate(fields) if field is not None)
        self.fields = {field.name: field for field in self.all_fields if not field.is_reserved}
        self.flags = {name.lower(): bit for name, bit in choices(desc.flag_choices).items()}
        self._flags = {**COMMON_FLAGS, **self.flags}
        inputs = [name for name, field in self.fields.items() if field.is_tensor and field.is_in]
        self.inputs = tuple(sorted(inputs, key=lambda name: self.fields[name].optional))
        self.outputs = tuple(name for name, field in self.fields.items() if field.is_tensor and not field.is_in)
        numbers = [name for name, field in self.fields.items() if not field.is_tensor]
        self._required = tuple(name for name in (*self.inputs, *numbers) if self.fields[name].is_required)
        self._template = bytearray(desc.args_size)
        HEAD.pack_into(self._template, 0, desc.args_size, desc.op, 0, 0)

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.bind(*args, **named).launch()

    def prepare(self, *args: Any, **named: Any) -> Call:
        """A call with these arguments and outputs, its code loaded, for launching again and again."""
        return self.bind(*args, **named).prepare()

    def plan(self, *args: Any, **named: Any) -> Call:
        """A call for its `info`, `explain` and `kernels`: tensors may be TensorSpec, and nothing is made."""
        return self.bind(*args, plan=True, **named)

    def bind(self, *args: Any, plan: bool = False, stream: Optional[interop.StreamLike] = None,
             ctx: Optional[Context] = None, workspace: Optional[DeviceArray] = None, kernel_id: int = 0,
             dtype: Any = None, **named: Any) -> Call:
        """A call with these arguments; `prepare` and `launch` are its next steps."""
        if args:
            self._take_positional(args, named)
        call = Call(self)
        wanted, foreign, quantized = self._fill(call, named)
        first = call.memories[0] if call.memories else None
        handle = None if stream is None else interop.stream_handle(stream)
        if handle is None and first is not None:
            handle = first.current.handle
        device, handle, waits = self._read(call, foreign, handle) if foreign else (-1, handle, ())
        for pending in quantized:
            pending.write(call._raw)
        ctx = call.ctx = self._context(ctx, stream, first, device)
        handle = handle or LEGACY
        own = stream if isinstance(stream, Stream) else first.current if first is not None and stream is None else None
        call.stream = own or ctx.stream(handle)
        call._exec = self._exec(handle, kernel_id)
        call._frees = ctx.frees
        for memory in call.memories:
            if memory.ctx is not ctx:
                raise ValueError(f"{self.name}: the arrays belong to several contexts")
            memory.use(call.stream)
        for other in waits:
            if (other or LEGACY) != handle:
                call.stream.wait(ctx.stream(other).record())
        self._complete(call, named, wanted, dtype, plan)
        if workspace is not None:
            call._workspace(workspace._memory, workspace.address, workspace.nbytes)
            call._own_workspace = True
        elif not plan:
            found = ctx.workspaces.get(handle)
            if found is not None:
                call._workspace(found, found.live(), found.bytes)
        return call

    def _exec(self, handle: int, kernel_id: int) -> bytearray:
        try:
            return bytearray(EXEC.pack(EXEC.size, 0, handle, 0, 0, kernel_id))
        except struct.error:
            raise ValueError(f"{self.name}: the stream {handle!r} and the kernel_id {kernel_id!r} have to be numbers "
                             "of 64 bits, not negative") from None

    def _take_positional(self, args: Sequence[Any], named: Dict[str, Any]) -> None:
        if len(args) > len(self.inputs):
            raise TypeError(f"{self.name}() takes {len(self.inputs)} inputs by position; {len(args)} given")
        for name, value in zip(self.inputs, args):
            if name in named:
                raise TypeError(f"{self.name}() got two values for '{name}'")
            named[name] = value

    def _fill(self, call: Call, named: Dict[str, Any]) -> Tuple[List[Field], List[Foreign], List[Pending]]:
        """Writes what is known at once. Gives the optional outputs that are to be made, the tensors of other software,
        and what is quantised."""
        raw, flags, given = call._raw, 0, 0
        wanted: List[Field] = []
        foreign: List[Foreign] = []
        quantized: List[Pending] = []
        for name, value in named.items():
            field = self.fields.get(name)
            if field is None:
                bit = self._flags.get(name)
                if bit is None:
                    raise TypeError(f"{self.name}() has no argument '{name}'; it has {', '.join(self._names())}")
                flags |= bit if value else 0
            elif value is None:
                pass
            elif not field.is_tensor:
                field.put(raw, value)
                given |= field.given
            elif isinstance(value, bool) and not field.is_in:
                if value:
                    wanted.append(field)
            elif isinstance(value, Quantized):
                quantized.append(Pending(f"{self.name}: {name}", field, value))
                for tensor, into, offset in quantized[-1].tensors(raw):
                    self._place(call, field, tensor, into, offset, foreign)
            else:
                self._place(call, field, value, raw, field.offset, foreign)
        for name in self._required:
            if named.get(name) is None:
                raise TypeError(f"{self.name}() needs '{name}'")
        if flags or given:
            HEAD.pack_into(raw, 0, len(raw), self.number, flags, given)
        return wanted, foreign, quantized

    def _place(self, call: Call, field: Field, value: Any, raw: bytearray, offset: int, foreign: List[Foreign]) -> None:
        """Writes a tensor of this package into a structure; notes one of other software, which is to be read."""
        if type(value) is DeviceArray:
            memory = value._memory
            if memory.address is None:
                raise ValueError(f"{self.name}: {field.name}: the array was freed")
            call.memories.append(memory)
        elif type(value) is not TensorSpec:
            foreign.append((field, value, raw, offset))
            return
        raw[offset:offset + TENSOR_BYTES] = value._raw

    def _names(self) -> Iterator[str]:
        yield from self.fields
        yield from self._flags
        yield from ("stream", "ctx", "workspace", "kernel_id", "dtype")

    def _read(self, call: Call, foreign: List[Foreign],
              handle: Optional[int]) -> Tuple[int, Optional[int], List[int]]:
        """Reads the tensors of other software: their device, the stream to use, and streams to wait for."""
        device, waits, capsules = -1, [], []
        for field, value, raw, offset in foreign:
            found = self._ask(field, interop.read, value, raw, offset)
            if found is None:
                capsules.append((field, value, raw, offset))
                continue
            device = self._agree(call, field, found, device)
            if found[3] >= 0:
                waits.append(found[3])
                handle = found[3] if handle is None else handle
        for field, value, raw, offset in capsules:
            found = self._ask(field, interop.read_capsule, value, raw, offset, handle or LEGACY)
            device = self._agree(call, field, found, device)
        return device, handle, waits

    def _ask(self, field: Field, read: Callable[..., Any], *arguments: Any) -> Any:
        """Its answer, or an error that says which argument it is about."""
        try:
            return read(*arguments)
        except (TypeError, ValueError, BufferError) as why:
            if type(why) not in (TypeError, ValueError, BufferError):
                raise
            raise type(why)(f"{self.name}: {field.name}: {why}") from None

    def _agree(self, call: Call, field: Field, found: Tuple[int, bool, object, int], device: int) -> int:
        call._kept.append(found[2])
        if found[1] and field.is_out:
            raise ValueError(f"{self.name}: {field.name} may only be read")
        if found[0] >= 0 and device >= 0 and found[0] != device:
            raise ValueError(f"{self.name}: {field.name} is on device {found[0]}, another tensor on device {device}")
        return found[0] if found[0] >= 0 else device

    def _context(self, ctx: Optional[Context], stream: Any, first: Optional[Memory], device: int) -> Context:
        if ctx is None:
            if isinstance(stream, Stream):
                ctx = stream.ctx
            else:
                ctx = first.ctx if first is not None else default_context(max(device, 0))
        if isinstance(stream, Stream) and stream.ctx is not ctx:
            raise ValueError(f"{self.name}: the stream belongs to another context")
        if device >= 0 and ctx.device != device:
            raise ValueError(f"{self.name}: a tensor is on device {device}, the context on device {ctx.device}")
        return ctx

    def _complete(self, call: Call, named: Dict[str, Any], wanted: List[Field], dtype: Any, plan: bool) -> None:
        """Makes the outputs that are wanted and not given, and gathers them all."""
        results: List[Any] = []
        flags = {name for name in self.flags if named.get(name)}
        for name in self.outputs:
            given, field = named.get(name), self.fields[name]
            if given is not None and not isinstance(given, bool):
                results.append(given)
            elif not field.optional or field in wanted:
                shape, kind = self._expected(call._raw, field, dtype, flags)
                made: Union[DeviceArray, TensorSpec]
                if plan:
                    made = TensorSpec(shape, kind)
                else:
                    made = DeviceArray.empty(shape, kind, ctx=call.ctx, stream=call.stream)
                    made._memory.use(call.stream)
                    call.memories.append(made._memory)
                call._raw[field.offset:field.offset + TENSOR_BYTES] = made._raw
                results.append(made)
        call._kept.extend(results)
        call.result = results[0] if len(results) == 1 else tuple(results) or None

    def _expected(self, raw: bytearray, field: Field, dtype: Any, flags: Set[str]) -> Tuple[Tuple[int, ...], Dtype]:
        """Shape and dtype of an output, from what is there."""
        tensors = [(other, *infer.told(raw, other.offset)) for other in self.fields.values() if other.is_tensor]
        present = [(other, shape, kind) for other, shape, kind in tensors if shape]
        try:
            shape = infer.shape(field.dims, [(other.dims, found) for other, found, _ in present], flags)
        except LookupError as letter:
            raise TypeError(f"{self.name}() needs '{field.name}': its shape is {field.shape}, and {letter} follows "
                            "from no input") from None
        kinds = {other.name: kind for other, _, kind in present}
        if field.dtype_as < len(self.all_fields):
            source = kinds.get(self.all_fields[field.dtype_as].name)
            if source:
                return shape, Dtype(source)
        allowed = field.dtypes
        if len(allowed) == 1:
            return shape, allowed[0]
        kind = as_dtype(dtype) if dtype is not None else Dtype(present[0][2]) if present else Dtype.NONE
        if kind not in allowed:
            raise TypeError(f"{self.name}() needs 'dtype' for {field.name}: one of "
                            f"{', '.join(one.name for one in allowed)}")
        return shape, kind

    def __repr__(self) -> str:
        return f"Operator({self.name})"


def operators() -> Dict[str, Operator]:
    """All operators of the library that runs, by name."""
    found = (sparkc.spark_op_at(i) for i in range(sparkc.spark_op_count()))
    return {desc.name: Operator(desc) for desc in found if desc is not None}
