# SPDX-License-Identifier: Apache-2.0
#
# zstd packs and unpacks the kernels (docs/decisions/0014). Sets SPARK_ZSTD, the folder `lib` of zstd's source: the one
# given, else the pinned one, fetched into the build tree; and SPARK_ZSTD_PYTHON, a folder for PYTHONPATH with the
# Python package that compresses, empty if Python has one.
function(spark_pinned name variable)
    execute_process(COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/tools/sparklib" pinned ${name}
                            --into "${SPARK_PINNED}"
        OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE status)
    if(NOT status EQUAL 0)
        message(FATAL_ERROR "No ${name}. See the message above${ARGN}")
    endif()
    set(${variable} "${path}" PARENT_SCOPE)
endfunction()

set(SPARK_ZSTD "" CACHE PATH "The folder lib of zstd's source, 1.5 or newer; the pinned one is fetched when empty")
if(NOT SPARK_ZSTD)
    spark_pinned(zstd-source spark_zstd_licence ", or give the folder lib of zstd's source with -DSPARK_ZSTD=PATH")
    cmake_path(REPLACE_FILENAME spark_zstd_licence lib OUTPUT_VARIABLE SPARK_ZSTD)
endif()
if(NOT EXISTS "${SPARK_ZSTD}/decompress/zstd_decompress.c")
    message(FATAL_ERROR "SPARK_ZSTD is '${SPARK_ZSTD}', which has no decompress/zstd_decompress.c: give the folder lib "
                        "of zstd's source.")
endif()
configure_file("${SPARK_ZSTD}/../LICENSE" "${PROJECT_BINARY_DIR}/LICENSE.zstd" COPYONLY)  # goes with what is installed

set(SPARK_ZSTD_PYTHON "")
execute_process(COMMAND "${Python3_EXECUTABLE}" -c "import compressor; compressor.module()"
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}/tools/ptxc"
    RESULT_VARIABLE spark_zstd_status OUTPUT_QUIET ERROR_QUIET)
if(NOT spark_zstd_status EQUAL 0)
    spark_pinned(zstd spark_zstd_module ", or install the Python package backports.zstd")
    cmake_path(SET SPARK_ZSTD_PYTHON NORMALIZE "${spark_zstd_module}/../../..")  # of .../backports/zstd/__init__.py
endif()
