//===- TotalDivision.cpp - Integer divisions without traps ----------------===//

#include "TotalDivision.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

bool mlir::attn::isIntegerDivision(Operation *op) {
  return isa<arith::DivUIOp, arith::DivSIOp, arith::CeilDivUIOp,
             arith::CeilDivSIOp, arith::FloorDivSIOp, arith::RemUIOp,
             arith::RemSIOp>(op);
}

Value mlir::attn::emitTotalDivision(OpBuilder &builder, Operation &op,
                                    Value dividend, Value divisor,
                                    function_ref<Value(Value)> spread) {
  Location loc = op.getLoc();
  Type element = getElementTypeOrSelf(divisor.getType());
  unsigned width = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  auto splat = [&](Type type, const APInt &value) -> Value {
    Value number = arith::ConstantOp::create(
        builder, loc, builder.getIntegerAttr(element, value));
    return isa<VectorType>(type)
               ? vector::BroadcastOp::create(builder, loc, type, number)
               : number;
  };
  auto create = [&](Value by) -> Value {
    Value spreadBy = spread(by);
    Operation *clone = builder.clone(op);
    clone->setOperands({dividend, spreadBy});
    clone->getResult(0).setType(dividend.getType());
    return clone->getResult(0);
  };
  APInt constant;
  if (matchPattern(divisor, m_ConstantInt(&constant)) && !constant.isZero() &&
      !constant.isAllOnes())
    return create(divisor);

  // What is asked of the divisor is asked once for all it divides.
  auto equals = [&](const APInt &other) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                 divisor, splat(divisor.getType(), other));
  };
  auto select = [&](Value condition, Value yes, Value no) -> Value {
    return arith::SelectOp::create(builder, loc, spread(condition), yes, no);
  };
  Value isZero = equals(APInt::getZero(width));
  Value unsafe = isZero, isNegation;
  // The smallest integer by -1 traps as well. By 1 it is negated behind.
  if (!isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp>(op)) {
    isNegation = equals(APInt::getAllOnes(width));
    unsafe = arith::OrIOp::create(builder, loc, isZero, isNegation);
  }
  Value result = create(arith::SelectOp::create(
      builder, loc, unsafe, splat(divisor.getType(), APInt(width, 1)),
      divisor));
  // Of 1 it is 0, as of -1 and where there is none.
  if (isa<arith::RemUIOp, arith::RemSIOp>(op))
    return result;
  Value zero = splat(dividend.getType(), APInt::getZero(width));
  if (isNegation)
    result = select(isNegation,
                    arith::SubIOp::create(builder, loc, zero, result), result);
  return select(isZero, zero, result);
}

Operation *mlir::attn::makeDivisionsTotal(Operation *op) {
  SmallVector<Operation *> divisions;
  op->walk([&](Operation *inner) {
    if (isIntegerDivision(inner))
      divisions.push_back(inner);
  });
  for (Operation *division : divisions) {
    OpBuilder builder(division);
    Value total = emitTotalDivision(builder, *division, division->getOperand(0),
                                    division->getOperand(1),
                                    [](Value value) { return value; });
    division->replaceAllUsesWith(ValueRange(total));
    if (division == op)
      op = total.getDefiningOp();
    division->erase();
  }
  return op;
}
