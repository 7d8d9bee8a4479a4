//===- CodeGen.h - From the LLVM dialect to an object file ------*- C++ -*-===//

#ifndef ATTN_LIB_JIT_CODEGEN_H
#define ATTN_LIB_JIT_CODEGEN_H

#include "attn/JIT/Compiler.h"
#include "attn/Target/CPU.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/CodeGen.h"

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace attn {

/// The function of an object file that the loader calls, of type
///
///   int64_t(void *const *descriptors, void *exec)
///
/// with one descriptor for each argument of the function it stands for. A
/// descriptor has the words of a buffer in MLIR: address, address, 0, extents,
/// strides. A scalar is passed as a buffer of rank 0.
inline constexpr llvm::StringLiteral kRunSymbol = "attn.run";

/// The function of the module that it stands for.
struct EntryPoint {
  /// The rank of an argument that is a buffer.
  struct Argument {
    unsigned rank;
    bool isScalar;
  };
  std::string function;
  std::vector<Argument> arguments;

  /// The number of arguments in the LLVM dialect, of which the last is `exec`.
  size_t getNumWords() const;
};

/// Called around a part of the work, with its name.
using StageRunner = llvm::function_ref<llvm::Error(
    llvm::StringRef, llvm::function_ref<llvm::Error()>)>;

// Parts that CPUs and GPUs share.
llvm::CodeGenOptLevel getCodeGenLevel(unsigned level);
llvm::Expected<std::string> emitCode(llvm::Module &module,
                                     llvm::TargetMachine &machine,
                                     llvm::CodeGenFileType type);
/// Gives a module as text to options.dumpLLVM.
void dumpModule(const CompileOptions &options, llvm::StringRef stage,
                const llvm::Module &module);

/// Compiles a module of the LLVM dialect.
llvm::Expected<std::string> generateObject(mlir::ModuleOp module,
                                           const EntryPoint &entryPoint,
                                           const CPUTarget &target,
                                           const CompileOptions &options,
                                           StageRunner runStage);

} // namespace attn

#endif // ATTN_LIB_JIT_CODEGEN_H
