# SPDX-License-Identifier: Apache-2.0
# zstd, which Python has since 3.14 and a package of the same interface brings to older ones; cmake/SparkZstd.cmake sees
# to it that one is there. Asked for when something is packed: most of the kernel compiler needs none.
"""Frames of zstd."""

SMALL, QUICK = 19, 9  # levels: for what users keep; for what they never have


def module():
    try:
        from compression import zstd
    except ImportError:
        from backports import zstd
    return zstd


def maker(level):
    """What frames depend on besides their content."""
    return f"zstd-{'.'.join(map(str, module().zstd_version_info))}-{level}"


def compress(content, level):
    zstd = module()
    number = zstd.CompressionParameter
    return zstd.compress(content, options={number.compression_level: level, number.content_size_flag: 0})
