# SPDX-License-Identifier: Apache-2.0
#
# Target spark_stb: the folder of stb_image.h, whose zlib decoder unpacks the kernels (docs/decisions/0004). A header of
# the system or one given; nothing is fetched.
find_path(SPARK_STB stb_image.h PATH_SUFFIXES stb DOC "Folder of stb_image.h")
if(NOT SPARK_STB)
    message(FATAL_ERROR "No stb_image.h, whose decompressor unpacks the kernels. Install libstb-dev (Debian, Ubuntu), "
                        "stb_image-devel (Fedora) or stb (Arch, Alpine), or give its folder with -DSPARK_STB=PATH.")
endif()
add_library(spark_stb INTERFACE)
target_include_directories(spark_stb SYSTEM INTERFACE "${SPARK_STB}")
