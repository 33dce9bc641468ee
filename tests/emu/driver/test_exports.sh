#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the built libspark-emu.so shows and needs: cu* and spark_emu_* only, and nothing but glibc: its libc, libm,
# loader and libpthread, which older releases of it keep apart (docs/abi.md).
set -eu
library=$1
strange=$(nm -D --defined-only "$library" |
    awk '{print $3}' | sed 's/@.*//' | grep -v -E '^(cu[A-Z]|spark_emu_)' || true)
[ -z "$strange" ] || { echo "exported, but not of the API: $strange"; exit 1; }
for name in cuInit cuMemAlloc_v2 cuLaunchKernel_ptsz cuArrayCreate_v2 spark_emu_configure; do
    nm -D --defined-only "$library" | grep -q -w "$name" || { echo "not exported: $name"; exit 1; }
done
case $(nm -D "$library") in *__tsan_* | *__asan_*) exit 0 ;; esac # sanitizers bring libraries of their own
needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
    grep -v -E '^(libc|libm|libpthread|ld-linux.*)\.so' || true)
[ -z "$needed" ] || { echo "needs more than glibc: $needed"; exit 1; }
# What libm promises to round correctly gives the same bits everywhere; nothing else of it may be called.
libm=$(nm -D --undefined-only "$library" | awk '{print $2}' | sed 's/@.*//' |
    grep -x -E '(a?(sin|cos|tan)h?|exp|exp2|expm1|log|log2|log10|log1p|pow|cbrt|hypot|tgamma|erf)[fl]?' || true)
[ -z "$libm" ] || { echo "asks libm for $libm"; exit 1; }
echo "exports and needs are as they should be"
