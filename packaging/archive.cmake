# SPDX-License-Identifier: Apache-2.0
# Run by cpack: packs the release archive. Not by its own archiver, since the same content is to give the same bytes:
# files in the order of their names, with one owner and the date of the release (SOURCE_DATE_EPOCH, else that of
# debian/changelog).
set(moment "@$ENV{SOURCE_DATE_EPOCH}")
if(moment STREQUAL "@")
    file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/debian/changelog" moment REGEX "^ -- " LIMIT_COUNT 1)
    string(REGEX REPLACE "^.*>  " "" moment "${moment}")
endif()
set(archive "${CPACK_TOPLEVEL_DIRECTORY}/${CPACK_PACKAGE_FILE_NAME}.tar.gz")
execute_process(
    COMMAND tar --create --sort=name --owner=0 --group=0 --numeric-owner --mode=go=rX --format=gnu "--mtime=${moment}"
            "--directory=${CPACK_TEMPORARY_DIRECTORY}/.." "${CPACK_PACKAGE_FILE_NAME}"
    COMMAND gzip -n OUTPUT_FILE "${archive}" COMMAND_ERROR_IS_FATAL ANY)
set(CPACK_EXTERNAL_BUILT_PACKAGES "${archive}")
