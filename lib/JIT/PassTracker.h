//===- PassTracker.h - Watch and stop a pipeline ----------------*- C++ -*-===//

#ifndef ATTN_LIB_JIT_PASSTRACKER_H
#define ATTN_LIB_JIT_PASSTRACKER_H

#include "attn/JIT/Compiler.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace attn {

/// While it lives, the passes of a context are reported to options.dumpIR, and
/// none runs on an operation after the pass options.untilAfter has run
/// `stopAfter` times on it, and on what it is in.
class PassTracker {
public:
  PassTracker(mlir::MLIRContext *context, const CompileOptions &options,
              size_t stopAfter = 0);
  PassTracker(const PassTracker &) = delete;
  PassTracker &operator=(const PassTracker &) = delete;
  ~PassTracker();

  bool isDone() const { return !stopped.empty(); }

private:
  bool isStopped(mlir::Operation *op);
  void handle(llvm::function_ref<void()> run,
              const mlir::tracing::Action &action);

  mlir::MLIRContext *context;
  const CompileOptions &options;
  size_t stopAfter;
  llvm::DenseMap<mlir::Operation *, size_t> runs;
  llvm::DenseSet<mlir::Operation *> stopped;
  /// Passes that run passes are one step.
  unsigned depth = 0;
  std::string lastText;
};

} // namespace attn

#endif // ATTN_LIB_JIT_PASSTRACKER_H
