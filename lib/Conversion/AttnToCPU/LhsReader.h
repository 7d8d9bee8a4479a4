//===- LhsReader.h - Left-hand sides of products on a CPU -------*- C++ -*-===//
//
// The left-hand side of a product, keys or values, is read where it lies in
// memory, or from the buffer of a tile.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOCPU_LHSREADER_H
#define ATTN_LIB_CONVERSION_ATTNTOCPU_LHSREADER_H

#include "TileEvaluator.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::attn {

class LhsReader {
public:
  /// `buffer` is null if `value` is read from where a transfer_read would.
  LhsReader(OpBuilder &builder, Location loc, Value value, Value buffer,
            bool rowFirst)
      : builder(builder), loc(loc), buffer(buffer), rowFirst(rowFirst) {
    if (!buffer)
      read = value.getDefiningOp<vector::TransferReadOp>();
  }

  /// The position of a row, to be computed once per block of rows.
  Value prepareRow(Value row) { return prepare(row, rowFirst ? 0 : 1); }
  /// The position along the sum, to be computed once per step of it.
  Value prepareInner(Value inner) { return prepare(inner, rowFirst ? 1 : 0); }

  Value load(Value row, Value inner) {
    auto [base, position] = getPlace(row, inner);
    return memref::LoadOp::create(builder, loc, base, position);
  }
  /// The first `count` elements of a vector along the last dimension, and
  /// zeros.
  Value loadVector(Value row, Value inner, VectorType type, int64_t count) {
    auto [base, position] = getPlace(row, inner);
    return loadFirst(builder, loc, type, base, position, count);
  }

  /// The first `count` elements of a vector from `position` on, and zeros.
  static Value loadFirst(OpBuilder &builder, Location loc, VectorType type,
                         Value base, ValueRange position, int64_t count) {
    if (count == type.getNumElements())
      return vector::LoadOp::create(builder, loc, type, base, position);
    Value mask = vector::ConstantMaskOp::create(
        builder, loc, type.clone(builder.getI1Type()), count);
    Value zeros = arith::ConstantOp::create(
        builder, loc, cast<TypedAttr>(builder.getZeroAttr(type)));
    return vector::MaskedLoadOp::create(builder, loc, type, base, position,
                                        mask, zeros);
  }

private:
  std::pair<Value, SmallVector<Value>> getPlace(Value row, Value inner) {
    if (buffer) {
      SmallVector<Value> indices = {row, inner};
      if (!rowFirst)
        std::swap(indices[0], indices[1]);
      return {buffer, indices};
    }
    SmallVector<Value> indices(read.getIndices());
    AffineMap map = read.getPermutationMap();
    indices[map.getDimPosition(rowFirst ? 0 : 1)] = row;
    indices[map.getDimPosition(rowFirst ? 1 : 0)] = inner;
    return {read.getBase(), indices};
  }

  Value prepare(Value position, unsigned number) {
    if (buffer)
      return position;
    unsigned dim = read.getPermutationMap().getDimPosition(number);
    Value index =
        arith::AddIOp::create(builder, loc, position, read.getIndices()[dim]);
    if (read.isDimInBounds(number))
      return index;
    // A row past the end reads the last one: a masked key, whose product is
    // replaced or multiplied by 0.
    Value extent = memref::DimOp::create(builder, loc, read.getBase(), dim);
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    Value last = arith::SubIOp::create(builder, loc, extent, one);
    return arith::MinSIOp::create(builder, loc, index, last);
  }

  OpBuilder &builder;
  Location loc;
  vector::TransferReadOp read;
  Value buffer;
  bool rowFirst;
};

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOCPU_LHSREADER_H
