//===- PassTracker.cpp - Watch and stop a pipeline ------------------------===//

#include "PassTracker.h"
#include "mlir/IR/Action.h"
#include "mlir/IR/Operation.h"
#include "mlir/Pass/Pass.h"

using namespace attn;

PassTracker::PassTracker(mlir::MLIRContext *context,
                         const CompileOptions &options, size_t stopAfter)
    : context(nullptr), options(options), stopAfter(stopAfter) {
  // Actions cost time, and somebody else may want them.
  if ((stopAfter == 0 && !options.dumpIR) || context->hasActionHandler())
    return;
  this->context = context;
  context->registerActionHandler(
      [this](llvm::function_ref<void()> run,
             const mlir::tracing::Action &action) { handle(run, action); });
}

PassTracker::~PassTracker() {
  if (context)
    context->registerActionHandler(nullptr);
}

/// Nested passes run on one operation after the other: others of the same kind
/// get as far, but nothing in one that is stopped, or around it.
bool PassTracker::isStopped(mlir::Operation *op) {
  return llvm::any_of(stopped, [&](mlir::Operation *other) {
    return op->isAncestor(other) || other->isAncestor(op);
  });
}

void PassTracker::handle(llvm::function_ref<void()> run,
                         const mlir::tracing::Action &action) {
  auto *execution = llvm::dyn_cast<mlir::PassExecutionAction>(&action);
  if (!execution)
    return run();
  // What runs a pipeline on nested operations is no step of its own.
  if (execution->getPass().getArgument().empty())
    return run();
  mlir::Operation *op = execution->getOp();
  if (isStopped(op))
    return;
  ++depth;
  run();
  --depth;
  if (depth != 0)
    return;
  llvm::StringRef name = execution->getPass().getArgument();
  if (options.dumpIR) {
    std::string text;
    llvm::raw_string_ostream os(text);
    op->print(os);
    if (text != lastText)
      options.dumpIR(name, text);
    lastText = std::move(text);
  }
  if (name != options.untilAfter)
    return;
  ++runs[op];
  size_t count = 0;
  for (mlir::Operation *at = op; at; at = at->getParentOp())
    count += runs.lookup(at);
  if (count == stopAfter)
    stopped.insert(op);
}
