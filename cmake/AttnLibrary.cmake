# How targets are added. Lists of sources are explicit and sorted.
#
# A library. Sources are files next to the CMakeLists.txt; the order of
# LINK_LIBS is free; DEPENDS names TableGen targets whose headers are included
# (AttnOpsIncGen, AttnPassesIncGen, AttnToCPUPassesIncGen).
#
#   attn_add_library(AttnTransforms
#     SOURCES
#       OnlineSoftmax.cpp
#       Tile.cpp
#     LINK_LIBS AttnDialect AttnSupport
#     DEPENDS AttnPassesIncGen)
#
# By default a library sees MLIR and uses the shared precompiled header.
#   LLVM_ONLY   it sees LLVM, and no MLIR, and uses a header of that
#   PLAIN       it sees neither
#   PCH name    it uses that precompiled header, a target of attn_add_pch
#
# The dev preset compiles several files as one (CMAKE_UNITY_BUILD), in less than
# half the time. Functions that are static in two files of a library do not go
# together there, nor does `using namespace attn` where another file uses `mlir`,
# which has an `attn` too: folders with such files set it to OFF.
#
# No library names an MLIR or LLVM library: those come from attn_mlir and
# attn_llvm (cmake/AttnMLIR.cmake), one place for both kinds of linkage.
# What an upstream library needs in the static build is added there.
#
# A tool (tools/<name>/CMakeLists.txt) and a shared library. The library exports
# what its version script names and what also has default visibility in the
# source: __attribute__((visibility("default"))).
#
#   attn_add_tool(attn-opt SOURCES attn-opt.cpp LINK_LIBS AttnPipelines)
#   attn_add_shared_library(attn SOURCES Attn.cpp VERSION_SCRIPT attn.map
#                           LINK_LIBS AttnC)
#
# A shared library with SUPPORT_ONLY holds LLVM's archive of support functions
# and nothing else of LLVM, hidden, whatever the rest of the build links.
#
# With TEST_ONLY either is built by check-attn only, and is not installed.
#
# Unit tests of one library are one program, run by lit
# (test/Unit/<Lib>/CMakeLists.txt); it must be called <Lib>Tests:
#
#   attn_add_unittest(AttnSupportTests SOURCES NpyTest.cpp LLVM_ONLY
#                     LINK_LIBS AttnSupport)

include(GNUInstallDirs)

# Precompiled headers: what most of our files include, and what is slow to
# parse. A second one serves the libraries between the Hopper dialect and NVVM,
# whose operations take 15 seconds to parse; a target names it by PCH. Others
# are for what sees LLVM alone, and for unit tests of that.
set(ATTN_PCH_HEADERS
  <mlir/Analysis/DataFlowFramework.h>
  <mlir/Conversion/LLVMCommon/TypeConverter.h>
  <mlir/Dialect/Affine/IR/AffineOps.h>
  <mlir/Dialect/Arith/IR/Arith.h>
  <mlir/Dialect/Arith/Utils/Utils.h>
  <mlir/Dialect/Bufferization/IR/Bufferization.h>
  <mlir/Dialect/Func/IR/FuncOps.h>
  <mlir/Dialect/Index/IR/IndexOps.h>
  <mlir/Dialect/LLVMIR/LLVMDialect.h>
  <mlir/Dialect/Linalg/IR/Linalg.h>
  <mlir/Dialect/Math/IR/Math.h>
  <mlir/Dialect/MemRef/IR/MemRef.h>
  <mlir/Dialect/SCF/IR/SCF.h>
  <mlir/Dialect/Tensor/IR/Tensor.h>
  <mlir/Dialect/Utils/StaticValueUtils.h>
  <mlir/Dialect/Vector/IR/VectorOps.h>
  <mlir/IR/PatternMatch.h>
  <mlir/Interfaces/DestinationStyleOpInterface.h>
  <mlir/Interfaces/TilingInterface.h>
  <mlir/Pass/Pass.h>
  <mlir/Pass/PassManager.h>
  <mlir/Transforms/DialectConversion.h>
  <mlir/Transforms/GreedyPatternRewriteDriver.h>
  <attn/Dialect/Attn/IR/AttnGrad.h>)
set(ATTN_HOPPER_PCH_HEADERS
  ${ATTN_PCH_HEADERS}
  <mlir/Dialect/GPU/IR/GPUDialect.h>
  <mlir/Dialect/LLVMIR/NVVMDialect.h>
  <attn/Dialect/Hopper/IR/Hopper.h>)
set(ATTN_LLVM_PCH_HEADERS
  <llvm/ADT/STLExtras.h>
  <llvm/ADT/StringExtras.h>
  <llvm/Support/Error.h>
  <llvm/Support/FileSystem.h>
  <llvm/Support/FormatVariadic.h>
  <llvm/Support/JSON.h>
  <llvm/Support/MemoryBuffer.h>
  <llvm/Support/Path.h>
  <llvm/Support/raw_ostream.h>
  <atomic>
  <functional>
  <mutex>
  <thread>
  <vector>)

# QUICK: it is compiled with ATTN_QUICK_FLAGS, as is all that uses it.
function(attn_add_pch name)
  cmake_parse_arguments(ARG "QUICK" "" "HEADERS;LINK_LIBS;DEPENDS" ${ARGN})
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/pch/${name}.cpp CONTENT "")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL
    ${CMAKE_BINARY_DIR}/pch/${name}.cpp)
  target_link_libraries(${name} PRIVATE attn_headers ${ARG_LINK_LIBS})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
  if(ARG_QUICK)
    separate_arguments(flags UNIX_COMMAND "${ATTN_QUICK_FLAGS}")
    target_compile_options(${name} PRIVATE ${flags})
    set_target_properties(${name} PROPERTIES ATTN_QUICK_FLAGS "${flags}")
  endif()
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()
if(ATTN_USE_PCH)
  attn_add_pch(attn_pch
    HEADERS ${ATTN_PCH_HEADERS} LINK_LIBS attn_mlir DEPENDS AttnOpsIncGen)
  attn_add_pch(attn_hopper_pch QUICK HEADERS ${ATTN_HOPPER_PCH_HEADERS}
    LINK_LIBS attn_mlir DEPENDS AttnOpsIncGen HopperOpsIncGen)
  attn_add_pch(attn_llvm_pch
    HEADERS ${ATTN_LLVM_PCH_HEADERS} LINK_LIBS attn_llvm)
endif()

# Sets what all kinds of target have in common.
function(attn_configure_target name)
  cmake_parse_arguments(ARG "LLVM_ONLY;PLAIN" "PCH" "LINK_LIBS;DEPENDS" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR
      "target ${name} has unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  # Whoever links a shared library of ours gets no second copy of what is in it.
  set(scope PUBLIC)
  get_target_property(type ${name} TYPE)
  if(type STREQUAL "SHARED_LIBRARY")
    set(scope PRIVATE)
  endif()
  target_link_libraries(${name} PUBLIC attn_headers)
  target_link_libraries(${name} ${scope} ${ARG_LINK_LIBS})
  set(pch)
  if(ARG_PLAIN)
    # Nothing but the C++ library.
  elseif(ARG_LLVM_ONLY)
    target_link_libraries(${name} ${scope} attn_llvm)
    set(pch attn_llvm_pch)
  else()
    target_link_libraries(${name} ${scope} attn_mlir)
    # Headers of MLIR-based libraries include the dialect's generated ones.
    if(TARGET AttnOpsIncGen)
      add_dependencies(${name} AttnOpsIncGen)
    endif()
    set(pch attn_pch)
  endif()
  if(ARG_PCH)
    set(pch ${ARG_PCH})
  endif()
  if(ATTN_USE_PCH AND pch)
    target_precompile_headers(${name} REUSE_FROM ${pch})
    get_target_property(flags ${pch} ATTN_QUICK_FLAGS)
    if(flags)
      target_compile_options(${name} PRIVATE ${flags})
    endif()
  endif()
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

function(attn_add_library name)
  cmake_parse_arguments(ARG "LLVM_ONLY;PLAIN" "PCH"
                        "SOURCES;LINK_LIBS;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  attn_forward_arguments(forward)
  attn_configure_target(${name} ${forward})
endfunction()

function(attn_add_tool name)
  cmake_parse_arguments(ARG "LLVM_ONLY;PLAIN;TEST_ONLY" ""
                        "SOURCES;LINK_LIBS;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  attn_add_sanitizer_options(${name})
  attn_forward_arguments(forward)
  attn_configure_target(${name} ${forward})
  attn_note_linked(${name})
  if(ARG_TEST_ONLY)
    attn_for_tests_only(${name})
  else()
    install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endfunction()

function(attn_add_shared_library name)
  cmake_parse_arguments(ARG "LLVM_ONLY;PLAIN;SUPPORT_ONLY;TEST_ONLY"
                        "VERSION_SCRIPT" "SOURCES;LINK_LIBS;DEPENDS" ${ARGN})
  add_library(${name} SHARED ${ARG_SOURCES})
  if(ARG_SUPPORT_ONLY)
    attn_link_support_only(${name} ${ARG_LINK_LIBS})
  else()
    attn_forward_arguments(forward)
    attn_configure_target(${name} ${forward})
  endif()
  if(ARG_VERSION_SCRIPT)
    set(script ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_VERSION_SCRIPT})
    target_link_options(${name} PRIVATE -Wl,--version-script=${script})
    set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS ${script})
  endif()
  attn_note_linked(${name})
  if(ARG_TEST_ONLY)
    attn_for_tests_only(${name})
  else()
    install(TARGETS ${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
endfunction()

# Links archives of ours as files, without the libraries that they name.
function(attn_link_support_only name)
  target_link_libraries(${name}
    PUBLIC attn_headers
    PRIVATE attn_llvm_headers ${CMAKE_DL_LIBS})
  foreach(archive ${ARGN})
    target_link_libraries(${name} PRIVATE $<TARGET_FILE:${archive}>)
    add_dependencies(${name} ${archive})
    set_property(TARGET ${name} APPEND PROPERTY
      LINK_DEPENDS $<TARGET_FILE:${archive}>)
  endforeach()
  target_link_libraries(${name} PRIVATE
    $<TARGET_FILE:LLVMSupport> $<TARGET_FILE:LLVMDemangle>)
  target_link_options(${name} PRIVATE -Wl,--exclude-libs,ALL)
  if(ATTN_IS_CLANG)
    target_link_options(${name} PRIVATE -Wl,--icf=all)
  endif()
  if(NOT ATTN_SANITIZE)
    target_link_options(${name} PRIVATE -static-libstdc++ -static-libgcc)
  endif()
endfunction()

# check-attn builds it; a plain build and the package leave it out.
function(attn_for_tests_only name)
  set_property(TARGET ${name} PROPERTY EXCLUDE_FROM_ALL ON)
  set_property(GLOBAL APPEND PROPERTY ATTN_TEST_TARGETS ${name})
endfunction()

function(attn_add_unittest name)
  cmake_parse_arguments(ARG "LLVM_ONLY;PLAIN" "" "SOURCES;LINK_LIBS;DEPENDS"
                        ${ARGN})
  add_executable(${name} EXCLUDE_FROM_ALL ${ARG_SOURCES})
  attn_add_sanitizer_options(${name})
  attn_forward_arguments(forward)
  if(ARG_LLVM_ONLY)
    list(APPEND forward PCH attn_test_pch)
  endif()
  attn_configure_target(${name} ${forward})
  target_link_libraries(${name} PRIVATE GTest::gtest GTest::gtest_main)
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test/Unit)
  attn_note_linked(${name})
  set_property(GLOBAL APPEND PROPERTY ATTN_TEST_TARGETS ${name})
endfunction()

# Gives a program the options of cmake/SanitizerOptions.cpp.
function(attn_add_sanitizer_options name)
  if(ATTN_SANITIZE)
    set(source ${PROJECT_SOURCE_DIR}/cmake/SanitizerOptions.cpp)
    target_sources(${name} PRIVATE ${source})
    set_source_files_properties(${source} PROPERTIES
      SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# Collects what the caller parsed for attn_configure_target.
macro(attn_forward_arguments result)
  set(${result})
  foreach(flag LLVM_ONLY PLAIN)
    if(ARG_${flag})
      list(APPEND ${result} ${flag})
    endif()
  endforeach()
  foreach(key PCH LINK_LIBS DEPENDS)
    if(ARG_${key})
      list(APPEND ${result} ${key} ${ARG_${key}})
    endif()
  endforeach()
  if(ARG_UNPARSED_ARGUMENTS)
    list(APPEND ${result} ${ARG_UNPARSED_ARGUMENTS})
  endif()
endmacro()

# Records a linked file, for scripts/check-linkage.
function(attn_note_linked name)
  set_property(GLOBAL APPEND PROPERTY ATTN_LINKED ${name})
endfunction()

function(attn_write_link_list)
  get_property(linked GLOBAL PROPERTY ATTN_LINKED)
  list(JOIN linked "\n" text)
  file(WRITE ${CMAKE_BINARY_DIR}/attn-linked.txt "${text}\n")
endfunction()
