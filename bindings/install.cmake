# SPDX-License-Identifier: Apache-2.0
#
# Installs library, header and libspark.pc from BUILD into PREFIX: what the packages for users and developers hold.
foreach(component runtime devel)
    execute_process(COMMAND "${CMAKE_COMMAND}" --install "${BUILD}" --component ${component} --prefix "${PREFIX}"
                    COMMAND_ERROR_IS_FATAL ANY)
endforeach()
