# SPDX-License-Identifier: Apache-2.0
#
# Links spark with the stand-in for libdl.so.2, on the machines whose oldest glibc is known here; on others with the
# system's. By path and not by target, since no run-time path may lead to it.
set(spark_oldest_glibc_x86_64 2.2.5)
set(spark_oldest_glibc_aarch64 2.17)
set(spark_oldest_glibc "${spark_oldest_glibc_${CMAKE_SYSTEM_PROCESSOR}}")
if(NOT spark_oldest_glibc)
    return()
endif()

set(spark_libdl_map "${CMAKE_CURRENT_BINARY_DIR}/libdl/libdl.map")
file(CONFIGURE OUTPUT "${spark_libdl_map}" CONTENT "GLIBC_${spark_oldest_glibc} { dl*; };\n")
add_library(spark_libdl SHARED "${CMAKE_CURRENT_LIST_DIR}/stub.c")
set_target_properties(spark_libdl PROPERTIES OUTPUT_NAME dl SOVERSION 2
    LIBRARY_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/libdl")
target_compile_options(spark_libdl PRIVATE -fno-builtin)
target_link_options(spark_libdl PRIVATE -nostdlib "-Wl,--version-script=${spark_libdl_map}")

add_dependencies(spark spark_libdl)
target_link_options(spark PRIVATE
    -Wl,--push-state,--no-as-needed,$<TARGET_FILE:spark_libdl>,--pop-state)
