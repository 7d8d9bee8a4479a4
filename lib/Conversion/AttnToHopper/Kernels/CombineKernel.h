//===- CombineKernel.h - Results of parts of the keys -----------*- C++ -*-===//
//
// Where the keys of a Q block are shared out to several CTAs,
// each writes a result of its own to memory of the launch, and a kernel behind
// them combines the results.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOHOPPER_KERNELS_COMBINEKERNEL_H
#define ATTN_LIB_CONVERSION_ATTNTOHOPPER_KERNELS_COMBINEKERNEL_H

#include "KernelArguments.h"

namespace mlir::attn {

/// The results of a function that parts have, and that are combined.
struct CombinedResults {
  func::FuncOp function;
  /// How many tables of the launch there are before those of the parts.
  unsigned numTables = 0;
  /// The result with columns, and the argument that the log-sum-exp of its rows
  /// is written to, if any.
  TileAccess output;
  std::optional<unsigned> lse;
};

/// The results of the parts: normalised rows of f32, and the log-sum-exp of
/// their scores in base 2. By batch, head, row and part, so that the parts of a
/// row lie together.
struct SplitResults {
  Value rows, lses, numSplits;
};
SplitResults getSplitResults(const CombinedResults &results,
                             KernelArguments &arguments);

/// Declares them as tables of a kernel, after others that it has.
void declareSplitResults(gpu::GPUFuncOp kernel, const CombinedResults &results);

/// Other results than those of a softmax cannot be combined.
InFlightDiagnostic emitNotCombined(Operation *op);

/// The log-sum-exp of scores in base 2 by their maximum and sum, as the rows of
/// a tile have it; -inf for rows without keys.
Value emitLse(OpBuilder &builder, Location loc, Value max, Value sum);

/// Emits the kernel that combines them.
void emitCombineKernel(OpBuilder &builder, Location loc,
                       const CombinedResults &results);

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOHOPPER_KERNELS_COMBINEKERNEL_H
