# SPDX-License-Identifier: Apache-2.0
#
# Language levels, warnings and sanitizers that hold for every target. Included once by the top CMakeLists.txt.
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# One place for what is run: tests, tools and people find the programs and libraries without knowing the modules.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

# What tools/specgen writes for the compiler alone (src/CMakeLists.txt).
set(SPARK_GENERATED "${PROJECT_BINARY_DIR}/generated")

add_compile_options(-Wall -Wextra)

find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)
find_package(Threads REQUIRED)

# Sanitized builds are made anew for every change and run once: -O1 takes a third less than -O2 to compile. SPARK_BRIEF
# is for what takes little of the tests' time: two thirds of -O1's to compile, the same faults are found.
set(SPARK_BRIEF "")
if(SPARK_SANITIZE STREQUAL "address" OR SPARK_SANITIZE STREQUAL "thread")
    add_compile_options(-O1)
    set(SPARK_BRIEF -Og)
endif()
if(SPARK_SANITIZE STREQUAL "address")
    add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g1)
    add_link_options(-fsanitize=address,undefined)
elseif(SPARK_SANITIZE STREQUAL "thread")
    add_compile_options(-fsanitize=thread -fno-omit-frame-pointer -g1)
    add_link_options(-fsanitize=thread)
elseif(SPARK_SANITIZE STREQUAL "fuzz")
    if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
        message(FATAL_ERROR "SPARK_SANITIZE=fuzz needs clang: libFuzzer is its own; the preset fuzz sets it")
    endif()
    add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -g1)
    add_link_options(-fsanitize=address,undefined)
elseif(NOT SPARK_SANITIZE STREQUAL "")
    message(FATAL_ERROR "SPARK_SANITIZE is '${SPARK_SANITIZE}'; it is empty, address, thread or fuzz")
endif()
