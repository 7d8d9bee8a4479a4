# Finds LLVM and MLIR and defines what our targets link:
#
#   attn_headers        our own include directories
#   attn_llvm_headers   those of LLVM, and no library
#   attn_llvm           LLVM without MLIR
#   attn_mlir           MLIR, with LLVM
#
# ATTN_LINKAGE decides what the last two hold: the shared libLLVM and libMLIR,
# or archives. A program that mixes them has two copies of each global and
# each TypeID and fails at run time, so nothing else names a library of LLVM
# or MLIR; scripts/check-linkage proves it on the link lines.

find_package(MLIR 22.1 REQUIRED CONFIG
             HINTS /usr/lib/llvm-22/lib/cmake/mlir)
message(STATUS "LLVM ${LLVM_PACKAGE_VERSION} (${LLVM_CMAKE_DIR}), "
               "linked as ${ATTN_LINKAGE}")

list(APPEND CMAKE_MODULE_PATH ${LLVM_CMAKE_DIR} ${MLIR_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

add_library(attn_headers INTERFACE)
target_include_directories(attn_headers INTERFACE
  ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)

separate_arguments(ATTN_LLVM_DEFINITIONS NATIVE_COMMAND ${LLVM_DEFINITIONS})
list(TRANSFORM ATTN_LLVM_DEFINITIONS REPLACE "^-D" "")
# The macro _GLIBCXX_USE_CXX11_ABI is the compiler's own default: defining it
# again makes each file warn.
list(FILTER ATTN_LLVM_DEFINITIONS EXCLUDE REGEX "^(_GLIBCXX|_GNU_SOURCE)")

add_library(attn_llvm_headers INTERFACE)
target_compile_definitions(attn_llvm_headers INTERFACE ${ATTN_LLVM_DEFINITIONS})
target_include_directories(attn_llvm_headers SYSTEM INTERFACE
  ${LLVM_INCLUDE_DIRS})

add_library(attn_llvm INTERFACE)
target_link_libraries(attn_llvm INTERFACE attn_llvm_headers)

add_library(attn_mlir INTERFACE)
target_include_directories(attn_mlir SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS})
target_link_libraries(attn_mlir INTERFACE attn_llvm)

if(ATTN_LINKAGE STREQUAL "dynamic")
  # libMLIR.so also holds the execution engine and the mains of the tools.
  target_link_libraries(attn_llvm INTERFACE LLVM)
  target_link_libraries(attn_mlir INTERFACE MLIR)
else()
  include(AttnStaticLLVM)
endif()
