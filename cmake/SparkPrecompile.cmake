# SPDX-License-Identifier: Apache-2.0
#
# What spares the compiler most of the headers, half of its time. Files include what they use all the same, and each
# is compiled by itself where there is a compiler launcher (ccache wants to be told of precompiled headers, and makes
# up for both) and in the build for fuzzing, of the long tier.
#
# spark_precompile(TARGET... [HEADERS header...]): the standard headers that most files of these targets read, and these
# of the project, are compiled once for each. A file that is compiled with another -O than its target needs
# SKIP_PRECOMPILE_HEADERS.
# spark_unite(TARGET... [FILES n] [APART file...]): n files of these targets, 8 unless it is said, are compiled as one.
# Files APART have private names that others have too.
set(SPARK_PRECOMPILED algorithm array atomic bit cmath cstdint cstdio cstdlib cstring functional map memory mutex
    optional span string string_view unordered_map utility vector)

if(CMAKE_CXX_COMPILER_LAUNCHER OR SPARK_SANITIZE STREQUAL "fuzz")
    set(SPARK_ONE_BY_ONE ON)
else()
    set(SPARK_ONE_BY_ONE OFF)
endif()

function(spark_precompile)
    if(SPARK_ONE_BY_ONE)
        return()
    endif()
    cmake_parse_arguments(PARSE_ARGV 0 P "" "" "HEADERS")
    list(TRANSFORM SPARK_PRECOMPILED REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:<\\1$<ANGLE-R>>"
         OUTPUT_VARIABLE standard)
    list(TRANSFORM P_HEADERS REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:${PROJECT_SOURCE_DIR}/\\1>"
         OUTPUT_VARIABLE own)
    foreach(target IN LISTS P_UNPARSED_ARGUMENTS)
        target_precompile_headers(${target} PRIVATE ${standard} ${own})
    endforeach()
endfunction()

function(spark_unite)
    cmake_parse_arguments(PARSE_ARGV 0 U "" "FILES" "APART")
    if(SPARK_ONE_BY_ONE)
        return()
    endif()
    if(NOT U_FILES)
        set(U_FILES 8)
    endif()
    set_target_properties(${U_UNPARSED_ARGUMENTS} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${U_FILES})
    set_source_files_properties(${U_APART} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
