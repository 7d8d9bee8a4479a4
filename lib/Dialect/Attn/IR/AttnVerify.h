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

} // namespace mlir::attn

#endif // LIB_DIALECT_ATTN_IR_ATTNVERIFY_H
