//===- PackedHeads.cpp - Positions among packed heads ---------------------===//

#include "PackedHeads.h"
#include "attn/Dialect/Hopper/IR/Hopper.h"
#include "attn/Dialect/ScalarBuilder.h"

using namespace mlir;
using namespace mlir::attn;

bool mlir::attn::isPackedDim(PackGQAOp op, int64_t dim) {
  auto number = static_cast<uint64_t>(dim);
  return number == op.getHeads() || number == op.getRows();
}

Value mlir::attn::emitPackedExtent(OpBuilder &builder, PackGQAOp op,
                                   int64_t dim, Value extent, Value count,
                                   Location loc) {
  // A launch has seen to it that all rows are positions.
  ScalarBuilder ints(loc, builder);
  Value a = ints.toI32(extent), b = ints.toI32(count);
  bool isHeads = static_cast<uint64_t>(dim) == op.getHeads();
  return hopper::PositionOp::create(ints,
                                    isHeads ? ints.divU(a, b) : ints.mul(a, b));
}

std::pair<Value, Value> mlir::attn::emitUnpackedPosition(OpBuilder &builder,
                                                         Value count,
                                                         Value head, Value row,
                                                         Location loc) {
  ScalarBuilder ints(loc, builder);
  Value size = ints.toI32(count);
  Value firstHead =
      hopper::PositionOp::create(ints, ints.mul(ints.toI32(head), size));
  Value firstRow =
      hopper::PositionOp::create(ints, ints.divU(ints.toI32(row), size));
  return {firstHead, firstRow};
}
