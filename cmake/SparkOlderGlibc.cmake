# SPDX-License-Identifier: Apache-2.0
#
# Lets what is built here run on older C libraries than the one of the machine that builds it. glibc keeps every name
# that it ever had, and a linker takes the newest. Where functions moved into libc.so.6 under a new version (libdl and
# libpthread, with 2.34), linking against a stand-in of the library that they came from asks for the old name, which
# every later glibc still answers. The stand-in is a list of names: it is never installed, loaded or run.

# The version that all names of the first glibc for this machine have; empty where it is not known, or not glibc.
include(CheckSymbolExists)
check_symbol_exists(__GLIBC__ "features.h" SPARK_IS_GLIBC)
set(spark_oldest_glibc_x86_64 2.2.5)
set(spark_oldest_glibc_aarch64 2.17)
set(SPARK_OLDEST_GLIBC "")
if(SPARK_IS_GLIBC AND SPARK_SANITIZE STREQUAL "")
    set(SPARK_OLDEST_GLIBC "${spark_oldest_glibc_${CMAKE_SYSTEM_PROCESSOR}}")
endif()

# spark_older_glibc(TARGET LIBRARY NAME...): TARGET takes the functions NAME from LIBRARY, as in libdl.so.2.
function(spark_older_glibc target library)
    if(NOT SPARK_OLDEST_GLIBC)
        return()
    endif()
    set(folder "${PROJECT_BINARY_DIR}/older-glibc")
    list(TRANSFORM ARGN REPLACE "(.+)" "void \\1(void) {}\n" OUTPUT_VARIABLE functions)
    list(JOIN functions "" functions)
    file(CONFIGURE OUTPUT "${folder}/${library}.c" CONTENT "${functions}")
    file(CONFIGURE OUTPUT "${folder}/${library}.map" CONTENT "GLIBC_${SPARK_OLDEST_GLIBC} { *; };\n")
    add_library(older-${library} SHARED "${folder}/${library}.c")
    set_target_properties(older-${library} PROPERTIES PREFIX "" SUFFIX "" OUTPUT_NAME ${library} NO_SONAME ON
        LIBRARY_OUTPUT_DIRECTORY "${folder}")
    target_compile_options(older-${library} PRIVATE -fno-builtin)
    target_link_options(older-${library} PRIVATE -nostdlib -Wl,-soname,${library}
        "-Wl,--version-script=${folder}/${library}.map")
    # By path and not by target: CMake would put a run-time path that leads to the stand-in into TARGET.
    add_dependencies(${target} older-${library})
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS $<TARGET_FILE:older-${library}>)
    target_link_options(${target} PRIVATE
        -Wl,--push-state,--no-as-needed,$<TARGET_FILE:older-${library}>,--pop-state)
endfunction()
