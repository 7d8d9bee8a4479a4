//===- Exp2.cpp - Powers of two of differences to a maximum ---------------===//

#include "Exp2.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

Value mlir::attn::emitExp2(OpBuilder &builder, Location loc, Value x) {
  auto type = cast<VectorType>(x.getType());
  if (!type.getElementType().isF32())
    return math::Exp2Op::create(builder, loc, x);

  auto constant = [&](float value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     DenseElementsAttr::get(type, value));
  };
  auto intType = VectorType::get(type.getShape(), builder.getI32Type());
  auto intConstant = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     DenseElementsAttr::get(intType, value));
  };

  // The comparison is false for NaN, so NaN passes.
  Value lowest = constant(-127.0f);
  Value isLow =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, x, lowest);
  Value clamped = arith::SelectOp::create(builder, loc, isLow, lowest, x);

  // Adding 1.5 * 2^23 rounds to an integer n, held in the low bits of the sum.
  Value magic = constant(12582912.0f);
  Value shifted = arith::AddFOp::create(builder, loc, clamped, magic);
  Value rounded = arith::SubFOp::create(builder, loc, shifted, magic);
  Value rest = arith::SubFOp::create(builder, loc, clamped, rounded);

  // 2^r on [-1/2, 1/2]: the minimax polynomial of Cephes' exp2f (S. Moshier).
  constexpr float coefficients[] = {1.535336188319500e-4f,
                                    1.339887440266574e-3f,
                                    9.618437357674640e-3f,
                                    5.550332471162809e-2f,
                                    2.402264791363012e-1f,
                                    6.931472028550421e-1f,
                                    1.0f};
  Value power = constant(coefficients[0]);
  for (float coefficient : ArrayRef<float>(coefficients).drop_front())
    power =
        vector::FMAOp::create(builder, loc, power, rest, constant(coefficient));

  // 2^n by its exponent bits; n = -127 gives 0.
  Value bits = arith::BitcastOp::create(builder, loc, intType, shifted);
  Value exponent = arith::ShLIOp::create(builder, loc, bits, intConstant(23));
  Value scale = arith::BitcastOp::create(
      builder, loc, type,
      arith::AddIOp::create(builder, loc, exponent, intConstant(127 << 23)));
  return arith::MulFOp::create(builder, loc, power, scale);
}
