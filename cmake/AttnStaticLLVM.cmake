# The static build: LLVM and MLIR as archives.
#
# Debian exports each MLIR archive with the shared libLLVM among its
# dependencies, and a few with the shared libMLIR too. Both are taken out here
# and replaced by the component archives. Archives are named once, below: the
# linker takes from them only what is referenced, so the list may be longer
# than one program needs.

# Components of LLVM. Names of targets are case-sensitive.
set(ATTN_LLVM_COMPONENTS
  Analysis AsmParser BitReader BitWriter CodeGen Core ExecutionEngine
  FrontendOffloading FrontendOpenMP IRReader JITLink Linker MC OrcJIT Passes
  PerfJITEvents Remarks RuntimeDyld Support SupportLSP Target TargetParser
  TransformUtils ipo
  X86AsmParser X86CodeGen X86Desc X86Info
  NVPTXCodeGen NVPTXDesc NVPTXInfo)

set(ATTN_MLIR_LIBRARIES
  # Core
  MLIRAnalysis MLIRAsmParser MLIRBytecodeReader MLIRBytecodeWriter MLIRDebug
  MLIRDialectUtils MLIRIR MLIRParser MLIRPass MLIRRemarkStreamer MLIRRewrite
  MLIRRewritePDL MLIRSupport MLIRTransformUtils MLIRTransforms
  # Dialects
  MLIRAffineAnalysis MLIRAffineDialect MLIRAffineTransforms MLIRAffineUtils
  MLIRArithDialect MLIRArithTransforms MLIRArithUtils
  MLIRArithValueBoundsOpInterfaceImpl
  MLIRBufferizationDialect MLIRBufferizationPipelines
  MLIRBufferizationTransforms
  MLIRControlFlowDialect MLIRControlFlowTransforms
  MLIRDLTIDialect
  MLIRFuncDialect MLIRFuncInlinerExtension MLIRFuncTransforms MLIRFuncUtils
  MLIRGPUDialect
  MLIRIndexDialect
  MLIRLinalgDialect MLIRLinalgTransforms MLIRLinalgUtils
  MLIRLLVMDialect MLIRLLVMIRTransforms
  MLIRMathDialect MLIRMathTransforms
  MLIRMemRefDialect MLIRMemRefTransforms MLIRMemRefUtils
  MLIRNVVMDialect
  MLIRSCFDialect MLIRSCFTransforms MLIRSCFUtils
  MLIRTensorDialect MLIRTensorInferTypeOpInterfaceImpl
  MLIRTensorTransforms MLIRTensorUtils
  MLIRUBDialect
  MLIRVectorDialect MLIRVectorTransforms MLIRVectorUtils
  MLIRX86VectorDialect MLIRX86VectorTransforms
  # Conversions
  MLIRAffineToStandard MLIRArithToLLVM MLIRBufferizationToMemRef
  MLIRControlFlowToLLVM MLIRConvertToLLVMInterface MLIRConvertToLLVMPass
  MLIRFuncToLLVM MLIRIndexToLLVM MLIRLinalgToStandard MLIRLLVMCommonConversion
  MLIRMathToLLVM MLIRMathToLibm MLIRMemRefToLLVM MLIRNVVMToLLVM
  MLIRReconcileUnrealizedCasts
  MLIRSCFToControlFlow MLIRTensorToLinalg MLIRUBToLLVM MLIRVectorToLLVM
  MLIRVectorToLLVMPass MLIRVectorToSCF
  # Translation to LLVM IR, and the JIT
  MLIRBuiltinToLLVMIRTranslation MLIRLLVMToLLVMIRTranslation
  MLIRNVVMToLLVMIRTranslation
  MLIRTargetLLVMIRExport MLIRExecutionEngine MLIRExecutionEngineUtils
  # Mains of the tools
  MLIRLspServerLib MLIROptLib MLIRReduceLib)

function(attn_take_shared_llvm_out target)
  get_target_property(deps ${target} INTERFACE_LINK_LIBRARIES)
  if(NOT deps)
    return()
  endif()
  list(TRANSFORM deps REPLACE "^(LLVM|MLIR|.*LINK_ONLY:(LLVM|MLIR)>)$"
       attn_llvm)
  list(REMOVE_DUPLICATES deps)
  set_property(TARGET ${target} PROPERTY INTERFACE_LINK_LIBRARIES ${deps})
endfunction()

foreach(target IN LISTS MLIR_EXPORTED_TARGETS)
  if(TARGET ${target})
    attn_take_shared_llvm_out(${target})
  endif()
endforeach()

# LLVMSupport asks for the shared zstd and zlib, and for Z3, which nothing
# here uses. The archives let the result run where none of them is installed.
find_library(ATTN_ZSTD_ARCHIVE NAMES libzstd.a REQUIRED)
find_library(ATTN_ZLIB_ARCHIVE NAMES libz.a REQUIRED)
get_target_property(deps LLVMSupport INTERFACE_LINK_LIBRARIES)
list(FILTER deps EXCLUDE REGEX "z3")
list(TRANSFORM deps REPLACE "^zstd::.*$" ${ATTN_ZSTD_ARCHIVE})
list(TRANSFORM deps REPLACE "^ZLIB::.*$" ${ATTN_ZLIB_ARCHIVE})
set_property(TARGET LLVMSupport PROPERTY INTERFACE_LINK_LIBRARIES ${deps})

list(TRANSFORM ATTN_LLVM_COMPONENTS PREPEND LLVM)
# CMake would pass a name that is no target on to the linker.
foreach(target IN LISTS ATTN_LLVM_COMPONENTS ATTN_MLIR_LIBRARIES)
  if(NOT TARGET ${target})
    message(FATAL_ERROR "LLVM ${LLVM_PACKAGE_VERSION} has no archive ${target}")
  endif()
endforeach()
target_link_libraries(attn_llvm INTERFACE ${ATTN_LLVM_COMPONENTS})
target_link_libraries(attn_mlir INTERFACE ${ATTN_MLIR_LIBRARIES})
