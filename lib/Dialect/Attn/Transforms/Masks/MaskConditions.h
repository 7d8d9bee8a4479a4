//===- MaskConditions.h - More conditions of a mask -------------*- C++ -*-===//
//
// What a sparsity becomes: captures, and conditions of the mask on them.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_MASKS_MASKCONDITIONS_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_MASKS_MASKCONDITIONS_H

#include "attn/Dialect/Attn/IR/Attn.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {

/// Adds a capture and gives the argument that the mask, which is made one that
/// allows all where it is absent, has for it.
BlockArgument addMaskCapture(RewriterBase &rewriter,
                             AttentionLikeOpInterface op, Value capture);

/// Indices into the first `numLeading` dimensions of a capture, of which there
/// are batches and heads, or one for all: its last ones of these two.
SmallVector<Value> getSharedIndices(OpBuilder &builder, Location loc,
                                    Block &mask, Value capture,
                                    int64_t numLeading);

/// Makes the mask allow what it allows and `condition`, too, which is computed
/// before its terminator.
void addMaskCondition(RewriterBase &rewriter, AttentionLikeOpInterface op,
                      Value condition);

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_MASKS_MASKCONDITIONS_H
