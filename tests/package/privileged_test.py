# SPDX-License-Identifier: Apache-2.0
"""A program that has more rights than its caller (setuid): the caller's environment leads neither the library to a
driver nor the emulator to another card. Run by CTest; only root can make such a program here."""
import os
import shutil
import stat
import tempfile
import unittest
from pathlib import Path

import common
from common import ROOT, options, run

NOBODY = 65534
SOURCE = """
#include <dlfcn.h>
#include <stdio.h>
#include "spark.h"
int main(int count, char **words) {
    spark_error err = {.struct_size = sizeof err};
    spark_context_desc desc = {.struct_size = sizeof desc};
    spark_context *ctx;
    (void)count;
    puts(spark_context_create(&desc, &ctx, &err) == SPARK_OK ? "a driver" : err.message);
    void *emulator = dlopen(words[1], RTLD_NOW);
    int (*init)(unsigned) = (int (*)(unsigned))dlsym(emulator, "cuInit");
    int (*name)(char *, int, int) = (int (*)(char *, int, int))dlsym(emulator, "cuDeviceGetName");
    char text[64] = "";
    return init(0) || name(text, sizeof text, 0) || puts(text) < 0;
}
"""
ENVIRONMENT = {"LIBSPARK_DRIVER": "/nowhere/libcuda.so.1", "LIBSPARK_EMU": "profile=rtx5090"}


class Privileged(unittest.TestCase):
    def test_the_environment_is_not_read(self):
        """The same program twice, as itself and with the rights of another account."""
        emulator = options.build / "lib/libspark-emu.so"
        with tempfile.TemporaryDirectory(dir=options.into) as folder:
            source, plain, other = (Path(folder) / name for name in ("p.c", "plain", "other"))
            source.write_text(SOURCE)
            run("cc", "-o", plain, source, f"-I{ROOT / 'include'}", f"-L{options.build / 'lib'}", "-lspark", "-ldl",
                f"-Wl,-rpath,{options.build / 'lib'}")
            shutil.copy(plain, other)
            os.chown(other, NOBODY, NOBODY)
            other.chmod(0o755 | stat.S_ISUID)
            os.chmod(folder, 0o755)
            said = [run(program, emulator, env=ENVIRONMENT) for program in (plain, other)]
        for word in ("/nowhere/", "5090"):
            self.assertIn(word, said[0])
            self.assertNotIn(word, said[1])


def missing():
    if os.geteuid() != 0:
        return "this account cannot make a program with the rights of another: this is not tested"
    if os.statvfs(Path.cwd()).f_flag & os.ST_NOSUID:
        return "programs have no other rights on this file system: this is not tested"
    return common.missing("cc")


if __name__ == "__main__":
    common.main(missing())
