# SPDX-License-Identifier: Apache-2.0
# zstd, which Python has since 3.14 and a package of the same interface brings to older ones; cmake/SparkZstd.cmake sees
# to it that one is there. Asked for when something is packed: most of the kernel compiler needs none.
"""Frames of zstd, as small as level 19 makes them."""


def module():
    try:
        from compression import zstd
    except ImportError:
        from backports import zstd
    return zstd


def maker():
    """What frames depend on besides their content."""
    return f"zstd-{'.'.join(map(str, module().zstd_version_info))}"


def compress(content):
    zstd = module()
    number = zstd.CompressionParameter
    return zstd.compress(content, options={number.compression_level: 19, number.content_size_flag: 0})
