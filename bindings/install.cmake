# SPDX-License-Identifier: Apache-2.0
#
# Installs library, header and libspark.pc from BUILD into PREFIX: what the packages for users and developers hold.
# The kernels for testing come along, so that the languages' tests run on such a card too; no package has them.
set(components runtime devel)
if(EXISTS "${BUILD}/lib/libspark-sm90.bin")
    list(APPEND components testing)
endif()
foreach(component IN LISTS components)
    execute_process(COMMAND "${CMAKE_COMMAND}" --install "${BUILD}" --component ${component} --prefix "${PREFIX}"
                    COMMAND_ERROR_IS_FATAL ANY)
endforeach()
