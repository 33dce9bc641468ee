# SPDX-License-Identifier: Apache-2.0
#
# spark_test(): add_test with the labels that tools/spark selects by.
#   spark_test(NAME ops.rmsnorm COMMAND spark-check rmsnorm LABELS short asan tsan TIMEOUT 120)
# Labels: short (every change), long (before a release), asan and tsan (worth running in that build too), gpu (uses a
# card when there is one; a test that needs one ends with SKIP_RETURN_CODE without it), bindings (other languages;
# `tools/spark test --tier core` leaves them out).
# COST: the seconds of a test that takes more than ten on two cores. In a new build folder ctest knows no times, and
# begins with the dearest: one that came last would run alone, with a core idle.
# A test without short or long is short. Plain add_test works too: such a test is selected by its labels all the same.
#
# The targets tests-asan and tests-tsan are what the tests with that label run, and all that their builds need to make:
# the targets that COMMAND and ENVIRONMENT name, by themselves or as $<TARGET_FILE:...>. Such a test needs spark_test().
add_custom_target(tests-asan)
add_custom_target(tests-tsan)

function(spark_test)
    cmake_parse_arguments(PARSE_ARGV 0 T "" "NAME;TIMEOUT;COST;WORKING_DIRECTORY" "COMMAND;LABELS;ENVIRONMENT")
    if(NOT T_NAME OR NOT T_COMMAND)
        message(FATAL_ERROR "spark_test needs NAME and COMMAND")
    endif()
    if(NOT T_WORKING_DIRECTORY)
        set(T_WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    endif()
    if(NOT "short" IN_LIST T_LABELS AND NOT "long" IN_LIST T_LABELS)
        list(APPEND T_LABELS short)
    endif()
    if(NOT T_TIMEOUT)
        set(T_TIMEOUT 300)
    endif()
    foreach(label IN ITEMS asan tsan)
        if(label IN_LIST T_LABELS)
            string(REGEX MATCHALL "<TARGET[A-Z_]*:[^>]+" named "${T_COMMAND} ${T_ENVIRONMENT}")
            list(TRANSFORM named REPLACE ".*:" "")
            list(GET T_COMMAND 0 program)
            if(TARGET ${program})
                list(APPEND named ${program})
            endif()
            if(named)
                add_dependencies(tests-${label} ${named})
            endif()
        endif()
    endforeach()
    add_test(NAME ${T_NAME} COMMAND ${T_COMMAND} WORKING_DIRECTORY "${T_WORKING_DIRECTORY}")
    set_tests_properties(${T_NAME} PROPERTIES LABELS "${T_LABELS}" TIMEOUT ${T_TIMEOUT})
    if(T_COST)
        set_tests_properties(${T_NAME} PROPERTIES COST ${T_COST})
    endif()
    if(T_ENVIRONMENT)
        set_tests_properties(${T_NAME} PROPERTIES ENVIRONMENT "${T_ENVIRONMENT}")
    endif()
endfunction()
