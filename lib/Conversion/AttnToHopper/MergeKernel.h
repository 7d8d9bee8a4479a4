//===- MergeKernel.h - Results of parts of the keys -------------*- C++ -*-===//
//
// Where the keys of a tile of queries are shared out to several thread blocks,
// each writes a result of its own to memory of the launch, and a kernel behind
// them merges the results.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOHOPPER_MERGEKERNEL_H
#define ATTN_LIB_CONVERSION_ATTNTOHOPPER_MERGEKERNEL_H

#include "KernelArguments.h"

namespace mlir::attn {

/// The results of a function that parts have, and that are merged.
struct MergedResults {
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
struct PartResults {
  Value rows, lses, numParts;
};
PartResults getPartResults(const MergedResults &results,
                           KernelArguments &arguments);

/// Declares them as tables of a kernel, after others that it has.
void declarePartResults(gpu::GPUFuncOp kernel, const MergedResults &results);

/// What of a result is shared out: the row of the output before it is rounded,
/// or null if it is not the accumulator, normalised. Rows of others than the
/// log-sum-exp cannot be merged.
Value getUnroundedOutput(Value output, Value acc);
InFlightDiagnostic emitNotMerged(Operation *op);

/// The log-sum-exp of scores in base 2 by their maximum and sum, as the rows of
/// a tile have it; -inf for rows without keys.
Value emitLse(OpBuilder &builder, Location loc, Value max, Value sum);

/// Emits the kernel that merges them.
void emitMergeKernel(OpBuilder &builder, Location loc,
                     const MergedResults &results);

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOHOPPER_MERGEKERNEL_H
