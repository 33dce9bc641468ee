# SPDX-License-Identifier: Apache-2.0
"""GPU kernels for language models.

    import numpy as np
    from libspark import DeviceArray, ops

    x = DeviceArray.from_numpy(np.ones((2, 64)), "bf16")
    y = ops.rmsnorm(x, eps=1e-5)
    print(y.numpy())

Operators take DeviceArray and whatever speaks DLPack or __cuda_array_interface__. LIBSPARK_DRIVER=emu runs all of it
on a computer without a GPU.
"""
from . import ops
from .array import DeviceArray, TensorSpec
from .codes import Dtype, Record, Status
from .context import Context, DeviceInfo, default_context, device_count, device_info, version
from .errors import InvalidArgument, OutOfMemory, SparkError, Unsupported
from .event import Event
from .graph import Graph
from .operators import Call, Operator, OpInfo
from .pinned import PinnedArray
from .quantized import Quantized, Records
from .stream import Stream

__version__ = version()
__all__ = ["Call", "Context", "DeviceArray", "DeviceInfo", "Dtype", "Event", "Graph", "InvalidArgument", "OpInfo",
           "Operator", "OutOfMemory", "PinnedArray", "Quantized", "Record", "Records", "SparkError", "Status", "Stream",
           "TensorSpec", "Unsupported", "default_context", "device_count", "device_info", "ops", "version"]
