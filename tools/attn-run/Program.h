//===- Program.h - The program that attn-run is given -----------*- C++ -*-===//

#ifndef ATTN_TOOLS_ATTNRUN_PROGRAM_H
#define ATTN_TOOLS_ATTNRUN_PROGRAM_H

#include "attn/Runtime/Cuda/KernelInfo.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/MemoryBuffer.h"

namespace attn::cli {

/// A program, as text and parsed, and the function of it to run.
struct Program {
  /// For messages.
  std::string name;
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp entry;
};

/// Reads a program, "-" for standard input. `entry` is the name of the function
/// to run, or empty for the only public one.
llvm::Expected<Program> loadProgram(const std::string &path,
                                    llvm::StringRef entry);

/// Puts what computes the results of a program and their gradients in its
/// place, with respect to arguments of these names, or to all of floats, or to
/// all tensors of these.
llvm::Error addGradients(Program &program, llvm::ArrayRef<std::string> wrt,
                         bool tensorsOnly, bool nondeterministic);

/// What the compiler says of a program: the text of its errors is that of the
/// diagnostics.
llvm::Error makeCompileError(const Program &program, llvm::Error error);

/// The first launch of an attention; others go through the elements of tensors
/// around it. Without one, the first of all.
const cuda::LaunchInfo &getFirstAttention(const cuda::CudaProgram &program);

/// The name nearest to `name`, as in "; did you mean 'query'?", or nothing if
/// none is near.
std::string suggestName(llvm::StringRef name,
                        llvm::ArrayRef<std::string> names);

/// "'a', 'b' and 'c'".
std::string quoteNames(llvm::ArrayRef<std::string> names);

} // namespace attn::cli

#endif // ATTN_TOOLS_ATTNRUN_PROGRAM_H
