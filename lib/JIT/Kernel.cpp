//===- Kernel.cpp - Compile and run attention programs --------------------===//

#include "attn/JIT/Kernel.h"
#include "CPUKernel.h"
#include "TunedKernel.h"
#include "mlir/IR/BuiltinOps.h"
#include <chrono>

using namespace attn;

llvm::Expected<std::shared_ptr<const LoadedKernel>>
attn::loadPackage(KernelPackage package) {
  return package.program ? loadCudaKernel(std::move(package))
                         : loadCPUKernel(std::move(package));
}

llvm::Expected<Kernel> Kernel::load(KernelPackage package,
                                    CompileReport report) {
  auto start = std::chrono::steady_clock::now();
  report.objectSize = package.getCodeSize();
  llvm::Expected<std::shared_ptr<const LoadedKernel>> loaded =
      loadPackage(std::move(package));
  if (!loaded)
    return loaded.takeError();
  std::chrono::duration<double, std::milli> time =
      std::chrono::steady_clock::now() - start;
  report.stages.push_back({"load", time.count()});
  return Kernel(std::move(*loaded),
                std::make_shared<CompileReport>(std::move(report)));
}

llvm::Expected<Kernel> Kernel::loadTuned(llvm::StringRef program,
                                         const CompileOptions &options,
                                         KernelPackage package,
                                         CompileReport report) {
  llvm::Expected<Kernel> kernel = load(std::move(package), std::move(report));
  if (!kernel)
    return kernel;
  std::string note;
  std::shared_ptr<const LoadedKernel> tuned =
      applyTuning(program, options, kernel->loaded, note);
  if (note.empty() && tuned == kernel->loaded)
    return kernel;
  CompileReport told = kernel->report();
  if (!note.empty())
    told.warnings += "warning: " + note + "\n";
  return Kernel(std::move(tuned),
                std::make_shared<CompileReport>(std::move(told)));
}

llvm::Expected<Kernel> Kernel::load(KernelPackage package) {
  return load(std::move(package), CompileReport());
}

llvm::Expected<Kernel> Kernel::compile(llvm::StringRef program,
                                       const CompileOptions &options) {
  CompileReport report;
  llvm::Expected<KernelPackage> package =
      compileToPackage(program, options, &report);
  if (!package)
    return package.takeError();
  return loadTuned(program, options, std::move(*package), std::move(report));
}

llvm::Expected<Kernel> Kernel::compile(mlir::ModuleOp module,
                                       const CompileOptions &options) {
  CompileReport report;
  llvm::Expected<KernelPackage> package =
      compileToPackage(module, options, &report);
  if (!package)
    return package.takeError();
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os, mlir::OpPrintingFlags().enableDebugInfo());
  return loadTuned(text, options, std::move(*package), std::move(report));
}
