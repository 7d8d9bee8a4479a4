//===- AttnVerify.h - What verifiers of attention share ---------*- C++ -*-===//

#ifndef LIB_DIALECT_ATTN_IR_ATTNVERIFY_H
#define LIB_DIALECT_ATTN_IR_ATTNVERIFY_H

#include "attn/Dialect/Attn/IR/Attn.h"

namespace mlir::attn {

LogicalResult verifyRank(Operation *op, StringRef name, Type type,
                         int64_t rank);
LogicalResult verifyElementType(Operation *op, StringRef name, Type type,
                                Type expected);
/// The scale is applied in the accumulator type, where it has to be a number.
LogicalResult verifyScale(Operation *op, FloatAttr scale, FloatType accType);
/// The scale, or 1 / sqrt(Dqk) where there is none.
double getScaleOrDefault(AttentionLikeOpInterface op, FloatAttr scale);
/// Checks what all levels demand of q, k, v, captures and offsets.
LogicalResult verifyInputs(AttentionLikeOpInterface op);
/// Checks that `type` is [B, H, S] of q arranged as `layout` without d.
LogicalResult verifyRows(AttentionLikeOpInterface op, StringRef name, Type type,
                         Layout layout);
/// Checks that `type` is [B, H, S, Dv] in the layout of o.
LogicalResult verifyOutput(AttentionLikeOpInterface op, StringRef name,
                           Type type, Type elementType);
/// Checks that results have the types of destinations.
LogicalResult verifyResultTypes(Operation *op, ValueRange outs);
/// Checks a region: its arguments, of which captures are the last, what it
/// holds, and what it yields. An absent one is right.
LogicalResult verifyRegion(AttentionLikeOpInterface op, Region &region,
                           StringRef name, ArrayRef<Type> leading,
                           ArrayRef<Type> yielded);
LogicalResult verifyScoreAndMask(AttentionLikeOpInterface op);
/// Checks a region `tiles`.
LogicalResult verifyTiles(AttentionLikeOpInterface op, Region &tiles);
/// Checks that a region of one block, called `what`, ends with an `attn.yield`
/// of these types.
LogicalResult verifyYielded(Operation *op, Region &region, StringRef what,
                            TypeRange types);
/// The effects of an operation that adds to a buffer in place, or makes a
/// tensor of another one.
void getSumEffects(
    OpOperand &into, Value result,
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects);
/// Checks that a tile has the elements of what it is added to, which has an
/// index for each of its dimensions.
LogicalResult verifyElements(Operation *op, VectorType tile, ShapedType into,
                             ValueRange indices);
/// Checks that there is a result for a tensor, and none for a buffer.
LogicalResult verifySumResult(Operation *op, ShapedType into, Value result);

} // namespace mlir::attn

#endif // LIB_DIALECT_ATTN_IR_ATTNVERIFY_H
