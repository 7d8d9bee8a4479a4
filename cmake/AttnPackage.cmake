# What `cmake --install` and scripts/package.sh deliver: the tools, the shared
# library with its C header, and the Python package on top of it.

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/attn-c
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# PREFIX/python/attn looks for the library in PREFIX/lib.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/attn
        DESTINATION python
        FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed"
        PATTERN "__pycache__" EXCLUDE)

set(CPACK_GENERATOR TXZ)
set(CPACK_ARCHIVE_THREADS 0)
set(CPACK_PACKAGE_NAME attn)
set(CPACK_PACKAGE_FILE_NAME attn-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR})
set(CPACK_VERBATIM_VARIABLES ON)
include(CPack)
