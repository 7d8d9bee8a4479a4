# Finds SQLite and defines attn_sqlite, what our targets link: the archive where
# LLVM is one too, so that what ships needs no library of the system, and the
# shared library otherwise.

if(ATTN_LINKAGE STREQUAL "static")
  find_library(ATTN_SQLITE_LIBRARY NAMES libsqlite3.a REQUIRED)
else()
  find_library(ATTN_SQLITE_LIBRARY NAMES sqlite3 REQUIRED)
endif()
find_path(ATTN_SQLITE_INCLUDE NAMES sqlite3.h REQUIRED)

find_package(Threads REQUIRED)
add_library(attn_sqlite INTERFACE)
target_include_directories(attn_sqlite SYSTEM INTERFACE ${ATTN_SQLITE_INCLUDE})
target_link_libraries(attn_sqlite INTERFACE
  ${ATTN_SQLITE_LIBRARY} Threads::Threads m ${CMAKE_DL_LIBS})
