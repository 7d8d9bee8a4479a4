# Compiler, linker and cache settings that every target of ours shares.
# A precompiled header is only reusable by targets with equal flags, so flags
# are set here, once, and not target by target.

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Kind of build" FORCE)
endif()

set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

if(NOT ATTN_LINKAGE MATCHES "^(dynamic|static)$")
  message(FATAL_ERROR
    "ATTN_LINKAGE expects dynamic or static, but got '${ATTN_LINKAGE}'")
endif()

set(ATTN_IS_CLANG OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(ATTN_IS_CLANG ON)
endif()
# A precompiled header from g++ has more than a gigabyte here, so g++ goes
# without.
if(NOT ATTN_IS_CLANG)
  set(ATTN_USE_PCH OFF)
endif()

# Of the time of a compilation for a GPU, 1 % is in these passes; they and tests
# are 40 % of what a build takes.
set(ATTN_QUICK_FLAGS "" CACHE STRING
  "Flags for tests and for passes of GPU kernels, which need not be fast")

# CMake's own switch would give programs -fPIE and libraries -fPIC, and a
# precompiled header serves only one of them.
add_compile_options(-fPIC)
# LLVM is built without exceptions.
add_compile_options(-fno-exceptions -ffunction-sections -fdata-sections
                    "$<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden>")
add_compile_options(-Wall -Wextra -Wno-unused-parameter
                    -Wno-missing-field-initializers)
if(ATTN_IS_CLANG)
  add_compile_options(-Wimplicit-fallthrough -fcolor-diagnostics)
  add_compile_options(
    "$<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor;-Wsuggest-override>"
    "$<$<COMPILE_LANGUAGE:CXX>:-Wdelete-non-virtual-dtor;-Wextra-semi>")
else()
  # g++ 12 warns inside the headers of MLIR.
  add_compile_options(-Wno-comment -Wno-maybe-uninitialized
                      -Wno-dangling-pointer)
endif()
if(ATTN_ENABLE_WERROR)
  add_compile_options(-Werror)
endif()

if(ATTN_IS_CLANG)
  add_link_options(-fuse-ld=lld)
endif()
add_link_options(-Wl,--gc-sections)
# What tells builds of the compiler apart: without it no kernel is kept on disk.
# Not every compiler asks its linker for one.
add_link_options(-Wl,--build-id=sha1)

if(ATTN_SANITIZE)
  # vptr and function would report every call into the uninstrumented
  # libraries of LLVM.
  add_compile_options(-fsanitize=${ATTN_SANITIZE} -fno-sanitize=vptr,function
                      -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${ATTN_SANITIZE} -fno-sanitize=vptr,function)
else()
  # A shared library under a sanitizer leaves the runtime's symbols undefined.
  add_link_options(-Wl,-z,defs)
endif()

if(ATTN_LINKAGE STREQUAL "static")
  # The result shares a process with other copies of LLVM, so nothing of ours
  # and nothing of LLVM may be visible outside.
  set(CMAKE_C_VISIBILITY_PRESET hidden)
  set(CMAKE_CXX_VISIBILITY_PRESET hidden)
  set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
  add_link_options(-Wl,--exclude-libs,ALL -Wl,--icf=all
                   -static-libstdc++ -static-libgcc -Wl,-s)
endif()

# ccache refuses precompiled headers unless told that time stamps may differ;
# clang must then leave them out of the header as well.
if(ATTN_USE_CCACHE)
  find_program(ATTN_CCACHE ccache)
  if(ATTN_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
        CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
        ${ATTN_CCACHE})
    set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
    if(ATTN_IS_CLANG)
      add_compile_options(
        "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
    endif()
  endif()
endif()
