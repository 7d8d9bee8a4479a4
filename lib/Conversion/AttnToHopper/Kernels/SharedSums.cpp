//===- SharedSums.cpp - What work tiles have added to buffers -------------===//

#include "KernelValues.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::attn;

/// An element of a buffer that kernels before this one have filled.
FailureOr<Value> KernelValues::computeElement(Value buffer,
                                              ArrayRef<Value> indices,
                                              Location loc) {
  auto type = cast<MemRefType>(buffer.getType());
  std::optional<unsigned> operand = getOperand(buffer);
  if (!operand)
    return emitError(loc, "expects an element of a buffer that the function "
                          "allocates");
  Value always = arith::ConstantIntOp::create(builder, loc, 1, 1);
  return GatherOp::create(builder, loc, type.getElementType(),
                          arguments.getMemRef(*operand, type), indices, always,
                          /*site=*/IntegerAttr())
      .getResult();
}

/// With carries, words are digits from -2^31 to below 2^31, the last one any
/// number, so that no more than one bit is lost where they are added in f64
/// from the least one on.
FailureOr<Value> KernelValues::computeSum(ExactSumOp op) {
  Location loc = op.getLoc();
  auto i64 = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(builder, loc, value, 64);
  };
  auto f64 = [&](double value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getF64FloatAttr(value));
  };
  FailureOr<SmallVector<Value>> place = getScalars(op.getIndices());
  if (failed(place))
    return failure();
  auto getWord = [&](int64_t number) {
    SmallVector<Value> indices = {
        arith::ConstantIndexOp::create(builder, loc, number)};
    llvm::append_range(indices, *place);
    return computeElement(op.getWords(), indices, loc);
  };
  constexpr int64_t half = int64_t(1) << (kExactSumBits - 1);
  Value sum = f64(0), carry;
  for (int64_t number = 0; number < kExactSumFlags; ++number) {
    FailureOr<Value> word = getWord(number);
    if (failed(word))
      return failure();
    Value digit = *word;
    if (carry)
      digit = arith::AddIOp::create(builder, loc, digit, carry);
    if (number + 1 < kExactSumFlags) {
      carry = arith::ShRSIOp::create(
          builder, loc, arith::AddIOp::create(builder, loc, digit, i64(half)),
          i64(kExactSumBits));
      digit = arith::SubIOp::create(
          builder, loc, digit,
          arith::ShLIOp::create(builder, loc, carry, i64(kExactSumBits)));
    }
    Value term =
        arith::SIToFPOp::create(builder, loc, builder.getF64Type(), digit);
    Value unit =
        f64(std::ldexp(1.0, kExactSumExponent + number * kExactSumBits));
    sum = arith::AddFOp::create(
        builder, loc, sum, arith::MulFOp::create(builder, loc, term, unit));
  }
  Value rounded =
      arith::TruncFOp::create(builder, loc, builder.getF32Type(), sum);
  FailureOr<Value> flags = getWord(kExactSumFlags);
  if (failed(flags))
    return failure();
  auto has = [&](int64_t bits) -> Value {
    return arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ne,
        arith::AndIOp::create(builder, loc, *flags, i64(bits)), i64(0));
  };
  auto choose = [&](Value condition, double value) {
    Value constant =
        arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(value));
    rounded =
        arith::SelectOp::create(builder, loc, condition, constant, rounded);
  };
  Value isPositive = has(kExactSumPosInf), isNegative = has(kExactSumNegInf);
  choose(isPositive, INFINITY);
  choose(isNegative, -INFINITY);
  choose(arith::OrIOp::create(
             builder, loc, has(kExactSumNaN),
             arith::AndIOp::create(builder, loc, isPositive, isNegative)),
         NAN);
  return rounded;
}
