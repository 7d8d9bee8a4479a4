# A hash of what schedules and code are made by, as a literal in a file: entries
# of tuning databases tell by it which compiler has measured them. Unlike the
# build ID of a file it is the same in all programs and libraries of a build.
#
#   attn_add_source_hash(SourceHash.inc lib/Dialect include/attn/Dialect ...)
#
# As a script (cmake -P) it computes the hash of the files in LIST.

if(CMAKE_SCRIPT_MODE_FILE)
  file(STRINGS ${LIST} files)
  set(text "LLVM ${LLVM}")
  foreach(file IN LISTS files)
    file(SHA256 ${ROOT}/${file} hash)
    string(APPEND text "\n${file} ${hash}")
  endforeach()
  string(SHA256 hash "${text}")
  string(SUBSTRING ${hash} 0 12 hash)
  file(WRITE ${OUTPUT} "\"${hash}\"\n")
  return()
endif()

# The files of folders, by their paths in the tree.
function(attn_add_source_hash name)
  set(patterns)
  foreach(folder IN LISTS ARGN)
    foreach(type c cpp h inc json td)
      list(APPEND patterns ${PROJECT_SOURCE_DIR}/${folder}/*.${type})
    endforeach()
  endforeach()
  file(GLOB_RECURSE files RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS
       ${patterns})
  list(JOIN files "\n" text)
  set(list ${CMAKE_CURRENT_BINARY_DIR}/${name}.files)
  file(CONFIGURE OUTPUT ${list} CONTENT "@text@\n" @ONLY)
  list(TRANSFORM files PREPEND ${PROJECT_SOURCE_DIR}/)
  add_custom_command(
    OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}
    COMMAND ${CMAKE_COMMAND} -DLIST=${list} -DROOT=${PROJECT_SOURCE_DIR}
            -DLLVM=${LLVM_PACKAGE_VERSION}
            -DOUTPUT=${CMAKE_CURRENT_BINARY_DIR}/${name}
            -P ${PROJECT_SOURCE_DIR}/cmake/AttnSourceHash.cmake
    DEPENDS ${files} ${list} ${PROJECT_SOURCE_DIR}/cmake/AttnSourceHash.cmake
    VERBATIM)
endfunction()
