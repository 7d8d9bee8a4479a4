//===- ListReads.h - Reads of lists of blocks or keys -----------*- C++ -*-===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_LISTREADS_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_LISTREADS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::attn {

/// An element of rows or columns, as an index.
inline Value readList(OpBuilder &builder, Location loc, Value list,
                      ValueRange indices) {
  Value element = tensor::ExtractOp::create(builder, loc, list, indices);
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                    element);
}

/// Where the list of a row starts and ends, by the batch, the head and the row,
/// of which `rows` has the last ones: [row], [head, row] or [batch, head, row].
inline std::pair<Value, Value> readListEnds(OpBuilder &builder, Location loc,
                                            Value rows, ValueRange ids) {
  SmallVector<Value> position(
      ids.take_back(cast<RankedTensorType>(rows.getType()).getRank()));
  Value begin = readList(builder, loc, rows, position);
  position.back() =
      arith::AddIOp::create(builder, loc, position.back(),
                            arith::ConstantIndexOp::create(builder, loc, 1));
  return {begin, readList(builder, loc, rows, position)};
}

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_LISTREADS_H
