# SPDX-License-Identifier: Apache-2.0
#
# Sets SPARK_PTXAS: the one given, else a CUDA toolkit's of a version that the tests know, else the pinned wheel's,
# fetched into the build tree. SPARK_PINNED is the folder of what pinned wheels bring.
# The choice itself is written once, in tools/sparklib, so that tools/spark and plain CMake agree.
set(SPARK_PINNED "${PROJECT_BINARY_DIR}/pinned")
cmake_path(GET PROJECT_BINARY_DIR PARENT_PATH spark_beside)
if(spark_beside STREQUAL "${PROJECT_SOURCE_DIR}/build")  # the presets share one, with tools/spark
    set(SPARK_PINNED "${spark_beside}/pinned")
endif()
set(spark_ptxas_given "")
if(SPARK_PTXAS)
    set(spark_ptxas_given "${CMAKE_COMMAND}" -E env "SPARK_PTXAS=${SPARK_PTXAS}")
endif()
execute_process(
    COMMAND ${spark_ptxas_given}
            "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/tools/sparklib" ptxas --into "${SPARK_PINNED}"
    OUTPUT_VARIABLE spark_ptxas_path OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE spark_ptxas_rc)
if(NOT spark_ptxas_rc EQUAL 0)
    message(FATAL_ERROR "No ptxas. See the message above, or give one of 13.0 or newer with -DSPARK_PTXAS=PATH")
endif()
set(SPARK_PTXAS "${spark_ptxas_path}" CACHE FILEPATH "ptxas of CUDA 13.0 or newer" FORCE)
message(STATUS "ptxas: ${SPARK_PTXAS}")
