# SPDX-License-Identifier: Apache-2.0
#
# spark_precompile(TARGET...): the standard headers that most files of these targets read are compiled once for each, a
# sixth of the compiler's time. Files include what they use all the same: the build for the thread sanitizer has none,
# nor has one with a compiler launcher, since ccache wants to be told of them. A file that is compiled with another -O
# than its target needs SKIP_PRECOMPILE_HEADERS.
set(SPARK_PRECOMPILED <algorithm> <array> <atomic> <bit> <cmath> <cstdint> <cstdio> <cstdlib> <cstring> <functional>
    <map> <memory> <mutex> <optional> <span> <string> <string_view> <unordered_map> <utility> <vector>)

function(spark_precompile)
    if(CMAKE_CXX_COMPILER_LAUNCHER OR SPARK_SANITIZE STREQUAL "thread")
        return()
    endif()
    foreach(target IN LISTS ARGN)
        list(TRANSFORM SPARK_PRECOMPILED REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:\\1$<ANGLE-R>>"
             OUTPUT_VARIABLE headers)
        target_precompile_headers(${target} PRIVATE ${headers})
    endforeach()
endfunction()
