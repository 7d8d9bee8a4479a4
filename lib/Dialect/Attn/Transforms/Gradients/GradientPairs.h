//===- GradientPairs.h - Gradients of single pairs --------------*- C++ -*-===//
//
// What the gradient of an attention is made of, as numbers of one query and one
// key.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_GRADIENTPAIRS_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_GRADIENTPAIRS_H

#include "Tiles/TileOps.h"
#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::attn {

class GradientPair {
public:
  /// The tensors of a gradient, where the builder stands; `delta` is that of
  /// `emitDelta`.
  struct Tensors {
    SmallVector<Value> captures;
    Value lse, delta, outputGrad, value;
  };

  /// The pair at the positions (b, h, i, j) of tensors, which regions see as
  /// `seen`, with a key of this batch and head of keys.
  GradientPair(OpBuilder &builder, AttentionGradOp op, const Tensors &tensors,
               ArrayRef<Value> place, ArrayRef<Value> seen, Value keyBatch,
               Value keyHead)
      : builder(builder), loc(op.getLoc()), op(op), attention(op),
        tensors(tensors), place(place), seen(seen), keyBatch(keyBatch),
        keyHead(keyHead), accType(attention.getAccumulatorType()) {}

  Value emitMask();
  /// The score of a pair whose product is `x`, its difference from the
  /// log-sum-exp, and its weight or null.
  struct Score {
    Value score, exponent, weight;
  };
  Score emitScore(Value x);
  /// w dp - delta.
  Value emitFactor(Value weight);
  /// What the adjoint makes of the gradient of a score.
  Value emitAdjoint(Value x, Value ds);
  /// The indices of a contribution that no loop or branch is around, and that
  /// neither the score nor its gradient matters to.
  SmallVector<Value> emitIndices(ContributeOp contribution);
  /// The sum of what the adjoint adds by `contribution` to the elements that
  /// `isElement` says of by their indices.
  using IsElement = function_ref<Value(ValueRange indices)>;
  Value emitContribution(ContributeOp contribution, Value x, Value ds,
                         IsElement isElement);
  /// `value`, or 0 where exp of `exponent` is: such a pair adds nothing,
  /// whatever is not a number there.
  Value unlessNone(Value value, Value exponent);
  /// The sum of the products of a row of `queries` and one of `keys`, which
  /// have the layouts of that number.
  Value emitProduct(Value queries, unsigned queryLayout, Value keys,
                    unsigned keyLayout);

private:
  void mapArguments(Region &region, ValueRange leading, IRMapping &mapping);
  SmallVector<Value> inlineRegion(Region &region, ValueRange leading,
                                  IRMapping &mapping);
  Value emitBlock(Block &block, IRMapping &mapping, ContributeOp contribution,
                  IsElement isElement, Value sum);
  Value extract(Value tensor, ArrayRef<Value> at);
  Value extractOfRow(Value tensor) {
    return extract(tensor, attention.getLayout(3).arrangeRows(
                               place[0], place[1], place[2]));
  }
  Value constant(double number) {
    return createFloat(builder, loc, accType, number);
  }

  /// Values are emitted where it stands.
  OpBuilder &builder;
  Location loc;
  AttentionGradOp op;
  AttentionLikeOpInterface attention;
  Tensors tensors;
  SmallVector<Value> place, seen;
  Value keyBatch, keyHead;
  FloatType accType;
};

/// Whether the indices of a contribution are those of `emitIndices`.
bool haveIndicesOfPair(ContributeOp contribution);

/// <do, o> - dlse for each query, in the layout of lse.
Value emitDelta(OpBuilder &builder, AttentionGradOp op);

/// The gradient of a capture, of sums over all pairs whose contributions are of
/// an element. Index functions are evaluated for each element and each pair
/// that may be one of it.
Value emitCapturePairs(OpBuilder &builder, AttentionGradOp op, int64_t capture,
                       Value delta);

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_GRADIENTPAIRS_H
