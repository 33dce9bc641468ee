# SPDX-License-Identifier: Apache-2.0
# libspark as a part of another CMake project: what part_test.py and whole_test.py share.
import shutil

from common import ROOT, options, run

WAYS = ("add", "fetch")


def configure(way, *words):
    """The consumer's build folder, with libspark in it by add_subdirectory or FetchContent."""
    build = options.into / way
    shutil.rmtree(build, ignore_errors=True)
    run("cmake", "-G", "Ninja", "-S", ROOT / "tests/package/consumer", "-B", build, f"-DWAY={way}", f"-DSOURCE={ROOT}",
        f"-DPROGRAM={ROOT / 'examples/first/first.c'}", "-DLIBRARY=libspark::spark", f"-DSPARK_PTXAS={options.ptxas}",
        f"-DSPARK_KERNEL_CACHE={options.kernels}", *words)
    return build
