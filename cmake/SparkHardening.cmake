# SPDX-License-Identifier: Apache-2.0
#
# What compilers and linkers do against the abuse of memory errors, for every target after this line: a canary behind
# arrays on the stack, checked sizes in calls of libc, marked targets of indirect jumps, protected return addresses,
# tables of the loader that are read-only once it is done, no executable stack, programs at random places.
# tests/package/hardening_test.py looks for each of them in what was built. Included by the top CMakeLists.txt and by
# the extension of the Python package. Builds with sanitizers are left alone: those watch the same calls themselves.
if(SPARK_SANITIZE)
    return()
endif()
include(CheckPIESupported)
check_pie_supported()

add_compile_options(-fstack-protector-strong)
add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    add_compile_options(-fcf-protection)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    add_compile_options(-mbranch-protection=standard)
endif()

# glibc checks the sizes in optimised code alone, and warns of level 3 where the compiler does not have it. A compiler
# may come with a level of its own, which would be defined twice.
set(spark_fortify 3)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_C_COMPILER_VERSION VERSION_LESS 12)
    set(spark_fortify 2)
endif()
add_compile_options(
    "$<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=${spark_fortify}>")
