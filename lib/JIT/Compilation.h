//===- Compilation.h - One compilation of a module --------------*- C++ -*-===//

#ifndef ATTN_LIB_JIT_COMPILATION_H
#define ATTN_LIB_JIT_COMPILATION_H

#include "CodeGen.h"
#include "CudaCandidates.h"
#include "CudaCodeGen.h"
#include "PassTracker.h"
#include "attn/JIT/Compiler.h"
#include "attn/JIT/Diagnostics.h"
#include "attn/JIT/TuningSpace.h"
#include "attn/Target/CPU.h"
#include "mlir/Pass/PassManager.h"

namespace attn {

/// One compilation of a module, which it changes.
class Compilation {
public:
  Compilation(const CompileOptions &options, CompileReport &report)
      : options(options), report(report) {}

  /// Notes the time that `work` takes.
  llvm::Error runStage(llvm::StringRef name,
                       llvm::function_ref<llvm::Error()> work);

  llvm::Expected<KernelPackage> compile(mlir::ModuleOp module,
                                        DiagnosticCollector &diagnostics);
  llvm::Expected<std::string> printAfter(mlir::ModuleOp module,
                                         DiagnosticCollector &diagnostics);
  /// TuningSpace.cpp.
  llvm::Expected<TuningSpace> getTuningSpace(mlir::ModuleOp module,
                                             DiagnosticCollector &diagnostics);

private:
  friend class LaunchCompilation;
  using PipelineBuilder = llvm::function_ref<void(mlir::OpPassManager &)>;

  llvm::Error prepare(mlir::ModuleOp module, const CompileOptions &options,
                      DiagnosticCollector &diagnostics);
  llvm::Error runPasses(llvm::StringRef stage, PipelineBuilder build,
                        mlir::ModuleOp module,
                        DiagnosticCollector &diagnostics);
  /// Stages of a pipeline in order, until the pass that is wanted.
  template <typename Stages, typename PipelineOptions>
  llvm::Error runStages(const Stages &stages, const PipelineOptions &pipeline,
                        mlir::ModuleOp module, DiagnosticCollector &diagnostics,
                        PassTracker &tracker) {
    for (const auto &stage : stages) {
      auto build = [&](mlir::OpPassManager &passes) {
        stage.build(passes, pipeline);
      };
      if (tracker.isDone())
        break;
      if (llvm::Error error = runPasses(stage.name, build, module, diagnostics))
        return error;
    }
    return llvm::Error::success();
  }
  llvm::Error runPipeline(mlir::ModuleOp module,
                          DiagnosticCollector &diagnostics,
                          PassTracker &tracker);
  /// Moves what attn-shape-function has added to a module to `metadata`.
  mlir::LogicalResult takeShapeFunction(mlir::ModuleOp module);
  void readSites(mlir::ModuleOp module);
  /// An attribute that is an array of strings; without it, none.
  static std::vector<std::string> getTexts(mlir::Operation *op,
                                           llvm::StringRef name);

  // CompileCuda.cpp.
  /// The stages for a GPU that are the same for all schedules: of the program,
  /// and of a form of its sparse structures.
  static constexpr size_t kNumProgramStages = 1, kNumSharedStages = 2;
  llvm::Error runCudaPipeline(mlir::ModuleOp module, llvm::StringRef sparsity,
                              DiagnosticCollector &diagnostics,
                              PassTracker &tracker);
  llvm::Expected<KernelPackage> compileForCuda(mlir::ModuleOp module,
                                               DiagnosticCollector &diagnostics,
                                               PassTracker &tracker);
  llvm::Expected<CudaKernel> compileKernel(const Candidate &candidate,
                                           mlir::ModuleOp module,
                                           DiagnosticCollector &diagnostics,
                                           PassTracker &tracker);
  llvm::Expected<cuda::ListChecks>
  compileChecks(mlir::ModuleOp module, DiagnosticCollector &diagnostics,
                PassTracker &tracker, std::vector<std::string> &texts);

  const CompileOptions &options;
  CompileReport &report;
  /// Of a CPU.
  CPUTarget target;
  KernelMetadata metadata;
  EntryPoint entryPoint;
  /// Of a GPU.
  std::shared_ptr<const mlir::attn::ScheduleTable> schedules;
  /// Whether the program is verified behind each pass, and not only behind each
  /// stage.
  bool verifiesPasses = true;
};

} // namespace attn

#endif // ATTN_LIB_JIT_COMPILATION_H
