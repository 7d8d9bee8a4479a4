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

/// The results of the parts: normalised rows of f32, and the log-sum-exp of
/// their scores in base 2. By batch, head, row and part, so that the parts of a
/// row lie together.
struct PartResults {
  Value rows, lses, numParts;
};
PartResults getPartResults(TileProgram &program, KernelArguments &arguments);

/// Their description for hopper::kTablesAttrName, after other tables.
void describePartResults(TileProgram &program,
                         SmallVectorImpl<Attribute> &tables);

/// What of a result is shared out: the row of the output before it is rounded.
/// Fails if there are results that cannot be merged.
FailureOr<Value> getUnroundedOutput(TileProgram &program);

/// Emits the kernel that merges them.
LogicalResult emitMergeKernel(OpBuilder &builder, TileProgram &program);

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOHOPPER_MERGEKERNEL_H
