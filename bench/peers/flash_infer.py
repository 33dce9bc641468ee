# SPDX-License-Identifier: Apache-2.0
#
# attention's rows by FlashInfer, for torch_peers.py: prompts as ragged sequences, single queries over pages. Its wheel
# holds sources, which it compiles with nvcc when a row first asks for it: minutes, so that it is a peer only where it
# has been installed; elsewhere rows go without it.
import torch

PAGE = 16
WORKSPACE = 256 << 20


def starts(count, step):
    return torch.arange(count + 1, dtype=torch.int32, device="cuda") * step


class FlashInfer:
    """One row's way: planned at its first call, since all sets of operands have the same lengths."""

    def __init__(self, b, q, k, heads, groups, d, causal, dtype):
        self.b, self.q, self.k, self.heads, self.groups, self.d = b, q, k, heads, groups, d
        self.causal, self.dtype, self.wrapper = causal, dtype, None

    def plan(self):
        import flashinfer
        workspace = torch.empty(WORKSPACE, dtype=torch.uint8, device="cuda")
        if self.q > 1:
            self.wrapper = flashinfer.BatchPrefillWithRaggedKVCacheWrapper(workspace, "NHD")
            self.wrapper.plan(starts(self.b, self.q), starts(self.b, self.k), self.heads, self.groups, self.d,
                              causal=self.causal, q_data_type=self.dtype, kv_data_type=self.dtype)
            return
        pages = self.k // PAGE
        last = torch.full((self.b,), PAGE, dtype=torch.int32, device="cuda")
        self.wrapper = flashinfer.BatchDecodeWithPagedKVCacheWrapper(workspace, "NHD",
                                                                     use_tensor_cores=self.heads > self.groups)
        self.wrapper.plan(starts(self.b, pages), starts(self.b * pages, 1)[:-1], last, self.heads, self.groups, self.d,
                          PAGE, q_data_type=self.dtype, kv_data_type=self.dtype)

    def __call__(self, query, key, value, o):
        if self.wrapper is None:
            self.plan()
        rows = query.reshape(-1, self.heads, self.d)
        if self.q > 1:
            key, value = (x.reshape(-1, self.groups, self.d) for x in (key, value))
            return self.wrapper.run(rows, key, value).reshape(query.shape)
        pages = tuple(x.reshape(-1, PAGE, self.groups, self.d) for x in (key, value))
        return self.wrapper.run(rows, pages).reshape(query.shape)
