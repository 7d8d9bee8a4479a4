//===- Kernel.h - Compile and run attention programs ------------*- C++ -*-===//
//
//   auto kernel = attn::Kernel::compile(text);
//   if (!kernel) ...
//   auto shapes = kernel->resultShapes(inputs);   // of tensors to allocate
//   if (llvm::Error error = kernel->run(inputs, results)) ...
//
// LoadedKernel.h documents the arguments of calls, and the codes of their
// errors. The error of a program that does not compile has the code
// llvm::inconvertibleErrorCode(), or std::errc::not_supported if another target
// can run the program.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_JIT_KERNEL_H
#define ATTN_JIT_KERNEL_H

#include "attn/JIT/Compiler.h"
#include "attn/Runtime/LoadedKernel.h"
#include "llvm/ADT/ArrayRef.h"
#include <memory>

namespace attn {

/// Compiled code. Copies share it and are cheap. One kernel may run in several
/// threads at once.
class Kernel {
public:
  /// Compiles MLIR text or bytecode.
  static llvm::Expected<Kernel> compile(llvm::StringRef program,
                                        const CompileOptions &options = {});
  /// Compiles a copy of a module; no other thread may use its context
  /// meanwhile.
  static llvm::Expected<Kernel> compile(mlir::ModuleOp module,
                                        const CompileOptions &options = {});
  /// Makes the code of a package ready to run. Fails if it needs instructions
  /// that this processor lacks.
  static llvm::Expected<Kernel> load(KernelPackage package);

  /// Names, element types, and extents (negative if dynamic).
  llvm::ArrayRef<TensorInfo> inputs() const {
    return package().metadata.inputs;
  }
  llvm::ArrayRef<TensorInfo> results() const {
    return package().metadata.results;
  }

  /// The device of the kernel.
  DeviceKind device() const { return package().getDevice(); }
  /// Whether the data of an input are in host memory; see LoadedKernel.
  bool isOnHost(unsigned input) const { return loaded->isOnHost(input); }

  /// The shapes of the results for these inputs. Only the types and extents of
  /// the inputs are read.
  llvm::Expected<std::vector<Shape>>
  resultShapes(llvm::ArrayRef<TensorView> inputs) const {
    return loaded->getResultShapes(inputs);
  }

  /// Writes the results. A result may overlap neither an input nor another
  /// result. Innermost strides are 1; see TensorView. The first run on a GPU
  /// loads the code, which takes milliseconds, or seconds if the kernel was
  /// compiled without ptxas.
  llvm::Error run(llvm::ArrayRef<TensorView> inputs,
                  llvm::ArrayRef<TensorView> results,
                  const RunOptions &options = {}) const {
    return loaded->run(inputs, results, options);
  }

  /// Computes the tables that depend only on masks, sparsities and extents,
  /// once for many runs that have the result in their options; see
  /// LoadedKernel.
  llvm::Expected<std::shared_ptr<const Prepared>>
  prepare(llvm::ArrayRef<TensorView> inputs,
          const RunOptions &options = {}) const {
    return loaded->prepare(inputs, options);
  }

  /// The report of the compilation. For a kernel that was loaded, it has only
  /// the size of the object and the stage "load".
  const CompileReport &report() const { return *compileReport; }
  const KernelPackage &package() const { return loaded->getPackage(); }
  const std::shared_ptr<const LoadedKernel> &getLoaded() const {
    return loaded;
  }

private:
  Kernel(std::shared_ptr<const LoadedKernel> loaded,
         std::shared_ptr<const CompileReport> report)
      : loaded(std::move(loaded)), compileReport(std::move(report)) {}
  static llvm::Expected<Kernel> load(KernelPackage package,
                                     CompileReport report);
  static llvm::Expected<Kernel> loadTuned(llvm::StringRef program,
                                          const CompileOptions &options,
                                          KernelPackage package,
                                          CompileReport report);

  std::shared_ptr<const LoadedKernel> loaded;
  std::shared_ptr<const CompileReport> compileReport;
};

} // namespace attn

#endif // ATTN_JIT_KERNEL_H
