//===- PassTracker.h - Watch and stop a pipeline ----------------*- C++ -*-===//

#ifndef ATTN_LIB_JIT_PASSTRACKER_H
#define ATTN_LIB_JIT_PASSTRACKER_H

#include "attn/JIT/Compiler.h"
#include "mlir/IR/MLIRContext.h"

namespace attn {

/// While it lives, the passes of a context are reported to options.dumpIR, and
/// none runs after the pass options.untilAfter has run `stopAfter` times.
class PassTracker {
public:
  PassTracker(mlir::MLIRContext *context, const CompileOptions &options,
              size_t stopAfter = 0);
  PassTracker(const PassTracker &) = delete;
  PassTracker &operator=(const PassTracker &) = delete;
  ~PassTracker();

  bool isDone() const { return done; }

private:
  void handle(llvm::function_ref<void()> run,
              const mlir::tracing::Action &action);

  mlir::MLIRContext *context;
  const CompileOptions &options;
  size_t remaining;
  bool done = false;
  /// Passes that run passes are one step.
  unsigned depth = 0;
  std::string lastText;
};

} // namespace attn

#endif // ATTN_LIB_JIT_PASSTRACKER_H
