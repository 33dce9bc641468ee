# SPDX-License-Identifier: Apache-2.0
"""python -m libspark: what is here, whether it works, and what the operators take."""
import argparse
import json
import os
import platform
import sys
import textwrap
from typing import Callable, Dict, Tuple

import numpy as np

from . import sparkc
from .array import DeviceArray
from .context import Context, device_count, device_info, version
from .errors import SparkError
from .fields import Field
from .memory import AnyArray
from .operators import Operator, operators

Check = Tuple[AnyArray, AnyArray]  # found, wanted


def info() -> int:
    """What a report of a problem should say."""
    print(f"libspark {version()}, Python {platform.python_version()}, NumPy {np.__version__}, {platform.platform()}")
    for name, value in json.loads(sparkc.spark_build_info()).items():
        print(f"  {name}: {value}")
    for name in sorted(name for name in os.environ if name.startswith("LIBSPARK_")):
        print(f"  {name}={os.environ[name]}")
    return 0


def doctor() -> int:
    """Whether there is a device to work on, and if not, why."""
    driver = os.environ.get("LIBSPARK_DRIVER", "gpu")
    print(f"driver: {driver} (LIBSPARK_DRIVER: gpu, emu, auto, or a path)")
    try:
        devices = [device_info(i) for i in range(device_count())]
    except SparkError as error:
        print(f"  {error.message}")
        return 1
    for one in devices:
        major, minor = one.compute_capability
        print(f"device {one.device}: {one.name}, compute capability {major}.{minor}, {one.memory_bytes >> 20} MiB:",
              "usable" if one.supported else f"not usable: {one.reason}")
    usable = any(one.supported for one in devices)
    if not usable:
        print("No device can be used; LIBSPARK_DRIVER=emu runs without a GPU.")
    return 0 if usable else 1


def list_operators() -> int:
    """Every operator, with a sentence."""
    known = operators()
    width = max(map(len, known))
    for name, operator in sorted(known.items()):
        print(f"{name:{width}}  {operator.doc}")
    return 0


def kind_of(operator: Operator, field: Field) -> str:
    if field.is_tensor:
        followed = [f"as {other.name}" for other in operator.all_fields[field.dtype_as:][:1]]
        parts = ["updated" if field.is_in and field.is_out else "output" if field.is_out else "input"]
        parts += ["optional"] if field.optional else []
        parts += [field.shape, " ".join(followed + [dtype.name for dtype in field.dtypes])]
        return ", ".join(part for part in parts if part)
    parts = [" ".join(field.choices) if field.choices else "number"]
    parts += ["required"] if field.is_required else []
    return ", ".join(parts + ([f"usually {field.default}"] if field.default else []))


def describe(name: str) -> int:
    """What one operator takes."""
    operator: Operator = operators()[name]
    print(f"{name}: {operator.doc}\n")
    for field in operator.fields.values():
        print(f"  {field.name}: {kind_of(operator, field)}")
        print(textwrap.fill(field.doc, 110, initial_indent="      ", subsequent_indent="      "))
        for form in field.forms:
            print(f"      {form}: {form.doc}")
    if operator.flags:
        print(f"  flags: {', '.join(operator.flags)}")
    return 0


def product(ctx: Context) -> Check:
    a, b = (np.random.default_rng(seed).standard_normal((64, 96)).astype("f2") for seed in (1, 2))
    on_device = (DeviceArray.from_numpy(matrix, ctx=ctx) for matrix in (a, b))
    found: DeviceArray = operators()["gemm"](*on_device, dtype="f32")
    return found.numpy(), a.astype("f8") @ b.astype("f8").T


def norm(ctx: Context) -> Check:
    x = np.random.default_rng(3).standard_normal((33, 257)).astype("f4")
    found: DeviceArray = operators()["rmsnorm"](DeviceArray.from_numpy(x, ctx=ctx), eps=1e-5)
    return found.numpy(), x / np.sqrt((x.astype("f8") ** 2).mean(-1, keepdims=True) + 1e-5)


def softmax(ctx: Context) -> Check:
    x = np.random.default_rng(4).standard_normal((7, 500)).astype("f4")
    found: DeviceArray = operators()["softmax"](DeviceArray.from_numpy(x, ctx=ctx))
    powers = np.exp(x.astype("f8"))
    return found.numpy(), powers / powers.sum(-1, keepdims=True)


def selftest() -> int:
    """A few operators against NumPy, on the device that LIBSPARK_DRIVER gives."""
    checks: Dict[str, Callable[[Context], Check]] = {"gemm": product, "rmsnorm": norm, "softmax": softmax}
    failed = 0
    with Context() as ctx:
        print(f"on {ctx.info.name}")
        for name, check in checks.items():
            found, wanted = check(ctx)
            off = float(np.abs(found - wanted).max())
            good = off < 1e-3
            failed += not good
            print(f"{name}: {'ok' if good else 'WRONG'}, at most {off:.1e} off")
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m libspark", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, run in (("info", info), ("doctor", doctor), ("ops", list_operators), ("selftest", selftest)):
        commands.add_parser(name, help=run.__doc__).set_defaults(run=run)
    one = commands.add_parser("describe", help=describe.__doc__)
    one.add_argument("operator", choices=sorted(operators()), metavar="OP")
    options = parser.parse_args()
    try:
        return describe(options.operator) if options.command == "describe" else int(options.run())
    except SparkError as error:
        print(f"libspark: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
