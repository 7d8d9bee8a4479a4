//===- BoundsRegion.h - Regions that say what tiles need --------*- C++ -*-===//

#ifndef ATTN_LIB_REFERENCE_BOUNDSREGION_H
#define ATTN_LIB_REFERENCE_BOUNDSREGION_H

#include "AttentionRows.h"

namespace attn::reference {

/// A region of an attention, `blocks` or `tiles`, that computes integers from
/// integers and the captures.
class BoundsRegion {
public:
  /// The region's first arguments are `numArguments` integers.
  BoundsRegion(mlir::Region &region, unsigned numArguments,
               const AttentionInputs &inputs, EvalMode mode)
      : block(region.front()), numArguments(numArguments), inputs(inputs),
        compiler(mode, program) {}
  BoundsRegion(const BoundsRegion &) = delete;

  llvm::Error compile();
  /// What the region yields, until the next call.
  llvm::Expected<llvm::ArrayRef<int64_t>>
  evaluate(llvm::ArrayRef<int64_t> values);

private:
  mlir::Block &block;
  unsigned numArguments;
  const AttentionInputs &inputs;
  Program program;
  RegionCompiler compiler;
  std::optional<Frame> frame;
  llvm::SmallVector<uint32_t> arguments, results;
  llvm::SmallVector<int64_t> yielded;
};

} // namespace attn::reference

#endif // ATTN_LIB_REFERENCE_BOUNDSREGION_H
