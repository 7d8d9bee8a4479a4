//===- HopperHideNegations.cpp - Negations that ptxas would lose ----------===//

#include "ScalarMath.h"
#include "attn/Conversion/HopperToNVVM/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNHOPPERHIDENEGATIONSPASS
#include "attn/Conversion/HopperToNVVM/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using attn::ScalarBuilder;

/// What an integer is the negative of, made where needed; null if it is not
/// written as one. Products with negative numbers become negations in LLVM.
static Value getNegated(ScalarBuilder &b, Value value) {
  if (auto sub = value.getDefiningOp<arith::SubIOp>())
    return matchPattern(sub.getLhs(), m_Zero()) ? sub.getRhs() : Value();
  if (auto trunc = value.getDefiningOp<arith::TruncIOp>()) {
    Value wide = getNegated(b, trunc.getIn());
    return wide ? arith::TruncIOp::create(b, value.getType(), wide) : Value();
  }
  auto mul = value.getDefiningOp<arith::MulIOp>();
  if (!mul)
    return Value();
  for (auto [factor, other] : {std::pair(mul.getLhs(), mul.getRhs()),
                               std::pair(mul.getRhs(), mul.getLhs())}) {
    APInt constant;
    if (!matchPattern(factor, m_ConstantInt(&constant)) ||
        !constant.isNegative() || constant.isMinSignedValue())
      continue;
    if (constant.isAllOnes())
      return other;
    Type type = value.getType();
    return arith::MulIOp::create(
        b, other,
        arith::ConstantOp::create(b, b.getIntegerAttr(type, -constant)));
  }
  return Value();
}

namespace {
struct AttnHopperHideNegations
    : public mlir::attn::impl::AttnHopperHideNegationsPassBase<
          AttnHopperHideNegations> {
  using AttnHopperHideNegationsPassBase::AttnHopperHideNegationsPassBase;

  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      if (!isa<arith::MaxSIOp, arith::MinSIOp>(op))
        return;
      Type type = op->getResult(0).getType();
      if (!type.isInteger(32) && !type.isInteger(16))
        return;
      bool isWide = type.isInteger(32);
      StringRef text =
          isWide ? "{ .reg .b32 n; not.b32 n, $1; add.s32 $0, n, 1; }"
                 : "{ .reg .b16 n; not.b16 n, $1; add.s16 $0, n, 1; }";
      ScalarBuilder b(op->getLoc(), op);
      for (OpOperand &operand : op->getOpOperands())
        if (Value negated = getNegated(b, operand.get()))
          operand.set(attn::emitPureAsm(b, text, isWide ? "=r,r" : "=h,h",
                                        negated, type));
    });
  }
};
} // namespace
