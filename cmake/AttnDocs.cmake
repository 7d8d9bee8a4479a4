# Reference pages made from TableGen.
#
#   ninja attn-doc         writes them under docs/ of the build directory
#   ninja attn-doc-check   fails where the committed pages differ from these
#   ninja attn-doc-update  copies them over the committed pages

add_custom_target(attn-doc)
foreach(mode check update)
  add_custom_target(attn-doc-${mode}
    COMMAND ${PROJECT_SOURCE_DIR}/scripts/docs-current --${mode}
            ${PROJECT_BINARY_DIR}/docs
    USES_TERMINAL VERBATIM)
  add_dependencies(attn-doc-${mode} attn-doc)
endforeach()

# attn_add_doc(<file.td> <page> <arguments of mlir-tblgen>)
function(attn_add_doc definitions page)
  set(output ${PROJECT_BINARY_DIR}/docs/${page})
  get_filename_component(output_dir ${output} DIRECTORY)
  file(MAKE_DIRECTORY ${output_dir})
  string(MAKE_C_IDENTIFIER attn-doc-${page} target)
  get_directory_property(includes INCLUDE_DIRECTORIES)
  list(TRANSFORM includes PREPEND -I)
  add_custom_command(OUTPUT ${output}
    COMMAND ${MLIR_TABLEGEN_EXE} ${ARGN} ${includes}
            ${CMAKE_CURRENT_SOURCE_DIR}/${definitions}
            -o ${output} -d ${output}.d
    # A marker for another site generator.
    COMMAND sed -i "/^\\[TOC\\]$/,+1d" ${output}
    DEPFILE ${output}.d
    DEPENDS ${MLIR_TABLEGEN_EXE} ${CMAKE_CURRENT_SOURCE_DIR}/${definitions}
    COMMENT "Building docs/${page}"
    VERBATIM)
  add_custom_target(${target} DEPENDS ${output})
  add_dependencies(attn-doc ${target})
endfunction()
