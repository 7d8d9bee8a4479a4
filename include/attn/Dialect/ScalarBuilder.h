//===- ScalarBuilder.h - Short forms of arithmetic --------------*- C++ -*-===//
//
// Programs that are emitted operation by operation read like arithmetic. A
// number as the second operand is a constant of the first one's type, which is
// an integer or an index.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_SCALARBUILDER_H
#define ATTN_DIALECT_SCALARBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::attn {

class ScalarBuilder : public ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  // Constants.
  Value i1(bool value) { return number(getI1Type(), value); }
  Value i32(int64_t value) { return number(getI32Type(), value); }
  Value i64(int64_t value) { return number(getI64Type(), value); }
  Value index(int64_t value) { return number(getIndexType(), value); }
  Value f32(double value) {
    return arith::ConstantOp::create(*this, getF32FloatAttr(value));
  }
  Value number(Type type, int64_t value) {
    return arith::ConstantOp::create(*this, getIntegerAttr(type, value));
  }

  // Sums and products, of integers or floats.
  Value add(Value a, Value b) {
    return ofEither<arith::AddIOp, arith::AddFOp>(a, b);
  }
  Value sub(Value a, Value b) {
    return ofEither<arith::SubIOp, arith::SubFOp>(a, b);
  }
  Value mul(Value a, Value b) {
    return ofEither<arith::MulIOp, arith::MulFOp>(a, b);
  }
  Value add(Value a, int64_t b) { return add(a, number(a.getType(), b)); }
  Value sub(Value a, int64_t b) { return sub(a, number(a.getType(), b)); }
  Value mul(Value a, int64_t b) { return mul(a, number(a.getType(), b)); }

  // Of integers: `U` is without a sign, `S` with one.
  Value divU(Value a, Value b) { return op<arith::DivUIOp>(a, b); }
  Value remU(Value a, Value b) { return op<arith::RemUIOp>(a, b); }
  Value minS(Value a, Value b) { return op<arith::MinSIOp>(a, b); }
  Value maxS(Value a, Value b) { return op<arith::MaxSIOp>(a, b); }
  Value minU(Value a, Value b) { return op<arith::MinUIOp>(a, b); }
  Value maxU(Value a, Value b) { return op<arith::MaxUIOp>(a, b); }
  Value andI(Value a, Value b) { return op<arith::AndIOp>(a, b); }
  Value orI(Value a, Value b) { return op<arith::OrIOp>(a, b); }
  Value xorI(Value a, Value b) { return op<arith::XOrIOp>(a, b); }
  Value shl(Value a, Value b) { return op<arith::ShLIOp>(a, b); }
  Value shrU(Value a, Value b) { return op<arith::ShRUIOp>(a, b); }
  Value shrS(Value a, Value b) { return op<arith::ShRSIOp>(a, b); }
  Value divU(Value a, int64_t b) { return divU(a, number(a.getType(), b)); }
  Value remU(Value a, int64_t b) { return remU(a, number(a.getType(), b)); }
  Value minS(Value a, int64_t b) { return minS(a, number(a.getType(), b)); }
  Value maxS(Value a, int64_t b) { return maxS(a, number(a.getType(), b)); }
  Value minU(Value a, int64_t b) { return minU(a, number(a.getType(), b)); }
  Value maxU(Value a, int64_t b) { return maxU(a, number(a.getType(), b)); }
  Value andI(Value a, int64_t b) { return andI(a, number(a.getType(), b)); }
  Value orI(Value a, int64_t b) { return orI(a, number(a.getType(), b)); }
  Value xorI(Value a, int64_t b) { return xorI(a, number(a.getType(), b)); }
  Value shl(Value a, int64_t b) { return shl(a, number(a.getType(), b)); }
  Value shrU(Value a, int64_t b) { return shrU(a, number(a.getType(), b)); }
  Value shrS(Value a, int64_t b) { return shrS(a, number(a.getType(), b)); }

  // Conditions.
  Value cmp(arith::CmpIPredicate is, Value a, Value b) {
    return arith::CmpIOp::create(*this, is, a, b);
  }
  Value cmp(arith::CmpIPredicate is, Value a, int64_t b) {
    return cmp(is, a, number(a.getType(), b));
  }
  Value cmp(arith::CmpFPredicate is, Value a, Value b) {
    return arith::CmpFOp::create(*this, is, a, b);
  }
  template <typename T> Value eq(Value a, T b) {
    return cmp(arith::CmpIPredicate::eq, a, b);
  }
  template <typename T> Value ne(Value a, T b) {
    return cmp(arith::CmpIPredicate::ne, a, b);
  }
  template <typename T> Value slt(Value a, T b) {
    return cmp(arith::CmpIPredicate::slt, a, b);
  }
  template <typename T> Value sge(Value a, T b) {
    return cmp(arith::CmpIPredicate::sge, a, b);
  }
  template <typename T> Value ult(Value a, T b) {
    return cmp(arith::CmpIPredicate::ult, a, b);
  }
  Value notI(Value condition) { return xorI(condition, i1(true)); }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(*this, condition, a, b);
  }

  // Other types.
  Value zext64(Value a) {
    return arith::ExtUIOp::create(*this, getI64Type(), a);
  }
  Value sext64(Value a) {
    return arith::ExtSIOp::create(*this, getI64Type(), a);
  }
  Value trunc32(Value a) {
    return arith::TruncIOp::create(*this, getI32Type(), a);
  }
  /// Of an index.
  Value toI32(Value a) {
    return arith::IndexCastOp::create(*this, getI32Type(), a);
  }

private:
  template <typename Op> Value op(Value a, Value b) {
    return Op::create(*this, a, b);
  }
  template <typename OfInts, typename OfFloats>
  Value ofEither(Value a, Value b) {
    if (isa<FloatType>(getElementTypeOrSelf(a.getType())))
      return op<OfFloats>(a, b);
    return op<OfInts>(a, b);
  }
};

} // namespace mlir::attn

#endif // ATTN_DIALECT_SCALARBUILDER_H
