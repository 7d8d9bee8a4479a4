//===- Kernel.cpp - Compile and run attention programs --------------------===//

#include "attn/JIT/Kernel.h"
#include "CPUKernel.h"
#include "mlir/IR/BuiltinOps.h"
#include <chrono>

using namespace attn;

llvm::Expected<Kernel> Kernel::load(KernelPackage package,
                                    CompileReport report) {
  auto start = std::chrono::steady_clock::now();
  report.objectSize = package.getCodeSize();
  llvm::Expected<std::shared_ptr<const LoadedKernel>> loaded =
      package.program ? loadCudaKernel(std::move(package))
                      : loadCPUKernel(std::move(package));
  if (!loaded)
    return loaded.takeError();
  std::chrono::duration<double, std::milli> time =
      std::chrono::steady_clock::now() - start;
  report.stages.push_back({"load", time.count()});
  return Kernel(std::move(*loaded),
                std::make_shared<CompileReport>(std::move(report)));
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
  return load(std::move(*package), std::move(report));
}

llvm::Expected<Kernel> Kernel::compile(mlir::ModuleOp module,
                                       const CompileOptions &options) {
  CompileReport report;
  llvm::Expected<KernelPackage> package =
      compileToPackage(module, options, &report);
  if (!package)
    return package.takeError();
  return load(std::move(*package), std::move(report));
}
