//===- PackedHeads.cpp - Positions among packed heads ---------------------===//

#include "PackedHeads.h"
#include "IntBuilder.h"

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
  IntBuilder ib{builder, loc};
  Value a = ib.fromIndex(extent), b = ib.fromIndex(count);
  bool isHeads = static_cast<uint64_t>(dim) == op.getHeads();
  return ib.toPosition(isHeads ? ib.div(a, b) : ib.mul(a, b));
}

std::pair<Value, Value> mlir::attn::emitUnpackedPosition(OpBuilder &builder,
                                                         Value count,
                                                         Value head, Value row,
                                                         Location loc) {
  IntBuilder ib{builder, loc};
  Value size = ib.fromIndex(count);
  Value firstHead = ib.toPosition(ib.mul(ib.fromIndex(head), size));
  Value firstRow = ib.toPosition(ib.div(ib.fromIndex(row), size));
  return {firstHead, firstRow};
}
