//===- Cleanup.h - Between the passes of a pipeline -------------*- C++ -*-===//

#ifndef ATTN_LIB_PIPELINES_CLEANUP_H
#define ATTN_LIB_PIPELINES_CLEANUP_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace mlir::attn {
inline void addCleanup(OpPassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}
} // namespace mlir::attn

#endif // ATTN_LIB_PIPELINES_CLEANUP_H
