//===- CudaCodeGen.h - From kernels to code for a GPU -----------*- C++ -*-===//

#ifndef ATTN_LIB_JIT_CUDACODEGEN_H
#define ATTN_LIB_JIT_CUDACODEGEN_H

#include "CodeGen.h"
#include "attn/Dialect/Attn/IR/AttnTarget.h"
#include "attn/Runtime/Cuda/KernelInfo.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace attn {

/// Kernels as LLVM IR, with all that their code is made of: a thread may do
/// that while others work in the context of MLIR.
struct CudaCode {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  std::unique_ptr<llvm::TargetMachine> machine;
};

/// A kernel, whose variant has no code so far, and where its launch finds the
/// number of tiles.
struct CudaKernel {
  cuda::GridInfo grid;
  cuda::Variant variant;
  /// What launches share: see cuda::CudaProgram.
  int32_t firstScratch = -1;
  std::vector<cuda::TableInfo> scratch;
  CudaCode code;
  mlir::attn::TargetAttr target;
};

/// Translates the kernel of a module in the LLVM and NVVM dialects, and those
/// around it, or loops alone.
llvm::Expected<CudaKernel> translateKernel(mlir::gpu::GPUModuleOp module,
                                           const CompileOptions &options,
                                           StageRunner runStage);

/// The kernels as PTX.
llvm::Expected<std::string> emitPTX(CudaCode code);

/// Compiles the kernels that check lists, as attn-hopper-checks makes them.
llvm::Expected<cuda::ListChecks> generateChecks(mlir::gpu::GPUModuleOp module,
                                                const CompileOptions &options,
                                                StageRunner runStage);

/// Whether code is worth running; if not, `reason` says why. It says what code
/// spills that runs.
struct CudaVerdict {
  bool isAccepted = true;
  std::string reason;
  /// What ptxas has said, if it was asked.
  std::string log;
  /// Whether there was no time to assemble it.
  bool isTimeout = false;
};

/// Turns the PTX into a cubin, or finds that the disk cache has it, and fills
/// in the resources. Without ptxas the variant stays as it is, and `note` says
/// so. Code may spill `spillBytes`, see `isAcceptable`. Fails if ptxas does.
llvm::Expected<CudaVerdict> assembleKernel(mlir::attn::TargetAttr target,
                                           cuda::Variant &variant,
                                           int64_t spillBytes,
                                           std::string &note);

} // namespace attn

#endif // ATTN_LIB_JIT_CUDACODEGEN_H
