//===- AttnSoftmax.cpp - The ends of an online softmax --------------------===//

#include "attn/Dialect/Attn/IR/AttnTile.h"
#include <cmath>

using namespace mlir;
using namespace mlir::attn;

/// Checks the types of a state.
static LogicalResult verifyState(Operation *op, Type accType, Type maxType) {
  auto acc = cast<VectorType>(accType), max = cast<VectorType>(maxType);
  if (acc.getRank() != 2 || max.getRank() != 1)
    return op->emitOpError("expects acc of rank 2 and max of rank 1, but got ")
           << acc << " and " << max;
  Type element = acc.getElementType();
  if (!element.isF32() && !element.isF64())
    return op->emitOpError("expects element type f32 or f64, but got ") << acc;
  if (max.getElementType() != element || max.getDimSize(0) != acc.getDimSize(1))
    return op->emitOpError("expects acc and max to have the same queries and "
                           "element type, but got ")
           << acc << " and " << max;
  return success();
}

//===----------------------------------------------------------------------===//
// OnlineStartOp
//===----------------------------------------------------------------------===//

double OnlineStartOp::getFirstMax() {
  return getFrom() ? getFrom()->convertToDouble() : -INFINITY;
}

double OnlineStartOp::getFirst(OpResult result) {
  return result == getMax() ? getFirstMax() : 0;
}

LogicalResult OnlineStartOp::verify() {
  if (failed(verifyState(*this, getAcc().getType(), getMax().getType())))
    return failure();
  // As the element type has it.
  bool isF32 = cast<VectorType>(getMax().getType()).getElementType().isF32();
  double from = isF32 ? double(float(getFirstMax())) : getFirstMax();
  if (std::isnan(from) || from == INFINITY)
    return emitOpError("expects to start from a number or -inf, but got ")
           << from;
  return success();
}

//===----------------------------------------------------------------------===//
// NegateQueriesOp
//===----------------------------------------------------------------------===//

LogicalResult NegateQueriesOp::verify() {
  auto queries = cast<VectorType>(getQueries().getType()),
       where = cast<VectorType>(getWhere().getType());
  if (where.getDimSize(0) != queries.getDimSize(1))
    return emitOpError("expects an i1 for each of ")
           << queries.getDimSize(1) << " queries, but got " << where;
  return success();
}

//===----------------------------------------------------------------------===//
// NormalizeOp
//===----------------------------------------------------------------------===//

LogicalResult NormalizeOp::verify() {
  auto acc = cast<VectorType>(getAcc().getType()),
       o = cast<VectorType>(getO().getType());
  if (o.getShape() != acc.getShape())
    return emitOpError("expects o to have the shape of acc, but got ")
           << o << " and " << acc;
  return verifyState(*this, acc, getMax().getType());
}
