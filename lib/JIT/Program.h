//===- Program.h - What is compiled -----------------------------*- C++ -*-===//

#ifndef ATTN_LIB_JIT_PROGRAM_H
#define ATTN_LIB_JIT_PROGRAM_H

#include "CodeGen.h"
#include "attn/JIT/Compiler.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace attn {

/// Parses text or bytecode. Arguments and results of functions get an
/// attn.name from the text where they have none. Null after an error, which
/// goes to the context.
mlir::OwningOpRef<mlir::ModuleOp> parseProgram(llvm::StringRef program,
                                               const CompileOptions &options,
                                               mlir::MLIRContext *context);

/// The function that the options mean, which is the only public one then. Null
/// after an error, which goes to the context.
mlir::func::FuncOp selectEntry(mlir::ModuleOp module,
                               const CompileOptions &options);

/// Makes the function to compile the only public one, applies the options to
/// it, and fills in its name, its inputs and its results. Errors go to the
/// context.
mlir::LogicalResult prepareProgram(mlir::ModuleOp module,
                                   const CompileOptions &options,
                                   KernelMetadata &metadata,
                                   EntryPoint &entryPoint);

} // namespace attn

#endif // ATTN_LIB_JIT_PROGRAM_H
